import type { Route } from "./route-table.ts";

const allowedHeaders = "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, x-correlation-id";
const exposedHeaders = "www-authenticate, retry-after, mcp-session-id, x-correlation-id";

/**
 * The headers that open an answer of bearer rows to the origins they list: never to a cookie (no credentials header), and
 * to nobody else. `preflight` is the answer to OPTIONS, made here.
 */
export const corsHeaders = (
  rows: readonly Route[],
  origin: string | undefined,
  kind: "preflight" | "answer",
): Readonly<Record<string, string>> => {
  const listed = rows.filter((route) => route.row.cors_origins.length > 0);
  if (listed.length === 0) return {};
  if (origin === undefined || !listed.some((route) => route.row.cors_origins.includes(origin))) return { vary: "Origin" };
  const open = { vary: "Origin", "access-control-allow-origin": origin };
  if (kind === "answer") return { ...open, "access-control-expose-headers": exposedHeaders };
  return {
    ...open,
    "access-control-allow-methods": [...new Set(listed.flatMap((route) => route.row.methods))].join(", "),
    "access-control-allow-headers": allowedHeaders,
    "access-control-max-age": "600",
  };
};
