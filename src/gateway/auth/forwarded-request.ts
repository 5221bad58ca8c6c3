import { Problem } from "#contract/problem.ts";
import { plainName } from "#http/forwarding-names.ts";
import { inboundMethods, type InboundHeaders, type InboundMethod } from "#gateway/model/inbound.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
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

/**
 * One line of the form, under exactly its name: what a proxy writes in another word or spelling, or twice, does not say
 * which request it will let pass.
 */
const oneLine = (headers: InboundHeaders, name: string): string => {
  // A plain name is as long as the one that was sent: most need no more than this look.
  const lines = headers.pairs.filter(([sent]) => sent.length === name.length && plainName(sent) === name);
  const [sent, value] = lines[0] ?? [];
  if (lines.length !== 1 || sent !== name || value === undefined)
    throw new Problem("ambiguous_headers", { detail: "Send X-Forwarded-Method, X-Forwarded-Uri and X-Forwarded-Host, each once." });
  return value;
};

/** What a proxy says of a request, as it says it. Throws `ambiguous_headers` where the form is not whole. */
export const readForwarded = (headers: InboundHeaders) => ({
  method: oneLine(headers, "x-forwarded-method"),
  uri: oneLine(headers, "x-forwarded-uri"),
  host: oneLine(headers, "x-forwarded-host"),
});

/** The request that it means. Throws `method_not_allowed`, `access_denied` for a host that is none of ours. */
export const parseForwarded = (said: ReturnType<typeof readForwarded>, origins: PublicOrigins): ForwardedRequest => {
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
