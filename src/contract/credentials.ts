import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { cursorPage, nodeId, plainText, timestamp } from "./ids.ts";

/** How agents and service clients prove who they are at Sallyport's token endpoints: secrets that are shown once. */

const CREDENTIALS = "/api/v1/credentials";
const one = z.object({ credential_id: plainText(1, 64) });
const managing = withoutAgents({ scope: ["membership.write"], decision: "credentials/manage" });

const credential = z.object({
  credential_id: z.string(),
  /** Of an agent or a service of the tenant: its node's id. */
  client_id: z.string(),
  /** What the client's tokens may carry: the same for all of its credentials. */
  scopes: z.array(z.string()),
  created_by: z.string(),
  created_at: timestamp,
  expires_at: timestamp,
});
export type CredentialView = z.infer<typeof credential>;
/** The secret is shown in this answer alone. */
const making = { reply: credential.extend({ client_secret: z.string() }), status: 201, ...managing };

export const createCredential = endpoint("membership", "POST", CREDENTIALS, {
  body: z.strictObject({
    client_id: nodeId,
    /** Of a service needed; of an agent all that agents may have unless given. */
    scopes: z.array(plainText(1, 128)).min(1).max(32).optional(),
    /** In a year unless given, and never later. */
    expires_at: timestamp.optional(),
    reason,
  }),
  ...making,
  problems: ["not_found", "conflict", "access_denied", "unprocessable"],
  summary: "Give an agent or a service of the tenant a secret, shown in this answer alone; two at a time.",
});

export const listCredentials = endpoint("membership", "GET", CREDENTIALS, {
  query: z.strictObject({ client_id: nodeId.optional(), ...cursorPage }),
  reply: z.object({ items: z.array(credential), next_cursor: z.string().optional() }),
  ...withoutAgents({ scope: ["membership.read"], decision: "credentials/view" }),
  problems: ["invalid_cursor"],
  summary: "Credentials of the tenant's agents and services that have not ended, oldest first; never a secret.",
});

export const rotateCredential = endpoint("membership", "POST", `${CREDENTIALS}/{credential_id}/rotate`, {
  params: one,
  body: z.strictObject({
    /** How long the old one still counts. */
    overlap_s: z.number().int().min(0).max(604_800).default(0),
    expires_at: timestamp.optional(),
    reason,
  }),
  ...making,
  problems: ["not_found", "conflict", "unprocessable"],
  summary: "Put a new secret in the place of one, which ends at once or after an overlap.",
});

export const dropCredential = endpoint("membership", "DELETE", `${CREDENTIALS}/{credential_id}`, {
  params: one,
  ...removal,
  ...managing,
  problems: ["not_found"],
  summary: "End a credential: no token is had with it any more. Those that were live at most 15 minutes on.",
});
