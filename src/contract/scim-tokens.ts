import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { plainText, timestamp } from "./ids.ts";

/** Credentials of a directory that pushes persons and groups by SCIM. */

const token = z.object({
  token_id: z.string(),
  name: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  expires_at: timestamp,
  last_used_at: timestamp.nullable(),
  /** What messages with this token said that was not done, newest first, each once. */
  problems: z.array(z.object({ at: timestamp, resource: z.string(), detail: z.string() })),
});
const managing = withoutAgents({ decision: "scim/manage" });

export const createScimToken = endpoint("membership", "POST", "/api/v1/scim-tokens", {
  body: z.strictObject({ name: plainText(1, 128), days: z.int().min(1).max(365).default(365), reason }),
  reply: token.extend({ token: z.string() }),
  status: 201,
  scope: ["membership.write"],
  ...managing,
  problems: ["step_up_required", "access_denied", "conflict"],
  summary: "Make a token for /scim/v2 of this tenant; it is shown this once. A tenant has two at most.",
});

export const listScimTokens = endpoint("membership", "GET", "/api/v1/scim-tokens", {
  reply: z.object({ items: z.array(token) }),
  scope: ["membership.read"],
  ...managing,
  problems: ["step_up_required", "access_denied"],
  summary: "The tenant's SCIM tokens, without their secrets.",
});

export const deleteScimToken = endpoint("membership", "DELETE", "/api/v1/scim-tokens/{token_id}", {
  params: z.object({ token_id: plainText(1, 64) }),
  ...removal,
  scope: ["membership.write"],
  ...managing,
  problems: ["not_found", "step_up_required", "access_denied"],
  summary: "End a SCIM token at once.",
});
