import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { searchText } from "./fold-text.ts";
import { cursorPage, nodeId, plainText, queryInteger, queryIntegerOr, sentId, skipPage, timestamp, usd } from "./ids.ts";

/** The policy information point, identity search and the graph's questions. */

export const graphVersionText = z.string().regex(/^[0-9]{1,18}$/, "must be a version");
/** No answer from before a version. */
export const minVersion = { "X-Graph-Min-Version": graphVersionText.optional() };

const PIP = "/api/v1/pip/membership";
const pip = {
  auth: "bearer" as const,
  scope: ["pip.read", "membership.read"],
  headers: { ...minVersion, "If-None-Match": z.string().optional() },
  moreStatuses: [304],
  problems: ["access_denied", "graph_behind", "graph_unavailable", "too_many", "unprocessable"] as const,
};

export const delegationStatus = z.enum(["active", "paused", "revoked", "expired"]);

export const capabilities = endpoint("membership", "GET", `${PIP}/capabilities`, {
  query: z.strictObject({ user_id: nodeId, agent_id: nodeId.optional() }),
  reply: z.object({ capabilities: z.array(z.string()) }),
  ...pip,
  agents: "own",
  summary: "Tool ids reachable from a user through an active delegation and the agent's capabilities.",
});

export const pipDelegations = endpoint("membership", "GET", `${PIP}/delegations`, {
  query: z.strictObject({
    user_id: nodeId,
    agent_id: nodeId.optional(),
    status: delegationStatus.optional(),
    limit: queryIntegerOr(50, 1, 500),
    offset: queryIntegerOr(0, 0),
  }),
  reply: z.array(
    z.object({
      delegation_id: z.string(),
      status: delegationStatus,
      max_steps: z.number().int(),
      budget_usd: usd,
      expires_at: timestamp.nullable(),
    }),
  ),
  ...pip,
  agents: "own",
  summary: "Delegations of a user.",
});

export const columnMask = z.record(z.string(), z.string());
export const dataScopeReply = z.object({ tenant_ids: z.array(z.string()), row_filter_sql: z.string(), column_mask: columnMask });

export const dataScope = endpoint("membership", "GET", `${PIP}/data-scope`, {
  query: z.strictObject({ subject_id: nodeId, resource_type: plainText(1, 64) }),
  reply: dataScopeReply,
  ...pip,
  agents: "never",
  summary: "Which rows and columns a subject may see.",
});

export const stepUp = endpoint("membership", "GET", `${PIP}/step-up`, {
  query: z.strictObject({ subject_id: nodeId }),
  reply: z.object({ mfa_required: z.boolean(), level: z.string() }),
  ...pip,
  agents: "never",
  summary: "Whether a subject must sign in more strongly.",
});

/** What a token may be for. */
export const audience = z.object({ audience: z.string(), scopes: z.array(z.string()) });

export const chainEligibility = endpoint("membership", "GET", `${PIP}/chain-eligibility`, {
  query: z.strictObject({ user_id: nodeId, agent_id: nodeId, tool_id: plainText(1, 200) }),
  reply: z.array(audience),
  ...pip,
  agents: "own",
  summary: "Audiences and scopes that a delegated tool may reach.",
});

// ---- identity nodes ----

const NODES = "/api/v1/identity_nodes";

export const relationshipCounts = z.object({ out: z.record(z.string(), z.number()), in: z.record(z.string(), z.number()) });

export const identityNode = z.object({
  id: z.string(),
  name: z.string(),
  node_type: z.string(),
  labels: z.array(z.string()),
  display_name: z.string().optional(),
  system: z.string().optional(),
  state: z.string(),
  tenant_id: z.string().nullable(),
  external_id: z.string().optional(),
  properties: z.record(z.string(), z.unknown()),
  created_at: timestamp,
  updated_at: timestamp,
  relationships: relationshipCounts,
});
export type IdentityNode = z.infer<typeof identityNode>;

const filters = {
  node_type: plainText(1, 64).optional(),
  search: searchText.optional(),
  system: plainText(1, 64).optional(),
};
const paged = { total: z.number(), limit: z.number(), skip: z.number(), has_more: z.boolean() };

const nodeShape = {
  ...withoutAgents({ scope: ["membership.read"], decision: "identities/view_all" }),
  problems: ["not_supported"] as const,
};
const searchShape = { ...nodeShape, problems: ["not_supported", "narrow_the_search", "busy"] as const };

export const searchNodes = endpoint("membership", "GET", `${NODES}/search`, {
  query: z.strictObject({ ...filters, ...skipPage }),
  reply: z.array(identityNode),
  ...searchShape,
  summary: "Identity nodes by kind, system and a substring.",
});

export const searchNodesWithMetadata = endpoint("membership", "GET", `${NODES}/search/with-metadata`, {
  query: z.strictObject({ ...filters, ...skipPage, use_fulltext: z.enum(["true", "false"]).optional() }),
  reply: z.object({
    nodes: z.array(identityNode),
    ...paged,
    relationships: relationshipCounts,
  }),
  ...searchShape,
  summary: "The same with total, has_more and the page's relationship sums.",
});

