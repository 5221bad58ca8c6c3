import { ask as askPeer, type Peer } from "#contract/ask.ts";
import type { ReplyOf, SentBody } from "#contract/endpoint.ts";
import { askFacts, askFactsIf, type FactAsk, type Facts } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { inPieces } from "#pdp/model/in-pieces.ts";

export interface Gathered {
  /** Version of the graph that all facts are true at. */
  readonly graphVersion: number;
  /** One for each ask, in order. */
  readonly facts: readonly Facts[];
}

/** Where facts come from: membership in Sallyport, something else in tests. Nothing of it is kept. */
export interface FactSource {
  /** Throws `membership_unavailable` or `graph_unavailable`. */
  gather(asks: readonly FactAsk[]): Promise<Gathered>;
  ready(): Promise<boolean>;
  /** As `gather`, of the graph as it would be after a change. Absent where the source cannot change. Throws what is wrong with the change. */
  gatherIf?(asks: readonly FactAsk[], change: GraphChange): Promise<GatheredIf>;
}

export type GraphChange = Omit<SentBody<typeof askFactsIf>, "asks">;
export type GatheredIf = Gathered & Pick<ReplyOf<typeof askFactsIf>, "reached" | "audiences">;

/** Most asks that one call of membership takes. */
const PER_CALL = 1000;

/** Membership, and how this service asks it. */
export interface PeerFactsParts {
  readonly membership: Peer;
  readonly membershipAudience: string;
  readonly identity: ServiceIdentity;
  readonly timeoutMs: number;
}

/** What goes with a question to membership that this service asks as itself, and for how long it waits. */
export const asThisService = async (parts: PeerFactsParts, scope: string, timeoutMs = parts.timeoutMs) => ({
  headers: { authorization: `Bearer ${await parts.identity.asService(parts.membershipAudience, [scope])}` },
  signal: AbortSignal.timeout(timeoutMs),
});

/** Facts from membership. Equal asks of a batch are asked once. */
export const createPeerFacts = (parts: PeerFactsParts): FactSource => {
  const call = async (asks: readonly FactAsk[]) => {
    const how = await asThisService(parts, "pip.read");
    const reply = await askPeer(parts.membership, askFacts, { body: { asks: [...asks] }, ...how }).catch((cause: unknown) => {
      const code = cause instanceof Problem && cause.code === "graph_unavailable" ? "graph_unavailable" : "membership_unavailable";
      throw new Problem(code, { cause });
    });
    if (reply.facts.length !== asks.length) throw new Problem("membership_unavailable", { cause: "as many facts as asks were wanted" });
    return reply;
  };

  const gather: FactSource["gather"] = async (asks) => {
    const positions = new Map<string, number>();
    const different: FactAsk[] = [];
    const at = asks.map((item) => {
      const key = JSON.stringify(item);
      const found = positions.get(key) ?? positions.set(key, different.push(item) - 1).get(key);
      return found ?? 0;
    });
    const replies = [];
    for (const some of inPieces(different, PER_CALL)) replies.push(await call(some));
    const facts = replies.flatMap((reply) => reply.facts);
    // Only a batch beyond the call's limit can span versions; the record then names the oldest that was seen.
    const graphVersion = Math.min(...replies.map((reply) => reply.graph_version));
    return { graphVersion, facts: at.map((index) => facts[index] ?? absent()) };
  };

  const callIf = async (asks: readonly FactAsk[], change: GraphChange) => {
    const how = await asThisService(parts, "pip.read", parts.timeoutMs * 4);
    return askPeer(parts.membership, askFactsIf, { body: { ...change, asks: [...asks] }, ...how }).catch((cause: unknown) => {
      if (cause instanceof Problem && changeIssues.has(cause.code)) throw cause;
      throw new Problem("membership_unavailable", { cause });
    });
  };

  return {
    gather,
    gatherIf: async (asks, change) => {
      const first = await callIf(asks.slice(0, PER_CALL), change);
      const facts = [...first.facts];
      for (const some of inPieces(asks.slice(PER_CALL), PER_CALL)) facts.push(...(await callIf(some, change)).facts);
      if (facts.length !== asks.length) throw new Problem("membership_unavailable", { cause: "as many facts as asks were wanted" });
      return { graphVersion: first.graph_version, facts, reached: first.reached, audiences: first.audiences };
    },
    ready: async () => {
      try {
        await call([{ subject_id: parts.identity.clientId, action: "view_all", resource: { type: "pages", external_id: "*" } }]);
        return true;
      } catch {
        return false;
      }
    },
  };
};

/** What may be wrong with a change, rather than with membership. */
const changeIssues: ReadonlySet<string> = new Set(["unprocessable", "edge_not_allowed", "cycle", "cross_tenant"]);

const absent = (): never => {
  throw new Problem("membership_unavailable", { cause: "a fact is missing" });
};
