import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { formatPrefix, type SecretPrefix } from "#secrets/model/secret-uri.ts";
import {
  isSameData,
  isSecretMap,
  SecretValue,
  toSecretData,
  type SecretData,
  type SecretMap,
  wireOf,
} from "#secrets/model/secret-value.ts";
import type {
  Intend,
  ReadSecret,
  Removal,
  RemovedSecret,
  SecretChange,
  SecretProvider,
  WriteExpectation,
  WrittenSecret,
} from "#secrets/providers/secret-provider.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import { secretStores, type Scheme } from "#contract/secret-schemes.ts";
import { isRawNumber } from "#contract/exact-numbers.ts";
import { mayBeDone, type KvClient } from "./kv-client.ts";
import { createKvListing, nodeOf, pathOf } from "./kv-listing.ts";
import { readDetail, readVersion, type KvVersion } from "./kv-versions.ts";

/** By scheme: in which store each of its mounts was found to lie. */
export type FoundMounts = Map<Scheme, Map<string, string>>;

/** Nobody's secret: it is read to see whether one could be. */
const PROBE = "sallyport-health-probe";
/** Writers of other processes may win so often before one gives up; those of this one wait for each other. */
const MAX_RACES = 10;

/** These servers keep a number as a double: one that is more than that would come back as another. */
const requireKept = (data: SecretData): void => {
  if (isRawNumber(data))
    throw new Problem("value_shape", { detail: "The store would change a number's digits; write it as text, or as JavaScript prints it." });
  if (isSecretMap(data)) for (const item of data.values()) requireKept(item);
  else if (Array.isArray(data)) for (const item of data as readonly SecretData[]) requireKept(item);
};

/** The whole map after the change. */
const changed = (present: SecretMap | undefined, ref: SecretRef, change: SecretChange): SecretMap => {
  const named = ref.key === undefined ? change.value : new Map([[ref.key, change.value]]);
  if (!isSecretMap(named)) throw new Problem("value_shape", { detail: "Without a key in the URI the value is a map." });
  return change.replace || present === undefined ? named : new Map([...present, ...named]);
};

const unknownOutcome = (cause: unknown, current: number | undefined): Problem =>
  new Problem("outcome_unknown", { cause, members: { current_version: current } });

/** What follows a change that was made: where it fails, the change stands all the same. */
const afterChange = <T>(work: Promise<T>, current: number | undefined): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof Problem && error.code === "outcome_unknown" ? error : unknownOutcome(error, current);
  });

/**
 * Secrets of a KVv2 server (OpenBao, Vault). Every write names the version that it was made from, so nobody's is lost; a write whose
 * answer was lost is looked up. A mount is asked once whether it is one of KVv2, and again after the server was away.
 */
