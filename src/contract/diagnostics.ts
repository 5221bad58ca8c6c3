import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { nodeId, pageCursor, plainText, queryIntegerOr } from "./ids.ts";

/** How the graph hangs together. */

const diagnosing = withoutAgents({ scope: ["membership.read"], decision: "graph/diagnose" });
const kindCounts = z.record(z.string(), z.number().int());
const nodeBrief = z.object({ id: z.string(), name: z.string(), node_type: z.string(), state: z.string() });

export const nodeLabelCounts = endpoint("membership", "GET", "/api/v1/node-label-counts", {
  reply: z.object({ counts: kindCounts, total: z.number().int() }),
  ...diagnosing,
  summary: "How many nodes of each kind.",
});

export const relationshipTypeCounts = endpoint("membership", "GET", "/api/v1/relationship-type-counts", {
  reply: z.object({ counts: kindCounts, total: z.number().int() }),
  ...diagnosing,
  summary: "How many edges of each kind; those that have ended are none.",
});

export const orphanNodeCounts = endpoint("membership", "GET", "/api/v1/orphan-node-counts", {
  query: z.strictObject({ sample: queryIntegerOr(0, 0, 50) }),
  reply: z.object({ counts: kindCounts, total: z.number().int(), sample: z.record(z.string(), z.array(z.string())).optional() }),
  ...diagnosing,
  summary: "Nodes without any edge, by kind; tenants, policies and locations may be so.",
});

export const relationshipConnections = endpoint("membership", "GET", "/api/v1/relationship-connections", {
  query: z.strictObject({
    start_id: nodeId,
    type: plainText(1, 64).optional(),
    direction: z.enum(["in", "out", "both"]).default("out"),
    limit: queryIntegerOr(50, 1, 500),
    cursor: pageCursor.optional(),
  }),
  reply: z.object({
    start_id: z.string(),
    type: z.string().nullable(),
    items: z.array(z.object({ edge_id: z.string(), node: nodeBrief, properties: z.record(z.string(), z.unknown()) })),
    next_cursor: z.string().optional(),
  }),
  ...diagnosing,
  problems: ["not_found", "invalid_cursor"],
  summary: "What a node is joined to by edges of a kind.",
});

export const relatedNodes = endpoint("membership", "GET", "/api/v1/related-nodes", {
  query: z.strictObject({
    id: nodeId,
    hops: queryIntegerOr(1, 1, 4),
    /** Comma list of edge kinds; absent = all. */
    types: plainText(1, 500).optional(),
    direction: z.enum(["in", "out", "both"]).default("both"),
    limit: queryIntegerOr(500, 1, 5000),
  }),
  reply: z.object({
    nodes: z.array(nodeBrief.extend({ distance: z.number().int() })),
    edges: z.array(z.object({ id: z.string(), kind: z.string(), from: z.string(), to: z.string(), status: z.string().optional() })),
    truncated: z.boolean(),
  }),
  ...diagnosing,
  problems: ["not_found"],
  summary: "The neighbourhood of a node, nearest first.",
});

export const indexState = endpoint("membership", "GET", "/api/v1/diagnostics/index", {
  reply: z.object({
    reader: z.enum(["index", "sql"]),
    /** Absent where the database alone answers. */
    state: z.enum(["ready", "building", "loading", "stale"]).optional(),
    /** The version that is answered from, and the newest one. */
    version: z.number().int(),
    head: z.number().int(),
    /** Since the last look at the head; null before the first. */
    staleness_ms: z.number().int().nullable().optional(),
    /** Those that the caller sees. */
    nodes: z.number().int(),
    edges: z.number().int(),
    /** Of the graphs of all tenants, so for Sallyport's own services alone. */
    bytes: z.number().int().optional(),
    /** Answers since the start that the database had to give, by why. */
    fallbacks: z.record(z.string(), z.number().int()).optional(),
  }),
  ...diagnosing,
  summary: "How the graph in memory stands beside the database.",
});
