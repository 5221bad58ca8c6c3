import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { cursorPage, nodeId, plainText, tenantId, timestamp } from "./ids.ts";

/** Who somebody is here who signs in at an OpenID provider: subjects of issuers, linked to persons. */

const LINKS = "/api/v1/identity-links";
/** An issuer's address as its tokens name it. */
const issuer = z.url({ protocol: /^https?$/ }).max(2048);
/** A subject as a provider names it. */
const subject = z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 printable ASCII characters");

export const settleSignIn = endpoint("membership", "POST", "/api/v1/sign-ins", {
  body: z.strictObject({
    issuer,
    subject,
    tenant: tenantId.optional(),
    name: plainText(1, 256).optional(),
    login: plainText(1, 254).optional(),
    /** Verified by the provider. */
    email: plainText(3, 254).optional(),
    /** Values of the groups claim; absent = claims say nothing of groups here. */
    groups: z.array(plainText(1, 256)).max(5000).optional(),
  }),
  reply: z.object({ person: z.object({ id: z.string(), tenant: z.string() }).nullable() }),
  ...withoutAgents({ scope: ["membership.sign_in"] }),
  problems: ["unknown_person", "access_denied"],
  summary:
    "For the gateway alone: who somebody is who has just signed in. Links, makes and regroups persons as the settings say; null = subjects are node ids.",
});

const link = z.object({
  link_id: z.string(),
  issuer: z.string(),
  subject: z.string(),
  person_id: z.string(),
  /** What made it: the first start, a match, a creation at sign-in, or an administrator. */
  how: z.enum(["first", "match", "create", "administrator"]),
  made_by: z.string(),
  created_at: timestamp,
});
export type IdentityLinkView = z.infer<typeof link>;

export const listIdentityLinks = endpoint("membership", "GET", LINKS, {
  query: z.strictObject({
    person_id: nodeId.optional(),
    subject: subject.optional(),
    ...cursorPage,
  }),
  reply: z.object({ items: z.array(link), next_cursor: z.string().optional() }),
  ...withoutAgents({ scope: ["membership.read"], decision: "links/view" }),
  problems: ["invalid_cursor"],
  summary: "Which subjects of which issuers are whom, oldest first.",
});

export const addIdentityLink = endpoint("membership", "POST", LINKS, {
  body: z.strictObject({ issuer, subject, person_id: nodeId, reason }),
  reply: link,
  status: 201,
  ...withoutAgents({ scope: ["membership.write"], decision: "links/manage" }),
  problems: ["not_found", "already_exists", "last_administrator"],
  summary: "Say who a subject of an issuer is: a person of this tenant.",
});

export const dropIdentityLink = endpoint("membership", "DELETE", `${LINKS}/{link_id}`, {
  params: z.object({ link_id: plainText(1, 64) }),
  ...removal,
  ...withoutAgents({ scope: ["membership.write"], decision: "links/manage" }),
  problems: ["not_found", "last_administrator"],
  summary:
    "Unlink a subject: from its next sign-in, and with each token that names it, it is nobody. Sessions that it has go on until they are ended.",
});
