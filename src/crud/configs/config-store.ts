import type { ConfigDiff } from "#contract/configs.ts";
import { MOST_FAULTS, Problem, type Fault } from "#contract/problem.ts";
import type { Change } from "#events/change.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/event-draft.ts";
import { followChannel } from "#events/follow-channel.ts";
import { createTurns } from "#http/turns.ts";
import { namesState, namesTag } from "#http/entity-tags.ts";
import type { Database, TransactionSql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-keeper.ts";
import type { ReadReference, References } from "#crud/systems/load-systems.ts";
import { allowNetwork } from "#crud/upstream/network-rules.ts";
import { referencesOfAll } from "./config-files.ts";
import { effectsOf, type TouchedTool } from "./effects.ts";
import type { Refused } from "./healthy-operations.ts";
import { keyOf, type HeldObject, type KindName } from "./held-object.ts";
import { isOwn, isPrepared, type ConfigKind, type Place, type Prepared } from "./kinds.ts";
import { createOwnFolder, type Staged } from "./own-folder.ts";
import { createFileTaker } from "./take-files.ts";
import { configEntry, configEvents, houseWriter, type ConfigOp, type Writer } from "./tell.ts";
import {
  CONFIG_CHANNEL,
  digestOf,
  etagOf,
  listVersionRows,
  listVersions,
  lockConfig,
  markState,
  markWritten,
  putVersion,
  readDegraded,
  readHead,
  readHeads,
  readSetVersion,
  readVersion,
  type StoredHead,
  type StoredVersion,
  type VersionRow,
} from "./version-store.ts";
import { watchFolders } from "./watch-folders.ts";

/** A change that somebody asks for. */
export interface ConfigWrite {
  readonly kind: KindName;
  /** Undefined: of a new object what its document says. */
  readonly name: string | undefined;
  /** Null: it is taken away. */
  readonly text: string | null;
  /** Of an earlier version, which is put in force again. */
  readonly restored?: StoredVersion;
  /** Reads what came with it, which is all that it may refer to; absent: files of the version before and of the folders. */
  readonly read?: ReadReference;
  readonly by: Writer;
  readonly reason: string | undefined;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  readonly isDryRun: boolean;
}

export interface Written {
  readonly name: string;
  readonly version: number;
  readonly etag: string;
  readonly diff: ConfigDiff;
  /** Tools that change or go, as they were and would be. */
  readonly touched: readonly TouchedTool[];
  readonly warnings: readonly string[];
  /** That the document names; none of one that is faulty. */
  readonly secrets: readonly string[];
  readonly isNew: boolean;
  /** It was so already: nothing was written. */
  readonly isSame: boolean;
  /** Of a dry run alone. */
  readonly faults?: readonly Fault[];
}

export interface ConfigStore {
  readonly setVersion: bigint;
  /** Objects that are there, those that serve an older version or nothing among them, by name. */
  list(kind: KindName, tenant: string): readonly HeldObject[];
  /** Throws `not_found` for what is not there, or not for this tenant. */
  require(kind: KindName, name: string, tenant: string): HeldObject;
  /** Newest first; none of a time when the object was another tenant's. */
  versions(
    kind: KindName,
    name: string,
    tenant: string,
    page: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<readonly VersionRow[]>;
  /** Throws `version_not_found`. */
  version(kind: KindName, name: string, version: number, tenant: string): Promise<StoredVersion & { readonly text: string }>;
  /** Throws `unprocessable` with every fault, `stale_version`, `already_exists`, `not_found`, `managed_elsewhere`, `cross_tenant`. */
  write(change: ConfigWrite): Promise<Written>;
  /** All of them in one commit, or nothing: throws as `write`, with the faults of every one by its file. Each is looked at beside what serves now. */
  writeAll(changes: readonly ConfigWrite[]): Promise<readonly Written[]>;
  /** Takes up what changed in the folders; answers what it was. */
  takeFiles(by?: Writer): Promise<readonly string[]>;
  readonly degraded: readonly HeldObject[];
  /** Takes up what others and this process changed; never throws. */
  follow(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ConfigStoreParts {
  readonly database: Database;
  readonly change: Change;
  readonly kinds: Readonly<Record<KindName, ConfigKind>>;
  readonly catalogue: Pick<CatalogueKeeper, "snapshot" | "rebuild">;
  readonly folders: readonly string[];
  /** `files`: the folders are the truth; a write goes to the first of them. */
  readonly mode: "files" | "database";
  readonly requiresIfMatch: boolean;
  /** Every tenant of the house now. */
  readonly tenants: () => Promise<readonly string[]>;
  /** Looks again at what the catalogue hangs on besides, whenever the set was raised. */
  readonly raised: () => Promise<void>;
  readonly pollMs?: number | undefined;
  readonly log: Log;
}

const MOST_LOOKED_BACK = 20;
/** Between two objects of many: others have their turn. */
const pause = createTurns(10);
const isKind = (kind: string): kind is KindName => kind === "system" || kind === "tools";
/** What is wrong with a document for whoever publishes it. Of a faulty one the graph is asked besides, and says nothing while it is away. */
const faultsOf = async (prepared: Prepared | Refused, by: Parameters<Prepared["check"]>[0]): Promise<readonly Fault[]> => {
  if (isPrepared(prepared)) return prepared.check(by);
  try {
    return [...prepared.faults, ...((await prepared.check?.(by)) ?? [])];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return prepared.faults;
  }
};
const refuse = (faults: readonly Fault[]): Problem =>
  new Problem(faults.some(({ code }) => code === "connector_not_available") ? "connector_not_available" : "unprocessable", {
    errors: faults,
  });

/** The faults of a refusal, each with the file that it is of. */
const faultsIn = ({ code, title, options: { detail, errors } }: Problem, file: string): readonly Fault[] =>
  errors === undefined ? [{ path: "", message: detail ?? title, code, file }] : errors.map((fault) => ({ file, ...fault }));

/**
 * The versions of every object, and what of them serves in this process. A write is one commit of version, audit entry and events; every
 * process hears of it by the channel, reads what changed and swaps it in. What does not load keeps its last version that does.
 */
export const openConfigStore = async (parts: ConfigStoreParts): Promise<ConfigStore> => {
  const { database, change, kinds, catalogue, log } = parts;
  const held = new Map<string, HeldObject>();
  /** Read already on the way into the database; by version. */
  const ready = new Map<string, Prepared>();
  const fromFolders = referencesOfAll(parts.folders);
  let known = 0n;
  let looking: Promise<unknown> = Promise.resolve();

  const readFrom =
    (refs: References): ReadReference =>
    async (path) =>
      Object.hasOwn(refs, path) ? refs[path] : undefined;
  const prepareStored = async (
    { kind, name, text, refs }: StoredVersion,
    how: "prepare" | "prepareHealthy" = "prepare",
  ): Promise<Prepared | { readonly faults: readonly Fault[] }> =>
    text === null || !isKind(kind) ? { faults: [] } : kinds[kind][how]({ name, text, read: readFrom(refs) });

  /** The newest version before this one that still loads. */
  const lastGood = async (head: StoredHead): Promise<{ readonly prepared: Prepared; readonly version: number } | undefined> => {
    for (const older of await listVersions(database, head.kind, head.name, { before: head.version, limit: MOST_LOOKED_BACK })) {
      const found = await prepareStored(older);
      if (isPrepared(found)) return { prepared: found, version: older.version };
    }
    return undefined;
  };

  const hold = (object: HeldObject): void => {
    const before = held.get(keyOf(object.kind, object.name));
    held.set(keyOf(object.kind, object.name), object);
    if (object.faults.length > 0 && JSON.stringify(before?.faults) !== JSON.stringify(object.faults))
      log.error("config_object_degraded", { kind: object.kind, name: object.name, errors: object.faults, serving: object.serving });
  };

  /** Where nothing takes the place of what served, that goes. */
  const putInPlace = (kind: KindName, name: string, prepared: Prepared | undefined, before: HeldObject | undefined): void => {
    if (prepared !== undefined) prepared.place();
    else if (before?.prepared !== undefined) kinds[kind].absent(name).place();
  };

  const degraded = (): readonly HeldObject[] => [...held.values()].filter(({ faults }) => faults.length > 0);
  /** Degraded objects as others were told, by key; undefined: as the database says. */
  let told: ReadonlySet<string> | undefined;
  /** Tells what is degraded now and was not, or was and is not: once, however many processes find it. */
  const tellStates = async (): Promise<void> => {
    const now = new Map(degraded().map((object) => [keyOf(object.kind, object.name), object]));
    const before = told ?? new Set((await readDegraded(database)).map(({ kind, name }) => keyOf(kind, name)));
    const news = [...now.keys(), ...before].filter((key) => now.has(key) !== before.has(key));
    if (news.length > 0) {
      const all = await parts.tenants();
      await change(async (sql) => {
        const events: EventDraft[] = [];
        for (const key of news) {
          const [kind = "", name = ""] = key.split(/\/(.*)/s);
          const op = now.has(key) ? "degraded" : "repaired";
          const { version = 0, digest = "", tenants = null } = held.get(key)?.head ?? {};
          if (await markState(sql, op, kind, name))
            events.push(...configEvents(houseWriter("state"), op, { kind, name, version, digest, tenants }, tenants, all));
        }
        return { result: undefined, events };
      });
    }
    told = new Set(now.keys());
  };

  const takeUp = async (head: StoredHead): Promise<void> => {
    const { kind, name, version, text } = head;
    if (!isKind(kind)) return;
    const before = held.get(keyOf(kind, name));
    if (before?.head?.version === version) return;
    const place = (what: Place): void => what.place();
    if (text === null) {
      place(kinds[kind].absent(name));
      hold({ kind, name, head, serving: null, faults: [] });
      return;
    }
    const way = `${keyOf(kind, name)}@${version}`;
    const found = ready.get(way) ?? (await prepareStored(head));
    ready.delete(way);
    if (isPrepared(found)) {
      place(found);
      hold({ kind, name, head, prepared: found, serving: version, faults: [] });
      return;
    }
    if (before?.serving !== undefined && before.serving !== null) {
      hold({ ...before, head, faults: found.faults });
      return;
    }
    const good = await lastGood(head);
    const healthy = good === undefined ? await prepareStored(head, "prepareHealthy") : undefined;
    const prepared = good?.prepared ?? (healthy !== undefined && isPrepared(healthy) ? healthy : undefined);
    putInPlace(kind, name, prepared, before);
    hold({
      kind,
      name,
      head,
      prepared,
      serving: good?.version ?? (prepared === undefined ? null : version),
      faults: (healthy ?? found).faults,
    });
  };

  const lookNow = async (): Promise<void> => {
    const set = await readSetVersion(database);
    if (set === known) return;
    for (const head of await readHeads(database, known)) {
      await pause();
      await takeUp(head);
    }
    await parts.raised();
    known = set;
    catalogue.rebuild();
    if (told !== undefined) await tellStates();
  };
  /** One look after the other: a later one sees what an earlier one took up. */
  const look = (): Promise<void> => {
    const next = looking.then(lookNow);
    looking = next.catch(() => undefined);
    return next;
  };
  /** A change is committed, whatever comes of the look: the next one takes it up. */
  const lookAfter = (): Promise<void> => look().catch((cause: unknown) => log.error("config_not_followed", { cause }));

  const ownFolder = parts.mode === "files" ? createOwnFolder(parts.folders) : undefined;
  const take = createFileTaker({
    ...parts,
    ownFolder,
    held,
    ready,
    hold,
    putInPlace,
    look,
    tellStates,
    rebuild: () => catalogue.rebuild(),
  });
  /** Where the folders are the truth one writes or takes up after the other: between the commit and its file nobody looks. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (ownFolder === undefined) return work();
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  };
  const takeFiles = (by: Writer = houseWriter("start")): Promise<readonly string[]> => inTurn(() => take(by));

  const sees = (tenants: readonly string[] | null | undefined, tenant: string): boolean => tenants?.includes(tenant) !== false;
  const tenantsOf = ({ head, prepared }: HeldObject): readonly string[] | null | undefined =>
    head === undefined ? prepared?.tenants : head.tenants;
  const find = (kind: KindName, name: string, tenant: string): HeldObject | undefined => {
    const object = held.get(keyOf(kind, name));
    return object === undefined || !sees(tenantsOf(object), tenant) ? undefined : object;
  };
  const isThere = ({ head, faults }: HeldObject): boolean => (head !== undefined && head.text !== null) || faults.length > 0;
  const requireObject = (kind: KindName, name: string, tenant: string): HeldObject => {
    const object = find(kind, name, tenant);
    if (object === undefined || !isThere(object)) throw new Problem("not_found");
    return object;
  };

  const requireTags = ({ ifMatch, ifNoneMatch, isDryRun }: ConfigWrite, head: StoredVersion | undefined): void => {
    const live = head === undefined || head.text === null ? undefined : etagOf(head);
    if (namesState(ifNoneMatch, live)) throw new Problem("already_exists");
    const stale = (detail?: string): Problem =>
      new Problem("stale_version", {
        ...(detail === undefined ? {} : { detail }),
        ...(live === undefined ? {} : { headers: { etag: live }, members: { current: live, yours: ifMatch } }),
      });
    if (ifMatch !== null && !namesTag(ifMatch, live)) throw stale();
    if (ifMatch === null && parts.requiresIfMatch && live !== undefined && !isDryRun)
      throw stale("Send If-Match with the ETag that you read.");
  };

  /** A change that was looked at and may be made. */
  interface Planned {
    readonly asked: ConfigWrite;
    readonly written: Written;
    readonly op: ConfigOp;
    /** Undefined: it is taken away. */
    readonly good: Prepared | undefined;
  }

  /** What a change would do. Throws as `write`; what it read is let go then. */
  const plan = async (asked: ConfigWrite, others: readonly string[]): Promise<Planned> => {
    const { kind, text, by, restored, isDryRun } = asked;
    const wall = { tenant: by.tenant, others };
    const known = asked.name === undefined ? undefined : held.get(keyOf(kind, asked.name));
    const refs = restored?.refs ?? known?.head?.refs ?? {};
    const read: ReadReference =
      asked.read ?? (async (path) => (await readFrom(refs)(path)) ?? (restored === undefined ? fromFolders(path) : undefined));
    const prepared = text === null ? undefined : await kinds[kind].prepare({ name: asked.name, text, read });
    const good = prepared !== undefined && isPrepared(prepared) ? prepared : undefined;
    const name = asked.name ?? good?.name ?? "";
    const before = held.get(keyOf(kind, name));
    const live = before?.head?.text === null ? undefined : before?.head;
    const digest = digestOf(text, good?.refs ?? {});
    const isSame = live !== undefined && text !== null && live.digest === digest;
    const faults = prepared === undefined || isSame ? [] : await faultsOf(prepared, { ...wall, correlationId: by.correlationId });
    // Of another tenant's object nothing is said: not even that the name is taken, where a change is asked for.
    if (asked.name !== undefined && text === null) requireObject(kind, name, by.tenant);
    try {
      if (asked.name === undefined && live !== undefined)
        throw new Problem(
          "already_exists",
          sees(live.tenants, by.tenant) ? { detail: `${name}: its next version is PUT /config/systems/${name}.` } : {},
        );
      if (live !== undefined && !sees(live.tenants, by.tenant)) throw new Problem("not_found");
      if (live !== undefined && kind !== "tools" && !isSame && !isOwn(live.tenants, wall))
        throw new Problem("cross_tenant", {
          detail: "It serves other tenants of this house too: its file in the configuration folder changes it.",
        });
      if (text === null && live === undefined) throw new Problem("not_found");
      requireTags(asked, before?.head);
      if (faults.length > 0 && !isDryRun) throw refuse(faults);
      const after = good ?? (text === null ? kinds[kind].absent(name) : undefined);
      const next = (after?.preview ?? (() => catalogue.snapshot))();
      const { diff, touched } = await effectsOf(catalogue.snapshot, next, by.tenant, { before: before?.prepared, after: good });
      const cut = next.dropped.filter(({ reason }) => reason === "max_tools").length;
      const warnings = [
        ...(good?.isOff === true ? ["One of its settings has no value here: it serves nothing until it has one."] : []),
        ...(good?.unlisted ?? []).map((network) => `${network} is not public: calls are refused. ${allowNetwork(name, network)}`),
        ...(cut > 0 ? [`MCP_MAX_TOOLS leaves ${cut} tools out, the last by name of all of this house: they cannot be called.`] : []),
        ...(kind === "tools" ? [...next.views.values()] : []).flatMap((view) =>
          view.cut > 0 && sees(view.tenants.length > 0 ? view.tenants : null, by.tenant)
            ? [`The view ${view.name} leaves out ${view.cut} tools, the last by name.`]
            : [],
        ),
      ];
      const planned = isSame && live !== undefined ? live : { version: (before?.head?.version ?? 0) + 1, digest };
      const op: ConfigOp = text === null ? "deleted" : restored !== undefined ? "rolled_back" : live === undefined ? "created" : "updated";
      const told = {
        diff,
        touched,
        warnings,
        secrets: good?.secrets ?? [],
        isSame,
        isNew: op === "created" && !isDryRun,
        ...(isDryRun ? { faults: faults.slice(0, MOST_FAULTS) } : {}),
      };
      return {
        asked,
        op,
        good,
        written: { name: name || (prepared?.name ?? ""), version: planned.version, etag: etagOf(planned), ...told },
      };
    } catch (error) {
      good?.discard();
      throw error;
    }
  };

  /** Files of the changes beside those that they replace, where the folders are the truth. */
  const stage = async (made: readonly Planned[]): Promise<Staged | undefined> => {
    if (ownFolder === undefined) return undefined;
    const keys = new Set(made.map(({ asked, written }) => keyOf(asked.kind, written.name)));
    const others = [...held].flatMap(([key, { head }]) => (keys.has(key) || head === undefined || head.text === null ? [] : [head]));
    const errors = made.flatMap(({ asked, good, written }) =>
      Object.entries(good?.refs ?? {}).flatMap(([path, text]) => {
        const other = others.find(({ refs }) => Object.hasOwn(refs, path) && refs[path] !== text);
        if (other === undefined) return [];
        const file = kinds[asked.kind].fileOf(written.name);
        return [{ path: "", file, message: `refers to ${path}, which ${other.name} has with other content: one file cannot be both` }];
      }),
    );
    if (errors.length > 0) throw refuse(errors);
    return ownFolder.stage(
      made.map(({ asked, good, written }) => ({
        file: kinds[asked.kind].fileOf(written.name),
        text: asked.text,
        refs: good?.refs ?? {},
      })),
    );
  };
  /** Puts the files of what was committed in place. What cannot be, is written at the next start or reload. */
  const place = async (staged: Staged | undefined, versions: Iterable<StoredVersion>): Promise<readonly string[]> => {
    if (staged === undefined) return [];
    try {
      await staged.place();
      for (const { kind, name, version } of versions) await markWritten(database, kind, name, version);
      return [];
    } catch (cause) {
      await staged.discard();
      log.error("config_file_unwritten", { cause });
      return ["It is in force, but its file could not be written: POST /config/reload tries again."];
    }
  };

  /** Makes the changes that are any. */
  const make = async (plans: readonly Planned[], others: readonly string[]): Promise<readonly Written[]> => {
    const made = plans.filter(({ asked, written }) => !asked.isDryRun && !written.isSame);
    const placed = new Set(made);
    const [first] = made;
    let staged: Staged | undefined;
    const unplaced: string[] = [];
    try {
      staged = first === undefined ? undefined : await stage(made);
      const versions = new Map<Planned, StoredVersion>();
      if (first !== undefined)
        await change(async (sql) => {
          versions.clear();
          const all = { entries: [] as EntryDraft[], events: [] as EventDraft[] };
          for (const one of made) {
            const { version, entries, events } = await commit(sql, one, others);
            versions.set(one, version);
            all.entries.push(...entries);
            all.events.push(...events);
          }
          return { result: undefined, ...all };
        });
      for (const [{ asked, good }, { name, version }] of versions)
        if (good !== undefined) ready.set(`${keyOf(asked.kind, name)}@${version}`, good);
      for (const text of await place(staged, versions.values())) unplaced.push(text);
      if (first !== undefined) await lookAfter();
      return plans.map((one) => {
        const version = versions.get(one);
        if (version === undefined) return one.written;
        return { ...one.written, version: version.version, etag: etagOf(version), warnings: [...one.written.warnings, ...unplaced] };
      });
    } catch (error) {
      placed.clear();
      await staged?.discard();
      throw error;
    } finally {
      for (const one of plans) if (!placed.has(one)) one.good?.discard();
    }
  };

  const othersOf = async ({ tenant }: Writer): Promise<readonly string[]> => (await parts.tenants()).filter((one) => one !== tenant);
  /** What others changed, or somebody in the folder, comes before a write. */
  const lookFirst = async (): Promise<void> => {
    if (ownFolder !== undefined) await take(houseWriter("write"));
    await look();
  };
  const write = async (asked: ConfigWrite): Promise<Written> => {
    await lookFirst();
    const others = await othersOf(asked.by);
    const [written] = await make([await plan(asked, others)], others);
    if (written === undefined) throw new TypeError("what is planned is written");
    return written;
  };

  const writeAll = async (changes: readonly ConfigWrite[]): Promise<readonly Written[]> => {
    const [first] = changes;
    if (first === undefined) return [];
    await lookFirst();
    const others = await othersOf(first.by);
    const plans: Planned[] = [];
    const faults: Fault[] = [];
    for (const asked of changes) {
      await pause();
      try {
        plans.push(await plan(asked, others));
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500) {
          for (const { good } of plans) good?.discard();
          throw error;
        }
        faults.push(...faultsIn(error, kinds[asked.kind].fileOf(asked.name ?? "")));
      }
    }
    if (faults.length === 0) return make(plans, others);
    for (const { good } of plans) good?.discard();
    throw refuse(faults);
  };

  const commit = async (sql: TransactionSql, { asked, op, good, written }: Planned, others: readonly string[]) => {
    const { kind, text, by, restored } = asked;
    const { name, diff } = written;
    await lockConfig(sql);
    const head = await readHead(sql, kind, name);
    requireTags(asked, head);
    // Somebody was first since this process looked.
    if (asked.name === undefined && head !== undefined && head.text !== null) throw new Problem("already_exists");
    const tenants = good === undefined ? (head?.tenants ?? null) : good.tenants;
    const version = await putVersion(sql, {
      kind,
      name,
      text,
      tenants,
      refs: good?.refs ?? {},
      author: by.author ?? by.subject,
      reason: asked.reason ?? "",
      restoredFrom: restored?.version,
      ...(ownFolder === undefined
        ? { taken: head?.taken ?? null }
        : { taken: text === null ? null : digestOf(text, good?.refs ?? {}), unwritten: true }),
    });
    const counts = { added: diff.tools_added.length, removed: diff.tools_removed.length, changed: diff.tools_changed.length };
    const about = { version: version.version, digest: version.digest, restored_from: restored?.version ?? null, ...counts };
    const before = head === undefined || head.text === null ? tenants : head.tenants;
    const events = configEvents(by, op, version, before, [by.tenant, ...others], diff);
    return { version, entries: [configEntry(by, op, { kind, name }, about)], events };
  };

  const watching =
    ownFolder === undefined
      ? undefined
      : await watchFolders({
          folders: parts.folders,
          look: () => takeFiles(houseWriter("watch")),
          failed: (cause) => log.warn("config_files_unread", { cause }),
        });
  await takeFiles();
  const following = await followChannel({
    database,
    pollMs: parts.pollMs,
    look,
    channel: CONFIG_CHANNEL,
    failed: (cause) => log.warn("config_unread", { cause }),
  });

  return {
    get setVersion() {
      return known;
    },
    list: (kind, tenant) =>
      [...held.values()]
        .filter((object) => object.kind === kind && isThere(object) && sees(tenantsOf(object), tenant))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    require: requireObject,
    versions: async (kind, name, tenant, { before, limit }) => {
      if (find(kind, name, tenant)?.head === undefined) throw new Problem("not_found");
      return (await listVersionRows(database, kind, name, { before, limit })).filter((version) => sees(version.tenants, tenant));
    },
    version: async (kind, name, number, tenant) => {
      const version = find(kind, name, tenant) === undefined ? undefined : await readVersion(database, kind, name, number);
      const text = version?.text ?? null;
      if (version === undefined || text === null || !sees(version.tenants, tenant)) throw new Problem("version_not_found");
      return { ...version, text };
    },
    write: (asked) => inTurn(() => write(asked)),
    writeAll: (changes) => inTurn(() => writeAll(changes)),
    follow: lookAfter,
    takeFiles,
    get degraded() {
      return degraded();
    },
    [Symbol.asyncDispose]: async () => {
      await watching?.[Symbol.asyncDispose]();
      await following[Symbol.asyncDispose]();
      await turn;
      await looking;
    },
  };
};
