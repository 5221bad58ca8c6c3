import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import type { SecretDetail, SecretVersion } from "#secrets/providers/secret-provider.ts";
import { isSecretMap, toSecretData, type SecretMap } from "#secrets/model/secret-value.ts";

/** The newest version of a path, or the one asked for; `data` is absent when it is deleted or destroyed. */
export interface KvVersion {
  readonly version: number;
  readonly createdTime: string;
  readonly destroyed: boolean;
  readonly data?: SecretMap;
}

type Wire = Readonly<Record<string, unknown>>;

const bad = (): Problem => new Problem("provider_error", { detail: "The store's answer is not that of a KVv2 mount." });
const numberOf = (value: unknown): number => {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw bad();
  return value;
};
const textOf = (value: unknown): string => {
  if (typeof value !== "string") throw bad();
  return value;
};

/** `{data, metadata}` of a read. */
export const readVersion = (answer: Wire): KvVersion => {
  const { data, metadata } = answer;
  if (!isObject(metadata)) throw bad();
  const head = {
    version: numberOf(metadata["version"]),
    createdTime: textOf(metadata["created_time"]),
    destroyed: metadata["destroyed"] === true,
  };
  if (!isObject(data)) return head;
  const read = toSecretData(data);
  return isSecretMap(read) ? { ...head, data: read } : head;
};

/** A deletion may lie ahead of the server's clock: until then the version is there. */
const versionOf = (version: number, wire: Wire, now: Date): SecretVersion => {
  const deletion = textOf(wire["deletion_time"]);
  const destroyed = wire["destroyed"] === true;
  const isDeleted = deletion !== "" && Date.parse(deletion) <= now.getTime();
  return {
    version,
    created_time: textOf(wire["created_time"]),
    deletion_time: deletion === "" ? null : deletion,
    destroyed,
    state: destroyed ? "destroyed" : isDeleted ? "deleted" : "active",
    ...(deletion === "" || isDeleted || destroyed ? {} : { expires_at: deletion }),
  };
};

const seconds = (duration: string): number => {
  const parts = [...duration.matchAll(/([0-9.]+)(h|m|s)/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * { h: 3600, m: 60, s: 1 }[unit as "h" | "m" | "s"], 0);
};

const DEFAULT_VERSIONS = 10;

/** What `metadata/<path>` and the mount's `config` say together: the larger number of versions, the shorter life. `now` is the server's. */
export const readDetail = (metadata: Wire, mount: Wire, now: Date): SecretDetail => {
  const { versions, custom_metadata: custom } = metadata;
  if (!isObject(versions)) throw bad();
  const lives = [textOf(metadata["delete_version_after"]), textOf(mount["delete_version_after"] ?? "0s")].filter(
    (life) => seconds(life) > 0,
  );
  return {
    current_version: numberOf(metadata["current_version"]),
    oldest_version: numberOf(metadata["oldest_version"]),
    created_time: textOf(metadata["created_time"]),
    updated_time: textOf(metadata["updated_time"]),
    max_versions: Math.max(numberOf(metadata["max_versions"]), numberOf(mount["max_versions"] ?? 0)) || DEFAULT_VERSIONS,
    cas_required: metadata["cas_required"] === true || mount["cas_required"] === true,
    delete_version_after: lives.toSorted((one, other) => seconds(one) - seconds(other))[0] ?? "0s",
    custom_metadata: isObject(custom) ? Object.fromEntries(Object.entries(custom).map(([name, value]) => [name, textOf(value)])) : {},
    versions: Object.entries(versions)
      .map(([version, wire]) => {
        if (!isObject(wire)) throw bad();
        return versionOf(Number(version), wire, now);
      })
      .toSorted((one, other) => other.version - one.version),
  };
};
