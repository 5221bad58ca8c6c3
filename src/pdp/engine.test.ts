import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Facts } from "#contract/facts.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { inspectBundle, readBundle } from "./bundle/bundle.ts";
import { readPolicyFolder } from "./bundle/policy-files.ts";
import { pathsAbove } from "./cedar-request.ts";
import { createEngine } from "./engine.ts";
import { pairs } from "./pairs.ts";
import type { Question } from "./question.ts";
import { ruleOn } from "./ruling.ts";

const files = await readPolicyFolder(policyFolder);
const bundle = readBundle(files);
const engine = createEngine(bundle);

const groups = ["group:platform-admins", "group:people-ops", "group:analysts", "group:contractors", "group:globex-staff", "group:other"];
const tenants = ["tenant:acme", "tenant:globex"];
const ids = ["person:ben", "person:ada", "agent:x", "service:crud"];
const kindOf: Readonly<Record<string, string>> = {
  "person:ben": "Person",
  "person:ada": "Person",
  "agent:x": "AIAgent",
  "service:crud": "Service",
};
const resourceIds = [
  "system.health",
  "people.demo.update_salary",
  "sallyport.local.search_identities",
  "yaml://secret/people/demo",
  "yaml://secret/x",
  "people:grid:a",
  "acme.hello:Card",
  "*",
];

const subject = fc.record({
  id: fc.constantFrom(...ids),
  tenant_ids: fc.subarray(tenants),
  groups: fc.subarray(groups),
  disabled: fc.boolean(),
  mfa_level: fc.constantFrom(null, "none", "strong"),
});
const resource = fc.option(
  fc.record({
    node_id: fc.constantFrom("resource:1", "person:ben"),
    kind: fc.constantFrom("Resource", "Tool", "AIAgent"),
    name: fc.constant("r"),
    tenant_ids: fc.subarray(tenants),
    owners: fc.subarray(["person:ben", "group:analysts", "person:ada"]),
    granted: fc.boolean(),
    attributes: fc.record(
      {
        state: fc.constantFrom("active", "approved", "quarantined"),
        mfa: fc.boolean(),
        restricted: fc.boolean(),
        controller_ids: fc.subarray(["person:ben", "group:analysts"]),
        delegator_id: fc.constantFrom("person:ben", "person:ada"),
      },
      { requiredKeys: [] },
    ),
  }),
  { nil: null },
);
const delegation = fc.option(
  fc.record({
    id: fc.constant("delegation:1"),
    status: fc.constantFrom("active" as const, "paused" as const, "revoked" as const),
    active: fc.boolean(),
    steps_left: fc.integer({ min: -1, max: 3 }),
    budget_left_micro_usd: fc.integer({ min: 0, max: 20 }),
    expires_at: fc.constant(null),
  }),
  { nil: null },
);

const question: fc.Arbitrary<Question> = fc
  .record({
    pair: fc.constantFrom(...pairs),
    resourceId: fc.constantFrom(...resourceIds),
    tenant: fc.constantFrom(...tenants),
    who: subject,
    agent: fc.option(subject, { nil: null }),
    resource,
    delegation,
    flags: fc.record({ capability: fc.boolean(), chain: fc.boolean(), definition_ok: fc.boolean() }),
    inputs: fc.record({
      mfa: fc.boolean(),
      approved: fc.boolean(),
      could: fc.boolean(),
      tools_scope: fc.boolean(),
      assigned: fc.boolean(),
      cost_micro: fc.integer({ min: 0, max: 30 }),
    }),
    tool: fc.option(
      fc.record({ id: fc.constant("people.demo.x"), system: fc.constantFrom("people.demo", "memory.demo"), permitted: fc.boolean() }),
      {
        nil: undefined,
      },
    ),
    props: fc.record({ kind: fc.constantFrom("approval", "form") }, { requiredKeys: [] }),
    claimed: fc.record({ salary: fc.integer({ min: 149_999, max: 150_001 }) }, { requiredKeys: [] }),
  })
  .map(({ who, agent, flags, inputs, tool, ...rest }): Question => {
    const facts: Facts = {
      subject: { ...who, kind: kindOf[who.id] ?? "Person", name: who.id },
      agent: agent === null ? null : { ...agent, id: "agent:x", kind: "AIAgent", name: "x", controllers: [], client_id: null },
      ...flags,
      delegation: rest.delegation,
      resource: rest.resource,
      edges: [],
    };
    return {
      pair: rest.pair,
      resourceId: rest.resourceId,
      tenant: rest.tenant,
      ...(agent === null ? {} : { agentId: "agent:x" }),
      facts: facts as Question["facts"],
      inputs: { ...inputs, ...(tool === undefined ? {} : { tool }) },
      props: rest.props,
      claimed: rest.claimed,
      ui: {},
    };
  });

