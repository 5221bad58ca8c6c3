import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { sentEdge, sentNode } from "./graph-edit.ts";
import { idempotencyKey, nodeId, plainText, prose } from "./ids.ts";

/** Filling the graph from a file, and writing it to one: NDJSON, or CSV of nodes or of edges. */

/** One line of NDJSON. */
export const importLine = z.union([
  // Without a tenant: the writer's own. Sallyport alone names others, and null for what is shared.
  z.strictObject({ node: sentNode.extend({ tenant_id: nodeId.nullable().optional() }) }),
  z.strictObject({ edge: sentEdge }),
  z.strictObject({
    drop: z.union([
      z.strictObject({ node: nodeId, cascade: z.boolean().default(false) }),
      z.strictObject({ edge: sentEdge.pick({ kind: true, src: true, dst: true, discr: true }) }),
    ]),
  }),
  /** The last line of an export: what came before it, so that a file that was cut is seen. */
  z.strictObject({
    end: z.strictObject({ nodes: z.number().int(), edges: z.number().int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  }),
]);
export type ImportLine = z.output<typeof importLine>;

export const onConflict = z.enum(["upsert", "skip", "fail"]);
const format = z.enum(["ndjson", "csv"]).default("ndjson");
const csv = z.enum(["nodes", "edges"]).optional();

export const importGraph = endpoint("membership", "POST", "/api/v1/imports", {
  headers: { "Idempotency-Key": idempotencyKey },
  query: z.strictObject({
    format,
    /** What the rows of a CSV are. */
    csv,
    on_conflict: onConflict.default("upsert"),
    dry_run: z.enum(["true", "false"]).default("false"),
    reason: prose(3, 500),
  }),
  textBody: ["application/x-ndjson", "text/csv"],
  reply: z.object({
    lines: z.number().int(),
    written: z.number().int(),
    same: z.number().int(),
    dropped: z.number().int(),
    graph_version: z.number().int(),
    dry_run: z.boolean(),
  }),
  ...withoutAgents({ scope: ["membership.write"], decision: "graph/edit" }),
  problems: [
    "last_administrator",
    "not_found",
    "already_exists",
    "conflict",
    "cycle",
    "cross_tenant",
    "edge_not_allowed",
    "has_edges",
    "last_controller",
    "invalid_body",
    "unknown_member",
    "duplicate_member",
    "import_refused",
    "idempotency_key_required",
    "idempotency_conflict",
    "in_progress",
  ],
  summary: "Write a whole file of nodes and edges as one version, or nothing of it. Needs Idempotency-Key.",
});

export const exportGraph = endpoint("membership", "GET", "/api/v1/export", {
  query: z.strictObject({
    format,
    csv,
    /** Comma list of kinds of nodes and edges; absent = all. */
    kinds: plainText(1, 1000).optional(),
  }),
  reply: z.unknown(),
  moreMedia: ["application/x-ndjson", "text/csv"],
  ...withoutAgents({ scope: ["membership.export"], decision: "graph/export" }),
  problems: ["graph_busy"],
  summary: "The tenant's nodes and edges at one version, in the order of ids; importing it gives the same.",
});
