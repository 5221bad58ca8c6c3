import { configKinds, configObjectKinds, MAX_CONFIG_BYTES, reloadConfig, testSystem, type ConfigObjectKind } from "#contract/configs.ts";
import { listForms } from "#contract/forms.ts";
import type { BodyOf, QueryOf, ReplyOf } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { tagsOf } from "#http/entity-tags.ts";
import { readBytes } from "#http/read-bytes.ts";
import { answer, type Router } from "#http/serve.ts";
import { plainText } from "#crud/documents/plain-text.ts";
import { switchedOffBy, type KillSwitches } from "#crud/tools/kill-switches.ts";
import { folderOf, keyOf, nameIn } from "./config-kind.ts";
import type { AskedWrite, ConfigPublisher } from "./publish-config.ts";
import { rowOf, showObject, stateOf, tagOf } from "./show-object.ts";
import type { Asked } from "#crud/versions/config-events.ts";
import { etagOf, type StoredVersion, type VersionRow } from "#crud/versions/version-store.ts";

const YAML = "application/yaml";
const mediaOf = (request: Request): string => (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** A text as it was sent, byte for byte. */
export const readText = async (request: Request, kind: ConfigObjectKind): Promise<string> => {
  if (![YAML, "application/json", "text/yaml"].includes(mediaOf(request)))
    throw new Problem("unsupported_media_type", { detail: `Send ${YAML} or application/json.` });
  const row = configKinds[kind];
  const max = mediaOf(request) === "application/json" && "maxJsonBytes" in row ? row.maxJsonBytes : undefined;
  const text = plainText(await readBytes(request, max ?? MAX_CONFIG_BYTES));
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
  const { store, cursors, toolsOf, requireObject, unclaimed } = publisher;
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

  const read = async (call: Asked & { readonly request: Request }, kind: ConfigObjectKind, name: string) => {
    const { tenant } = call.caller;
    const object = (await unclaimed(call)).find((one) => one.kind === kind && one.name === name) ?? store.require(kind, name, tenant);
    const { head } = object;
    if (head !== undefined && head.text !== null && wantsBytes(call.request)) return bytesOf({ ...head, text: head.text });
    const switched = kind === "system" ? switchedOffBy(kills.ofSystem(tenant, name)) : {};
    return answer({ ...showObject(object), ...switched }, { headers: { etag: tagOf(object) } });
  };
  const put = async (call: Change, kind: ConfigObjectKind, name: string | undefined) => {
    const by = await requireObject(call, "edit", kind, name ?? "*");
    return publish(call, { kind, name, text: await readText(call.request, kind), by });
  };
  const versions = async (
    call: Asked & { readonly query: QueryOf<typeof configKinds.tools.endpoints.versions> },
    kind: ConfigObjectKind,
    name: string,
  ) => {
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
  const version = async (call: Asked & { readonly params: { readonly version: string | number } }, kind: ConfigObjectKind, name: string) =>
    bytesOf(await store.version(kind, name, Number(call.params.version), call.caller.tenant));
  const rollBack = async (
    call: Change & { readonly body: BodyOf<typeof configKinds.tools.endpoints.rollBack> },
    kind: ConfigObjectKind,
    name: string,
  ) => {
    const by = await requireObject(call, "edit", kind, name);
    const restored = await store.version(kind, name, call.body.version, call.caller.tenant);
    return publish(call, { kind, name, text: restored.text, restored, by, reason: call.body.reason });
  };

  const list = async (
    { query, ...call }: Asked & { readonly query: QueryOf<typeof configKinds.system.endpoints.list> },
    kind: ConfigObjectKind,
  ) => {
    const { caller } = call;
    const plural = folderOf(kind) ?? kind;
    const bound = [plural, caller.sub, query.state ?? ""];
    const after = query.cursor === undefined ? "" : cursors.open(query.cursor, bound);
    const listed = store.list(kind, caller.tenant, query.state === "deleted" ? "gone" : "there");
    const found = [...listed, ...(await unclaimed(call)).filter((object) => object.kind === kind)]
      .filter((object) => object.name > after && (query.state === undefined || stateOf(object) === query.state))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const { page, last } = pageOf(found, query.limit);
    return {
      [plural]: page.map((object) => ({
        ...rowOf(object),
        ...object.prepared?.about,
        ...(kind === "system"
          ? { tools: toolsOf(object.name, caller.tenant).length, ...switchedOffBy(kills.ofSystem(caller.tenant, object.name)) }
          : {}),
      })),
      set_version: Number(store.setVersion),
      ...(last === undefined ? {} : { nextCursor: cursors.seal(last.name, bound) }),
    };
  };

  type Named = { readonly params: object | undefined };
  /** Whether who asks may read objects of the kind where it is asked. */
  type View = (call: Asked, name: string) => Promise<unknown>;
  const serveObjects = (
    kind: ConfigObjectKind,
    endpoints: Pick<typeof configKinds.system.endpoints, "put" | "read" | "rollBack" | "version" | "versions">,
    view: View,
  ): void => {
    const nameOf = ({ params }: Named): string => nameIn(params, kind);
    const viewed = async <Call extends Asked & Named, Reply>(
      call: Call,
      work: (call: Call, kind: ConfigObjectKind, name: string) => Promise<Reply>,
    ): Promise<Reply> => {
      await view(call, nameOf(call));
      return work(call, kind, nameOf(call));
    };
    router.serve(endpoints.read, (call) => viewed(call, read));
    router.serve(endpoints.put, (call) => put(call, kind, nameOf(call)));
    router.serve(endpoints.versions, (call) => viewed(call, versions));
    router.serve(endpoints.version, (call) => viewed(call, version));
    router.serve(endpoints.rollBack, (call) => rollBack(call, kind, nameOf(call)));
  };
  const serveNamed = (kind: ConfigObjectKind, endpoints: Pick<typeof configKinds.system.endpoints, "create" | "remove">): void => {
    router.serve(endpoints.create, (call) => put(call, kind, undefined));
    router.serve(endpoints.remove, async (call) => {
      const { name } = call.params;
      const by = await requireObject(call, "delete", kind, name);
      return publish(call, { kind, name, text: null, by });
    });
  };

  for (const kind of configObjectKinds) {
    serveObjects(kind, configKinds[kind].endpoints as unknown as typeof configKinds.system.endpoints, (call, name) =>
      requireObject(call, "view", kind, name),
    );
    const row = configKinds[kind];
    if (!("plural" in row)) continue;
    serveNamed(kind, row.endpoints as unknown as typeof configKinds.system.endpoints);
    if (row.served !== undefined && row.servedEndpoints !== undefined) {
      const [type = "", action = ""] = row.served.view.split("/");
      const endpoints = row.servedEndpoints as unknown as typeof configKinds.system.endpoints;
      serveObjects(kind, endpoints, ({ caller, correlationId }, id) =>
        publisher.pdpClient.require(caller, { type, action, id }, correlationId),
      );
      serveNamed(kind, endpoints);
    }
    // Checked against the kind's row in dev and test.
    router.serve(row.endpoints.list, async (call) => {
      await requireObject(call, "view", kind, "*");
      return list(call, kind) as Promise<ReplyOf<typeof row.endpoints.list>>;
    });
  }
  router.serve(listForms, async (call) => {
    const { caller, correlationId } = call;
    const found = (await list(call, "form")) as ReplyOf<typeof listForms>;
    const asks = found.forms.map(({ name }) => ({ type: "forms", action: "view", id: name }));
    const decided = await publisher.pdpClient.decideMany(caller, asks, correlationId);
    const refusals = decided.map((one) => publisher.pdpClient.refusal(caller, one));
    // Who may see none of them is refused.
    if (refusals[0] !== undefined && refusals.every((refusal) => refusal !== undefined)) throw refusals[0];
    return { ...found, forms: found.forms.filter((_form, at) => refusals[at] === undefined) };
  });

  router.serve(testSystem, async (call) => {
    const { name } = call.params;
    await publisher.require(call, { type: "system", action: "test", id: name });
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

  router.serve(reloadConfig, async (call) => {
    const by = await publisher.require(call, { type: "deployment", action: "reload_config", id: "folders" });
    const taken = await store.takeFiles(by);
    const { tenant } = call.caller;
    const there = configObjectKinds.flatMap((kind) => store.list(kind, tenant));
    const gone = configObjectKinds.flatMap((kind) => store.list(kind, tenant, "gone"));
    const seen = new Set([...there, ...gone].map(({ kind, name }) => keyOf(kind, name)));
    const faulty = [...there.filter(({ issues }) => issues.length > 0), ...store.unclaimed()];
    return {
      set_version: Number(store.setVersion),
      taken: taken.filter((key) => seen.has(key)),
      degraded: faulty.map(({ name, issues }) => ({ name, errors: [...issues] })),
    };
  });
};
