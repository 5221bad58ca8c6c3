import { Problem } from "#contract/problem.ts";
import { inboundMethods, type InboundMethod } from "#gateway/front-door/inbound.ts";
import type { PublicOrigins } from "#gateway/front-door/public-origins.ts";
import { capturesOf, type Route, type RouteTable } from "#gateway/routes/route-table.ts";
import type { RowMethod } from "#gateway/routes/route-row.ts";

/** The request that a proxy asks about. */
export interface ForwardedRequest {
  readonly method: InboundMethod;
  /** Lower case, default port dropped. */
  readonly host: string;
  readonly origin: string;
  readonly uri: string;
}

/** Reads what a proxy says of a request. Throws `method_not_allowed`, `access_denied` for a host that is none of ours. */
export const parseForwarded = (
  said: { readonly method: string; readonly uri: string; readonly host: string },
  origins: PublicOrigins,
): ForwardedRequest => {
  if (!(inboundMethods as readonly string[]).includes(said.method)) throw new Problem("method_not_allowed");
  const host = said.host.toLowerCase();
  const origin = origins.originOf(host);
  if (origin === undefined) throw new Problem("access_denied", { detail: "This host is not protected here." });
  return { method: said.method as InboundMethod, uri: said.uri, host: origins.hostOf(host), origin };
};

/** The row that protects a path of a host. What no row protects is not let through: throws `access_denied`. */
export const requireForwardRow = (
  table: RouteTable,
  asked: Pick<ForwardedRequest, "method" | "host">,
  path: string,
): { readonly route: Route; readonly captures: ReadonlyMap<string, string> } => {
  const hit = table.findForward(asked.host, path);
  const method = (asked.method === "HEAD" ? "GET" : asked.method) as RowMethod;
  const route = hit?.routes.find((candidate) => candidate.row.methods.includes(method));
  if (hit === undefined || route === undefined) throw new Problem("access_denied", { detail: "No row protects this request." });
  return { route, captures: capturesOf(route, hit.captured) };
};
