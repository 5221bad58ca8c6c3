import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Problem } from "#contract/problem.ts";
import { createSealer } from "#authn/sealing/seal.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Changes } from "#secrets/model/changes.ts";
import { parseLosslessJson } from "#contract/exact-numbers.ts";
import type { ReadSecret, SecretProvider } from "#secrets/providers/secret-provider.ts";
import { formatPrefix } from "#secrets/model/secret-uri.ts";
import { isSecretMap, SecretValue, toSecretData, wireOf } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

export interface CachedRead extends ReadSecret {
  readonly cached: boolean;
}

/** Reads by a store or out of memory; `isFresh`: by the store in any case. To be asked only after a permit and an open audit entry. */
export type ReadValue = (provider: SecretProvider, ref: SecretRef, isFresh: boolean) => Promise<CachedRead>;

interface Kept {
  readonly stamp: string;
  readonly sealed: Uint8Array;
}

const MAX = 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Keeps values of stores with versions for some seconds, sealed under a key that only this process has, the longest unused one dropped
 * first. A kept value is served only while the secret's stamp is the one it was read under, so no process serves what another has
 * changed since; what is changed beside Sallyport is seen when the seconds are over. No absence and no fault is kept. Cost of a hit:
 * one row of the database.
 */
export const createReadValue = (parts: {
  readonly changes: Pick<Changes, "stampOf">;
  readonly keepSeconds: number;
  readonly metrics: Metrics;
  readonly now: () => Date;
}): ReadValue => {
  const { changes, metrics } = parts;
  const sealer = createSealer([randomBytes(32)], "secrets.values");
  const kept = new LRUCache<string, Kept>({
    max: MAX,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ sealed }) => sealed.length,
    // The library keeps what it holds through the last millisecond.
    ttl: Math.max(1, parts.keepSeconds * 1000 - 1),
    ttlResolution: 0,
    perf: { now: () => parts.now().getTime() },
  });
  const underWay = new Map<string, Promise<ReadSecret>>();

  const keep = (key: string, stamp: string, { value, version, createdTime }: ReadSecret): void => {
    const sealed = sealer.seal(JSON.stringify([wireOf(SecretValue.reveal(value)), version, createdTime]), key);
    kept.set(key, { stamp, sealed });
  };
  const find = (key: string, stamp: string): ReadSecret | undefined => {
    const found = kept.get(key);
    if (found === undefined) return undefined;
    if (found.stamp !== stamp) {
      kept.delete(key);
      return undefined;
    }
    const text = sealer.open(found.sealed, key);
    if (text === undefined) return undefined;
    const [value, version, createdTime] = parseLosslessJson(text) as [unknown, number, string];
    return { value: new SecretValue(toSecretData(value)), nodes: [], version, createdTime };
  };

  /** Of the whole map, what the reference names. */
  const partOf = (read: ReadSecret, ref: SecretRef, cached: boolean): CachedRead => {
    const data = SecretValue.reveal(read.value);
    const value = ref.key === undefined ? data : isSecretMap(data) ? data.get(ref.key) : undefined;
    if (value === undefined) throw new Problem("key_not_found");
    const { scheme, mount, segments, key, id } = ref;
    return { ...read, value: new SecretValue(value), nodes: [{ scheme, mount, segments, key, id }], cached };
  };

  return async (provider, ref, isFresh) => {
    if (parts.keepSeconds === 0 || !provider.can.has("versions")) return { ...(await provider.read(ref)), cached: false };
    const stamp = isFresh ? undefined : await changes.stampOf(ref, provider);
    if (stamp === undefined) {
      metrics.count("secrets_cache_total", { result: "bypass" });
      return { ...(await provider.read(ref)), cached: false };
    }
    const key = `${formatPrefix(ref)}?version=${ref.version ?? "current"}`;
    const found = find(key, stamp);
    metrics.count("secrets_cache_total", { result: found === undefined ? "miss" : "hit" });
    if (found !== undefined) return partOf(found, ref, true);
    const flight = `${stamp} ${key}`;
    const reading =
      underWay.get(flight) ??
      provider
        .read({ ...ref, key: undefined, id: formatPrefix(ref) })
        .then((read) => {
          keep(key, stamp, read);
          return read;
        })
        .finally(() => underWay.delete(flight));
    underWay.set(flight, reading);
    return partOf(await reading, ref, false);
  };
};
