import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText } from "./ids.ts";
import { anyMembers } from "./json-members.ts";
import { audience, minVersion } from "./membership.ts";

/** What the decision point wants to know of the graph: one bounded question, one snapshot. */

/** Kinds of nodes that can act or be acted for: a subject is of one of them. */
export const identityKinds = ["Person", "Account", "AIAgent", "Service", "MCPService"] as const;

export const factAsk = z.object({
  subject_id: plainText(1, 256),
  /** The type by which the subject was named, where it was not `identity`; for sources that know several. */
  subject_type: plainText(1, 128).optional(),
  /** The agent chain, outermost first; facts of a chain are the intersection over its hops. */
  agent_ids: z.array(plainText(1, 256)).max(8).optional(),
  action: plainText(1, 128),
  /** `external_id: "*"` asks about the type itself. */
  resource: z.object({ type: plainText(1, 128), external_id: plainText(1, 1024) }),
  /** Pins the delegation, if the pipeline already chose one. */
  delegation_id: plainText(0, 256).optional(),
  /** The decision's tenant: picks among resources of the same name in several tenants (a shared one when it has none). */
  tenant_id: plainText(0, 256).optional(),
});
export type FactAsk = z.infer<typeof factAsk>;

export const factSubject = z.object({
  id: z.string(),
  kind: z.string(),
  name: z.string(),
  tenant_ids: z.array(z.string()),
  /** All active groups and roles (`role:..`) reached, nested ones included. */
  groups: z.array(z.string()),
  disabled: z.boolean(),
  mfa_level: z.string().nullable(),
  /** What policies with a schema of their own may ask of it; Sallyport's own ask nothing more. */
  attributes: z.record(z.string(), z.unknown()).optional(),
});

export const factDelegation = z.object({
  id: z.string(),
  status: z.enum(["active", "paused", "revoked", "expired"]),
  active: z.boolean(),
  steps_left: z.number().int(),
  /** Integer micro-USD. */
  budget_left_micro_usd: z.number().int(),
  expires_at: z.string().nullable(),
  /** The tool is in this delegation's own list (or the list is open), whether or not the delegation is live. */
  covers: z.boolean().optional(),
});

export const factResource = z.object({
  node_id: z.string(),
  kind: z.string(),
  name: z.string(),
  /** Empty = shared. */
  tenant_ids: z.array(z.string()),
  owners: z.array(z.string()),
  /** True: GRANTS_ACCESS reaches it from the subject, its accounts or groups, for this action. */
  granted: z.boolean(),
  /**
   * What policies may ask of it: `state`; of a tool `mfa` (true: needs a fresh strong sign-in), `requires` (apps); of a page
   * widget `restricted`; of an agent `controller_ids`; of a delegation `delegator_id`, `agent_id`.
   */
  attributes: z.record(z.string(), z.unknown()),
});

export const factEdge = z.object({ kind: z.string(), from: z.string(), to: z.string(), id: z.string().optional(), present: z.boolean() });

export const facts = z.object({
  subject: factSubject.nullable(),
  agent: factSubject.extend({ controllers: z.array(z.string()), client_id: z.string().nullable() }).nullable(),
  /** The tool is reachable through a live delegation and HAS_CAPABILITY on every hop. */
  capability: z.boolean(),
  /** The tool needs no app, or every app it REQUIRES is active and eligible. */
  chain: z.boolean(),
  /** Digest of the definition approved for the capability equals the tool's present one (true when none is pinned). */
  definition_ok: z.boolean(),
  data_scope: z
    .object({ tenant_ids: z.array(z.string()), row_filter_sql: z.string(), column_mask: z.record(z.string(), z.string()) })
    .optional(),
  delegation: factDelegation.nullable(),
  resource: factResource.nullable(),
  /** The edges walked, and with `present: false` the one that would have been needed: absent, or (with its id) there but without effect. */
  edges: z.array(factEdge),
});
export type Facts = z.infer<typeof facts>;
export type FactEdge = z.infer<typeof factEdge>;

export const askFacts = endpoint("membership", "POST", "/api/v1/pip/membership/facts", {
  headers: minVersion,
  body: z.strictObject({ asks: z.array(factAsk).min(1).max(1000) }),
  reply: z.object({ graph_version: z.number().int(), facts: z.array(facts) }),
  ...withoutAgents({ scope: ["pip.read"] }),
  problems: ["graph_behind", "graph_unavailable", "too_many", "unprocessable"],
  summary: "Facts for decisions, of one snapshot of the graph.",
});

/** What could be the answer to a search: who could ask, or what could be asked about. */
export const candidateAsk = z.strictObject({
  of: z.enum(["subject", "resource"]),
  /** Type of the searched entity: `identity`, or a resource type. */
  type: plainText(1, 128),
  /** The action that is searched for: some resource types are other things for other actions. */
  action: plainText(1, 128),
  /** Only what belongs to this tenant or is shared. */
  tenant_id: plainText(0, 256).optional(),
  /** Only ids behind this one, in byte order. */
  after: plainText(0, 1024).optional(),
  limit: z.number().int().min(1).max(2000),
});
export type CandidateAsk = z.infer<typeof candidateAsk>;

export const listCandidates = endpoint("membership", "POST", "/api/v1/pip/membership/candidates", {
  headers: minVersion,
  body: candidateAsk,
  reply: z.object({ ids: z.array(z.string()) }),
  ...withoutAgents({ scope: ["pip.read"] }),
  problems: ["graph_behind", "graph_unavailable", "unprocessable"],
  summary: "Ids that a search of the decision point has to look at, in byte order.",
});

const edge = z.object({ kind: z.string(), from: plainText(1, 256), to: plainText(1, 256) });

/** The same questions to the graph as it would be after a change; nothing is written. */
export const askFactsIf = endpoint("membership", "POST", "/api/v1/pip/membership/facts-if", {
  headers: minVersion,
  body: z.strictObject({
    asks: z.array(factAsk).max(1000),
    /** Nodes of other tenants are not there. */
    tenant_id: plainText(1, 256),
    add: z.array(edge.extend({ props: anyMembers.optional() })).max(50),
    remove: z.array(edge).max(50),
    /** Also what these reach, before and after. */
    reach: z.object({ subject_id: plainText(1, 256), agent_id: plainText(1, 256).optional() }).optional(),
  }),
  reply: z.object({
    graph_version: z.number().int(),
    facts: z.array(facts),
    /** Things that grants, ownership or delegations lead to, before or after. */
    reached: z.array(z.object({ type: z.string(), external_id: z.string() })),
    audiences: z.object({ before: z.array(audience), after: z.array(audience) }),
  }),
  ...withoutAgents({ scope: ["pip.read"] }),
  problems: ["graph_behind", "graph_unavailable", "too_many", "unprocessable", "edge_not_allowed", "cycle", "cross_tenant"],
  summary: "Facts as they would be after edges were added or removed.",
});
