import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "#events/changes/change.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import type { Engines } from "#pdp/engine/engines.ts";
import type { DecisionLog } from "#pdp/records/decision-log.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { testDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { createReplays } from "./replays.ts";

const insert = statement(
  "testing.replay.insert",
  `insert into pdp.replay (id, tenant, version, filter, most, state, progress, created_by)
   values ($1, 'tenant:acme', 'v1', '{"to":"2026-01-01T00:00:00Z"}', 10, 'running', $2::jsonb, 'person:ada')`,
);
const stateOf = statement<{ readonly state: string; readonly holder: string | null }>(
  "testing.replay.state",
  "select state, holder from pdp.replay where id = $1",
);
const counts = {
  evaluated: 0,
  unchanged: 0,
  newly_allowed: 0,
  newly_denied: 0,
  changed: 0,
  not_replayable: 0,
  classes: {},
  truncated: false,
};
const begun = { ...counts, before: { callId: "d_~", part: 0 } };

/** Replays over records that can be read or cannot. */
const open = async (t: Parameters<typeof testDatabase>[0], page: DecisionLog["page"]) => {
  const database = await testDatabase(t, ["events", "pdp"]);
  let pages = 0;
  const replays = () =>
    createReplays({
      database,
      change: (() => Promise.reject(new Error("not asked here"))) as unknown as Change,
      records: {
        page: (ask: Parameters<DecisionLog["page"]>[0]) => {
          pages += 1;
          return page(ask);
        },
        factsOfAll: async () => new Map(),
      } as unknown as DecisionLog,
      engines: { of: async () => ({}) as Engine } as unknown as Engines,
      keepDays: 90,
      log: silentLog,
      now: () => new Date(),
      lookMs: 5,
    });
  const state = async (id: string) => (await database.run(stateOf, [id]))[0];
  return { database, replays, state, pages: () => pages };
};

test("a replay that does not come further is given up after five tries, and the others go on", async (t) => {
  const none = { recorded: [], next: undefined };
  const { database, replays, state, pages } = await open(t, async ({ before }) => {
    if (before.callId === "d_broken") throw new Error("invalid input syntax");
    return none;
  });
  await database.run(insert, ["replay:broken", JSON.stringify({ ...begun, before: { callId: "d_broken", part: 0 } })]);
  await database.run(insert, ["replay:unreadable", JSON.stringify({ nothing: "of a progress" })]);
  await database.run(insert, ["replay:fine", JSON.stringify(begun)]);
  await using running = replays();
  for (const [id, wanted] of [
    ["replay:broken", "failed"],
    ["replay:unreadable", "failed"],
    ["replay:fine", "done"],
  ] as const) {
    await until(async () => (await state(id))?.state === wanted);
    assert.equal((await state(id))?.holder, null, id);
  }
  assert.equal((await running.read("replay:broken", "tenant:acme")).state, "failed");
  assert.equal(pages(), 6, "five tries of one, one of the other");
});

test("one that comes further has its tries anew, and a process that dies counts as one", async (t) => {
  let failures = 0;
  const { database, replays, state } = await open(t, async ({ before }) => {
    // Every page fails four times before it is read.
    failures += 1;
    if (failures % 5 !== 0) throw new Error("the database is away");
    const at = Number(before.callId.slice(2));
    return { recorded: [], next: at >= 3 ? undefined : { callId: `d_${at + 1}`, part: 0 } };
  });
  await database.run(insert, ["replay:slow", JSON.stringify({ ...begun, before: { callId: "d_0", part: 0 } })]);
  await database.run(insert, ["replay:killed", JSON.stringify({ ...begun, tries: 5 })]);
  await using _running = replays();
  await until(async () => (await state("replay:slow"))?.state === "done");
  assert.equal((await state("replay:killed"))?.state, "failed");
  assert.equal(failures, 20);
});
