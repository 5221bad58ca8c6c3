import type { Obligation } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import type { Bundle } from "./bundle/bundle.ts";
import { mergeProperties } from "./bundle/merge-properties.ts";
import type { Properties } from "./ask.ts";

/** No rows and no columns are known to be the subject's: then none are. */
const nothing = { tenant_ids: [], row_filter_sql: "1=0", column_mask: {} };

/**
 * The obligations of a decision, one an id: what its policies name (rows of `obligations.yaml`), filled with what the facts
 * say. Several rows of one id come together in their narrowest form.
 */
export const makeObligations = (names: readonly string[], bundle: Bundle, facts: Facts): readonly Obligation[] => {
  const made = new Map<string, { readonly type: string; readonly properties: Properties }>();
  for (const name of names) {
    const kind = bundle.obligations.get(name);
    if (kind === undefined) continue;
    const { id = name, type, properties } = kind;
    const start = id === "data-scope" ? mergeProperties({ kind: "data_scope", ...(facts.data_scope ?? nothing) }, properties) : properties;
    const held = made.get(id);
    made.set(id, { type, properties: held === undefined ? start : mergeProperties(held.properties, start) });
  }
  return [...made].map(([id, { type, properties }]) => ({ id, type, properties: { ...properties } }));
};

/** The subject's data scope as an obligation, and no wider than what is asked for beside it. */
export const dataScopeOf = (facts: Facts): Obligation => ({
  id: "data-scope",
  type: "custom",
  properties: { kind: "data_scope", ...(facts.data_scope ?? nothing) },
});

/** One an id: forms of the same come together in their narrowest. */
export const joinObligations = (all: readonly Obligation[]): readonly Obligation[] => {
  const joined = new Map<string, Obligation>();
  for (const one of all) {
    const held = joined.get(one.id);
    joined.set(
      one.id,
      held === undefined ? one : { ...held, properties: { ...mergeProperties(held.properties ?? {}, one.properties ?? {}) } },
    );
  }
  return [...joined.values()];
};

/** Met by the decision point itself, with an event: no enforcement point hears of it or has to know it. */
export const isMetHere = (obligation: Obligation): boolean => obligation.type === "notification";

/** An enforcement point names the types or the kinds that it can meet. */
export const areSupported = (obligations: readonly Obligation[], supported: "all" | ReadonlySet<string>): boolean =>
  supported === "all" ||
  obligations.every((obligation) => {
    const kind = obligation.properties?.["kind"];
    return isMetHere(obligation) || supported.has(obligation.type) || (typeof kind === "string" && supported.has(kind));
  });
