import { Problem } from "#contract/problem.ts";
import type { Inbound, InboundMethod } from "#gateway/model/inbound.ts";
import type { Route } from "./route-table.ts";

/** Which credentials a request brings; none is checked yet. */
export interface SentCredentials {
  readonly cookie: boolean;
  readonly bearer: boolean;
}

/** HEAD comes with GET, but not on streams: they have no length of their own and never end. */
const admits = (route: Route, method: InboundMethod): boolean =>
  (route.row.methods as string[]).includes(method) || (method === "HEAD" && route.row.methods.includes("GET") && !route.row.streaming);

/** Value of the `Allow` header for the rows of one path. */
export const allowOf = (routes: readonly Route[]): string => {
  const methods = new Set<string>(routes.flatMap((route) => route.row.methods));
  if (routes.some((route) => admits(route, "HEAD"))) methods.add("HEAD");
  return [...methods].join(", ");
};

/**
 * The rows of one path that take the method. The most specific pattern has spoken: there is no other to try. Throws
 * `method_not_allowed` with `Allow`.
 */
export const requireRows = (routes: readonly Route[], method: InboundMethod): readonly Route[] => {
  const fitting = routes.filter((route) => admits(route, method));
  if (fitting.length === 0) throw new Problem("method_not_allowed", { headers: { allow: allowOf(routes) } });
  return fitting;
};

/**
 * Of a session and a bearer row of one path the credential chooses; on a single row the other credential is stripped.
 * Without any the session row answers, and says so. Throws `ambiguous_credentials`.
 */
export const chooseRoute = (rows: readonly Route[], sent: SentCredentials): Route => {
  const [only, other] = rows;
  if (only === undefined) throw new Problem("not_found");
  if (other === undefined) return only;
  if (sent.cookie && sent.bearer) throw new Problem("ambiguous_credentials");
  const wanted = sent.bearer ? "bearer" : "session";
  const found = rows.find((route) => route.row.auth === wanted);
  if (found === undefined) throw new Problem("not_found");
  return found;
};

/** A DELETE brings a body only where its row says so. Throws `body_not_allowed`. */
export const guardDeleteBody = (route: Route, inbound: Pick<Inbound, "method" | "body">): void => {
  if (inbound.method === "DELETE" && inbound.body !== undefined && !route.row.delete_body) throw new Problem("body_not_allowed");
};