export const fulltextSearch = endpoint("membership", "GET", `${NODES}/fulltext-search`, {
  query: z.strictObject({ q: searchText, node_type: filters.node_type, system: filters.system, ...skipPage }),
  reply: z.object({
    nodes: z.array(identityNode.extend({ score: z.number() })),
    ...paged,
  }),
  ...searchShape,
  summary: "Identity nodes that have all words, typing errors forgiven, best first.",
});

export const countNodes = endpoint("membership", "GET", `${NODES}/count`, {
  query: z.strictObject(filters),
  reply: z.object({ count: z.number() }),
  ...searchShape,
  summary: "How many nodes fit the filters.",
});

export const listSystems = endpoint("membership", "GET", `${NODES}/systems`, {
  reply: z.object({ systems: z.array(z.string()) }),
  ...searchShape,
  summary: "Source systems of the visible nodes.",
});

export const nodeTypeStats = endpoint("membership", "GET", `${NODES}/stats/types`, {
  reply: z.object({ total: z.number(), types: z.record(z.string(), z.number()) }),
  ...nodeShape,
  summary: "How many nodes of each kind.",
});

const ofNode = {
  params: z.object({ node_id: sentId }),
  ...withoutAgents({ scope: ["membership.read"], decision: "identities/view" }),
  problems: ["not_found"] as const,
};

export const getNode = endpoint("membership", "GET", `${NODES}/{node_id}`, {
  ...ofNode,
  reply: identityNode,
  summary: "One node.",
});

export const getRelationships = endpoint("membership", "GET", `${NODES}/{node_id}/relationships`, {
  ...ofNode,
  query: z.strictObject({ type: plainText(1, 64).optional(), direction: z.enum(["in", "out", "both"]).default("both"), ...skipPage }),
  reply: z.object({
    node_id: z.string(),
    relationships: z.array(
      z.object({
        edge_id: z.string(),
        type: z.string(),
        direction: z.enum(["in", "out"]),
        node: z.object({ id: z.string(), name: z.string(), node_type: z.string(), state: z.string() }),
        properties: z.record(z.string(), z.unknown()),
      }),
    ),
    ...paged,
  }),
  summary: "A node's edges and the nodes at their other ends.",
});

export const shortestPath = endpoint("membership", "GET", "/api/v1/shortest-path", {
  query: z.strictObject({
    from: nodeId,
    to: nodeId,
    max_hops: queryIntegerOr(6, 1, 8),
    /** Comma list of edge kinds; absent = all. */
    types: plainText(1, 500).optional(),
    directed: z.enum(["true", "false"]).optional(),
  }),
  reply: z.object({
    found: z.boolean(),
    length: z.number(),
    nodes: z.array(z.object({ id: z.string(), name: z.string(), node_type: z.string(), state: z.string() })),
    edges: z.array(z.object({ id: z.string(), kind: z.string(), from: z.string(), to: z.string() })),
    explored: z.number(),
    truncated: z.boolean(),
  }),
  ...withoutAgents({ scope: ["membership.read"], decision: "graph/diagnose" }),
  problems: ["not_found"],
  summary: "The shortest path between two nodes.",
});

export const graphVersion = endpoint("membership", "GET", "/api/v1/graph/version", {
  reply: z.object({ version: z.number().int(), at: timestamp }),
  ...withoutAgents({ scope: ["membership.read", "pip.read"] }),
  summary: "The graph's version.",
});

export const graphChangeOp = z.object({
  op: z.enum(["put_node", "drop_node", "put_edge", "drop_edge"]),
  subject: z.string(),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
});

export const listGraphChanges = endpoint("membership", "GET", "/api/v1/graph/changes", {
  query: z.strictObject({
    since: queryInteger(0).optional(),
    until: queryInteger(0).optional(),
    node_id: nodeId.optional(),
    actor: plainText(1, 200).optional(),
    source: z.enum(["api", "import", "sync", "sweeper", "discovery", "demo", "undo"]).optional(),
    ...cursorPage,
  }),
  reply: z.object({
    items: z.array(
      z.object({
        version: z.number().int(),
        at: timestamp,
        actor: z.string(),
        agent: z.string().optional(),
        source: z.string(),
        reason: z.string().optional(),
        correlation_id: z.string(),
        tenant_id: z.string().nullable(),
        ops: z.array(graphChangeOp),
      }),
    ),
    next_cursor: z.string().optional(),
  }),
  ...withoutAgents({ scope: ["membership.read"], decision: "graph/diagnose" }),
  problems: ["invalid_cursor", "too_old"],
  summary: "The graph's change log, oldest first; a version of many rows goes on in the next page.",
});

export const membershipHealth = endpoint("membership", "GET", "/api/v1/health", {
  reply: z.looseObject({ status: z.string(), graph_version: z.number().int(), version: z.string() }),
  auth: "none",
  summary: "Whether the graph answers.",
});
