import { Problem } from "#contract/problem.ts";
import type { SecretsPolicy } from "#secrets/config.ts";
import type { SecretOperation } from "#contract/secret-operations.ts";
import type { OperationPipeline, Who } from "#secrets/pipeline/pipeline.ts";
import type { ListedSecret, Listing } from "#secrets/providers/secret-provider.ts";
import type { createSecretDecision } from "#secrets/pipeline/authorize-secret.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { formatPrefix, parseSecretPrefix, type SecretPrefix } from "#secrets/model/secret-uri.ts";
import { isBelow } from "#secrets/model/tenant-guard.ts";
import { lowerAscii } from "#secrets/model/uri-schemes.ts";

export interface ListAsk extends Who {
  readonly operation: SecretOperation;
  readonly prefix?: string;
  readonly cursor?: string;
  readonly limit: number;
  /** Levels below each place of a store with versions; of another all. */
  readonly depth: number;
  /** Text that path or key must hold. */
  readonly q?: string;
}

export interface Found {
  readonly uri: string;
  readonly keys: readonly string[] | undefined;
  readonly match: "path" | "key";
}

export interface FoundPage {
  readonly items: readonly Found[];
  readonly nextCursor?: string;
  readonly truncatedBy?: Listing["truncatedBy"] | "decisions";
  /** Places whose store lets Sallyport list nothing, where none was named. */
  readonly skipped?: string[];
}

const AT_A_TIME = 50;
/** All levels: a URI has no more. */
const ALL_LEVELS = 32;
const MAX_DECISIONS = 1000;

/** Of a place the URIs that follow one another in the list: it ends before `to`. */
interface Stretch {
  readonly place: SecretPrefix;
  readonly from: string;
  readonly to: string;
}

/** In the order of the URIs. Between a place and what lies below it others may come: `team`, `team-x`, `team/a`. */
const stretchesOf = (places: readonly SecretPrefix[]): readonly Stretch[] => {
  const ids = places.map(formatPrefix);
  return places
    .flatMap((place): Stretch[] => {
      const id = formatPrefix(place);
      // "0" is the sign after the slash.
      const [below, to] = [`${id}/`, `${id}0`];
      if (place.segments.length === 0) return [{ place, from: below, to }];
      if (!ids.some((other) => id < other && other < below)) return [{ place, from: id, to }];
      return [
        { place, from: id, to: below },
        { place, from: below, to },
      ];
    })
    .toSorted((one, other) => (one.from < other.from ? -1 : 1));
};

const matchOf = ({ node, keys }: ListedSecret, q: string | undefined): Found["match"] | undefined => {
  if (q === undefined || lowerAscii(node.segments.join("/")).includes(q)) return "path";
  return keys?.some((key) => lowerAscii(key).includes(q)) === true ? "key" : undefined;
};

/**
 * A page of what lies at the tenant's places, or below a prefix, as far as the caller may know of it, in the order of the URIs: what is
 * denied leaves no trace. Each stretch of a place is one operation with its own record; stops at the limit or 1,000 decisions.
 */
export const createListing =
  (parts: {
    readonly policy: SecretsPolicy;
    readonly perform: OperationPipeline;
    readonly decide: ReturnType<typeof createSecretDecision>;
    readonly cursors: SealedCursors<string>;
    readonly serves: (place: SecretPrefix) => boolean;
  }) =>
  async (ask: ListAsk): Promise<FoundPage> => {
    const { policy, perform } = parts;
    const wanted = ask.prefix === undefined ? undefined : parseSecretPrefix(ask.prefix, policy.schemes);
    const places = policy.narrow(ask.caller.tenant, wanted).filter((place) => wanted !== undefined || parts.serves(place));
    const bound = [ask.operation.op, ask.caller.tenant, ask.caller.sub, ask.prefix, ask.q];
    const after = ask.cursor === undefined ? "" : parts.cursors.open(ask.cursor, bound);
    const q = ask.q === undefined ? undefined : lowerAscii(ask.q);
    const items: Found[] = [];
    let truncatedBy: FoundPage["truncatedBy"];
    let decisions = 0;
    let last = after;
    let isMore = false;
    const skipped = new Set<string>();
    for (const { place, from, to } of stretchesOf(places)) {
      if (isMore) break;
      const id = formatPrefix(place);
      // What lies wholly before the cursor was told.
      if (after >= to) continue;
      const { operation, caller, headers, correlationId } = ask;
      await perform({
        operation,
        uri: Object.freeze({ ...place, id, canonical: id }),
        caller,
        headers,
        correlationId,
        isPlace: true,
        act: async (provider, ref, _permit, { requester }) => {
          // Without a text to look for each of them is decided: of more there is no use.
          const depth = to === `${id}/` ? 0 : provider.can.has("versions") ? ask.depth : ALL_LEVELS;
          const listing = await provider.list(place, depth, after, q === undefined ? MAX_DECISIONS + 1 : undefined);
          const candidates = listing.items.flatMap((item) => {
            // Whatever a store may answer: what lies beside the place is not the tenant's.
            const isNext = item.node.id > after && item.node.id >= from && isBelow(item.node, place);
            const match = isNext ? matchOf(item, q) : undefined;
            return match === undefined ? [] : [{ item, match }];
          });
          for (let at = 0; at < candidates.length && !isMore; at += AT_A_TIME) {
            if (decisions >= MAX_DECISIONS) {
              truncatedBy = "decisions";
              isMore = true;
              break;
            }
            const batch = candidates.slice(at, at + AT_A_TIME);
            decisions += batch.length;
            const permitted = await parts.decide.filter(
              requester,
              ref,
              batch.map(({ item }) => item.node),
              correlationId,
            );
            for (const { item, match } of batch) {
              if (items.length === ask.limit) {
                isMore = true;
                break;
              }
              last = item.node.id;
              if (permitted.has(item.node.id)) items.push({ uri: item.node.id, keys: item.keys, match });
            }
          }
          if (isMore || listing.goesOnAt === undefined) return;
          last = listing.goesOnAt;
          truncatedBy = listing.truncatedBy;
          isMore = true;
        },
      }).catch((error: unknown) => {
        if (wanted !== undefined || !(error instanceof Problem) || error.code !== "not_supported") throw error;
        skipped.add(id);
      });
    }
    return {
      items,
      ...(isMore ? { nextCursor: parts.cursors.seal(last, bound) } : {}),
      truncatedBy,
      ...(skipped.size === 0 ? {} : { skipped: [...skipped] }),
    };
  };
