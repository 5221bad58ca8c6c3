import type { z } from "zod";
import {
  createSystem,
  deleteSystem,
  listConfiguredSystems,
  MOST_CONFIG_BYTES,
  MOST_SYSTEM_BYTES,
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
import { tagsOf } from "#http/entity-tags.ts";
import { readBytes } from "#http/read-bytes.ts";
import { answer, type Router } from "#http/serve.ts";
import { switchedOffBy, type KillSwitches } from "#crud/mcp/kill-switches.ts";
import type { ConfigWrite } from "./plan-write.ts";
import type { KindName } from "./held-object.ts";
import type { Asked, ConfigPublisher } from "./publish-config.ts";
import { rowOf, showObject, stateOf, tagOf } from "./show-object.ts";
import type { Writer } from "./tell.ts";
import { etagOf, type StoredVersion, type VersionRow } from "./version-store.ts";

const YAML = "application/yaml";
const mediaOf = (request: Request): string => (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** A text as it was sent, byte for byte. */
const readText = async (request: Request, kind: KindName): Promise<string> => {
  if (![YAML, "application/json", "text/yaml"].includes(mediaOf(request)))
    throw new Problem("unsupported_media_type", { detail: `Send ${YAML} or application/json.` });
  const most = kind === "system" && mediaOf(request) === "application/json" ? MOST_SYSTEM_BYTES : MOST_CONFIG_BYTES;
  const bytes = await readBytes(request, most);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Told below.
  }
  throw new Problem("body_unreadable", { detail: "The document is no UTF-8 text." });
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
  const { store, cursors, toolsOf, require } = publisher;
  const writeOf = (
    { request, query }: { readonly request: Request; readonly query: { readonly dryRun: string; readonly reason?: string | undefined } },
    by: Writer,
  ): Pick<ConfigWrite, "by" | "reason" | "ifMatch" | "ifNoneMatch" | "isDryRun"> => ({
    by,
    reason: query.reason,
    ifMatch: tagsOf(request.headers, "if-match"),
    ifNoneMatch: tagsOf(request.headers, "if-none-match"),
    isDryRun: query.dryRun === "true",
  });

  const publish = async (asked: Asked, change: ConfigWrite) => {
    const written = await publisher.publish(asked, change);
    return answer(publisher.reply(written), { status: written.isNew ? 201 : 200, headers: { etag: written.etag } });
  };

  const read = async (request: Request, kind: KindName, name: string, tenant: string) => {
    const object = store.require(kind, name, tenant);
    const { head } = object;
    if (head !== undefined && head.text !== null && wantsBytes(request)) return bytesOf({ ...head, text: head.text });
    const switched = kind === "system" ? switchedOffBy(kills.ofSystem(tenant, name)) : {};
    return answer({ ...showObject(object), ...switched }, { headers: { etag: tagOf(object) } });
  };
  const versions = async (
    kind: KindName,
    name: string,
    caller: Caller,
    { limit, cursor }: z.output<NonNullable<typeof systemVersions.query>>,
  ) => {
    const bound = ["versions", kind, name, caller.sub];
    const before = cursor === undefined ? undefined : Number(cursors.open(cursor, bound));
    const found = await store.versions(kind, name, caller.tenant, { before, limit: limit + 1 });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return {
      versions: found.slice(0, limit).map(versionRow),
      ...(last === undefined ? {} : { nextCursor: cursors.seal(String(last.version), bound) }),
    };
  };
  const rollBack = async (
    call: Asked & {
      readonly request: Request;
      readonly query: { readonly dryRun: string };
      readonly body: z.output<NonNullable<typeof rollBackSystem.body>>;
    },
    kind: KindName,
    name: string,
    by: Writer,
  ) => {
    const restored = await store.version(kind, name, call.body.version, call.caller.tenant);
    const { reason } = call.body;
    return publish(call, { kind, name, text: restored.text, restored, ...writeOf({ ...call, query: { ...call.query, reason } }, by) });
  };

  router.serve(listConfiguredSystems, async (call) => {
    const { caller, query } = call;
    await require(call, "system", "view", "*");
    const bound = ["systems", caller.sub, query.state ?? ""];
    const after = query.cursor === undefined ? "" : cursors.open(query.cursor, bound);
    const found = store
      .list("system", caller.tenant, query.state === "deleted" ? "gone" : "there")
      .filter((object) => object.name > after && (query.state === undefined || stateOf(object) === query.state));
    const page = found.slice(0, query.limit);
    const last = found.length > page.length ? page.at(-1) : undefined;
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
  router.serve(createSystem, async (call) => {
    const by = await require(call, "system", "edit", "*");
    return publish(call, { kind: "system", name: undefined, text: await readText(call.request, "system"), ...writeOf(call, by) });
  });
  router.serve(readSystem, async (call) => {
    const { name } = call.params;
    await require(call, "system", "view", name);
    return read(call.request, "system", name, call.caller.tenant);
  });
  router.serve(putSystem, async (call) => {
    const { name } = call.params;
    const by = await require(call, "system", "edit", name);
    return publish(call, { kind: "system", name, text: await readText(call.request, "system"), ...writeOf(call, by) });
  });
  router.serve(deleteSystem, async (call) => {
    const { name } = call.params;
    const by = await require(call, "system", "delete", name);
    return publish(call, { kind: "system", name, text: null, ...writeOf(call, by) });
  });
  router.serve(systemVersions, async (call) => {
    const { name } = call.params;
    await require(call, "system", "view", name);
    return versions("system", name, call.caller, call.query);
  });
  router.serve(systemVersion, async (call) => {
    const { name, version } = call.params;
    await require(call, "system", "view", name);
    return bytesOf(await store.version("system", name, Number(version), call.caller.tenant));
  });
  router.serve(rollBackSystem, async (call) =>
    rollBack(call, "system", call.params.name, await require(call, "system", "edit", call.params.name)),
  );

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

  router.serve(readToolsDocument, async (call) => {
    await require(call, "config", "read", "tools");
    return read(call.request, "tools", "tools", call.caller.tenant);
  });
  router.serve(putToolsDocument, async (call) => {
    const by = await require(call, "config", "write", "tools");
    return publish(call, { kind: "tools", name: "tools", text: await readText(call.request, "tools"), ...writeOf(call, by) });
  });
  router.serve(toolsDocumentVersions, async (call) => {
    await require(call, "config", "read", "tools");
    return versions("tools", "tools", call.caller, call.query);
  });
  router.serve(toolsDocumentVersion, async (call) => {
    await require(call, "config", "read", "tools");
    return bytesOf(await store.version("tools", "tools", Number(call.params.version), call.caller.tenant));
  });
  router.serve(rollBackToolsDocument, async (call) => rollBack(call, "tools", "tools", await require(call, "config", "write", "tools")));

  router.serve(reloadConfig, async (call) => {
    const by = await require(call, "config", "write", "folders");
    const taken = await store.takeFiles(by);
    const faulty = [...store.list("system", call.caller.tenant), ...store.list("tools", call.caller.tenant)].filter(
      ({ faults }) => faults.length > 0,
    );
    return {
      set_version: Number(store.setVersion),
      taken: [...taken],
      degraded: faulty.map(({ name, faults }) => ({ name, errors: [...faults] })),
    };
  });
};
