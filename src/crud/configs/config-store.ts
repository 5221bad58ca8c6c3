import type { ConfigObjectKind } from "#contract/configs.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { followChannel } from "#events/model/follow-channel.ts";
import { createYielding } from "#http/yielding.ts";
import { fileOf, keyOf, type HeldObject } from "./config-kind.ts";
import { createMaker } from "./make-write.ts";
import { createOwnFolder } from "./own-folder.ts";
import { createPlanner, issuesIn, refuse, type ConfigWrite, type Planned, type Written } from "./plan-write.ts";
import { createServingObjects, sees, type ConfigStoreParts } from "./serving-objects.ts";
import { createFileTaker } from "./take-files.ts";
import { instanceWriter, type Publisher, type Writer } from "#crud/versions/config-events.ts";
import {
  CONFIG_CHANNEL,
  listVersionRows,
  readVersion,
  type StoredVersion,
  type VersionPage,
  type VersionRow,
} from "#crud/versions/version-store.ts";
import { watchFolders } from "./watch-folders.ts";

/** Between two changes of many: others have their turn. */
const pause = createYielding(10);

/**
 * The versions of every object, and what of them serves in this process. A write is one commit of version, audit entry and events; every
 * process hears of it by the channel, reads what changed and swaps it in. What does not load keeps its last version that does.
 */
export const openConfigStore = async (parts: ConfigStoreParts) => {
  const { database, log } = parts;
  const objects = createServingObjects(parts);
  const { find, look } = objects;
  const planner = createPlanner(parts, objects);
  const ownFolder = parts.mode === "files" ? createOwnFolder(parts.folders) : undefined;
  const take = createFileTaker(parts, objects, ownFolder);
  const make = createMaker(parts, objects, planner, ownFolder);
  /** Where the folders are the truth one writes or takes up after the other: between the commit and its file nobody looks. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (ownFolder === undefined) return work();
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  };
  const takeFiles = (by: Writer & Partial<Publisher> = instanceWriter("start")): Promise<readonly string[]> => inTurn(() => take(by));

  const othersOf = async ({ tenant }: Writer): Promise<readonly string[]> => (await parts.tenants()).filter((one) => one !== tenant);
  /** What others changed, or somebody in the folder, comes before a write. */
  const lookFirst = async (): Promise<void> => {
    if (ownFolder !== undefined) await take(instanceWriter("write"));
    await look();
  };
  /** Asks once nothing else is in the way of a change. */
  const requireReach = (plans: readonly Planned[]): void => {
    try {
      for (const { asked, good, written } of plans)
        if (good !== undefined && !asked.isDryRun && !written.isSame) asked.by.requireReach(good.stdioServers);
    } catch (error) {
      for (const { good } of plans) good?.discard();
      throw error;
    }
  };
  const write = async (asked: ConfigWrite): Promise<Written> => {
    await lookFirst();
    const others = await othersOf(asked.by);
    const plans = [await planner.plan(asked, others)];
    requireReach(plans);
    const [written] = await make(plans, others);
    if (written === undefined) throw new TypeError("what is planned is written");
    return written;
  };

  const writeAll = async (changes: readonly ConfigWrite[]): Promise<readonly Written[]> => {
    const [first] = changes;
    if (first === undefined) return [];
    await lookFirst();
    const others = await othersOf(first.by);
    const coming = new Set(changes.flatMap(({ kind, name }) => (name === undefined ? [] : [keyOf(kind, name)])));
    const plans: Planned[] = [];
    const issues: Issue[] = [];
    for (const asked of changes) {
      await pause();
      try {
        plans.push(await planner.plan(asked, others, (kind, name) => coming.has(keyOf(kind, name))));
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500 || error.code === "step_up_required") {
          for (const { good } of plans) good?.discard();
          throw error;
        }
        issues.push(...issuesIn(error, fileOf(asked.kind, asked.name ?? "")));
      }
    }
    if (issues.length === 0) {
      requireReach(plans);
      return make(plans, others);
    }
    for (const { good } of plans) good?.discard();
    throw refuse(issues);
  };

  const watching =
    ownFolder === undefined
      ? undefined
      : await watchFolders({
          folders: parts.folders,
          look: () => takeFiles(instanceWriter("watch")),
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
    kinds: parts.kinds,
    get setVersion(): bigint {
      return objects.setVersion();
    },
    /** Objects that are there, those that serve an older version or nothing among them, by name; or those that were taken away. */
    list: objects.list,
    /** Files that name no tenant that can be read. */
    unclaimed: objects.unclaimed,
    /** Throws `not_found` for what is not there, or not for this tenant. */
    require: objects.require,
    /** Newest first; none of a time when the object was another tenant's, and none that changed only what the tenant does not see. */
    versions: async (kind: ConfigObjectKind, name: string, tenant: string, page: VersionPage): Promise<readonly VersionRow[]> => {
      if (find(kind, name, tenant)?.head === undefined) throw new Problem("not_found");
      return (await listVersionRows(database, { kind, name, tenant }, page)).map((row) => objects.signedFor(row, tenant));
    },
    /** Throws `version_not_found`. */
    version: async (
      kind: ConfigObjectKind,
      name: string,
      number: number,
      tenant: string,
    ): Promise<StoredVersion & { readonly text: string }> => {
      const version = find(kind, name, tenant) === undefined ? undefined : await readVersion(database, kind, name, number);
      const text = version?.text ?? null;
      if (version === undefined || text === null) throw new Problem("version_not_found");
      if (objects.shareOf(kind) === undefined && !sees(version.tenants, tenant)) throw new Problem("version_not_found");
      return { ...version, ...(await objects.textFor(kind, text, tenant)) };
    },
    /** Throws `unprocessable` with every issue, `stale_version`, `already_exists`, `not_found`, `managed_elsewhere`, `cross_tenant`. */
    write: (asked: ConfigWrite): Promise<Written> => inTurn(() => write(asked)),
    /** All of them in one commit, or nothing: throws as `write`, with the issues of every one by its file. Each is looked at beside what serves now. */
    writeAll: (changes: readonly ConfigWrite[]): Promise<readonly Written[]> => inTurn(() => writeAll(changes)),
    /** Takes up what others and this process changed; never throws. */
    follow: objects.lookAfter,
    /** Takes up what changed in the folders; answers what it was. */
    takeFiles,
    get degraded(): readonly HeldObject[] {
      return objects.degraded();
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await watching?.[Symbol.asyncDispose]();
      await following[Symbol.asyncDispose]();
      await turn;
      await objects.settled();
    },
  };
};
export type ConfigStore = Awaited<ReturnType<typeof openConfigStore>>;
