import type { Peer } from "#contract/ask.ts";
import { boundPeer } from "#http/bounded-peer.ts";

/** The largest answer that a decision point is listened to for: a full batch with its obligations is well under it. */
export const MAX_ANSWER_BYTES = 4 * 1_048_576;

/**
 * The decision point as it may be asked: whoever waits for a decision can be held up or filled by nobody. An answer that
 * is not whole in time, or too large, is `pdp_unavailable`.
 */
export const boundDecisionPoint = (pdp: Peer, timeoutMs: number): Peer =>
  boundPeer(pdp, { timeoutMs, maxBytes: MAX_ANSWER_BYTES, unavailable: "pdp_unavailable" });
