import { acceptImport, importedOperations, importOpenApi, MAX_IMPORT_BYTES, reimportSystem } from "#contract/imports.ts";
import { Problem } from "#contract/problem.ts";
import { createWorkThread, type WorkEnd } from "#parsing/work-thread.ts";
import { readBytes } from "#http/read-bytes.ts";
import type { Claim } from "#http/shares.ts";
import { answer, type Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Database } from "#store/database.ts";
import type { ConfigWrite } from "#crud/configs/plan-write.ts";
import type { ConfigPublisher } from "#crud/configs/publish-config.ts";
import type { Asked } from "#crud/versions/config-events.ts";
import type { NetworkCeiling } from "#crud/upstream/network-rules.ts";
import { fetchDocument } from "./fetch-document.ts";
import type { ImportAnswer, ImportQuestion, MadeSystem } from "./import-document.ts";
import { plain } from "./import-schema.ts";
import { importableKeys, keepImport, readImport, readImportedDocument, readOperations, type StoredImport } from "./import-store.ts";

export interface ImportEndpoints {
  readonly publisher: ConfigPublisher;
  readonly database: Database;
  readonly internalPorts: ReadonlySet<number>;
  readonly ceiling: NetworkCeiling;
  /** A claim of a tenant to bytes of upstream answers; each document that is fetched has one, until it is read. */
  readonly answerShares: (tenant: string) => Claim;
  readonly stopping: AbortSignal;
}

/**
 * What is small never waits for what is large, and of either two tenants' documents are read at once: nobody waits for one other tenant. A
 * document of 32 MiB is read in a second as JSON, in a minute as YAML; one of 1 MiB within two seconds. Times are the processor's. All threads
 * together have 1.25 GiB.
 */
const LANES = {
  small: { maxMs: 5000, heapMebibytes: 128 },
  large: { maxMs: 120_000, heapMebibytes: 512 },
} as const;
const MAX_SMALL_BYTES = 1_048_576;
/** Documents of one tenant that wait for a thread. */
const MAX_WAITING = 3;
/** Begins the reason of a version that an import wrote: a later one tells by it what a person changed since. */
const MARK = "OpenAPI import: ";

const reasonOf = ({ title, sha256 }: StoredImport): string =>
  `${MARK}${title.replaceAll(/[\p{Cc}]/gu, " ").slice(0, 200)}, ${sha256.slice(0, 12)}`;

