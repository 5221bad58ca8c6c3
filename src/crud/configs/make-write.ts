import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import type { TransactionSql } from "#store/database.ts";
import { fileOf, keyOf } from "./config-kind.ts";
import type { OwnFolder, Staged } from "./own-folder.ts";
import { refuse, type Planned, type Planner, type Written } from "./plan-write.ts";
import type { ConfigStoreParts, ServingObjects } from "./serving-objects.ts";
import { configEntry, configEvents } from "#crud/versions/config-events.ts";
import { digestOf, etagOf, lockConfig, markWritten, putVersion, readHead, type StoredVersion } from "#crud/versions/version-store.ts";

/** Makes changes that were planned: their files, one commit of versions, audit entries and events, then what serves. */
export const createMaker = (
  parts: ConfigStoreParts,
  { held, ready, lookAfter, audienceOf, withTags, shareOf }: ServingObjects,
  { requireTags }: Planner,
  ownFolder: OwnFolder | undefined,
) => {
  const { database, change, log } = parts;

  const commit = async (sql: TransactionSql, planned: Planned, others: readonly string[]) => {
    const { asked, live, op, good, base, written } = planned;
    const { kind, text, by, restored } = asked;
    const { name, diff } = written;
    await lockConfig(sql);
    const head = await readHead(sql, kind, name);
    const isShared = shareOf(kind) !== undefined;
    // Somebody was first since this process looked. Of a shared document that may have been a part that the writer does not see.
    if (isShared && head?.version !== base?.version) throw new Problem("stale_version");
    requireTags(asked, head?.version === base?.version ? base : head);
    if (asked.name === undefined && head !== undefined && head.text !== null) throw new Problem("already_exists");
    // Whom it serves decided whether the writer may change it.
    const isSame = isShared || String(head?.tenants) === String(live?.tenants);
    if (head !== undefined && head.text !== null && !isSame) throw new Problem("stale_version", { headers: { etag: etagOf(head) } });
    const all = [by.tenant, ...others];
    const audience = good === undefined ? (head?.tenants ?? null) : audienceOf(kind, text, good, all);
    const version = await putVersion(sql, {
      kind,
      name,
      text,
      tenants: audience,
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
    const before = isShared || head === undefined || head.text === null ? audience : head.tenants;
    const events = configEvents(by, op, withTags(version, good), before, all, diff);
    return { version, entries: [configEntry(by, op, { kind, name }, about)], events };
  };

  /** Files of the changes beside those that they replace, where the folders are the truth. */
  const stage = async (made: readonly Planned[]): Promise<Staged | undefined> => {
    if (ownFolder === undefined) return undefined;
    const keys = new Set(made.map(({ asked, written }) => keyOf(asked.kind, written.name)));
    const others = [...held].flatMap(([key, { head }]) => (keys.has(key) || head === undefined || head.text === null ? [] : [head]));
    const errors = made.flatMap(({ asked, good, written }) =>
      Object.entries(good?.refs ?? {}).flatMap(([path, text]) => {
        const other = others.find(({ kind, refs }) => kind === asked.kind && Object.hasOwn(refs, path) && refs[path] !== text);
        if (other === undefined) return [];
        const file = fileOf(asked.kind, written.name);
        return [{ path: "", file, message: `refers to ${path}, which ${other.name} has with other content: one file cannot be both` }];
      }),
    );
    if (errors.length > 0) throw refuse(errors);
    return ownFolder.stage(
      made.map(({ asked, good, written }) => ({
        file: fileOf(asked.kind, written.name),
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
        return {
          ...one.written,
          version: version.version,
          etag: one.tag ?? etagOf(version),
          warnings: [...one.written.warnings, ...unplaced],
        };
      });
    } catch (error) {
      placed.clear();
      await staged?.discard();
      throw error;
    } finally {
      for (const one of plans) if (!placed.has(one)) one.good?.discard();
    }
  };

  return make;
};
