import { configObjectKinds, isConfigObjectKind, type ConfigObjectKind } from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { createYielding } from "#http/yielding.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import type { ReadReference, References } from "#crud/systems/load-systems.ts";
import {
  fileOf,
  isPrepared,
  keyOf,
  type HeldObject,
  type OpenKind,
  type Place,
  type Prepared,
  type Refused,
  type TenantShare,
} from "./config-kind.ts";
import { configEvents, instanceWriter } from "#crud/versions/config-events.ts";
import type { TenantsOfSystem } from "./publish-scope.ts";
import {
  listVersions,
  markState,
  readDegraded,
  readHeads,
  readSetVersion,
  type StoredHead,
  type StoredVersion,
} from "#crud/versions/version-store.ts";

export interface ConfigStoreParts {
  readonly database: Database;
  readonly change: Change;
  readonly kinds: Readonly<Record<ConfigObjectKind, OpenKind>>;
  readonly catalogue: Pick<CatalogueKeeper, "snapshot" | "rebuild">;
  readonly folders: readonly string[];
  /** `files`: the folders are the truth; a write goes to the first of them. */
  readonly mode: "files" | "database";
  readonly requiresIfMatch: boolean;
  /** Every tenant of Sallyport now. */
  readonly tenants: () => Promise<readonly string[]>;
  /** The operator's tenant; `undefined`: there is none yet. */
  readonly operator: () => Promise<string | undefined>;
  /** Looks again at what the catalogue hangs on besides, whenever the set was raised. */
  readonly raised: () => Promise<void>;
  readonly pollMs?: number | undefined;
  readonly log: Log;
}

const MAX_LOOKED_BACK = 20;
/** Between two objects of many: others have their turn. */
const pause = createYielding(10);

export const sees = (tenants: readonly string[] | null | undefined, tenant: string): boolean => tenants?.includes(tenant) !== false;
const isThere = ({ head, issues }: HeldObject): boolean => (head !== undefined && head.text !== null) || issues.length > 0;

/** Reads what a version refers to out of what it was kept with. */
export const readFrom =
  (refs: References): ReadReference =>
  async (path) =>
    Object.hasOwn(refs, path) ? refs[path] : undefined;

