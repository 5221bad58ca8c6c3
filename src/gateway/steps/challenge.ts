import { Problem } from "#contract/problem.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import { fillPath } from "#gateway/routes/route-pattern.ts";
import { capturesOf, type Route } from "#gateway/routes/route-table.ts";

/** Where the metadata of what a row's tokens are for lies (RFC 9728); a row for the public origins has theirs. */
const metadataPath = (route: Route, captures: ReadonlyMap<string, string>): string | undefined => {
  const resource = route.row.bearer?.resource ?? (route.audiences.includes("/") ? "" : undefined);
  return resource === undefined ? undefined : `/.well-known/oauth-protected-resource${fillPath(resource, captures)}`;
};

/** The challenge of a bearer row (RFC 6750, RFC 9728). `error`: what is wrong with the token that was sent. */
export const bearerChallenge = (
  request: { readonly route: Route; readonly captures: ReadonlyMap<string, string>; readonly origin: string },
  error?: "invalid_token",
): string => {
  const { route, captures, origin } = request;
  const path = metadataPath(route, captures);
  const scopes = route.row.bearer?.scopes ?? [];
  const said = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(path === undefined ? [] : [`resource_metadata="${origin}${path}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
  ];
  return `Bearer${said.length === 0 ? "" : ` ${said.join(", ")}`}`;
};

/**
 * A refusal for want of a session says of a token too where the path takes one. It comes first: many clients read the first
 * challenge alone, and browsers none.
 */
export const offerBearer = (
  error: unknown,
  rows: readonly Route[],
  request: { readonly inbound: Pick<Inbound, "origin">; readonly captured: readonly string[]; readonly firstOrigin: string },
): unknown => {
  const route = rows.find((one) => one.row.auth === "bearer");
  if (!(error instanceof Problem) || route === undefined || error.options.headers?.["www-authenticate"] !== "Cookie") return error;
  const origin = request.inbound.origin ?? request.firstOrigin;
  const bearer = bearerChallenge({ route, captures: capturesOf(route, request.captured), origin });
  return new Problem(error.code, { ...error.options, headers: { ...error.options.headers, "www-authenticate": `${bearer}, Cookie` } });
};
