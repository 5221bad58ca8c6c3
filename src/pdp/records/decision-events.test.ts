import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { statement } from "#store/database.ts";
import { pdpWorld, type PdpWorldOptions } from "#testing/pdp.ts";

interface Kept {
  readonly type: string;
  readonly tenant: string;
  readonly topic: string;
  readonly key: string;
  readonly subject: string | null;
  readonly sink: string;
  readonly lane: number;
  readonly data: Readonly<Record<string, unknown>>;
}
const kept = statement<Kept>(
  "test.kept_events",
  "select type, tenant, topic, key, subject, sink, lane, data from events.outbox where stream is null order by seq",
);
const everything = statement<{ readonly row: string }>("test.whole_outbox", "select o::text as row from events.outbox o");

const SECRET = "yaml://secret/people/canary-path";
const identity = (login: string) => ({ type: "identity", id: `person:${login}`, properties: { tenant: "tenant:acme" } });
const asked = {
  view: { subject: identity("ben"), action: { name: "view" }, resource: { type: "pages", id: "people" } },
  denial: { subject: identity("dan"), action: { name: "activate" }, resource: { type: "policies", id: "*" } },
  act: {
    subject: identity("ben"),
    action: { name: "update_salary" },
    resource: { type: "employee", id: "*" },
    context: { claimed: { salary: 141_421 } },
  },
  secret: { subject: identity("cleo"), action: { name: "read" }, resource: { type: "secret", id: SECRET } },
  /** Asked to draw a page. */
  shown: { subject: identity("dan"), action: { name: "start" }, resource: { type: "pages", id: "people" }, context: { showing: true } },
};

const decide = async (t: TestContext, events: "off" | "acts" | "all" | undefined, options: PdpWorldOptions = {}) => {
  const world = await pdpWorld(t, {
    realAudit: true,
    ...(events === undefined ? {} : { settings: { PDP_EVENTS: events } }),
    parts: { resourceRef: () => "rr1.reference" },
    ...options,
  });
  const token = await world.serviceToken();
  const evaluations = Object.values(asked);
  const batch = await world.ask("/access/v1/evaluations", token, { evaluations });
  await world.ask("/access/v1/evaluation", token, asked.view);
  return { world, batch };
};

test("denials and acts are told with their record, about a reference, and nothing else of them", async (t) => {
  const { world, batch } = await decide(t, undefined);
  const { evaluations } = (await batch.json()) as { evaluations: { context: { decision_id: string } }[] };
  const events = await world.database.run(kept);
  assert.deepEqual(
    events.map(({ data }) => data["decision_id"]),
    [2, 1, 3].map((index) => evaluations[index]?.context.decision_id),
    "by whom they are about",
  );
  const denial = events.find(({ data }) => data["resource_type"] === "policies");
  assert.deepEqual(
    [denial?.type, denial?.tenant, denial?.topic, denial?.sink],
    ["authz.decision", "tenant:acme", "authz.decisions.v1", "kafka"],
  );
  assert.match(denial?.key ?? "", /^sr1\./);
  assert.equal(denial?.subject, denial?.key);
  const { latency_ms: latency, graph_version: graph, policy_version: version, subject_ref: ref, ...rest } = denial?.data ?? {};
  assert.equal(ref, denial?.key);
  assert.equal(typeof latency, "number");
  assert.equal(typeof graph, "number");
  assert.match(String(version), /^v1\+/);
  assert.deepEqual(rest, {
    decision_id: evaluations[1]?.context.decision_id,
    resource_type: "policies",
    action: "activate",
    decision: false,
    reason: "not_granted",
    cached: false,
    batch_index: 1,
  });
  assert.equal(events.find(({ data }) => data["resource_type"] === "secret")?.data["resource_ref"], "rr1.reference");
  const whole = (await world.database.run(everything)).map(({ row }) => row).join("\n");
  for (const canary of ["person:", "canary-path", "141421"]) assert.ok(!whole.includes(canary), canary);
});

test("PDP_EVENTS says that every decision is told, or none", async (t) => {
  const { world } = await decide(t, "all");
  // The permit to view that was asked for alone may not be written yet.
  assert.equal((await world.database.run(kept)).filter(({ data }) => data["batch_index"] !== undefined).length, 5);
  const none = await decide(t, "off");
  assert.deepEqual(await none.world.database.run(kept), []);
});

test("a record that fails leaves no event behind", async (t) => {
  const { world, batch } = await decide(t, undefined, {
    change: (inner) => (work) =>
      inner(async (sql) => {
        const changed = await work(sql);
        // The record is written by now: the events come last.
        if (changed.entries?.some(({ category }) => category === "decision") === true)
          return { ...changed, events: [...(changed.events ?? []), { type: "NOT A TYPE", tenant: "x", key: "x", data: {} }] };
        return changed;
      }),
  });
  assert.equal(batch.status, 503);
  assert.deepEqual(await world.database.run(kept), []);
});
