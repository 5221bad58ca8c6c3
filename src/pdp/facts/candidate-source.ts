import { ask as askPeer } from "#contract/ask.ts";
import { listCandidates, type CandidateAsk } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { asThisService, type PeerFactsParts } from "#pdp/facts/fact-source.ts";

/** Where the entities come from that a search looks at: the identity graph, or a file of facts. */
export interface CandidateSource {
  /** Ids in byte order, as many as were asked for unless there are no more. Throws `membership_unavailable`. */
  list(ask: CandidateAsk): Promise<readonly string[]>;
}

/** Candidates from membership. */
export const createPeerCandidates = (parts: PeerFactsParts): CandidateSource => ({
  list: async (body) => {
    const how = await asThisService(parts, "pip.read");
    const { ids } = await askPeer(parts.membership, listCandidates, { body, ...how }).catch((cause: unknown) => {
      throw new Problem("membership_unavailable", { cause });
    });
    return ids;
  },
});
