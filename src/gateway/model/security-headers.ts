import type { Answer } from "./answer.ts";

const API_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'";

/**
 * What every answer carries, refusals too. An answer that has its own policy (the web client's page) keeps it; any other
 * may not run, frame or be framed as anything.
 */
export const withSecurityHeaders = (answer: Answer, more: { readonly correlationId: string; readonly isSecure: boolean }): Answer => {
  const { headers } = answer;
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", API_POLICY);
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  headers.set("cross-origin-resource-policy", "same-origin");
  headers.set("x-correlation-id", more.correlationId);
  if (more.isSecure) headers.set("strict-transport-security", "max-age=31536000");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  return answer;
};
