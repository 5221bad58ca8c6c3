import { ask as askPeer, type Peer } from "#contract/ask.ts";
import { listCandidates, type CandidateAsk } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";

/** Where the entities come from that a search looks at: the identity graph, or a file of facts. */
export interface CandidateSource {
  /** Ids in byte order, as many as were asked for unless there are no more. Throws `membership_unavailable`. */
  list(ask: CandidateAsk): Promise<readonly string[]>;
}

/** Candidates from membership, asked as this service itself. */
export const createPeerCandidates = (parts: {
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly identity: HouseIdentity;
  readonly timeoutMs: number;
}): CandidateSource => ({
  list: async (body) => {
    const token = await parts.identity.asService(parts.membershipAudience, ["pip.read"]);
    const { ids } = await askPeer(parts.membership, listCandidates, {
      body,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(parts.timeoutMs),
    }).catch((cause: unknown) => {
      throw new Problem("membership_unavailable", { cause });
    });
    return ids;
  },
});
