import { dirname, resolve } from "node:path";
import type { Peer } from "#contract/ask.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import type { Schema } from "./bundle/schema.ts";
import type { PdpConfiguration } from "./configuration-file.ts";
import { createPeerFacts, type FactSource } from "./fact-source.ts";
import { readFactsFile } from "./facts-file.ts";
import { createPeerCandidates, type CandidateSource } from "./search/candidate-source.ts";
import { houseVocabulary, vocabularyOf, type Vocabulary } from "./vocabulary.ts";

/** What is known of who asks and what is asked about, and the words for it. */
export interface OpenedFacts {
  readonly facts: FactSource;
  readonly candidates: CandidateSource;
  readonly vocabulary: Vocabulary;
}

/** The identity graph with the house's words, or a file with those of its policies' schema. Throws `ConfigurationRefused`. */
export const openFacts = async (parts: {
  readonly switches: PdpConfiguration;
  readonly configFile: string;
  readonly schema: Schema;
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly identity: HouseIdentity;
  readonly timeoutMs: number;
}): Promise<OpenedFacts> => {
  const { switches, schema } = parts;
  if (switches.facts.kind === "membership")
    return { facts: createPeerFacts(parts), candidates: createPeerCandidates(parts), vocabulary: houseVocabulary };
  const path = resolve(dirname(parts.configFile), switches.facts.path);
  return { ...(await readFactsFile(path, schema)), vocabulary: vocabularyOf(schema) };
};
