import assert from "node:assert/strict";
import { deriveKey, createSealer, type InstanceSecrets } from "#authn/sealing/seal.ts";
import type { Reason } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import type { Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { forEachDatabase } from "#testing/database.ts";
import { pdpModules } from "#testing/pdp.ts";
import { createDecisionIds } from "./decision-id.ts";
import { createDecisionLog } from "./decision-log.ts";
import type { ListFilter } from "./list-calls.ts";

const secrets: InstanceSecrets = [Buffer.alloc(32, 1)];
const start = Date.parse("2026-05-01T00:00:00Z");

const node = (id: string, name: string) => ({
  id,
  kind: "Person",
  name,
  tenant_ids: ["tenant:acme"],
  groups: [],
  disabled: false,
  mfa_level: null,
});

interface Made {
  readonly subject: readonly [id: string, name: string];
  readonly agent?: readonly [id: string, name: string];
  readonly action: string;
  readonly type: string;
  readonly id: string;
  readonly reason?: Reason;
  readonly tenant?: string;
}

const verdictOf = ({ subject, agent, action, type, id, reason, tenant = "tenant:acme" }: Made): Verdict => {
  const ask: Ask = {
    pep: "service:gateway",
    bound: "*",
    subject: { type: "identity", id: subject[0], tenant },
    agents: agent === undefined ? [] : [agent[0]],
    action,
    resource: { type, id },
    assurance: {},
    vouched: { could: false, toolsScope: false, assigned: false, costMicro: 0, approval: false },
    props: {},
    claimed: {},
    ui: {},
    supported: "all",
  };
  const facts: Facts = {
    subject: node(...subject),
    agent: agent === undefined ? null : { ...node(...agent), controllers: [], client_id: null },
    capability: false,
    chain: true,
    definition_ok: true,
    delegation: null,
    resource: null,
    edges: [],
  };
  return {
    ask,
    decision: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    obligations: [],
    policies: [],
    errors: [],
    requestable: false,
    tenant,
    facts,
    inputs: { mfa: false, approved: false, could: false, tools_scope: false, assigned: false, cost_micro: 0 },
  };
};

const ben = ["person:b7", "Ben Öztürk"] as const;
const cleo = ["person:c1", "Cleo Chen"] as const;
const helper = ["agent:x", "HR assistant"] as const;
const kept: readonly Made[] = [
  { subject: ben, action: "view", type: "pages", id: "people" },
  { subject: ben, agent: helper, action: "tools/call", type: "tool", id: "people.demo.get_employee", reason: "capability_missing" },
  { subject: cleo, action: "view", type: "pages", id: "operations", reason: "not_granted" },
  { subject: cleo, action: "tools/call", type: "tool", id: "people.demo.list_100%" },
  { subject: ["person:b7", "Ben of Globex"], action: "view", type: "pages", id: "people", tenant: "tenant:globex" },
];

/** A log with these decisions, a second after one another; named by their places. */
const keep = async (database: Database, all: readonly Made[]) => {
  let now = new Date(start);
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
  const places = new Map<string, number>();
  for (const [place, made] of all.entries()) {
    now = new Date(start + place * 1000);
    const callId = nextId();
    places.set(callId, place);
    await log.record({
      callId,
      batch: false,
      decidedAt: now,
      pep: "service:gateway",
      fallbackTenant: "*",
      policyVersion: "v1",
      graphVersion: 7,
      latencyUs: 10,
      correlationId: `c${place}`,
      items: [{ index: 0, verdict: verdictOf(made) }],
    });
  }
  const filter = (more: Partial<ListFilter>): ListFilter => ({ tenant: "tenant:acme", limit: 10, ...more });
  const page = async (more: Partial<ListFilter>) => {
    const { recorded, ...rest } = await log.list(filter(more));
    return { ...rest, found: recorded.map(({ call_id }) => places.get(call_id)) };
  };
  /** Every page of a list, one after the other. */
  const pages = async (more: Partial<ListFilter>) => {
    const found: (readonly (number | undefined)[])[] = [];
    let after: ListFilter["after"];
    do {
      const read = await page({ ...more, ...(after === undefined ? {} : { after }) });
      found.push(read.found);
      after = read.next;
      assert.ok(found.length < 20, "the list has no end");
    } while (after !== undefined);
    return found;
  };
  return {
    log,
    page,
    pages,
    values: async (of: Parameters<typeof log.values>[1], more: Partial<ListFilter> = {}) => log.values(filter(more), of),
  };
};

forEachDatabase("decisions are found by parts of ids and of names, in any case, within the tenant", pdpModules, async (_t, database) => {
  const { log, page } = await keep(database, kept);
  for (const [parts, found] of [
    [{ subject: "ben" }, [1, 0]],
    [{ subject: "BEN Ö" }, [1, 0]],
    [{ subject: "C1" }, [3, 2]],
    [{ subject: "globex" }, []],
    [{ agent: "hr assis" }, [1]],
    [{ agent: "person" }, []],
    [{ action: "CALL" }, [3, 1]],
    [{ type: "page" }, [2, 0]],
    [{ resource: "demo.get" }, [1]],
    [{ resource: "%" }, [3]],
    [{ resource: "_" }, [3, 1]],
    [{ subject: "cleo", action: "view" }, [2]],
  ] as const)
    assert.deepEqual((await page({ parts })).found, found, JSON.stringify(parts));
  assert.deepEqual((await page({ subject: ben[0], parts: { subject: "cleo" } })).found, [], "a part widens nothing");
  assert.deepEqual((await page({ tenant: "*", parts: { subject: "ben" } })).found, [4, 1, 0]);
  assert.deepEqual((await page({ resource: "people" })).found, [0], "and whole ids as they were");
  const { recorded } = await log.list({ tenant: "tenant:acme", limit: 1, agent: helper[0] });
  assert.deepEqual(recorded[0]?.names, { subject: ben[1], agent: helper[1] });
});

forEachDatabase("decisions are sorted by every column, either way, page by page", pdpModules, async (_t, database) => {
  const { pages } = await keep(database, kept);
  for (const [sort, ascending] of [
    ["time", [0, 1, 2, 3]],
    ["subject", [0, 1, 2, 3]],
    ["agent", [0, 2, 3, 1]],
    ["action", [1, 3, 0, 2]],
    ["resource", [2, 0, 1, 3]],
    ["decision", [1, 2, 0, 3]],
    ["reason", [0, 3, 1, 2]],
  ] as const)
    for (const limit of [1, 3, 10]) {
      assert.deepEqual((await pages({ sort, order: "asc", limit })).flat(), ascending, `${sort}, ${limit} a page`);
      assert.deepEqual((await pages({ sort, order: "desc", limit })).flat(), ascending.toReversed(), `${sort} downwards, ${limit} a page`);
    }
});

forEachDatabase("one answer looks through so many calls and says how far; the next one looks on", pdpModules, async (_t, database) => {
  const { page, pages } = await keep(
    database,
    Array.from({ length: 10 }, (_nothing, place): Made => ({
      subject: ben,
      action: "view",
      type: "pages",
      id: place === 1 ? "rare" : "people",
    })),
  );
  const rare = { parts: { resource: "rare" }, max: 4 } as const;
  const first = await page(rare);
  assert.deepEqual([first.found, first.searchedTo], [[], "2026-05-01T00:00:05.000Z"]);
  assert.deepEqual(await pages(rare), [[], [], [1]]);
  assert.deepEqual(await pages({ ...rare, order: "asc" }), [[1], [], []]);
  assert.deepEqual(await page({ ...rare, subject: ben[0] }), first, "by whichever index");
  assert.deepEqual(await pages({ max: 4 }), [
    [9, 8, 7, 6],
    [5, 4, 3, 2],
    [1, 0],
  ]);
  assert.deepEqual(await pages({ max: 4, limit: 3 }), [[9, 8, 7], [6, 5, 4], [3, 2, 1], [0]]);
  const sorted = await page({ max: 4, sort: "resource" });
  assert.deepEqual([sorted.found, sorted.next, sorted.searchedTo], [[9, 8, 7, 6], undefined, "2026-05-01T00:00:05.000Z"]);
  // What is asked of a time looks only there.
  const early = { from: "2026-05-01T00:00:01Z", to: "2026-05-01T00:00:03Z" };
  assert.deepEqual((await page({ ...early, sort: "subject" })).found, [2, 1]);
  assert.deepEqual((await page({ from: "9999-12-31T23:59:59Z" })).found, []);
  assert.deepEqual((await page({ to: "1969-12-31T23:59:59Z" })).found, []);
});

forEachDatabase("there is said what can be looked for: values that were seen, with their names", pdpModules, async (_t, database) => {
  const { values } = await keep(database, kept);
  assert.deepEqual(await values("subject"), [
    { value: cleo[0], name: cleo[1] },
    { value: ben[0], name: ben[1] },
  ]);
  assert.deepEqual(await values("subject", { parts: { subject: "öz" } }), [{ value: ben[0], name: ben[1] }]);
  assert.deepEqual(await values("agent"), [{ value: helper[0], name: helper[1] }]);
  assert.deepEqual(await values("action"), [{ value: "tools/call" }, { value: "view" }]);
  assert.deepEqual(await values("type", { parts: { type: "OO" } }), [{ value: "tool" }]);
  assert.deepEqual(await values("resource", { parts: { resource: "people" }, limit: 2 }), [
    { value: "people.demo.list_100%" },
    { value: "people.demo.get_employee" },
  ]);
  assert.deepEqual(await values("subject", { tenant: "tenant:globex" }), [{ value: "person:b7", name: "Ben of Globex" }]);
  assert.deepEqual(await values("subject", { subject: ben[0], parts: { subject: "cleo" } }), [], "of others nothing is told");
});
