import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { statement, type Database } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { pdpModules, pdpWorld } from "#testing/pdp.ts";
import { createSealer, deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import { createResourceRef } from "#events/model/resource-ref.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { purgeRecords } from "./record-store.ts";
import { createDecisionIds } from "./decision-id.ts";
import { createDecisionLog } from "./decision-log.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";

const SINGLE = "/access/v1/evaluation";
const BATCH = "/access/v1/evaluations";
const calls = statement<{ call_id: string; tenant: string; subject: string; items: readonly Record<string, unknown>[] }>(
  "test.calls",
  "select call_id, tenant, subject, items from pdp.call order by call_id, part",
);
const factRows = statement<{ digest: string; facts: unknown; sealed: Uint8Array | null }>(
  "test.facts",
  "select digest, facts, sealed from pdp.facts",
);
const person = (login: string) => ({ type: "identity", id: `person:${login}`, properties: { tenant: "tenant:acme" } });
const view = (login: string, id: string) => ({ subject: person(login), action: { name: "view" }, resource: { type: "pages", id } });
const decide = async (response: Response): Promise<EvaluationReply> => (await response.json()) as EvaluationReply;

test("denials and acts are on record before the answer; a permit to view follows within 50 ms", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.serviceToken();
  const denied = await decide(await world.ask(SINGLE, token, view("dan", "people")));
  assert.deepEqual(
    (await world.database.run(calls)).map((row) => row.call_id),
    [denied.context?.decision_id],
  );
  const act = { subject: person("ben"), action: { name: "execute_quick" }, resource: { type: "workflows", id: "*" } };
  const permitted = await decide(await world.ask(SINGLE, token, act));
  assert.equal(permitted.decision, true);
  assert.equal((await world.database.run(calls)).length, 2);
  assert.equal((await decide(await world.ask(SINGLE, token, view("ben", "people")))).decision, true);
  for (let tries = 0; (await world.database.run(calls)).length < 3; tries++) {
    assert.ok(tries < 100, "the permit to view was never written");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

test("a call that cannot be recorded is refused with 503; permits to view are refused from the next one on", async (t) => {
  let broken = false;
  const world = await pdpWorld(t, { change: (inner) => (work) => (broken ? Promise.reject(new Error("down")) : inner(work)) });
  const token = await world.serviceToken();
  broken = true;
  const response = await world.ask(SINGLE, token, view("dan", "people"));
  assert.equal(response.status, 503);
  assert.equal(((await response.json()) as { code: string }).code, "decision_not_recorded");
  assert.notEqual(response.headers.get("retry-after"), null);
  assert.deepEqual(await world.service.ready(), ["records"]);
  assert.equal((await world.ask(SINGLE, token, view("ben", "people"))).status, 200);
  let status = 200;
  for (let tries = 0; status === 200 && tries < 50; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    status = (await world.ask(SINGLE, token, view("ben", "people"))).status;
  }
  assert.equal(status, 503);
  broken = false;
  assert.equal((await world.ask(SINGLE, token, view("dan", "people"))).status, 200);
});

test("a record holds what was decided and seen, but properties, claims and prices only as digests", async (t) => {
  const world = await pdpWorld(t);
  await world.ask(SINGLE, await world.serviceToken("crud"), {
    subject: person("ben"),
    action: { name: "update_salary" },
    resource: { type: "employee", id: "e7", properties: { note: "canary-property" } },
    context: { claimed: { salary: 987_654 }, ui: { app: "canary-ui" } },
  });
  const rows = await world.database.run(calls);
  const item = rows[0]?.items[0];
  assert.equal(item?.["decision"], false);
  assert.equal(item?.["reason"], "approval_required");
  assert.deepEqual(item?.["policies"], ["salary-limit"]);
  assert.equal(item?.["requestable"], true);
  const [facts] = await world.database.run(factRows);
  assert.equal(facts?.digest, item?.["facts"]);
  assert.match(JSON.stringify(facts?.facts), /group:people-ops/);
  for (const canary of ["canary-property", "987654", "canary-ui"]) {
    assert.ok(!JSON.stringify([rows, facts, world.entries]).includes(canary), canary);
  }
});

test("a secret is named nowhere in a record, its facts or its audit entry, but can be found again", async (t) => {
  const salt = Buffer.alloc(32, 7);
  const world = await pdpWorld(t, { parts: { resourceRef: createResourceRef({ salt, kid: "1" }) } });
  const token = await world.serviceToken("secrets");
  const uri = "yaml://secret/people/demo#canary_key";
  const reply = await decide(
    await world.ask(SINGLE, token, { subject: person("ben"), action: { name: "rotate" }, resource: { type: "secret", id: uri } }),
  );
  assert.equal(reply.decision, true);
  const rows = await world.database.run(calls);
  const facts = await world.database.run(factRows);
  for (const hidden of ["canary_key", "people/demo", "resource:acme.secret"]) {
    assert.ok(!JSON.stringify([rows, facts.map((row) => row.facts), world.entries]).includes(hidden), hidden);
  }
  assert.match(String(rows[0]?.items[0]?.["ref"]), /^hr1\.1\./);
  assert.equal(facts[0]?.facts, null);
  const other = await decide(
    await world.ask(SINGLE, token, {
      subject: person("ben"),
      action: { name: "rotate" },
      resource: { type: "secret", id: "yaml://secret/people/demo" },
    }),
  );
  const refs = (await world.database.run(calls)).map((row) => row.items[0]?.["ref"]);
  assert.notEqual(refs[0], refs[1]);
  assert.notEqual(other.context?.decision_id, undefined);
});

test("one batch over several subjects is kept by subject, with one numbering", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.serviceToken();
  await world.ask(BATCH, token, { evaluations: [view("ben", "people"), view("dan", "people"), view("ben", "operations")] });
  const rows = await world.database.run(calls);
  assert.deepEqual(
    rows.map((row) => [row.subject, row.items.map((item) => item["index"])]),
    [
      ["person:ben", [0, 2]],
      ["person:dan", [1]],
    ],
  );
  assert.equal(world.entries.filter((entry) => entry.category === "decision").length, 2);
});

test("each recorded call has an audit entry in the same transaction, with the digest of the record", async (t) => {
  const world = await pdpWorld(t);
  const reply = await decide(await world.ask(SINGLE, await world.serviceToken(), view("dan", "people"), { "x-correlation-id": "corr-1" }));
  const entry = world.entries.at(-1);
  assert.equal(entry?.category, "decision");
  assert.equal(entry?.outcome, "denied");
  assert.equal(entry?.code, "not_granted");
  assert.equal(entry?.decisionId, reply.context?.decision_id);
  assert.equal(entry?.correlationId, "corr-1");
  assert.equal(entry?.actor.subject, "person:dan");
  assert.match(String(entry?.data["record_digest"]), /^[0-9a-f]{64}$/);
});

forEachDatabase("the commit of a record waits for no statement of its own", pdpModules, async (t, inner) => {
  const waited: string[] = [];
  const database: Database = {
    ...inner,
    transaction: (work, options) =>
      inner.transaction(
        (sql) =>
          work({
            ...sql,
            run: (asked, values) => {
              if (!asked.name.startsWith("events.integrator")) waited.push(asked.name);
              return sql.run(asked, values);
            },
          }),
        options,
      ),
  };
  const world = await pdpWorld(t, { realAudit: true, database });
  const token = await world.serviceToken();
  const act = { subject: person("ben"), action: { name: "execute_quick" }, resource: { type: "workflows", id: "*" } };
  const ask = async (): Promise<readonly string[]> => {
    waited.length = 0;
    for (const asked of [view("dan", "people"), act]) assert.equal((await world.ask(SINGLE, token, asked)).status, 200);
    return [...waited];
  };
  assert.notDeepEqual(await ask(), [], "references are made");
  assert.deepEqual(await ask(), ["events.subject_find", "events.subject_find"], "and found");
  assert.deepEqual(await ask(), [], "facts, calls, audit rows and events go together, once the references are known");
  assert.equal((await inner.run(calls)).length, 6);
});

const secrets: InstanceSecrets = [Buffer.alloc(32, 1)];
const verdict = (subject: string, action: string, decision: boolean): Verdict => {
  const ask: Ask = {
    pep: "service:gateway",
    bound: "*",
    subject: { type: "identity", id: subject, tenant: "tenant:acme" },
    agents: [],
    action,
    resource: { type: "pages", id: "people" },
    assurance: {},
    vouched: { could: false, toolsScope: false, assigned: false, costMicro: 0, approval: false },
    props: {},
    claimed: {},
    ui: {},
    supported: "all",
  };
  const inputs = { mfa: false, approved: false, could: false, tools_scope: false, assigned: false, cost_micro: 0 };
  return { ask, decision, obligations: [], policies: [], errors: [], requestable: false, tenant: "tenant:acme", facts: undefined, inputs };
};

forEachDatabase("records are found, listed newest first by filters and pages, and dropped when old", pdpModules, async (_t, database) => {
  let now = new Date("2026-05-01T00:00:00Z");
  const nextId = createDecisionIds(() => now);
  const log = createDecisionLog({
    database,
    change: (work) => database.transaction(async (sql) => (await work(sql)).result),
    sealer: createSealer(secrets, "test"),
    digestKey: deriveKey(secrets[0], "test"),
    windowMs: 0,
    keepDays: 90,
    timeoutMs: 5000,
    metrics: createMetrics(),
    log: silentLog,
    now: () => now,
  });
  const ids: string[] = [];
  for (const [index, subject] of ["person:ben", "person:ben", "person:cleo", "person:ben"].entries()) {
    now = new Date(now.getTime() + 1000);
    const callId = nextId();
    ids.push(callId);
    await log.record({
      callId,
      batch: index === 3,
      decidedAt: now,
      pep: "service:gateway",
      fallbackTenant: "*",
      policyVersion: "v1",
      graphVersion: 7,
      latencyUs: 10,
      correlationId: `c${index}`,
      items: [0, 1]
        .slice(0, index === 3 ? 2 : 1)
        .map((at) => ({ index: at, verdict: verdict(subject, index === 1 ? "execute" : "view", at === 1) })),
    });
  }
  const list = async (more: Partial<Parameters<typeof log.list>[0]>) =>
    (await log.list({ tenant: "tenant:acme", limit: 10, ...more })).recorded.map((recorded) => recorded.decision_id);
  const [first = "", second = "", third = "", fourth = ""] = ids;
  assert.deepEqual(await list({}), [`${fourth}.1`, `${fourth}.0`, third, second, first]);
  assert.deepEqual(await list({ subject: "person:cleo" }), [third]);
  assert.deepEqual(await list({ action: "execute" }), [second]);
  assert.deepEqual(await list({ decision: true }), [`${fourth}.1`]);
  assert.deepEqual(await list({ correlationId: "c0" }), [first]);
  assert.deepEqual(await list({ from: "2026-05-01T00:00:03Z", to: "2026-05-01T00:00:04Z" }), [third]);
  assert.deepEqual(await list({ tenant: "tenant:globex" }), []);
  assert.deepEqual(await list({ limit: 2 }), [`${fourth}.1`, `${fourth}.0`]);
  assert.deepEqual(await list({ limit: 2, after: { callId: fourth, index: 0 } }), [third, second]);
  assert.deepEqual([...(await log.find([first, `${fourth}.1`, fourth, "d_nothing", "x"])).keys()], [first, `${fourth}.1`]);
  await log[Symbol.asyncDispose]();
  await purgeRecords(database, new Date("2026-05-01T00:00:03Z"));
  assert.deepEqual(
    (await database.run(calls)).map((row) => row.call_id),
    [third, fourth],
  );
});

test("the real recorder takes the entries of single calls, of large batches and of secrets", async (t) => {
  const world = await pdpWorld(t, { realAudit: true });
  const token = await world.serviceToken();
  const evaluations = Array.from({ length: 200 }, (_, index) => ({ resource: { type: "pages", id: `page-${index}-${"x".repeat(200)}` } }));
  assert.equal((await world.ask(BATCH, token, { subject: person("ben"), action: { name: "view" }, evaluations })).status, 200);
  assert.equal((await world.ask(SINGLE, token, view("dan", "y".repeat(1000)))).status, 200);
  const secret = { subject: person("dan"), action: { name: "read" }, resource: { type: "secret", id: "yaml://secret/a/b#c" } };
  assert.equal((await world.ask(SINGLE, token, secret)).status, 200);
  assert.equal((await world.database.run(calls)).length, 3);
});
