import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { plainText } from "./ids.ts";

/** What people are notified of where they are. Channels of a tenant are configuration objects of the kind `notifications`. */

/** Of a person, for themselves. */
const choice = z.strictObject({
  /** Whether mail is sent; true until it is chosen otherwise. */
  mail: z.boolean(),
});

export const readNotificationChoice = endpoint("crud", "GET", "/notifications/me", {
  reply: choice,
  ...withoutAgents({ scope: ["tasks.read"] }),
  summary: "Whether the caller gets mail when something waits for them.",
});

export const putNotificationChoice = endpoint("crud", "PUT", "/notifications/me", {
  body: choice,
  reply: choice,
  ...withoutAgents({ scope: ["tasks.complete"] }),
  summary: "Choose whether mail is sent when something waits for the caller.",
});

/** Most persons that one notice is mailed to: of more the tenant's channels alone are notified. */
export const MAX_MAILED = 100;

/** Most ids of one notice. */
export const MAX_RECIPIENTS = 2_000;

export const askContacts = endpoint("membership", "POST", "/api/v1/pip/membership/contacts", {
  body: z.strictObject({
    tenant_id: plainText(1, 256),
    /** Persons, groups and roles. */
    ids: z.array(plainText(1, 256)).max(MAX_RECIPIENTS),
  }),
  reply: z.object({
    /** Active persons of the tenant that are one of these or in one of them, by id; one more than are mailed to where there are more. */
    contacts: z.array(z.object({ id: z.string(), name: z.string(), email: z.string().nullable() })),
  }),
  ...withoutAgents({ scope: ["pip.read"] }),
  problems: ["graph_unavailable", "unprocessable"],
  summary: "Names and addresses of persons, and of those in groups and roles, for notifications.",
});
