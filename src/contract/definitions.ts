import { z } from "zod";
import { definitionChange, systemName } from "./configs.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText, timestamp } from "./ids.ts";

/**
 * Definitions of tools of external servers: what a server serves is held against what was approved, and only what is the same is listed and
 * called. A drifted or proposed one waits for its owner.
 */

const state = z.enum(["proposed", "approved", "drifted", "rejected"]);
const digest = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex");

const row = z.object({
  tool: z.string(),
  system: z.string(),
  owner: z.string().optional(),
  state,
  approved_digest: digest.nullable(),
  /** Null: the server serves it no more. */
  served_digest: digest.nullable(),
  since: timestamp,
  decided_by: z.string().nullable(),
  reason: z.string().nullable(),
});
export type DefinitionRow = z.infer<typeof row>;

const named = z.object({ tool: z.string().regex(/^[A-Za-z][A-Za-z0-9._-]{0,127}$/) });
const base = withoutAgents({ decision: "tool/approve_definition" });
const reading = { ...base, scope: ["config.read"] };
const deciding = { ...base, scope: ["config.write"], problems: ["conflict", "cross_tenant"] } as const;
const decided = z.object({ tool: z.string(), state, warnings: z.array(z.string()) });

export const listDefinitions = endpoint("crud", "GET", "/config/definitions", {
  query: z.strictObject({
    state: state.optional(),
    /** To draw a page of something else: a refusal is in no list of refusals. */
    showing: z.literal("true").optional(),
  }),
  reply: z.object({
    definitions: z.array(row),
    /** Systems of which some wait, and what all that wait there are together: approving them all names it. */
    waiting: z.array(z.object({ system: z.string(), definitions: z.int(), digest })),
  }),
  ...reading,
  summary: "Definitions of external tools by state, oldest first; at most 500.",
});

export const readDefinition = endpoint("crud", "GET", "/config/definitions/{tool}", {
  params: named,
  /** `diff`: from the approved definition to the served one; of a new one empty. */
  reply: row.extend({ approved: z.unknown(), served: z.unknown(), diff: z.array(definitionChange) }),
  ...reading,
  summary: "One definition: as it was approved, as it is served, and what differs.",
});

export const approveDefinition = endpoint("crud", "POST", "/config/definitions/{tool}/approve", {
  params: named,
  /** The digest that was looked at: another one by now is a conflict. */
  body: z.strictObject({ digest, reason: plainText(1, 500) }),
  reply: decided,
  ...deciding,
  summary: "Approve what is served now; the tool can be called again on every node within a second.",
});

export const approveSystemDefinitions = endpoint("crud", "POST", "/config/systems/{name}/approve-definitions", {
  params: z.object({ name: systemName }),
  /** Of all that waited as somebody looked: another set, or another definition of one, is a conflict. */
  body: z.strictObject({ digest, reason: plainText(1, 500) }),
  reply: z.object({ system: z.string(), approved: z.array(z.string()), warnings: z.array(z.string()) }),
  ...deciding,
  summary: "Approve every definition of a system that waits, as it is served now, in one act.",
});

export const rejectDefinition = endpoint("crud", "POST", "/config/definitions/{tool}/reject", {
  params: named,
  body: z.strictObject({ reason: plainText(1, 500) }),
  reply: decided,
  ...deciding,
  summary: "Reject what is served now; the tool stays off until it is approved.",
});
