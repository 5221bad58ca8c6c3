import { z } from "zod";
import { action, entityId, resource, subject, word } from "./authzen.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { jsonMembers } from "./json-members.ts";

/** The searches of OpenID AuthZEN: who may, what one may do it to, what one may do. */

/** Where a page begins and how long it is. Of a search that goes on, the token says both. */
export const searchPage = z.object({ token: z.string().min(1).max(4096).optional(), limit: z.number().int().min(1).max(1000).optional() });

const given = { context: jsonMembers.optional(), page: searchPage.optional() };
/** The searched entity: its type alone. An id of it is not looked at. */
const searchedSubject = z.object({ type: word, properties: jsonMembers.optional() });
const searchedResource = z.object({ type: word });
const wholeResource = resource.extend({ id: entityId });

const pageReply = z.object({
  /** Empty: the end. */
  next_token: z.string(),
  /** Results of this page. */
  count: z.number().int(),
});
/** `page` is there when one was asked for, or when there is more; it comes first, so that a reader of a stream knows how it goes on. */
const entityResults = z.object({ page: pageReply.optional(), results: z.array(z.object({ type: z.string(), id: z.string() })) });
const actionResults = z.object({ page: pageReply.optional(), results: z.array(z.object({ name: z.string() })) });
export type SearchReply = z.infer<typeof entityResults> | z.infer<typeof actionResults>;

const searchProblems = ["invalid_page_token", "reserved_context_member", "not_supported"] as const;

export const searchSubject = endpoint("pdp", "POST", "/access/v1/search/subject", {
  body: z.object({ subject: searchedSubject, action, resource: wholeResource, ...given }),
  reply: entityResults,
  ...withoutAgents({ scope: ["authzen.search"] }),
  problems: searchProblems,
  summary: "Who may do this to that, in byte order of ids.",
});

export const searchResource = endpoint("pdp", "POST", "/access/v1/search/resource", {
  body: z.object({ subject, action, resource: searchedResource, ...given }),
  reply: entityResults,
  ...withoutAgents({ scope: ["authzen.pep", "authzen.search"] }),
  problems: searchProblems,
  summary: "What a subject may do this to, in byte order of ids.",
});

export const searchAction = endpoint("pdp", "POST", "/access/v1/search/action", {
  body: z.object({ subject, resource: wholeResource, ...given }),
  reply: actionResults,
  ...withoutAgents({ scope: ["authzen.pep", "authzen.search"] }),
  problems: searchProblems,
  summary: "What a subject may do to a resource, in byte order of names.",
});