export const createKvProvider = (parts: {
  readonly scheme: Scheme;
  readonly client: KvClient;
  /** Of all providers of an instance: two schemes that name one store must not name one mount of it. */
  readonly found: FoundMounts;
  /** Where the tenants' secrets lie: health tries a read at each. */
  readonly places?: readonly SecretPrefix[];
}): SecretProvider => {
  const { scheme, client, found, places = [] } = parts;
  const mounts = new Map<string, Promise<void>>();
  /** Whose store tells the keys of a secret with their values alone. */
  const withoutSubkeys = new Set<string>();
  const queues = new Map<string, Promise<unknown>>();

  const lookAtMount = async (mount: string): Promise<void> => {
    const { status, data } = await client.call("GET", `sys/internal/ui/mounts/${mount}`);
    const options = data?.["options"] as { readonly version?: unknown } | null | undefined;
    if (status !== 200 || data?.["path"] !== `${mount}/` || data["type"] !== "kv" || options?.version !== "2")
      throw new Problem("not_supported", { detail: "The mount is none of KVv2." });
    const store = await client.store().catch(() => undefined);
    const own = found.get(scheme) ?? new Map<string, string>();
    own.delete(mount);
    if (store === undefined) return;
    const twin = [...found].find(([, places]) => places.get(mount) === store)?.[0];
    // To carry a secret from one of its names to the other would take the only copy away.
    if (twin !== undefined)
      throw new Problem("not_supported", {
        detail: `The mount is that of ${twin} too, in one store under two addresses: TENANT_ALLOWED_MOUNTS is to name it by one of them.`,
      });
    found.set(scheme, own.set(mount, store));
  };
  /** A mount that is none of KVv2, or lies in a child namespace, would take the same path for something else. */
  const requireMount = (mount: string): Promise<void> => {
    const known = mounts.get(mount) ?? lookAtMount(mount);
    mounts.set(mount, known);
    known.catch(() => mounts.delete(mount));
    return known;
  };
  const call: KvClient["call"] = async (verb, path, ...more) => {
    const mount = path.split("/", 1)[0] ?? "";
    await requireMount(mount);
    try {
      return await client.call(verb, path, ...more);
    } catch (error) {
      if (error instanceof Problem && error.code === "provider_unavailable") mounts.delete(mount);
      throw error;
    }
  };

  /** The newest version, or this one; `undefined`: there is none. */
  const fetchVersion = async (ref: SecretPrefix, version?: number): Promise<KvVersion | undefined> => {
    const { data } = await call("GET", `${pathOf(ref, "data")}${version === undefined ? "" : `?version=${version}`}`);
    return data === undefined ? undefined : readVersion(data);
  };
  const describe = async (ref: SecretPrefix) => {
    const [{ data, at }, { data: mount }] = await Promise.all([call("GET", pathOf(ref, "metadata")), call("GET", `${ref.mount}/config`)]);
    if (data === undefined) throw new Problem("secret_not_found");
    return readDetail(data, mount ?? {}, at);
  };

  const read = async (ref: SecretRef): Promise<ReadSecret> => {
    const found = await fetchVersion(ref, ref.version);
    if (found === undefined) {
      if (ref.version === undefined) throw new Problem("secret_not_found");
      await describe(ref);
      throw new Problem("version_not_found");
    }
    const { version, createdTime, data } = found;
    if (data === undefined) throw new Problem(found.destroyed ? "version_destroyed" : "version_deleted", { members: { version } });
    const value = ref.key === undefined ? data : data.get(ref.key);
    if (value === undefined) throw new Problem("key_not_found");
    return { value: new SecretValue(value), nodes: [nodeOf(ref)], version, createdTime };
  };

  /** Writes the map as the version after `base`; `undefined`: somebody else was first. */
  const put = async (
    ref: SecretRef,
    map: SecretMap,
    base: number,
    intend: Intend | undefined,
  ): Promise<{ version: number; createdTime: string } | undefined> => {
    await intend?.({ wanted: "written", versions: [base + 1], map });
    let isSent = false;
    for (let tries = 0; ; tries++) {
      try {
        const { status, data } = await call("POST", pathOf(ref, "data"), { data: wireOf(map), options: { cas: base } });
        isSent ||= status === 200;
        const { version, createdTime } = readVersion({ metadata: data });
        return { version, createdTime };
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        isSent ||= mayBeDone(error);
        if (!isSent && error.code === "cas_mismatch") return undefined;
        if (!isSent && error.code !== "provider_unavailable") throw error;
        // The answer was lost, or an earlier one of ours: what stands there now tells.
        const landed = await fetchVersion(ref, base + 1).catch((cause: unknown) => {
          throw isSent ? unknownOutcome(cause, base) : error;
        });
        if (landed?.data !== undefined && isSameData(landed.data, map)) return { version: landed.version, createdTime: landed.createdTime };
        if (landed !== undefined) return undefined;
        // It may come yet: a store that is slow does what nobody waits for any more.
        if (tries >= 2) throw isSent ? unknownOutcome(error, base) : error;
      }
    }
  };

  const inTurn = <T>(ref: SecretRef, work: () => Promise<T>): Promise<T> => {
    const place = formatPrefix(ref);
    const done = (queues.get(place) ?? Promise.resolve()).then(work);
    const settled = done
      .catch(() => undefined)
      .finally(() => {
        if (queues.get(place) === settled) queues.delete(place);
      });
    queues.set(place, settled);
    return done;
  };

  /** From the start again where somebody else was first. */
  const untilFirst = async <T>(attempt: () => Promise<T | undefined>): Promise<T> => {
    for (let races = 0; ; races++) {
      const done = await attempt();
      if (done !== undefined) return done;
      if (races >= MAX_RACES) throw new Problem("cas_mismatch");
      await sleep(Math.random() * 10 * (races + 1));
    }
  };

  const write = async (ref: SecretRef, change: SecretChange, expect: WriteExpectation): Promise<WrittenSecret> => {
    requireKept(change.value);
    if (!expect.decided.has(ref.id)) throw new Problem("busy", { detail: "The secret was not decided." });
    return untilFirst(async () => {
      const present = await fetchVersion(ref);
      // What is deleted is not there; its number is still the one to write after.
      if (expect.cas === 0 ? present?.data !== undefined : expect.cas !== undefined && expect.cas !== (present?.version ?? 0))
        throw new Problem("cas_mismatch");
      const isThere = ref.key === undefined ? present?.data !== undefined : present?.data?.has(ref.key) === true;
      if (expect.mustNotExist === true && isThere) throw new Problem("target_exists");
      if (expect.mustExist === true && !isThere) throw new Problem(present?.data === undefined ? "secret_not_found" : "key_not_found");
      const map = changed(present?.data, ref, change);
      const written = await put(ref, map, present?.version ?? 0, expect.intend);
      if (written === undefined) return undefined;
      const old = present === undefined ? {} : { oldVersion: present.version };
      const isOther = present?.data === undefined || !isSameData(present.data, map);
      return { created: !isThere, isFirst: present?.data === undefined, changed: isOther, ...written, ...old };
    });
  };

  /**
   * Deletes, restores or destroys versions, and returns how all of them stand then. The store answers alike whether it did something or
   * nothing. So what was not answered, what was not looked at again, and what stands otherwise then, may have been done.
   */
  const mark = async (
    ref: SecretRef,
    how: "delete" | "undelete" | "destroy",
    versions: readonly number[],
    current: number | undefined,
    intend?: Intend,
  ) => {
    const wanted = ({ delete: "deleted", undelete: "active", destroy: "destroyed" } as const)[how];
    await intend?.({ wanted, versions });
    let isDone = false;
    try {
      await call("POST", pathOf(ref, how), { versions }, true);
      isDone = true;
      const { versions: after } = await describe(ref);
      const isSo = (version: number): boolean => after.some((one) => one.version === version && one.state === wanted);
      if (!versions.every(isSo)) throw unknownOutcome("another writer marked the versions too", current);
      return after;
    } catch (error) {
      throw isDone || mayBeDone(error) ? unknownOutcome(error, current) : error;
    }
  };

  const settle: SecretProvider["settle"] = async (ref, versions, how, { cas, intend } = {}) => {
    const { versions: all, current_version: current } = await describe(ref);
    if (cas !== undefined && cas !== current) throw new Problem("cas_mismatch");
    const before = all.filter(({ version }) => versions.includes(version));
    if (before.length === 0) throw new Problem("version_not_found");
    const changing = before
      .filter(({ state }) => (how === "undelete" ? state === "deleted" : state !== "destroyed"))
      .map(({ version }) => version);
    const settled = changing.length === 0 ? all : await mark(ref, how, changing, current, intend);
    return settled.filter(({ version }) => versions.includes(version)).map((one) => ({ ...one, changed: changing.includes(one.version) }));
  };

  const requireUnchanged = (present: Pick<KvVersion, "version" | "createdTime"> | undefined, { onlyIf, cas }: Removal): void => {
    if (cas !== undefined && present?.version !== cas) throw new Problem("cas_mismatch");
    if (onlyIf !== undefined && (present?.version !== onlyIf.version || present?.createdTime !== onlyIf.createdTime))
      throw new Problem("source_changed");
  };

  /** Deletes the version that holds this key alone; whether the key is gone. A version that came meanwhile stays, and may hold it too. */
  const removeLast = async (ref: SecretRef, key: string, version: number, intend: Intend | undefined): Promise<boolean> => {
    const [newest] = await mark(ref, "delete", [version], version, intend);
    const later = newest?.version === version ? undefined : await afterChange(fetchVersion(ref), version);
    if (later?.data?.has(key) !== true) return true;
    await afterChange(mark(ref, "undelete", [version], newest?.version), version);
    return false;
  };

  const removeKey = (ref: SecretRef, key: string, how: Removal): Promise<RemovedSecret> =>
    untilFirst(async () => {
      const present = await fetchVersion(ref);
      requireUnchanged(present, how);
      if (present?.data === undefined) throw new Problem("secret_not_found");
      if (!present.data.has(key)) throw new Problem("key_not_found");
      const left = new Map([...present.data].filter(([name]) => name !== key));
      const answer = async (made?: number): Promise<RemovedSecret> => ({
        result: "key_removed",
        versions: (await afterChange(describe(ref), made ?? present.version)).versions,
        ...(made === undefined ? {} : { made }),
      });
      if (left.size === 0) return (await removeLast(ref, key, present.version, how.intend)) ? answer() : undefined;
      const written = await put(ref, left, present.version, how.intend);
      return written === undefined ? undefined : answer(written.version);
    });

  const remove = async (ref: SecretRef, how: Removal): Promise<RemovedSecret> => {
    if (!how.decided.has(ref.id)) throw new Problem("busy", { detail: "The secret was not decided." });
    if (ref.key !== undefined) return removeKey(ref, ref.key, how);
    const { versions } = await describe(ref);
    const [newest] = versions;
    requireUnchanged(newest === undefined ? undefined : { version: newest.version, createdTime: newest.created_time }, how);
    if (how.hard) {
      const left = versions.filter(({ state }) => state !== "destroyed").map(({ version }) => version);
      if (left.length === 0) return { result: "unchanged", versions };
      return { result: "destroyed", versions: await mark(ref, "destroy", left, newest?.version, how.intend) };
    }
    if (newest === undefined || newest.state !== "active") return { result: "unchanged", versions };
    // By its number: what is written meanwhile is another version, and stays.
    const after = await mark(ref, "delete", [newest.version], newest.version, how.intend);
    const there = after[0];
    if ((how.onlyIf !== undefined || how.cas !== undefined) && there !== undefined && there.version !== newest.version) {
      await afterChange(mark(ref, "undelete", [newest.version], there.version), there.version);
      requireUnchanged({ version: there.version, createdTime: there.created_time }, how);
    }
    return { result: "deleted", versions: after };
  };

  const keys: SecretProvider["keys"] = async (ref) => {
    const reported = withoutSubkeys.has(ref.mount)
      ? undefined
      : await call("GET", `${pathOf(ref, "subkeys")}?depth=${ref.key === undefined ? 1 : 2}`).catch((error: unknown) => {
          if (error instanceof Problem && ["provider_error", "provider_denied"].includes(error.code)) return undefined;
          throw error;
        });
    const subkeys = reported?.data?.["subkeys"];
    const whole = isObject(subkeys) ? toSecretData(subkeys) : SecretValue.reveal((await read({ ...ref, key: undefined })).value);
    if (!isObject(subkeys)) withoutSubkeys.add(ref.mount);
    const part = ref.key === undefined ? whole : isSecretMap(whole) ? whole.get(ref.key) : undefined;
    if (part === undefined) throw new Problem("key_not_found");
    return { keys: isSecretMap(part) ? [...part.keys()] : [], nodes: [] };
  };

  /** What keeps a secret from being read, tried as an operation does it: token, headers, mount and policy; a word that anybody may read. */
  const issueOfReads = async (): Promise<string | undefined> => {
    for (const { mount, segments } of places)
      try {
        await lookAtMount(mount);
        await client.call("GET", [mount, "data", ...segments, PROBE].join("/"), undefined, false);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        return error.code === "provider_unavailable" ? "unavailable" : error.code.replace(/^provider_/, "");
      }
    return undefined;
  };

  return {
    name: scheme,
    schemes: [scheme],
    can: new Set(secretStores[scheme].can),
    nodes: async (ref) => [nodeOf(ref)],
    read,
    write: (ref, change, expect) => inTurn(ref, () => write(ref, change, expect)),
    remove: (ref, how) => inTurn(ref, () => remove(ref, how)),
    settle: (ref, versions, how, more) => inTurn(ref, () => settle(ref, versions, how, more)),
    describe,
    keys,
    list: createKvListing(call),
    position: client.position,
    reach: client.reach,
    state: async () => {
      const said = await client.health();
      const isUp = said === "up" || said === "standby" || said === "perf_standby";
      const issue = isUp ? await issueOfReads() : said;
      return issue === undefined ? { status: "up" } : { status: "degraded", issue };
    },
  };
};
