import fc from "fast-check";
import type { Facts } from "#contract/facts.ts";
import { pairs } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";

const groups = [
  "group:platform-admins",
  "group:people-ops",
  "group:analysts",
  "group:contractors",
  "group:globex-staff",
  "group:other",
  "role:platform",
  "role:administrator",
  "role:member",
  "role:operator",
];
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
  "system.find_tools",
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

/** Any question that could be put before Sallyport's policies, and many that never will. */
export const question: fc.Arbitrary<Question> = fc
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
