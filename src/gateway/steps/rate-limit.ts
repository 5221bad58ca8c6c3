import { createHash } from "node:crypto";
import { createTtlCache } from "#http/ttl-cache.ts";
import type { Rate, RateBuckets, Taken } from "#http/token-buckets.ts";
import { Problem } from "#contract/problem.ts";
import type { Answer } from "#gateway/model/answer.ts";
import { ingressProblem } from "#gateway/model/ingress-problem.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { siteOf } from "#gateway/limits/client-address.ts";
import type { RateClass, Rates } from "#gateway/model/rate-classes.ts";

/** Classes that count by the client's address; the other two by who was recognised. */
export type AddressClass = Exclude<RateClass, "session" | "bearer">;

export interface RateLimit {
  /** Takes one of the address's requests of this class. Throws `rate_limited` (429). */
  requireByAddress(inbound: Inbound, name: AddressClass): Promise<void>;
  /**
   * Recognises, and takes one request of this class from who was recognised. A credential that is refused takes one of its
   * address's anonymous requests; when there is none left, strangers from there are refused before anybody looks them up.
   */
  requireByCaller<R extends Recognised | Response>(inbound: Inbound, name: RateClass, recognise: () => Promise<R>): Promise<R>;
  /**
   * For who looks at the Authorization header behind the gateway: a credential that was answered with success lately takes from a share of
   * its own, of class `bearer`. Any other takes one of its address's tries, as many as `anonymous` has but apart from that share, so that
   * guesses are bounded and cost nobody there a sign-in. Throws `rate_limited` (429).
   */
  serveByCredential(inbound: Inbound, serve: () => Promise<Answer>): Promise<Answer>;
}

/** What is remembered of an address from which credentials were refused. */
interface Suspect {
  readonly blockedUntil: number;
  /** Digests of credentials from there that were good meanwhile: their owners do not suffer for their neighbour. */
  readonly good: Set<string>;
}

const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 10_000;
const MAX_GOOD = 1000;
/** How long a credential counts as good after its last success, and how many are remembered. */
const GOOD_MS = 600_000;
const MAX_GOOD_CREDENTIALS = 10_000;
const good = {};

const digestOf = (inbound: Inbound): string =>
  createHash("sha256")
    .update(`${inbound.headers.get("authorization") ?? ""}\n${inbound.headers.get("cookie") ?? ""}`)
    .digest("base64url");

const callerKey = (who: Recognised): string | undefined => {
  if (who.kind === "session") return `session:${who.record.ref}`;
  if (who.kind === "bearer") return `bearer:${who.caller.clientId ?? who.caller.issuer} ${who.caller.sub}`;
  return undefined;
};

/** Whom a violation is counted under: a registered client, or the class; never a person or an address. */
const violator = (name: RateClass, who: Recognised | undefined): string => (who?.kind === "bearer" ? (who.caller.clientId ?? name) : name);

const isRefusal = (error: unknown): boolean => error instanceof Problem && (error.status === 401 || error.status === 403);

