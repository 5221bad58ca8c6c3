import type { PointConfig } from "./pdp-config.ts";
import type { RoutePattern } from "./route-pattern.ts";
import type { Mapping, RowMethod, RowShape } from "./route-row.ts";

/** A mapping and where it was said. */
export interface SourcedMapping {
  readonly mapping: Mapping;
  readonly source: "authz_map" | "endpoint_map" | "derived";
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

const derivedActions: Readonly<Record<string, string>> = { GET: "read", POST: "create", PUT: "update", PATCH: "update", DELETE: "delete" };

const derivedMapping = (pattern: RoutePattern, method: RowMethod): Mapping | undefined => {
  const [api, , resource] = pattern.segments;
  const action = derivedActions[method];
  if (action === undefined || api?.kind !== "literal" || api.text !== "api" || resource?.kind !== "literal") return undefined;
  const name = pattern.segments.find((segment) => segment.kind !== "literal")?.name;
  return { resource: resource.text, action, id_from: name && `{${name}}` };
};

/** Of each method the first source that maps it: the row itself, the decision point's file, the derived defaults. */
export const mappingsOf = (
  row: RowShape,
  pattern: RoutePattern,
  pdp: PointConfig,
  place: { file: string; lineOf: (method: string) => number },
) => {
  const mappings = new Map<RowMethod, SourcedMapping>();
  if (row.authz !== "pdp") return mappings;
  for (const method of row.methods) {
    if (method === "OPTIONS") continue;
    const inline = row.authz_map?.[method];
    const external = pdp.endpointMap.get(row.path)?.[method];
    const derived = pdp.derivedDefaults ? derivedMapping(pattern, method) : undefined;
    if (inline) mappings.set(method, { mapping: inline, source: "authz_map", file: place.file, line: place.lineOf(method) });
    else if (external) mappings.set(method, { ...external, source: "endpoint_map" });
    else if (derived) mappings.set(method, { mapping: derived, source: "derived" });
  }
  return mappings;
};
