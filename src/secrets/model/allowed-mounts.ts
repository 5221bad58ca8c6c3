import { createHmac } from "node:crypto";
import { deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import { tenantId } from "#contract/ids.ts";
import { isObject } from "#contract/is-object.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { readJsonSetting } from "#http/json-setting.ts";
import { formatPrefix, parseSecretPrefix, type SecretPrefix } from "./secret-uri.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { lowerAscii, type SchemeTable } from "./uri-schemes.ts";

/** Tenant id, or `PLATFORM`, to the places that are its. */
export type AllowedMounts = ReadonlyMap<string, readonly SecretPrefix[]>;

export interface AllowedMountsInput {
  /** TENANT_ALLOWED_MOUNTS: a comma list, or a JSON object of tenant id to list. */
  readonly text: string | undefined;
  /** TENANT_ID: compulsory with the comma list, refused with JSON. */
  readonly tenantId: string | undefined;
  readonly schemes: SchemeTable;
  /** Address of the server behind each configured KVv2 scheme; equal addresses are one server. */
  readonly servers: ReadonlyMap<Scheme, string>;
}

const VARIABLE = "TENANT_ALLOWED_MOUNTS";
/** Paths of a KVv2 server that hold its own machinery; in any case of letters. */
const ownMounts: ReadonlySet<string> = new Set(["sys", "auth", "identity", "cubbyhole", "root", "system"]);

const readLists = (input: AllowedMountsInput, issue: (message: string) => void): [tenant: string, items: readonly string[]][] => {
  const text = (input.text ?? "").trim();
  if (text === "") return [];
  if (!text.startsWith("{")) {
    const items = text.split(",").map((item) => item.trim());
    if (input.tenantId !== undefined) return [[input.tenantId, items]];
    issue('a list of mounts needs TENANT_ID; without it write JSON: {"tenant:a":["yaml://secret"]}');
    return [["", items]];
  }
  if (input.tenantId !== undefined) issue("mounts by tenant (JSON) and TENANT_ID exclude each other");
  let value: unknown;
  try {
    value = readJsonSetting(text);
  } catch (error) {
    issue(`begins like JSON and ${error instanceof RangeError ? error.message : "cannot be read"}`);
    return [];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([tenant, items]): [string, string[]][] => {
    if (tenant !== PLATFORM && !tenantId.safeParse(tenant).success)
      issue(`"${tenant}" is neither a tenant id (tenant:name) nor ${PLATFORM}`);
    if (Array.isArray(items) && items.every((item): item is string => typeof item === "string")) return [[tenant, items]];
    issue(`the mounts of "${tenant}" are not a list of text`);
    return [];
  });
};

/** A name without scheme: the file's mount, or a mount of the only KVv2 server. */
const withScheme = (item: string, servers: AllowedMountsInput["servers"]): string => {
  if (item.includes("://")) return item;
  if (item === "secret" || item.startsWith("secret/")) return `yaml://${item}`;
  const [first, second] = servers.keys();
  if (first === undefined) throw new RangeError(`"${item}" names no scheme, and no KVv2 server is configured: write scheme://mount`);
  if (second !== undefined && servers.get(first) !== servers.get(second))
    throw new RangeError(`"${item}" fits two servers: write ${first}://${item} or ${second}://${item}`);
  return `${first}://${item}`;
};

const readItem = (item: string, input: AllowedMountsInput): SecretPrefix => {
  if (item === "") throw new RangeError("a mount is empty");
  const full = withScheme(item, input.servers);
  try {
    return parseSecretPrefix(full, input.schemes);
  } catch (cause) {
    if (cause instanceof Problem) throw new RangeError(`"${item}": ${cause.code}, ${cause.message}`, { cause });
    throw cause;
  }
};

/** One secret must not have two names: a mount of one server under both schemes would be decided twice, differently. */
const doubleNames = (places: readonly SecretPrefix[], servers: AllowedMountsInput["servers"]): string[] => {
  const named = new Map<string, Scheme>();
  const issues: string[] = [];
  for (const { scheme, mount } of places) {
    const server = servers.get(scheme);
    if (server === undefined) continue;
    const other = named.get(`${server} ${mount}`);
    if (other !== undefined && other !== scheme)
      issues.push(`mount "${mount}" of one server is named by ${other} and by ${scheme}: one secret would have two names`);
    named.set(`${server} ${mount}`, other ?? scheme);
  }
  return issues;
};

const isWithin = (one: readonly string[], other: readonly string[]): boolean => other.every((segment, at) => segment === one[at]);

/** A place is of one tenant, or of the platform: in one that two had, the administrators of each would have the secrets of both. */
const overlaps = (mounts: AllowedMounts, servers: AllowedMountsInput["servers"]): string[] => {
  const all = [...mounts].flatMap(([owner, places]) =>
    places.map((place) => ({ owner, place, store: servers.get(place.scheme) ?? place.scheme })),
  );
  return all.flatMap((one, at) =>
    all.slice(at + 1).flatMap((other) => {
      const [short, long] = one.place.segments.length <= other.place.segments.length ? [one, other] : [other, one];
      const isOne = one.store === other.store && one.place.mount === other.place.mount;
      if (one.owner === other.owner || !isOne || !isWithin(long.place.segments, short.place.segments)) return [];
      return [
        `"${formatPrefix(long.place)}" of ${long.owner} lies in "${formatPrefix(short.place)}" of ${short.owner}: give each a place of its ` +
          `own; what systems for several tenants use lies at a place of "${PLATFORM}"`,
      ];
    }),
  );
};

/** Reads TENANT_ALLOWED_MOUNTS with TENANT_ID; all faults at once. Empty or unset: no tenant has a mount. */
export const parseAllowedMounts = (input: AllowedMountsInput): { readonly mounts: AllowedMounts; readonly issues: readonly Issue[] } => {
  const issues: Issue[] = [];
  const issue = (message: string): void => void issues.push({ path: VARIABLE, message });
  const mounts = new Map<string, readonly SecretPrefix[]>();
  for (const [tenant, items] of readLists(input, issue)) {
    const places = new Map<string, SecretPrefix>();
    for (const item of items) {
      try {
        const place = readItem(item, input);
        if (ownMounts.has(lowerAscii(place.mount))) issue(`"${item}": the mount "${place.mount}" is the server's own`);
        if (places.has(formatPrefix(place))) issue(`"${item}" is given twice`);
        places.set(formatPrefix(place), place);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        issue(error.message);
      }
    }
    mounts.set(tenant, [...places.values()]);
  }
  for (const message of [...doubleNames([...mounts.values()].flat(), input.servers), ...overlaps(mounts, input.servers)]) issue(message);
  return { mounts, issues };
};

/** One mark of what the mounts mean under each root secret: two processes compare them, and nobody else learns a place. */
export const mountMarks = (mounts: AllowedMounts, secrets: InstanceSecrets): readonly string[] => {
  const lists = [...mounts].map(([owner, places]) => [owner, ...places.map(formatPrefix).toSorted()]);
  const text = JSON.stringify(lists.filter(({ length }) => length > 1).toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
  return secrets.map((secret) => createHmac("sha256", deriveKey(secret, "secrets.mounts.v1")).update(text).digest("base64url"));
};