test("the policies of one action with the parents they name decide as all policies with everything", () => {
  const whole = createEngine(bundle, "whole");
  fc.assert(
    fc.property(question, (asked) => {
      assert.deepEqual(engine.judge(asked), whole.judge(asked));
    }),
    { numRuns: 400 },
  );
});

test("no permit crosses a tenant, whoever asks and however", () => {
  fc.assert(
    fc.property(question, (asked) => {
      const foreign = asked.facts.resource?.tenant_ids.length === 1 && !asked.facts.resource.tenant_ids.includes(asked.tenant);
      fc.pre(asked.pair.of !== "all" && foreign && asked.resourceId !== "system.health");
      assert.equal(engine.judge(asked).permit, false);
    }),
    { numRuns: 300 },
  );
});

test("nothing is permitted to a disabled subject, nor through a disabled agent", () => {
  fc.assert(
    fc.property(question, (asked) => {
      fc.pre(asked.facts.subject.disabled || asked.facts.agent?.disabled === true);
      assert.equal(engine.judge(asked).permit, false);
    }),
    { numRuns: 300 },
  );
});

test("what the subject claims of itself opens nothing but what a forbid closes by it", () => {
  const claims = fc.dictionary(
    fc.constantFrom("owner", "owners", "granted", "tenant", "groups", "kind", "mfa", "approved", "assigned", "salary"),
    fc.constantFrom(true, "person:ben", 1, "tenant:acme", ["group:platform-admins"], { id: "x" }),
  );
  fc.assert(
    fc.property(question, claims, (asked, claimed) => {
      fc.pre(asked.pair.key !== "employee:update_salary");
      assert.deepEqual(engine.judge({ ...asked, claimed }), engine.judge({ ...asked, claimed: {} }));
    }),
    { numRuns: 300 },
  );
});

test("more assurance, approval and limits never permit less, so a list never shows what no call can reach", () => {
  fc.assert(
    fc.property(question, (asked) => {
      fc.pre(engine.judge(asked).permit);
      assert.equal(engine.judge({ ...asked, inputs: { ...asked.inputs, mfa: true, approved: true, could: true } }).permit, true);
    }),
    { numRuns: 400 },
  );
});

test("a denial called step-up or approval is lifted by exactly that", () => {
  fc.assert(
    fc.property(question, (asked) => {
      const ruling = ruleOn(engine, asked);
      assert.equal(ruling.permit, ruling.reason === undefined);
      if (ruling.requestable) assert.equal(engine.judge({ ...asked, inputs: { ...asked.inputs, approved: true } }).permit, true);
      if (ruling.reason === "step_up_required") {
        assert.equal(engine.judge({ ...asked, inputs: { ...asked.inputs, mfa: true, approved: true } }).permit, true);
        assert.deepEqual(ruling.obligations, ["mfa"]);
      }
    }),
    { numRuns: 400 },
  );
});

test("a policy that fails to evaluate makes a denial, though Cedar itself would skip it and permit", () => {
  const failing = `@id("overflow") @description("x") forbid (principal, action == Action::"pages:view_all", resource)
    when { context has delegation && context.delegation.steps_left * 9223372036854775807 > 0 };`;
  // Lint would not let it decide; what slips through is still no permit.
  const added = inspectBundle({ ...files, "extra.cedar": failing }).bundle;
  assert.ok(added);
  const asked = fc.sample(question, 1)[0];
  assert.ok(asked);
  const base: Question = {
    ...asked,
    pair: pairs.find((pair) => pair.key === "pages:view_all") ?? asked.pair,
    tenant: "tenant:acme",
    facts: {
      ...asked.facts,
      subject: { ...asked.facts.subject, id: "person:ben", kind: "Person", disabled: false, groups: ["group:analysts"] },
      agent: null,
      resource: null,
      delegation: { id: "d", status: "active", active: true, steps_left: 2, budget_left_micro_usd: 0, expires_at: null },
    },
    inputs: { ...asked.inputs, could: false },
  };
  const { agentId: _agent, ...direct } = base;
  assert.equal(engine.judge(direct).permit, true);
  const judged = createEngine(added).judge(direct);
  assert.deepEqual(judged.errors, ["overflow"]);
  assert.equal(judged.permit, false);
  assert.equal(ruleOn(createEngine(added), direct).reason, "forbidden");
});

test("the paths above a secret end at its mount", () => {
  assert.deepEqual(pathsAbove("yaml://secret/people/demo"), ["yaml://secret/people", "yaml://secret"]);
  assert.deepEqual(pathsAbove("yaml://secret"), []);
});
