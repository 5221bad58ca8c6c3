import { basename, posix } from "node:path";
import { configObjectKinds, exportConfig, importConfig, MAX_ARCHIVE_BYTES, type ConfigObjectKind } from "#contract/configs.ts";
import { MAX_ISSUES, Problem, type Issue } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import { namesTag, tagsOf } from "#http/entity-tags.ts";
import { createYielding } from "#http/yielding.ts";
import { readBytes } from "#http/read-bytes.ts";
import type { Router } from "#http/serve.ts";
import type { ReadReference } from "#crud/systems/load-systems.ts";
import { archivePieces, unpackYielding, type ArchivedFile } from "./archive.ts";
import type { ConfigStore } from "./config-store.ts";
import { fileOf, keyOf, objectAt } from "./config-kind.ts";
import type { AskedWrite, ConfigPublisher } from "./publish-config.ts";
import { digestOf, etagOf } from "#crud/versions/version-store.ts";

const TAR = "application/x-tar";

const pause = createYielding(10);

/** What a tenant sees that is in force. */
const headsOf = (store: ConfigStore, tenant: string) =>
  configObjectKinds.flatMap((kind) =>
    store
      .list(kind, tenant)
      .flatMap(({ name, head }) => (head === undefined || head.text === null ? [] : [{ kind, name, head, text: head.text }])),
  );

/** The tag of each object, and one of all, by which an import says which export it was made of. */
const tagsOfAll = (store: ConfigStore, tenant: string) => {
  const each = new Map(headsOf(store, tenant).map(({ kind, name, head }) => [keyOf(kind, name), etagOf(head)]));
  return { each, all: `"${digestOf(JSON.stringify([...each]), {}).slice(0, 24)}"` };
};

/**
 * What is to be found of each object that an archive may change: as its export found it. Throws `stale_version` where anything was changed
 * since.
 */
const conditionsOf = (store: ConfigStore, tenant: string, yours: string) => {
  const { each, all } = tagsOfAll(store, tenant);
  if (!namesTag(yours, all)) throw new Problem("stale_version", { headers: { etag: all }, members: { current: all, yours } });
  return (kind: ConfigObjectKind, name: string) => {
    const tag = each.get(keyOf(kind, name)) ?? null;
    return { ifMatch: tag, ifNoneMatch: tag === null ? "*" : null };
  };
};

/** What a tenant sees as files of a folder. Throws `unprocessable` where two objects hold different files under one name, which no folder can. */
const filesOf = (store: ConfigStore, tenant: string): readonly ArchivedFile[] => {
  const files = new Map<string, string>();
  const issues: Issue[] = [];
  const add = (path: string, text: string): void => {
    const held = files.get(path);
    if (held !== undefined && held !== text)
      issues.push({
        path: "",
        file: path,
        message: "is not the same for every system that refers to it: publish them anew with one of them",
      });
    files.set(path, text);
  };
  for (const { kind, name, head, text } of headsOf(store, tenant)) {
    add(fileOf(kind, name), text);
    for (const [path, referred] of Object.entries(head.refs)) add(posix.join(posix.dirname(fileOf(kind, name)), path), referred);
  }
  if (issues.length > 0) throw new Problem("unprocessable", { errors: issues });
  return [...files].map(([path, text]) => ({ path, text }));
};

async function* yielding(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    yield piece;
    await pause();
  }
}

/** The objects of an archive, and how they read what lies beside them. Throws `unprocessable` for a file that nothing refers to. */
const objectsOf = async (files: readonly ArchivedFile[]) => {
  const refs = new Map<string, string>();
  const objects: { readonly kind: ConfigObjectKind; readonly name: string; readonly text: string }[] = [];
  for (const { path, text } of files) {
    const object = objectAt(path);
    if (object === undefined) refs.set(path, text);
    else objects.push({ ...object, text });
  }
  const unnamed = new Set([...refs.keys()].map((path) => basename(path)));
  // Each text is gone through once, not once for each file.
  for (const { text } of unnamed.size === 0 ? [] : objects)
    for (const [word] of text.matchAll(/\/[A-Za-z0-9._-]+/g)) {
      unnamed.delete(word.slice(1));
      const turn = pause();
      if (turn !== undefined) await turn;
    }
  const errors = [...refs.keys()]
    .filter((path) => unnamed.has(basename(path)))
    .map((file) => ({ path: "", file, message: "is referred to by nothing here: it would be lost" }));
  if (errors.length > 0) throw new Problem("unprocessable", { errors });
  const readBeside =
    (file: string): ReadReference =>
    async (path) =>
      path.startsWith("./") ? refs.get(posix.join(posix.dirname(file), path)) : undefined;
  return objects.map((object) => ({ ...object, read: readBeside(fileOf(object.kind, object.name)) }));
};

/** The whole configuration as one file: taken away from here, brought there. */
export const serveArchive = (router: Router<Caller>, publisher: ConfigPublisher): void => {
  const { store } = publisher;

  router.serve(exportConfig, async (call) => {
    await publisher.requireOfAll(call, "view", "export");
    await store.follow();
    const pieces = yielding(archivePieces(filesOf(store, call.caller.tenant)));
    return new Response(ReadableStream.from(pieces), {
      headers: {
        "content-type": TAR,
        etag: tagsOfAll(store, call.caller.tenant).all,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-disposition": 'attachment; filename="configuration.tar"',
      },
    });
  });

  router.serve(importConfig, async (call) => {
    const { request, query } = call;
    const by = await publisher.requireOfAll(call, "edit", "import");
    if ((request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() !== TAR)
      throw new Problem("unsupported_media_type", { detail: `Send ${TAR}.` });
    const bytes = await readBytes(request, MAX_ARCHIVE_BYTES);
    const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const objects = await objectsOf(await unpackYielding(archive, pause));
    const isDryRun = query.dryRun === "true";
    const yours = tagsOf(request.headers, "if-match");
    if (yours !== null) await store.follow();
    const conditionOf = yours === null ? () => ({ ifMatch: null, ifNoneMatch: null }) : conditionsOf(store, call.caller.tenant, yours);
    const change = { by, reason: query.reason, isDryRun };
    // What names objects of another kind comes behind them.
    const changes: readonly AskedWrite[] = objects
      .toSorted((one, other) => configObjectKinds.indexOf(one.kind) - configObjectKinds.indexOf(other.kind))
      .map((object) => ({ ...object, ...change, ...conditionOf(object.kind, object.name) }));
    try {
      const written = await publisher.publishAll(call, changes);
      const changed = written.flatMap((one, at) => (one.isSame ? [] : [{ kind: changes[at]?.kind ?? "system", ...publisher.reply(one) }]));
      const errors = written.flatMap((one, at) =>
        (one.issues ?? []).map((issue) => ({ file: fileOf(changes[at]?.kind ?? "system", one.name), ...issue })),
      );
      return {
        changed,
        unchanged: written.length - changed.length,
        ...(isDryRun ? { valid: errors.length === 0, errors: errors.slice(0, MAX_ISSUES) } : {}),
      };
    } catch (error) {
      // A dry run answers what a change would be refused for.
      if (!isDryRun || !(error instanceof Problem) || error.options.errors === undefined) throw error;
      return { changed: [], unchanged: 0, valid: false, errors: [...error.options.errors] };
    }
  });
};
