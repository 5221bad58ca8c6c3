import { clientPageAt } from "#gateway/routes/client-pages.ts";
import { isOwnPage } from "#http/ops-endpoints.ts";

const prefixes = [
  "/auth",
  "/oauth",
  "/assets",
  "/api/v1/events/schemas",
  "/api/v1/health",
  "/api/v1/metrics",
  "/metrics",
  "/.well-known",
  "/api/auth/session",
] as const;

/** True for a path that belongs to the gateway itself, served or not; the web client's pages are its own too. */
export const isBuiltInPath = (path: string): boolean =>
  prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) || isOwnPage(path) || clientPageAt(path) !== undefined;
