import { isConfigObjectKind } from "#contract/configs.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { readConfigFolders, type ConfigFile } from "./config-files.ts";
import { fileOf, isPrepared, keyOf, type Prepared } from "./config-kind.ts";
import type { OwnFolder } from "./own-folder.ts";
import type { ConfigStoreParts, ServingObjects } from "./serving-objects.ts";
import { configEntry, configEvents, type ConfigOp, type Publisher, type Writer } from "#crud/versions/config-events.ts";
import { tenantsIn } from "./publish-scope.ts";
import {
  digestOf,
  listVersions,
  lockConfig,
  markTaken,
  markWritten,
  putVersion,
  readHeads,
  type StoredHead,
} from "#crud/versions/version-store.ts";

/** Takes up what changed in the folders: all of it in one commit, as versions by `file`. */
export const createFileTaker = (
  parts: ConfigStoreParts,
  { held, ready, hold, putInPlace, look, tellStates, audienceOf, withTags, shareOf }: ServingObjects,
  ownFolder: OwnFolder | undefined,
): ((by: Writer & Partial<Publisher>) => Promise<readonly string[]>) => {
  const { database, change, kinds, catalogue, log } = parts;
  let isStarted = false;

  /** Files of versions that an API write put in force before its process was killed, or could not write. */
  const finishWrites = async (): Promise<void> => {
    for (const { kind, name, version, text, refs } of (await readHeads(database, 0n)).filter(({ unwritten }) => unwritten)) {
      if (!isConfigObjectKind(kind)) continue;
      const file = fileOf(kind, name);
      const [before] = await listVersions(database, kind, name, { before: version, limit: 1 });
      try {
        // What somebody changed by hand since is taken up as it is.
        if ((await ownFolder?.read(file)) === (before?.text ?? undefined)) await (await ownFolder?.stage([{ file, text, refs }]))?.place();
        await markWritten(database, kind, name, version);
      } catch (cause) {
        log.error("config_file_unwritten", { kind, name, version, cause });
      }
    }
  };
  /** Whether nothing has to be read anew: each file is, byte for byte, what serves. */
  const isAsHeld = async (files: readonly ConfigFile[]): Promise<boolean> => {
    const live = [...held.values()].filter(({ head, issues }) => (head !== undefined && head.text !== null) || issues.length > 0);
    if (live.length !== files.length) return false;
    for (const { kind, name, text, read, issue } of files) {
      const { head, issues = [] } = held.get(keyOf(kind, name)) ?? {};
      if (issue !== undefined || issues.length > 0 || head?.text !== text) return false;
      for (const [path, content] of Object.entries(head.refs)) if ((await read(path)) !== content) return false;
    }
    return true;
  };

  return async (by) => {
    if (ownFolder !== undefined) await finishWrites();
    if (!isStarted) await ownFolder?.sweep();
    const files = await readConfigFolders(parts.folders);
    if (ownFolder !== undefined && isStarted) {
      await look();
      if (await isAsHeld(files)) return [];
    }
    const found = await Promise.all(
      files.map(async (file) => ({
        file,
        read: file.issue === undefined ? await kinds[file.kind].prepare(file) : { name: file.name, issues: [file.issue] },
      })),
    );
    const good = new Map(
      found.flatMap(({ file, read }) => (isPrepared(read) ? [[keyOf(file.kind, file.name), { file, read }] as const] : [])),
    );
    const faulty = found.flatMap(({ file, read }) => (isPrepared(read) ? [] : [{ file, ...read }]));
    const named = new Set(found.map(({ file }) => keyOf(file.kind, file.name)));
    try {
      for (const [key, { file, read }] of good) if (held.get(key)?.head?.text !== file.text) by.requireReach?.(read.stdioServers);
    } catch (error) {
      for (const { read } of good.values()) read.discard();
      throw error;
    }
    const all = await parts.tenants();
    const prepared: (readonly [string, Prepared])[] = [];
    const taken = await change(async (sql) => {
      prepared.length = 0;
      await lockConfig(sql);
      const heads = new Map((await readHeads(sql, 0n)).map((head) => [keyOf(head.kind, head.name), head]));
      const events: EventDraft[] = [];
      const names: string[] = [];
      const put = async (op: ConfigOp, draft: Parameters<typeof putVersion>[1], before: StoredHead | undefined, read?: Prepared) => {
        const version = await putVersion(sql, draft);
        names.push(keyOf(version.kind, version.name));
        const isShared = shareOf(version.kind) !== undefined;
        // Nobody waits for what is new at an instance's first start.
        if (before !== undefined || isStarted)
          events.push(...configEvents(by, op, withTags(version, read), (isShared ? version : (before ?? version)).tenants, all));
        return version;
      };
      for (const [key, { file, read }] of good) {
        const { kind, name, text } = file;
        const head = heads.get(key);
        const digest = digestOf(text, read.refs);
        const isServed = head !== undefined && head.text !== null && head.digest === digest;
        const isNews = ownFolder !== undefined ? !isServed : head?.taken !== digest;
        if (isNews && !isServed) {
          const draft = {
            kind,
            name,
            text,
            refs: read.refs,
            tenants: audienceOf(kind, text, read, all),
            author: by.author ?? "file",
            reason: "changed on disk",
            taken: digest,
          };
          const { version } = await put(head === undefined ? "created" : "updated", draft, head, read);
          prepared.push([`${key}@${version}`, read]);
        } else if (head !== undefined && head.taken !== digest) await markTaken(sql, kind, name, digest);
      }
      for (const [key, head] of heads) {
        // What an API wrote since is no more the file's; where the folders are the truth it goes with it.
        const isOfFile = ownFolder !== undefined || (head.taken !== null && head.taken === head.digest);
        if (named.has(key) || (head.taken === null && ownFolder === undefined)) continue;
        if (isOfFile && head.text !== null)
          await put(
            "deleted",
            {
              ...head,
              tenants: shareOf(head.kind) === undefined ? head.tenants : null,
              text: null,
              refs: {},
              author: by.author ?? "file",
              reason: "gone from disk",
              taken: null,
            },
            head,
          );
        else if (head.taken !== null) await markTaken(sql, head.kind, head.name, null);
      }
      const entries = names.length === 0 ? [] : [configEntry(by, "taken", { kind: "config", name: "folders" }, { objects: names.length })];
      return { result: names, events, entries };
    });
    for (const [way, one] of prepared) ready.set(way, one);
    for (const { read } of good.values()) if (!prepared.some(([, one]) => one === read)) read.discard();
    await look();
    for (const [way] of prepared) ready.delete(way);
    for (const { file, issues, found: stands } of faulty) {
      const { kind, name } = file;
      const before = held.get(keyOf(kind, name));
      if (before !== undefined && before.serving !== null) {
        hold({ ...before, issues, found: stands });
        continue;
      }
      const healthy = file.issue === undefined ? await kinds[kind].prepareHealthy(file) : undefined;
      const served = healthy !== undefined && isPrepared(healthy) ? healthy : undefined;
      putInPlace(kind, name, served, before);
      hold({
        kind,
        name,
        head: before?.head,
        tenants: tenantsIn(file.text),
        prepared: served,
        serving: null,
        issues: healthy?.issues ?? issues,
        found: stands,
      });
    }
    // A file that is well again and is what serves already, or that is gone.
    for (const [key, object] of held) {
      if (object.issues.length === 0 || (named.has(key) && !good.has(key)) || object.serving !== (object.head?.version ?? null)) continue;
      if (object.head === undefined) {
        putInPlace(object.kind, object.name, undefined, object);
        held.delete(key);
      } else hold({ ...object, issues: object.prepared?.issues ?? [] });
    }
    catalogue.rebuild();
    await tellStates();
    isStarted = true;
    return taken;
  };
};