/** What of every object serves in this process, and how it follows the versions. What does not load keeps its last version that does. */
export const createServingObjects = (parts: ConfigStoreParts) => {
  const { database, change, kinds, catalogue, log } = parts;
  const held = new Map<string, HeldObject>();
  /** Read already on the way into the database; by version. */
  const ready = new Map<string, Prepared>();
  let known = 0n;
  let operator: string | undefined;
  let looking: Promise<unknown> = Promise.resolve();

  const tenantsOf = ({ kind, head, prepared, tenants }: HeldObject): readonly string[] | null | undefined =>
    shareOf(kind) !== undefined ? null : head === undefined ? (tenants ?? prepared?.tenants) : head.tenants;
  /** A file that never loaded and names no tenant that can be read is nobody's, but who runs the deployment may see it. */
  const isUnclaimed = (object: HeldObject): boolean => tenantsOf(object) === undefined;
  const isFor = (object: HeldObject, tenant: string): boolean => !isUnclaimed(object) && sees(tenantsOf(object), tenant);

  const prepareStored = async (
    { kind, name, text, refs }: StoredVersion,
    how: "prepare" | "prepareHealthy" = "prepare",
  ): Promise<Prepared | Pick<Refused, "issues" | "found">> =>
    text === null || !isConfigObjectKind(kind) ? { issues: [] } : kinds[kind][how]({ name, text, read: readFrom(refs) });

  /** The newest version before this one that still loads. */
  const lastGood = async (head: StoredHead): Promise<{ readonly prepared: Prepared; readonly version: number } | undefined> => {
    for (const older of await listVersions(database, head.kind, head.name, { before: head.version, limit: MAX_LOOKED_BACK })) {
      const found = await prepareStored(older);
      if (isPrepared(found)) return { prepared: found, version: older.version };
    }
    return undefined;
  };

  const hold = (object: HeldObject): void => {
    const before = held.get(keyOf(object.kind, object.name));
    held.set(keyOf(object.kind, object.name), object);
    if (object.issues.length > 0 && JSON.stringify(before?.issues) !== JSON.stringify(object.issues))
      log.error("config_object_degraded", { kind: object.kind, name: object.name, errors: object.issues, serving: object.serving });
  };

  /** Where nothing takes the place of what served, that goes. */
  const putInPlace = (kind: ConfigObjectKind, name: string, prepared: Prepared | undefined, before: HeldObject | undefined): void => {
    if (prepared !== undefined) prepared.place();
    else if (before?.prepared !== undefined) kinds[kind].absent(name).place();
  };

  const degraded = (): readonly HeldObject[] => [...held.values()].filter(({ issues }) => issues.length > 0);
  /** Degraded objects as others were told, by key; undefined: as the database says. */
  let reported: ReadonlySet<string> | undefined;
  /** Tells what is degraded now and was not, or was and is not: once, however many processes find it. */
  const tellStates = async (): Promise<void> => {
    const now = new Map(degraded().map((object) => [keyOf(object.kind, object.name), object]));
    const before = reported ?? new Set((await readDegraded(database)).map(({ kind, name }) => keyOf(kind, name)));
    const news = [...now.keys(), ...before].filter((key) => now.has(key) !== before.has(key));
    if (news.length > 0) {
      const all = await parts.tenants();
      await change(async (sql) => {
        const events: EventDraft[] = [];
        for (const key of news) {
          const [kind = "", name = ""] = key.split(/\/(.*)/s);
          const op = now.has(key) ? "degraded" : "repaired";
          const object = held.get(key);
          const { version = 0, digest = "" } = object?.head ?? {};
          const tenants = object === undefined ? null : (tenantsOf(object) ?? []);
          if (await markState(sql, op, kind, name))
            events.push(...configEvents(instanceWriter("state"), op, { kind, name, version, digest, tenants }, tenants, all));
        }
        return { result: undefined, events };
      });
    }
    reported = new Set(now.keys());
  };

  const takeUp = async (head: StoredHead): Promise<void> => {
    const { kind, name, version, text } = head;
    if (!isConfigObjectKind(kind)) return;
    const before = held.get(keyOf(kind, name));
    if (before?.head?.version === version) return;
    const place = (what: Place): void => what.place();
    if (text === null) {
      place(kinds[kind].absent(name));
      hold({ kind, name, head, serving: null, issues: [] });
      return;
    }
    const way = `${keyOf(kind, name)}@${version}`;
    const found = ready.get(way) ?? (await prepareStored(head));
    ready.delete(way);
    if (isPrepared(found)) {
      place(found);
      hold({ kind, name, head, prepared: found, serving: version, issues: [] });
      return;
    }
    if (before?.serving !== undefined && before.serving !== null) {
      hold({ ...before, head, issues: found.issues, found: found.found });
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
      issues: (healthy ?? found).issues,
      found: found.found,
    });
  };

  const lookNow = async (): Promise<void> => {
    // Once there is one it is never another.
    operator ??= await parts.operator();
    const set = await readSetVersion(database);
    if (set === known) return;
    for (const head of await readHeads(database, known)) {
      await pause();
      await takeUp(head);
    }
    await parts.raised();
    known = set;
    catalogue.rebuild();
    if (reported !== undefined) await tellStates();
  };
  /** One look after the other: a later one sees what an earlier one took up. */
  const look = (): Promise<void> => {
    const next = looking.then(lookNow);
    looking = next.catch(() => undefined);
    return next;
  };
  /** A change is committed, whatever comes of the look: the next one takes it up. */
  const lookAfter = (): Promise<void> => look().catch((cause: unknown) => log.error("config_not_followed", { cause }));

  const tenantsOfSystem: TenantsOfSystem = (name) => {
    const system = held.get(keyOf("system", name));
    return system === undefined ? undefined : (tenantsOf(system) ?? (isUnclaimed(system) ? [] : null));
  };
  const shares: Readonly<Record<string, TenantShare | undefined>> = Object.fromEntries(
    configObjectKinds.map((kind) => [kind, kinds[kind].share?.(tenantsOfSystem)]),
  );
  /** Of a kind whose one document holds parts of several tenants; undefined: each object is whole for whoever sees it. */
  const shareOf = (kind: string): TenantShare | undefined => shares[kind];
  /** What several tenants share is written in the operator's tenant: by whom and why is not for the others. Files are nobody's. */
  const signedFor = <T extends Pick<StoredVersion, "tenants" | "author" | "reason">>(version: T, tenant: string): T =>
    version.author === "file" || tenant === operator || (version.tenants?.length === 1 && sees(version.tenants, tenant))
      ? version
      : { ...version, author: "", reason: "" };
  const shownTo = (object: HeldObject, tenant: string): HeldObject => {
    const shown = shareOf(object.kind)?.objectFor(object, tenant) ?? object;
    return shown.head === undefined ? shown : { ...shown, head: signedFor(shown.head, tenant) };
  };
  /** All that a tenant is shown of an object comes from here or from `list`. */
  const find = (kind: ConfigObjectKind, name: string, tenant: string): HeldObject | undefined => {
    const object = held.get(keyOf(kind, name));
    return object === undefined || !isFor(object, tenant) ? undefined : shownTo(object, tenant);
  };
  const requireObject = (kind: ConfigObjectKind, name: string, tenant: string): HeldObject => {
    const object = find(kind, name, tenant);
    if (object === undefined || !isThere(object)) throw new Problem("not_found");
    return object;
  };

  /** The text of a version as the tenant sees it. Of a shared document that cannot be read any more nobody knows whose it is. */
  const textFor = async (
    kind: ConfigObjectKind,
    text: string,
    tenant: string,
  ): Promise<{ readonly text: string; readonly tag?: string }> => {
    const share = shareOf(kind);
    if (share === undefined) return { text };
    const read = await kinds[kind].read(text, fileOf(kind, kind));
    if ("issues" in read) throw new Problem("version_not_found");
    const part = share.partFor(read.yaml.value, tenant);
    return part === undefined ? { text } : { text: part.text, tag: part.tag };
  };

  /** Tenants that see what a version changes of a shared document; of anything else, those that it serves. Null: all. */
  const audienceOf = (kind: ConfigObjectKind, text: string | null, next: Prepared, all: readonly string[]): readonly string[] | null => {
    const share = shareOf(kind);
    if (share === undefined || text === null) return next.tenants;
    const { head, prepared } = held.get(keyOf(kind, kind)) ?? {};
    return share.changedFor({ text: head?.text ?? "", value: prepared?.yaml.value }, { text, value: next.yaml.value }, all);
  };
  /** A version with the entity tag that each tenant knows it by. */
  const withTags = <T extends { readonly kind: string }>(version: T, next: Prepared | undefined) => ({
    ...version,
    tagFor: (tenant: string) => (next === undefined ? undefined : shareOf(version.kind)?.partFor(next.yaml.value, tenant)?.tag),
  });

  return {
    held,
    textFor,
    audienceOf,
    withTags,
    /** Read already on the way into the database; by version. */
    ready,
    hold,
    putInPlace,
    look,
    lookAfter,
    tellStates,
    degraded,
    shareOf,
    shownTo,
    signedFor,
    tenantsOf,
    tenantsOfSystem,
    find,
    require: requireObject,
    /** Files of which nobody knows whose they are. */
    unclaimed: (): readonly HeldObject[] => [...held.values()].filter((object) => isThere(object) && isUnclaimed(object)),
    /** Objects that are there for the tenant, or were and were taken away, by name. */
    list: (kind: ConfigObjectKind, tenant: string, which: "there" | "gone" = "there"): readonly HeldObject[] =>
      [...held.values()]
        .filter((object) => object.kind === kind && isThere(object) === (which === "there") && isFor(object, tenant))
        .map((object) => shownTo(object, tenant))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    setVersion: (): bigint => known,
    /** When no look is under way. */
    settled: async (): Promise<void> => void (await looking),
  };
};
export type ServingObjects = ReturnType<typeof createServingObjects>;
