import type { Schema } from "#pdp/bundle/schema.ts";
import { pairOf, pairs, type Pair } from "#pdp-client/pairs.ts";
import { principalKinds } from "#pdp/model/question.ts";

/** The words that may be asked, and who may be named as a subject. */
export interface Vocabulary {
  /** `undefined`: not one of ours. */
  pairOf(type: string, action: string): Pair | undefined;
  /** Pairs of a resource type, in byte order of the action. */
  pairsOf(type: string): readonly Pair[];
  /** The protocol's type of a subject goes with this kind of the source of facts. */
  isSubject(type: string, kind: string): boolean;
}

const inOrder = (found: Iterable<Pair>): readonly Pair[] => [...found].toSorted((a, b) => (a.action < b.action ? -1 : 1));

/** Sallyport's own words (`pairs.ts`): subjects are identities of the graph. */
export const builtInVocabulary: Vocabulary = {
  pairOf,
  pairsOf: (type) => inOrder(pairs.filter((pair) => pair.type === type)),
  isSubject: (type, kind) => type === "identity" && principalKinds.has(kind),
};

/**
 * The words of a schema that somebody else wrote: each of its actions is `<resource type>:<action>`. What has a required
 * attribute must be known to the source of facts; what has none need not.
 */
export const vocabularyOf = (schema: Schema): Vocabulary => {
  const known = new Map<string, Pair>();
  for (const [key, { resourceTypes }] of schema.actions) {
    const colon = key.indexOf(":");
    const [entity] = resourceTypes;
    if (colon < 1 || entity === undefined) continue;
    const isKnown = Object.values(schema.attributes(entity)).some((attribute) => attribute.required !== false);
    const of = entity === "Collection" ? "all" : isKnown ? "node" : "named";
    known.set(key, { type: key.slice(0, colon), action: key.slice(colon + 1), key, of, entity });
  }
  return {
    pairOf: (type, action) => known.get(`${type}:${action}`),
    pairsOf: (type) => inOrder([...known.values()].filter((pair) => pair.type === type)),
    isSubject: (_type, kind) => schema.entityTypes.has(kind),
  };
};
