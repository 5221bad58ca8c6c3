import type { z } from "zod";
import {
  configObjectKinds,
  createSystem,
  deleteSystem,
  listConfiguredSystems,
  MAX_CONFIG_BYTES,
  MAX_SYSTEM_BYTES,
  putSystem,
  putToolsDocument,
  readSystem,
  readToolsDocument,
  reloadConfig,
  rollBackSystem,
  rollBackToolsDocument,
  systemVersion,
  systemVersions,
  testSystem,
  toolsDocumentVersion,
  toolsDocumentVersions,
} from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/caller.ts";
import { pageOf } from "#authn/sealed-cursors.ts";
import { tagsOf } from "#http/entity-tags.ts";
import { readBytes } from "#http/read-bytes.ts";
import { answer, type Router } from "#http/serve.ts";
import { plainText } from "#crud/documents/plain-text.ts";
import { switchedOffBy, type KillSwitches } from "#crud/mcp/kill-switches.ts";
import { keyOf, type KindName } from "./held-object.ts";
import type { AskedWrite, ConfigPublisher } from "./publish-config.ts";
import { rowOf, showObject, stateOf, tagOf } from "./show-object.ts";
import type { Asked, Publisher } from "./config-events.ts";
import { etagOf, type StoredVersion, type VersionRow } from "./version-store.ts";

