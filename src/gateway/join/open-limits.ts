import { createNetworks } from "#gateway/config.ts";
import { createAddressCount, type AddressCount } from "#gateway/limits/address-count.ts";
import { createClientAddress, type ClientAddress } from "#gateway/limits/client-address.ts";
import { createConnectionDoor, type ConnectionDoor } from "#gateway/limits/connection-door.ts";
import { createLoad, type Load } from "#gateway/limits/load.ts";
import { createLocalBuckets } from "#http/token-buckets.ts";
import { createRateDoor, type RateDoor } from "#gateway/limits/rate-door.ts";
import { createFallbackBuckets, createRedisBuckets } from "#gateway/limits/redis-buckets.ts";
import type { GatewayParts } from "#gateway/gateway-parts.ts";

/** What keeps one client, or all of them together, from taking more than there is. */
export interface Limits {
  readonly isTrustedProxy: (address: string) => boolean;
  readonly clientAddress: ClientAddress;
  /** How often. */
  readonly rate: RateDoor;
  /** How many requests at once. */
  readonly load: Load;
  /** How many connections at once. */
  readonly connections: ConnectionDoor;
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
  const sharesOf = (most: number): AddressCount => createAddressCount(most, isTrustedProxy);
  return {
    isTrustedProxy,
    clientAddress: createClientAddress(isTrustedProxy),
    rate: createRateDoor({ buckets, rates: config.rateLimits, metrics, log }),
    load: createLoad(config.maxInFlight, sharesOf(config.maxInFlightPerAddress)),
    connections: createConnectionDoor({ ofAddress: sharesOf(config.maxConnectionsPerAddress), metrics }),
    streamsOfAddress: sharesOf(config.maxConnectionsPerAddress),
  };
};
