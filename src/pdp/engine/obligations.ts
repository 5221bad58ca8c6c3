import type { Obligation } from "#contract/authzen.ts";
import type { Facts } from "#contract/facts.ts";
import { obligationKinds, type ObligationRow } from "#contract/obligations.ts";
import { meetsAt } from "#pdp-client/obligations.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import { mergeProperties } from "#pdp/bundle/merge-properties.ts";
import type { Properties } from "#pdp/model/ask.ts";

const kinds: Readonly<Record<string, ObligationRow>> = obligationKinds;

/** What the facts fill an obligation with; nothing of most. */
const filled = (id: string, facts: Facts): Properties => {
  const { kind, fill, defaults = {} } = kinds[id] ?? {};
  return fill === undefined ? {} : { kind, ...(facts[fill] ?? defaults) };
};

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
    const start = mergeProperties(filled(id, facts), properties);
    const held = made.get(id);
    made.set(id, { type, properties: held === undefined ? start : mergeProperties(held.properties, start) });
  }
  return [...made].map(([id, { type, properties }]) => ({ id, type, properties: { ...properties } }));
};

/** The subject's data scope as an obligation, and no wider than what is asked for beside it. */
export const dataScopeOf = (facts: Facts): Obligation => ({
  id: "data-scope",
  type: obligationKinds["data-scope"].type,
  properties: { ...filled("data-scope", facts) },
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

export const metHere = meetsAt<"pdp">({ notification: "An event is emitted: `records/notices.ts`." });

/** Met by the decision point itself, with an event: no enforcement point hears of it or has to know it. */
export const isMetHere = ({ type }: Obligation): boolean => metHere.some((one) => one === type);

/** An enforcement point names the types or the kinds that it can meet. */
export const areSupported = (obligations: readonly Obligation[], supported: "all" | ReadonlySet<string>): boolean =>
  supported === "all" ||
  obligations.every((obligation) => {
    const kind = obligation.properties?.["kind"];
    return isMetHere(obligation) || supported.has(obligation.type) || (typeof kind === "string" && supported.has(kind));
  });
