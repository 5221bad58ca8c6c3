import { Problem } from "#contract/problem.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { SessionKeys } from "#gateway/sessions/session-keys.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";

export type CsrfReason = "missing_token" | "headers_differ" | "invalid_token" | "missing_requested_with" | "bad_origin" | "cross_site";

const safe: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

const isSafeMethod = (method: string): boolean => safe.has(method);

/** The request's own claims of where it came from; a browser sends them and a page cannot change them. */
const originIssue = (inbound: Inbound, method: string): CsrfReason | undefined => {
  const origin = inbound.headers.get("origin");
  if (!isSafeMethod(method) && origin !== undefined && origin !== inbound.origin) return "bad_origin";
  const site = inbound.headers.get("sec-fetch-site");
  if (site === undefined || site === "same-origin" || (site === "none" && isSafeMethod(method))) return undefined;
  return "cross_site";
};

const tokenIssue = (inbound: Inbound, isValid: (token: string) => boolean): CsrfReason | undefined => {
  const one = inbound.headers.get("x-csrf-token");
  const other = inbound.headers.get("x-csrftoken");
  if (one === undefined || one === "" || other === undefined || other === "") return "missing_token";
  if (one !== other) return "headers_differ";
  if (!isValid(one)) return "invalid_token";
  return inbound.headers.get("x-requested-with") === "XMLHttpRequest" ? undefined : "missing_requested_with";
};

export interface CsrfGuard {
  /**
   * Refuses a request on a session that this site's own page did not make. `headers` (all session rows) wants the token
   * headers on unsafe methods; `origin` (forward-auth rows) only what the browser itself says. Throws `csrf_failed`.
   */
  guard(inbound: Inbound, record: SessionRecord, mode?: "headers" | "origin", method?: string): void;
  /** Where no session is known yet: only what the browser says of the request's origin. */
  guardOrigin(inbound: Inbound): void;
  /** For a link that does something: it stands on a page of this site, or its query holds the session's token. Throws `csrf_failed`. */
  guardLink(inbound: Inbound, record: SessionRecord | undefined, token: string | undefined, detail: string): void;
}

export const createCsrfGuard = (parts: Pick<GatewayParts, "metrics" | "log"> & { readonly keys: SessionKeys }): CsrfGuard => {
  const refuse = (reason: CsrfReason, inbound: Inbound, detail?: string): never => {
    parts.metrics.count("bff_csrf_violations_total", { reason });
    parts.metrics.count("bff_security_events_total", { event_type: "csrf_rejected", severity: "warning" });
    parts.log.warn("csrf_rejected", { reason, correlation_id: inbound.correlationId });
    throw new Problem("csrf_failed", { members: { reason }, detail });
  };
  return {
    guard: (inbound, record, mode = "headers", method = inbound.method) => {
      const token =
        mode === "headers" && !isSafeMethod(method) ? tokenIssue(inbound, (given) => parts.keys.isCsrfToken(record, given)) : undefined;
      const reason = token ?? originIssue(inbound, method);
      if (reason !== undefined) refuse(reason, inbound);
    },
    guardOrigin: (inbound) => {
      const reason = originIssue(inbound, inbound.method);
      if (reason !== undefined) refuse(reason, inbound);
    },
    guardLink: (inbound, record, token, detail) => {
      if (inbound.headers.get("sec-fetch-site") === "same-origin") return;
      if (token === undefined || token === "") refuse("missing_token", inbound, detail);
      else if (record === undefined || !parts.keys.isCsrfToken(record, token)) refuse("invalid_token", inbound, detail);
    },
  };
};
