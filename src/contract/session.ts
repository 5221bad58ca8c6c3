import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { pageCursor, plainText, sentId } from "./ids.ts";

/** The browser's session at the gateway. */

export const sessionView = z.object({
  authenticated: z.boolean(),
  subject: z.object({ id: z.string(), name: z.string() }).optional(),
  tenant: z.string().optional(),
  csrf_token: z.string().optional(),
  acr: z.string().optional(),
  auth_time: z.number().optional(),
  expires_at: z.string().optional(),
  /** Whether values of secrets are shown in a browser at all. */
  secret_reveal: z.boolean().optional(),
});
export type SessionView = z.infer<typeof sessionView>;

export const getSession = endpoint("gateway", "GET", "/auth/session", {
  reply: sessionView,
  auth: "none",
  problems: ["session_store_unavailable"],
  summary: "Who is signed in; never a token.",
});

export const getCsrf = endpoint("gateway", "GET", "/auth/csrf", {
  reply: z.object({ csrf_token: z.string(), headers: z.array(z.string()), requested_with: z.literal("XMLHttpRequest") }),
  auth: "session",
  summary: "The CSRF token of this session and the headers that carry it.",
});

const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .optional();

export const signOutQuery = z.strictObject({ everywhere: flag });
export const logoutBody = z.strictObject({ everywhere: z.boolean().optional() }).optional();

export const logout = endpoint("gateway", "POST", "/auth/logout", {
  query: signOutQuery,
  body: logoutBody,
  reply: z.object({ logged_out: z.literal(true), sessions_ended: z.number().int(), end_session_url: z.string().optional() }),
  auth: "none",
  problems: ["csrf_failed", "session_store_unavailable"],
  summary: "End this session, or all of them.",
});

const sessionRow = z.object({
  id: z.string(),
  current: z.boolean(),
  subject: z.string(),
  created_at: z.string(),
  last_seen_at: z.string(),
  expires_at: z.string(),
  acr: z.string().optional(),
  user_agent: z.string(),
});

export const sessionListQuery = z.strictObject({
  /** true: of the whole tenant, with the right to see them. */
  all: flag,
  subject: plainText(1, 256).optional(),
  limit: z
    .string()
    .regex(/^(?:[1-9][0-9]?|1[0-9]{2}|200)$/, "must be from 1 to 200")
    .transform(Number)
    .optional(),
  cursor: pageCursor.optional(),
});

export const sessionsOfQuery = z.strictObject({ subject: plainText(1, 256) });

export const listSessions = endpoint("gateway", "GET", "/api/v1/sessions", {
  query: sessionListQuery,
  reply: z.object({ sessions: z.array(sessionRow), nextCursor: z.string().optional() }),
  auth: "session",
  problems: ["access_denied", "step_up_required", "decision_unavailable", "invalid_cursor", "invalid_query", "session_store_unavailable"],
  summary: "The caller's own sessions, newest first; those of the tenant or of another person with sessions/view_all.",
});

export const endSession = endpoint("gateway", "DELETE", "/api/v1/sessions/{id}", {
  params: z.object({ id: sentId }),
  reply: z.object({ sessions_ended: z.number().int() }),
  auth: "session",
  problems: ["csrf_failed", "step_up_required", "decision_unavailable", "not_found", "session_store_unavailable"],
  summary: "End one of the caller's own sessions, or with sessions/revoke one of the tenant's.",
});

export const endSessionsOf = endpoint("gateway", "DELETE", "/api/v1/sessions", {
  query: sessionsOfQuery,
  reply: z.object({ sessions_ended: z.number().int() }),
  auth: "session",
  problems: ["csrf_failed", "step_up_required", "decision_unavailable", "invalid_query", "not_found", "session_store_unavailable"],
  summary: "End all sessions of a person: one's own, or with sessions/revoke another's.",
});
