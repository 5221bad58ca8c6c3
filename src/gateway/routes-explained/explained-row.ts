import type { Explanation } from "#contract/routes.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import type { SourcedMapping } from "#gateway/routes/row-mappings.ts";

/** A row as an explanation names it. */
export const rowView = (route: Route): NonNullable<Explanation["row"]> => ({
  id: route.id,
  kind: route.target.kind === "forward_auth" ? "forward_auth" : "route",
  path: route.row.path,
  file: route.file,
  line: route.line,
  auth: route.row.auth,
  authz: route.row.authz,
  target: route.row.target_service,
});

/** A mapping, and where it is written. */
export const mappingView = ({ mapping, source, file, line }: SourcedMapping): NonNullable<Explanation["mapping"]> => ({
  source,
  file,
  line,
  ...mapping,
});

/** What the upstream gets in `Authorization`: never the caller's own credential unless the row's policy says so. */
export const credentialSent = (route: Route): string => {
  if (route.target.kind !== "service") return "none";
  if (route.target.service.isHouse) return route.row.auth === "none" ? "none" : "house_token";
  return route.row.token_policy?.mode ?? "none";
};