const YAML = "application/yaml";
const mediaOf = (request: Request): string => (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** A text as it was sent, byte for byte. */
const readText = async (request: Request, kind: KindName): Promise<string> => {
  if (![YAML, "application/json", "text/yaml"].includes(mediaOf(request)))
    throw new Problem("unsupported_media_type", { detail: `Send ${YAML} or application/json.` });
  const max = kind === "system" && mediaOf(request) === "application/json" ? MAX_SYSTEM_BYTES : MAX_CONFIG_BYTES;
  const text = plainText(await readBytes(request, max));
  if (text === undefined) throw new Problem("body_unreadable", { detail: "The document is no UTF-8 text." });
  return text;
};

const bytesOf = (version: StoredVersion & { readonly text: string }): Response =>
  new Response(version.text, {
    headers: {
      "content-type": YAML,
      etag: etagOf(version),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-disposition": `attachment; filename="${version.name}.yaml"`,
    },
  });

const versionRow = ({ version, digest, author, reason, at, deleted, restored_from }: VersionRow) => ({
  version,
  hash: digest,
  author,
  reason,
  at,
  ...(deleted ? { deleted } : {}),
  ...(restored_from === null ? {} : { restored_from }),
});

/** Whether the reader asks for the document's bytes; without a word it gets what a program reads. */
const wantsBytes = (request: Request): boolean => /\byaml\b/i.test(request.headers.get("accept") ?? "");

/** Configuration over HTTP: each pair is asked for, the tenant's wall is the store's. */
export const serveConfigs = (router: Router<Caller>, publisher: ConfigPublisher, kills: Pick<KillSwitches, "ofSystem">): void => {
  const { store, cursors, toolsOf, require, unclaimed } = publisher;
  /** What is asked of one object, or of all systems: `*`. */
  const requireView = (asked: Asked, kind: KindName, name: string): Promise<Publisher> =>
    kind === "system" ? require(asked, "system", "view", name) : require(asked, "config", "read", name);
  const requireEdit = (asked: Asked, kind: KindName, name: string): Promise<Publisher> =>
    kind === "system" ? require(asked, "system", "edit", name) : require(asked, "config", "write", name);

  type Change = Asked & { readonly request: Request; readonly query: { readonly dryRun: string; readonly reason?: string | undefined } };
  const publish = async (
    call: Change,
    change: Pick<AskedWrite, "kind" | "name" | "text" | "restored" | "by"> & { readonly reason?: string | undefined },
  ) => {
    const { request, query } = call;
    const written = await publisher.publish(call, {
      reason: query.reason,
      ...change,
      ifMatch: tagsOf(request.headers, "if-match"),
      ifNoneMatch: tagsOf(request.headers, "if-none-match"),
      isDryRun: query.dryRun === "true",
    });
    return answer(publisher.reply(written), { status: written.isNew ? 201 : 200, headers: { etag: written.etag } });
  };

  const read = async (call: Asked & { readonly request: Request }, kind: KindName, name: string) => {
    await requireView(call, kind, name);
    const { tenant } = call.caller;
    const object = (await unclaimed(call)).find((one) => one.kind === kind && one.name === name) ?? store.require(kind, name, tenant);
    const { head } = object;
    if (head !== undefined && head.text !== null && wantsBytes(call.request)) return bytesOf({ ...head, text: head.text });
    const switched = kind === "system" ? switchedOffBy(kills.ofSystem(tenant, name)) : {};
    return answer({ ...showObject(object), ...switched }, { headers: { etag: tagOf(object) } });
  };
  const put = async (call: Change, kind: KindName, name: string | undefined) => {
    const by = await requireEdit(call, kind, name ?? "*");
    return publish(call, { kind, name, text: await readText(call.request, kind), by });
  };
  const versions = async (
    call: Asked & { readonly query: z.output<NonNullable<typeof systemVersions.query>> },
    kind: KindName,
    name: string,
  ) => {
    await requireView(call, kind, name);
    const { caller } = call;
    const { limit, cursor } = call.query;
    const bound = ["versions", kind, name, caller.sub];
    const before = cursor === undefined ? undefined : Number(cursors.open(cursor, bound));
    const { page, last } = pageOf(await store.versions(kind, name, caller.tenant, { before, limit: limit + 1 }), limit);
    return {
      versions: page.map(versionRow),
      ...(last === undefined ? {} : { nextCursor: cursors.seal(String(last.version), bound) }),
    };
  };
  const version = async (call: Asked & { readonly params: { readonly version: string | number } }, kind: KindName, name: string) => {
    await requireView(call, kind, name);
    return bytesOf(await store.version(kind, name, Number(call.params.version), call.caller.tenant));
  };
  const rollBack = async (
    call: Change & { readonly body: z.output<NonNullable<typeof rollBackSystem.body>> },
    kind: KindName,
    name: string,
  ) => {
    const by = await requireEdit(call, kind, name);
    const restored = await store.version(kind, name, call.body.version, call.caller.tenant);
    return publish(call, { kind, name, text: restored.text, restored, by, reason: call.body.reason });
  };

  router.serve(listConfiguredSystems, async (call) => {
    const { caller, query } = call;
    await requireView(call, "system", "*");
    const bound = ["systems", caller.sub, query.state ?? ""];
    const after = query.cursor === undefined ? "" : cursors.open(query.cursor, bound);
    const listed = store.list("system", caller.tenant, query.state === "deleted" ? "gone" : "there");
    const found = [...listed, ...(await unclaimed(call)).filter(({ kind }) => kind === "system")]
      .filter((object) => object.name > after && (query.state === undefined || stateOf(object) === query.state))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const { page, last } = pageOf(found, query.limit);
    return {
      systems: page.map((object) => ({
        ...rowOf(object),
        ...object.prepared?.about,
        ...switchedOffBy(kills.ofSystem(caller.tenant, object.name)),
        tools: toolsOf(object.name, caller.tenant).length,
      })),
      set_version: Number(store.setVersion),
      ...(last === undefined ? {} : { nextCursor: cursors.seal(last.name, bound) }),
    };
  });
  router.serve(createSystem, (call) => put(call, "system", undefined));
  router.serve(readSystem, (call) => read(call, "system", call.params.name));
  router.serve(putSystem, (call) => put(call, "system", call.params.name));
  router.serve(deleteSystem, async (call) => {
    const { name } = call.params;
    const by = await require(call, "system", "delete", name);
    return publish(call, { kind: "system", name, text: null, by });
  });
  router.serve(systemVersions, (call) => versions(call, "system", call.params.name));
  router.serve(systemVersion, (call) => version(call, "system", call.params.name));
  router.serve(rollBackSystem, (call) => rollBack(call, "system", call.params.name));

  router.serve(testSystem, async (call) => {
    const { name } = call.params;
    await require(call, "system", "test", name);
    const { prepared } = store.require("system", name, call.caller.tenant);
    const wanted = call.body.operation;
    const found = (prepared?.tests ?? []).filter(({ operation }) => wanted === undefined || operation === wanted);
    if (wanted !== undefined && found.length === 0) throw new Problem("not_found", { detail: `${wanted} is no operation with tests.` });
    const tests = [];
    for (const { operation, name: test, run } of found) {
      const began = performance.now();
      const message = await run();
      const ms = Math.round((performance.now() - began) * 10) / 10;
      tests.push({ operation, name: test, passed: message === undefined, ms, ...(message === undefined ? {} : { message }) });
    }
    return { tests };
  });

  router.serve(readToolsDocument, (call) => read(call, "tools", "tools"));
  router.serve(putToolsDocument, (call) => put(call, "tools", "tools"));
  router.serve(toolsDocumentVersions, (call) => versions(call, "tools", "tools"));
  router.serve(toolsDocumentVersion, (call) => version(call, "tools", "tools"));
  router.serve(rollBackToolsDocument, (call) => rollBack(call, "tools", "tools"));

  router.serve(reloadConfig, async (call) => {
    const by = await require(call, "deployment", "reload_config", "folders");
    const taken = await store.takeFiles(by);
    const { tenant } = call.caller;
    const there = configObjectKinds.flatMap((kind) => store.list(kind, tenant));
    const gone = configObjectKinds.flatMap((kind) => store.list(kind, tenant, "gone"));
    const seen = new Set([...there, ...gone].map(({ kind, name }) => keyOf(kind, name)));
    const faulty = [...there.filter(({ faults }) => faults.length > 0), ...store.unclaimed()];
    return {
      set_version: Number(store.setVersion),
      taken: taken.filter((key) => seen.has(key)),
      degraded: faulty.map(({ name, faults }) => ({ name, errors: [...faults] })),
    };
  });
};
