import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { testAudiences } from "#testing/identity.ts";
import { until } from "#testing/until.ts";
import { createKeptAnswer } from "./stored-answer.ts";

const database = sharedDatabase();
const crowd = <T>(work: () => Promise<T>, size = 50): Promise<T[]> => Promise.all(Array.from({ length: size }, work));

test("one question is under way at most, and how it ended stands for its time", async () => {
  let asked = 0;
  let now = 0;
  let answer = (): string | Promise<string> => `answer ${asked}`;
  const kept = createKeptAnswer(
    async () => {
      asked += 1;
      return answer();
    },
    { goodMs: 100, failedMs: 10, whileFailed: "last_answer" },
    () => now,
  );
  const fail = () => {
    throw new Error(`failure ${asked}`);
  };
  const said = async () => new Set(await crowd(() => kept().catch((error: Error) => error.message)));
  answer = fail;
  const steps: readonly (readonly [at: number, answer: typeof answer, said: string, asked: number])[] = [
    [0, fail, "failure 1", 1],
    [9, () => "not asked", "failure 1", 1],
    [10, () => "answer 2", "answer 2", 2],
    [109, fail, "answer 2", 2],
    [110, fail, "answer 2", 3],
    [119, () => "not asked", "answer 2", 3],
    [120, fail, "answer 2", 4],
    [130, () => "answer 5", "answer 5", 5],
    [229, fail, "answer 5", 5],
  ];
  for (const [at, next, expected, times] of steps) {
    now = at;
    answer = next;
    assert.deepEqual([await said(), asked], [new Set([expected]), times], `at ${at}`);
  }
});

test("a question that fails before it begins is no question under way", async () => {
  let asked = 0;
  const kept = createKeptAnswer<string>(
    () => {
      asked += 1;
      throw new Error("at once");
    },
    { goodMs: 0, failedMs: 0, whileFailed: "failure" },
    () => 0,
  );
  for (let round = 1; round <= 3; round++) {
    await assert.rejects(kept(), /at once/);
    assert.equal(asked, round);
  }
});

test("a crowd that wants the decision point's metadata asks it once, and leaves it alone while it is away", async (t) => {
  const pdp = recordingPeer();
  const clock = { now: Date.parse("2026-01-01T00:00:00Z") };
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer }, now: () => new Date(clock.now) });
  const look = async () => (await made.fetch("/.well-known/authzen-configuration")).status;
  const known = () => Response.json({ policy_decision_point: "x", access_evaluation_endpoint: "x", access_evaluations_endpoint: "x" });
  const away = () => new Response(null, { status: 503 });
  const rounds: readonly (readonly [what: string, later: number, answer: () => Response, status: number, asked: number])[] = [
    ["away from the start", 0, away, 503, 1],
    ["still away", 999, away, 503, 1],
    ["a second later", 1, known, 200, 2],
    ["nearly a minute later", 59_999, known, 200, 2],
    ["a minute later", 1, known, 200, 3],
    ["away when its word is old", 60_000, away, 200, 4],
    ["and for the next second", 999, away, 200, 4],
  ];
  for (const [what, later, answer, status, asked] of rounds) {
    clock.now += later;
    pdp.answer = answer;
    assert.deepEqual(new Set(await crowd(look)), new Set([status]), what);
    assert.equal(pdp.seen.length, asked, what);
  }
});

test("a crowd that asks whether Sallyport is ready asks its session store twice a second at most", async (t) => {
  let at = 10_000;
  let asked = 0;
  let isUp = true;
  const base = await database();
  const watched: Database = {
    ...base,
    ready: async () => {
      asked += 1;
      if (!isUp) throw new Problem("store_unavailable");
    },
  };
  const made = await testGateway(t, { database: watched });
  t.mock.method(performance, "now", () => at);
  const look = async () => new Set((await crowd(() => made.fetch("/api/v1/health/ready"))).map(({ status }) => status));
  assert.deepEqual([await look(), asked], [new Set([200]), 1]);
  isUp = false;
  at += 499;
  assert.deepEqual([await look(), asked], [new Set([200]), 1]);
  at += 1;
  assert.deepEqual([await look(), asked], [new Set([503]), 2]);
  isUp = true;
  at += 500;
  assert.deepEqual([await look(), asked], [new Set([200]), 3]);
});

test("health lets go of a service that does not answer: its questions take no place of a request", async (t) => {
  const [pdp, crud] = [await serverUpstream(t), await serverUpstream(t)];
  let open = 0;
  for (const silent of [pdp, crud])
    silent.answer = (_request, response) => {
      open += 1;
      response.on("close", () => (open -= 1));
    };
  const made = await testGateway(t, {
    database: await database(),
    parts: { peers: {}, serviceUrls: { ...testAudiences, pdp: pdp.url, crud: crud.url } },
    settings: { PDP_TIMEOUT_MS: "500" },
  });
  const metadata = made.fetch("/.well-known/authzen-configuration");
  const health = (await (await made.fetch("/api/v1/health")).json()) as { checks: Record<string, { status: string }> };
  assert.deepEqual([health.checks["pdp"]?.status, health.checks["crud"]?.status, (await metadata).status], ["down", "down", 503]);
  assert.equal(pdp.seen.length, 2);
  assert.equal(crud.seen.length, 1);
  await until(
    () => open,
    (left) => left === 0,
  );
});
