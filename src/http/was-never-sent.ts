/** Faults of a connection that was never made, of the system and of undici. */
const codes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_INVALID_ARG",
]);

const MAX_CAUSES = 5;

/** Whether a request that failed so had surely no effect: no connection was made, so nothing of it was sent. Looks through causes, and at every address that was tried. */
export const wasNeverSent = (issue: unknown): boolean => {
  for (let at: unknown = issue, depth = 0; at instanceof Error && depth < MAX_CAUSES; at = at.cause, depth++) {
    if (at instanceof AggregateError && at.errors.length > 0) return at.errors.every(wasNeverSent);
    if (codes.has((at as { code?: unknown }).code)) return true;
  }
  return false;
};
