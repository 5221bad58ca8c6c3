import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { idempotencyKey, REASON, nodeId, plainText, prose, timestamp } from "./ids.ts";
import { anyMembers } from "./json-members.ts";

/** Writing the identity graph: every kind of node and edge, each write one version of the change log. */

/** Why, for the log. */
export const reason = prose(REASON.least, REASON.max).optional();
/** Of what takes something away: asked with why, answered with nothing. */
export const removal = { query: z.strictObject({ reason }), reply: z.undefined(), status: 204 } as const;
const props = anyMembers;

const nodeMembers = {
  kind: plainText(1, 64),
  name: plainText(1, 256),
  display_name: plainText(1, 256).optional(),
  system: plainText(1, 64).optional(),
  state: plainText(1, 32).optional(),
  external_id: plainText(1, 1024).optional(),
  /** Of a tool, resource or prompt: digest of the definition in force. */
  digest: plainText(1, 128).optional(),
  props: props.prefault({}),
  /** `null`: shared by all tenants, which who runs the deployment alone writes. */
  tenant_id: z.null().optional(),
};
/** A node as it is sent; its tenant is the caller's. */
const nodeBody = z.strictObject({ ...nodeMembers, reason });
/** RFC 7396: members of props are merged at every depth, and null takes a member away; the kind stays. */
const nodePatch = z.strictObject({
  name: nodeMembers.name.optional(),
  display_name: nodeMembers.display_name.nullable(),
  system: nodeMembers.system.nullable(),
  state: nodeMembers.state,
  external_id: nodeMembers.external_id.nullable(),
  digest: nodeMembers.digest.nullable(),
  props: props.nullish(),
  reason,
});
export const sentNode = z.strictObject({ id: nodeId, ...nodeMembers });
export type SentNode = z.output<typeof sentNode>;

export const graphNode = z.object({
  id: z.string(),
  kind: z.string(),
  tenant_id: z.string().nullable(),
  name: z.string(),
  display_name: z.string().nullable(),
  system: z.string().nullable(),
  state: z.string(),
  external_id: z.string().nullable(),
  digest: z.string().nullable(),
  props,
});

const edgeMembers = {
  props: props.prefault({}),
  /** From then on the edge counts as absent. */
  expires_at: timestamp.optional(),
  /** Of a capability: digest of the definition that its owner approved; of a tool of a pinned service the one in force, unless given. */
  digest: plainText(1, 128).optional(),
};
export const sentEdge = z.strictObject({ kind: plainText(1, 64), src: nodeId, dst: nodeId, discr: nodeId.optional(), ...edgeMembers });
export type SentEdge = z.output<typeof sentEdge>;
const edgeKey = z.strictObject({ kind: plainText(1, 64), src: nodeId, dst: nodeId, discr: nodeId.optional() });

export const graphEdge = z.object({
  id: z.string(),
  kind: z.string(),
  src: z.string(),
  dst: z.string(),
  discr: z.string(),
  tenant_id: z.string().nullable(),
  digest: z.string().nullable(),
  props,
  expires_at: timestamp.nullable(),
});

const editing = withoutAgents({ scope: ["membership.write"], decision: "graph/edit" });
const rowProblems = ["not_found", "already_exists", "conflict", "unprocessable", "access_denied", "last_administrator"] as const;
const nodeProblems = [...rowProblems, "if_match_required", "stale_version"] as const;
const edgeProblems = [...rowProblems, "edge_not_allowed", "cross_tenant", "cycle", "stale_version"] as const;
const matching = { "If-Match": z.string().min(1).optional(), "If-None-Match": z.literal("*").optional() };
const node = z.object({ id: plainText(1, 1024) });
const ends = z.object({ kind: plainText(1, 64), src: plainText(1, 1024), dst: plainText(1, 1024) });
const editingNode = { params: node, reply: graphNode, ...editing, problems: nodeProblems };
const EDGE = "/api/v1/edges/{kind}/{src}/{dst}";

export const putGraphNode = endpoint("membership", "PUT", "/api/v1/nodes/{id}", {
  ...editingNode,
  headers: matching,
  body: nodeBody,
  moreStatuses: [201],
  summary: "Write a node, all of it. Needs If-Match, or If-None-Match: * for a new one.",
});

export const patchGraphNode = endpoint("membership", "PATCH", "/api/v1/nodes/{id}", {
  ...editingNode,
  headers: { "If-Match": z.string().min(1) },
  body: nodePatch,
  summary: "Change members of a node (merge patch). Needs If-Match.",
});

export const deleteGraphNode = endpoint("membership", "DELETE", "/api/v1/nodes/{id}", {
  params: node,
  headers: { "If-Match": z.string().min(1) },
  ...removal,
  query: z.strictObject({ cascade: z.enum(["true", "false"]).default("false"), reason }),
  ...editing,
  problems: [...nodeProblems, "has_edges", "edge_not_allowed", "last_controller"],
  summary: "Take a node away, with its edges where cascade=true. Needs If-Match.",
});

export const getGraphEdge = endpoint("membership", "GET", EDGE, {
  params: ends,
  query: z.strictObject({ discr: nodeId.optional() }),
  reply: graphEdge,
  ...withoutAgents({ scope: ["membership.read"], decision: "graph/diagnose" }),
  problems: ["not_found"],
  summary: "The edge between two nodes, with its ETag.",
});

export const putGraphEdge = endpoint("membership", "PUT", EDGE, {
  params: ends,
  headers: matching,
  query: z.strictObject({ discr: nodeId.optional() }),
  body: z.strictObject({ ...edgeMembers, reason }),
  reply: graphEdge,
  moreStatuses: [201],
  ...editing,
  problems: edgeProblems,
  summary: "Write an edge of any kind but DELEGATES_TO; expires_at is its end. If-Match is honoured.",
});

export const deleteGraphEdge = endpoint("membership", "DELETE", EDGE, {
  params: ends,
  headers: { "If-Match": z.string().min(1).optional() },
  ...removal,
  query: z.strictObject({ discr: nodeId.optional(), reason }),
  ...editing,
  problems: [...edgeProblems, "last_controller"],
  summary: "Take an edge away. If-Match is honoured.",
});

export const changeGraph = endpoint("membership", "POST", "/api/v1/graph/changes", {
  headers: { "Idempotency-Key": idempotencyKey },
  body: z.strictObject({
    changes: z
      .array(
        z.union([
          z.strictObject({ op: z.literal("put_node"), node: sentNode }),
          z.strictObject({ op: z.literal("drop_node"), id: nodeId, cascade: z.boolean().default(false) }),
          z.strictObject({ op: z.literal("put_edge"), edge: sentEdge }),
          z.strictObject({ op: z.literal("drop_edge"), edge: edgeKey }),
        ]),
      )
      .min(1)
      .max(1000),
    reason: prose(REASON.least, REASON.max),
    dry_run: z.boolean().default(false),
  }),
  maxMembers: 100_000,
  reply: z.object({ graph_version: z.number().int(), written: z.number().int(), dry_run: z.boolean() }),
  ...editing,
  problems: [...edgeProblems, "has_edges", "last_controller", "idempotency_key_required", "idempotency_conflict", "in_progress"],
  summary: "Up to 1,000 writes in their order, all or nothing, as one version. Needs Idempotency-Key.",
});