/** The limit check: how often a client may ask. */
export const createRateLimit = (
  parts: Pick<GatewayParts, "metrics" | "log"> & {
    readonly buckets: RateBuckets;
    readonly rates: Rates;
  },
): RateLimit => {
  const now = (): number => performance.now();
  const suspects = createTtlCache<Suspect>(MAX_SUSPECTS, () => new Date(now()));

  const goodCredentials = createTtlCache<object>(MAX_GOOD_CREDENTIALS, () => new Date(now()));

  const refusal = (name: RateClass, rate: Rate, waitMs: number, who?: Recognised): Problem => {
    parts.metrics.count("bff_rate_limit_violations_total", { client_id: violator(name, who) });
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    return ingressProblem("rate_limited", {
      headers: {
        "retry-after": String(seconds),
        ratelimit: `"${name}";r=0;t=${seconds}`,
        "ratelimit-policy": `"${name}";q=${rate.burst};w=${Math.ceil(rate.burst / rate.perSecond)}`,
      },
    });
  };

  const guardTaken = (taken: Taken, inbound: Inbound, name: RateClass, who: Recognised | undefined): Taken => {
    if (taken.isAllowed) return taken;
    parts.log.info("rate_limited", { class: name, retry_after_ms: Math.ceil(taken.retryAfterMs), correlation_id: inbound.correlationId });
    throw refusal(name, parts.rates[name], taken.retryAfterMs, who);
  };

  /** At once where the bucket is this process's own. */
  const take = (inbound: Inbound, name: RateClass, key: string, who?: Recognised): Taken | Promise<Taken> => {
    const taken = parts.buckets.take(key, parts.rates[name]);
    return taken instanceof Promise
      ? taken.then((answered) => guardTaken(answered, inbound, name, who))
      : guardTaken(taken, inbound, name, who);
  };

  /** One more refused credential from there. Throws `rate_limited` when it was one too many. */
  const chargeRefused = async (inbound: Inbound, network: string): Promise<void> => {
    const remember = (blockedUntil: number): void => {
      const good = suspects.get(network)?.good ?? new Set<string>();
      suspects.set(network, { blockedUntil, good }, now() + SUSPECT_MS);
    };
    try {
      const { retryAfterMs } = await take(inbound, "anonymous", `anonymous:${network}`);
      remember(now() + retryAfterMs);
    } catch (error) {
      remember(now() + 1000 / parts.rates.anonymous.perSecond);
      throw error;
    }
  };

  const guardStranger = (inbound: Inbound, suspect: Suspect | undefined): void => {
    if (suspect === undefined || suspect.blockedUntil <= now() || suspect.good.has(digestOf(inbound))) return;
    throw refusal("anonymous", parts.rates.anonymous, suspect.blockedUntil - now());
  };

  const requireByAddress: RateLimit["requireByAddress"] = async (inbound, name) => {
    await take(inbound, name, `${name}:${siteOf(inbound.clientAddress)}`);
  };

  return {
    requireByAddress,
    requireByCaller: async <R extends Recognised | Response>(
      inbound: Inbound,
      name: RateClass,
      recognise: () => Promise<R>,
    ): Promise<R> => {
      if (name !== "session" && name !== "bearer") {
        await requireByAddress(inbound, name);
        return recognise();
      }
      const network = siteOf(inbound.clientAddress);
      const suspect = suspects.get(network);
      guardStranger(inbound, suspect);
      let who: R;
      try {
        who = await recognise();
      } catch (error) {
        if (isRefusal(error)) await chargeRefused(inbound, network);
        throw error;
      }
      const key = who instanceof Response ? undefined : callerKey(who);
      if (who instanceof Response || key === undefined) {
        await chargeRefused(inbound, network);
        return who;
      }
      if (suspect !== undefined && suspect.good.size < MAX_GOOD) suspect.good.add(digestOf(inbound));
      const taken = take(inbound, name, key, who);
      if (taken instanceof Promise) await taken;
      return who;
    },
    serveByCredential: async (inbound, serve) => {
      // However it is spelt, it is one credential.
      const credential = inbound.headers
        .get("authorization")
        ?.trim()
        .replace(/^(\S+)\s+/, (_, scheme: string) => `${scheme.toLowerCase()} `);
      const digest = credential === undefined ? undefined : createHash("sha256").update(credential).digest("base64url");
      if (digest !== undefined && goodCredentials.get(digest) !== undefined) await take(inbound, "bearer", `credential:${digest}`);
      else await take(inbound, "anonymous", `credential:${siteOf(inbound.clientAddress)}`);
      const answer = await serve();
      if (digest !== undefined && (answer.status < 400 || answer.status === 401))
        goodCredentials.set(digest, good, answer.status < 400 ? now() + GOOD_MS : 0);
      return answer;
    },
  };
};
