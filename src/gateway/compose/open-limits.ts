import { createNetworks } from "#gateway/config.ts";
import { createAddressCount, type AddressCount } from "#gateway/limits/address-count.ts";
import { createClientAddress, type ClientAddress } from "#gateway/limits/client-address.ts";
import { createConnectionLimit, type ConnectionLimit } from "#gateway/limits/connection-limit.ts";
import { createLoad, type Load } from "#gateway/limits/load.ts";
import { createLocalBuckets } from "#http/token-buckets.ts";
import { createRateLimit, type RateLimit } from "#gateway/steps/rate-limit.ts";
import { createFallbackBuckets, createRedisBuckets } from "#gateway/limits/redis-buckets.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";

/** What keeps one client, or all of them together, from taking more than there is. */
export interface Limits {
  readonly isTrustedProxy: (address: string) => boolean;
  readonly clientAddress: ClientAddress;
  /** How often. */
  readonly rate: RateLimit;
  /** How many requests at once. */
  readonly load: Load;
  /** How many connections at once. */
  readonly connections: ConnectionLimit;
  /** How many streams at once, of whatever kind: without a proxy each is a connection, and there are no more of those. */
  readonly streamsOfAddress: AddressCount;
}

export const openLimits = (parts: Pick<GatewayParts, "config" | "redis" | "metrics" | "log">): Limits => {
  const { config, metrics, log } = parts;
  const isTrustedProxy = createNetworks(config.trustedProxies);
  const ownBuckets = createLocalBuckets();
  const shared = parts.redis && createRedisBuckets(parts.redis);
  const onLost = (cause: unknown): void => log.warn("rate_limits_local", { cause });
  const buckets = shared === undefined ? ownBuckets : createFallbackBuckets(shared, ownBuckets, { onLost });
  const sharesOf = (max: number): AddressCount => createAddressCount(max, isTrustedProxy);
  return {
    isTrustedProxy,
    clientAddress: createClientAddress(isTrustedProxy),
    rate: createRateLimit({ buckets, rates: config.rateLimits, metrics, log }),
    load: createLoad(config.maxInFlight, sharesOf(config.maxInFlightPerAddress)),
    connections: createConnectionLimit({ ofAddress: sharesOf(config.maxConnectionsPerAddress), metrics }),
    streamsOfAddress: sharesOf(config.maxConnectionsPerAddress),
  };
};
