import type { Obligation } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import type { Bundle } from "./bundle/bundle.ts";

/** No rows and no columns are known to be the subject's: then none are. */
const nothing = { tenant_ids: [], row_filter_sql: "1=0", column_mask: {} };

/** Obligations by id, filled with what this decision's facts say. */
export const makeObligations = (ids: readonly string[], bundle: Bundle, facts: Facts): readonly Obligation[] =>
  ids.flatMap((id): readonly Obligation[] => {
    const kind = bundle.obligations.get(id);
    if (kind === undefined) return [];
    const more = id === "data-scope" ? (facts.data_scope ?? nothing) : {};
    return [{ id, type: kind.type, properties: { ...kind.properties, ...more } }];
  });

/** An enforcement point names the types or the kinds that it can meet. */
export const areSupported = (obligations: readonly Obligation[], supported: "all" | ReadonlySet<string>): boolean =>
  supported === "all" ||
  obligations.every(({ type, properties }) => {
    const kind = properties?.["kind"];
    return supported.has(type) || (typeof kind === "string" && supported.has(kind));
  });