/** Import of OpenAPI documents: looked at, picked from, brought up to date. Everything that costs is done in a thread. */
export const serveImports = (router: Router<Caller>, parts: ImportEndpoints): void => {
  const { publisher, database } = parts;
  const { store } = publisher;
  const lane = (name: keyof typeof LANES) =>
    createWorkThread<ImportQuestion, ImportAnswer>({
      module: new URL("./import-thread.ts", import.meta.url),
      name: `openapi-import-${name}`,
      maxMs: LANES[name].maxMs,
      heapMebibytes: LANES[name].heapMebibytes,
      threads: 2,
      maxWaiting: MAX_WAITING,
      ended: (cause, why) => endOf(cause, why, LANES[name]),
    });
  const lanes = { small: lane("small"), large: lane("large") };
  /** Ends when the caller is gone. */
  const work = (question: ImportQuestion, { caller, request }: { readonly caller: Caller; readonly request: Request }) => {
    const bytes = question.kind === "inspect" ? question.bytes.length : unpackedBytes(question.packed);
    return lanes[bytes <= MAX_SMALL_BYTES ? "small" : "large"].ask(question, { tenant: caller.tenant, signal: request.signal });
  };

  const requireImport = async (id: string, tenant: string): Promise<StoredImport> => {
    const found = await readImport(database, id, tenant);
    if (found === undefined) throw new Problem("not_found");
    return found;
  };
  const make = async (
    id: string,
    call: { readonly caller: Caller; readonly request: Request },
    question: (packed: Uint8Array) => ImportQuestion,
  ): Promise<MadeSystem> => {
    const packed = await readImportedDocument(database, id, call.caller.tenant);
    if (packed === undefined) throw new Problem("not_found");
    const made = await work(question(packed), call);
    if (!("text" in made)) throw new TypeError("the thread answers what it is asked");
    if (made.issues.length > 0) throw new Problem("unprocessable", { errors: made.issues });
    return made;
  };

  /** Publishes what was made of an import, and tells with it what was left out. */
  const publish = async <More extends object>(
    call: Asked & { readonly query: { readonly dryRun: string } },
    change: Pick<ConfigWrite, "name" | "by" | "ifMatch">,
    imported: StoredImport,
    made: MadeSystem,
    more: More,
  ) => {
    const isDryRun = call.query.dryRun === "true";
    const system = { kind: "system" as const, text: made.text, reason: reasonOf(imported) };
    const written = await publisher.publish(call, { ...system, ...change, ifNoneMatch: null, isDryRun });
    const warnings = [...written.warnings, ...made.warnings];
    const status = change.name === undefined && written.isNew ? 201 : 200;
    return answer({ ...publisher.reply({ ...written, warnings }), ...more }, { status, headers: { etag: written.etag } });
  };

  router.serve(importOpenApi, async (call) => {
    const { request, query, caller } = call;
    await publisher.requireObject(call, "edit", "system", "*");
    using claim = parts.answerShares(caller.tenant);
    const bytes =
      query.url === undefined
        ? await readBytes(request, MAX_IMPORT_BYTES)
        : await fetchDocument(query.url, {
            allow: query.allow === undefined ? [] : [query.allow],
            internalPorts: parts.internalPorts,
            ceiling: parts.ceiling,
            claim,
            signal: AbortSignal.any([parts.stopping, request.signal]),
          });
    const prefix = `${query.provider}.${query.instance}.`;
    const found = await work({ kind: "inspect", bytes, prefix }, call);
    if (!("packed" in found)) throw new Problem("unprocessable", { errors: "issues" in found ? found.issues.slice(0, 50) : [] });
    const kept = await keepImport(database, { tenant: caller.tenant, by: caller.sub, prefix, found });
    const { packed: _packed, rows: _rows, ...reported } = found;
    return { import_id: kept.id, ...reported, expires_at: kept.expiresAt };
  });

  router.serve(importedOperations, async (call) => {
    const { params, query, caller } = call;
    await publisher.requireObject(call, "view", "system", "*");
    await requireImport(params.id, caller.tenant);
    const { tag, q: text, limit } = query;
    const bound = ["import", params.id, caller.sub, tag ?? "", text ?? ""];
    const after = query.cursor === undefined ? -1 : Number(publisher.cursors.open(query.cursor, bound));
    const { next, ...page } = await readOperations(database, params.id, { tag, text, after, limit });
    return { ...page, ...(next === undefined ? {} : { nextCursor: publisher.cursors.seal(String(next), bound) }) };
  });

  router.serve(acceptImport, async (call) => {
    const { params, query, body, caller } = call;
    const by = await publisher.requireObject(call, "edit", "system", "*");
    const imported = await requireImport(params.id, caller.tenant);
    const { pick, tags } = body;
    const ofTags = tags === undefined && pick !== undefined ? [] : await importableKeys(database, params.id, tags);
    const picks = [...new Set([...(pick ?? []), ...ofTags])];
    if (picks.length === 0)
      throw new Problem("unprocessable", { errors: [{ path: "/pick", message: "picks nothing that can be imported" }] });
    const [provider = "", instance = ""] = imported.prefix.split(".");
    const head = {
      apiVersion: "systems/v1",
      provider,
      instance,
      title: body.title ?? (plain(imported.title).slice(0, 80).toWellFormed().trim() || `${provider}.${instance}`),
      owner: body.owner ?? caller.sub,
      tenants: body.tenants ?? [caller.tenant],
      kind: "http",
      baseUrl: requireBase(body.baseUrl ?? imported.servers[0]),
      ...(body.allow === undefined ? {} : { network: { allow: body.allow } }),
      auth: body.auth ?? { type: "none" },
      defaults: { dataScope: "none" },
    };
    const made = await make(params.id, call, (packed) => ({ kind: "make", packed, prefix: imported.prefix, picks, head }));
    const document = query.document === "true" ? { document: made.text } : {};
    return publish(call, { name: undefined, by, ifMatch: null }, imported, made, document);
  });

  router.serve(reimportSystem, async (call) => {
    const { params, body, caller, request } = call;
    const { name } = params;
    const by = await publisher.requireObject(call, "edit", "system", name);
    const imported = await requireImport(body.import_id, caller.tenant);
    const current = store.require("system", name, caller.tenant).head?.text ?? undefined;
    if (current === undefined) throw new Problem("not_found");
    if (imported.prefix !== `${name}.`)
      throw new Problem("unprocessable", { errors: [{ path: "/import_id", message: `is an import for ${imported.prefix.slice(0, -1)}` }] });
    const versions = await store.versions("system", name, caller.tenant, { limit: 100 });
    const last = versions.find(({ reason, deleted }) => !deleted && reason.startsWith(MARK));
    const written = last === undefined ? undefined : (await store.version("system", name, last.version, caller.tenant)).text;
    const { prefix } = imported;
    const picks = body.pick ?? [];
    const made = await make(imported.id, call, (packed) => ({ kind: "remake", packed, prefix, picks, current, written }));
    const change = { name, by, ifMatch: request.headers.get("if-match") };
    return publish(call, change, imported, made, { gone: [...made.gone], fresh: [...made.fresh] });
  });
};

/** What gzip says of itself at its end. */
const unpackedBytes = (packed: Uint8Array): number => new DataView(packed.buffer, packed.byteOffset).getUint32(packed.byteLength - 4, true);

/** Why a document was not read. */
const endOf = (cause: unknown, why: WorkEnd, { maxMs, heapMebibytes }: (typeof LANES)[keyof typeof LANES]): Problem => {
  if (why === "failed") return new Problem("internal", { detail: "The thread that reads documents did not start, or failed.", cause });
  if (why === "full")
    return new Problem("rate_limited", {
      detail: `${MAX_WAITING} documents of your tenant wait to be read.`,
      headers: { "retry-after": String(Math.ceil(maxMs / 4000)) },
    });
  const messages = {
    late: `takes longer than ${maxMs / 1000} s to be read`,
    memory: `needs more than ${heapMebibytes} MiB of memory to be read: send less of it, or JSON in place of YAML`,
    cancelled: "was not read: nobody waits for it",
  };
  return new Problem("unprocessable", { errors: [{ path: "", message: messages[why] }], cause });
};

const requireBase = (url: string | undefined): string => {
  if (url !== undefined && /^https?:\/\/[^{}]+$/.test(url)) return url.replace(/\/$/, "");
  const message =
    url === undefined ? "is needed: the document names no server" : "is needed: the document's server is relative or has variables";
  throw new Problem("unprocessable", { errors: [{ path: "/baseUrl", message }] });
};
