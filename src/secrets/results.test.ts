import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { refOf } from "#secrets/providers/secret-provider.contract.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets } from "#testing/secrets.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
type Json = Record<string, unknown>;

let place = 0;
const open = async (t: TestContext, store: SecretProvider | undefined) => {
  const at = await testSecrets(t, store === undefined ? {} : { more: [store] });
  const base = `${store === undefined ? "yaml://secret" : "vaulta+kv2://kv-a"}/results${++place}`;
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await at.send(ada, method, `/api/secrets${path}`, body === undefined ? {} : { body });
    return { status: response.status, reply: (await response.json()) as Json };
  };
  /** What was answered, recorded and reported: `wanted` are the members of the answer that are looked at. */
  const lived = async (method: string, path: string, body: unknown, wanted: readonly string[]) => {
    const before = { entries: (await at.entries()).length, events: (await at.events()).length };
    const { status, reply } = await send(method, path, body);
    const entries = (await at.entries()).slice(before.entries).filter(({ phase }) => phase !== "open");
    const said = (versions: unknown) => (Array.isArray(versions) && versions.length > 0 ? ` ${versions.join()}` : "");
    return {
      answer: [status, ...wanted.map((name) => `${name} ${JSON.stringify(reply[name])}`)].join(", "),
      records: entries.map(
        ({ outcome, code, data }) =>
          `${String((data as Json)["op"])} ${outcome as string}${code === undefined ? "" : ` ${code as string}`}${said((data as Json)["versions"])}`,
      ),
      events: (await at.events()).slice(before.events).map(({ type, data }) => `${type}${said(data["versions"])}`),
    };
  };
  return { at, base, send, lived };
};
type Opened = Awaited<ReturnType<typeof open>>;

const uriOf = (uri: string): string => `?uri=${encodeURIComponent(uri)}`;
/** How a secret stands before an act: what is sent to have it so. */
const states: Readonly<Record<string, (at: Opened, uri: string) => Promise<unknown>>> = {
  absent: async () => undefined,
  active: (at, uri) => at.send("POST", "", { uri, value: { k: 1 } }),
  "one key": (at, uri) => at.send("POST", "", { uri, value: { k: 1 } }),
  deleted: async (at, uri) => {
    await at.send("POST", "", { uri, value: { k: 1 } });
    await at.send("DELETE", uriOf(uri));
  },
  destroyed: async (at, uri) => {
    await at.send("POST", "", { uri, value: { k: 1 } });
    await at.send("POST", "/destroy-versions", { uri, versions: [1] });
  },
  "1 destroyed, 2 deleted, 3 active": async (at, uri) => {
    for (const k of [1, 2]) await at.send("POST", "", { uri, value: { k } });
    await at.send("DELETE", uriOf(uri));
    await at.send("POST", "/destroy-versions", { uri, versions: [1] });
    await at.send("POST", "", { uri, value: { k: 3 } });
  },
};

type Row = readonly [
  what: string,
  state: keyof typeof states,
  request: (uri: string) => readonly [method: string, path: string, body?: unknown],
  answer: readonly [status: number, members?: Readonly<Json>],
  records: readonly string[],
  events: readonly string[],
];

const write = (value: unknown) => (uri: string) => ["POST", "", { uri, value }] as const;
const rotate = (value: unknown) => (uri: string) => ["POST", "/rotate", { uri, value }] as const;
const remove =
  (more = "") =>
  (uri: string) =>
    ["DELETE", `${uriOf(uri)}${more}`] as const;
const settle = (how: string, versions: readonly number[]) => (uri: string) => ["POST", `/${how}`, { uri, versions }] as const;
const bulk = (item: Json) => (uri: string) => ["POST", "/bulk", { operations: [{ uri, ...item }] }] as const;
const own = (uri: string) => ["POST", "/metadata/owner", { uri, owner: "group:payments" }] as const;
const copy =
  (more: Json = {}) =>
  (uri: string) =>
    ["POST", "/copy", { fromUri: uri, toUri: `${uri}-to`, ...more }] as const;
const move =
  (more: Json = {}) =>
  (uri: string) =>
    ["POST", "/move", { fromUri: uri, toUri: `${uri}-to`, ...more }] as const;
const gone = "secret_not_found";

/** On the file. */
const inFile: readonly Row[] = [
  ["write", "absent", write({ k: 1 }), [201, { created: true, changed: true }], ["write ok"], ["secrets.updated"]],
  ["write of the same", "active", write({ k: 1 }), [200, { created: false, changed: false }], ["write refused not_done"], []],
  ["write", "active", write({ k: 2 }), [200, { changed: true }], ["write ok"], ["secrets.updated"]],
  ["rotate", "absent", rotate({ k: 1 }), [404, { code: gone }], [`rotate refused ${gone}`], []],
  ["rotate", "active", rotate({ k: 2 }), [200, { changed: true }], ["rotate ok"], ["secrets.rotated"]],
  ["rotate to the same", "active", rotate({ k: 1 }), [200, { changed: false }], ["rotate refused not_done"], []],
  ["delete", "absent", remove(), [404, { code: gone }], [`delete refused ${gone}`], []],
  ["delete", "active", remove(), [200, { result: "removed" }], ["delete ok"], ["secrets.deleted", "secrets.yaml.removed"]],
  ["destroy", "deleted", remove("&destroy=true"), [404, { code: gone }], [`destroy refused ${gone}`], []],
  [
    "bulk set of the same",
    "active",
    bulk({ op: "set", value: { k: 1 } }),
    [200, { summary: { ok: 1, failed: 0, skipped: 0 } }],
    ["write refused not_done"],
    [],
  ],
  ["bulk delete", "absent", bulk({ op: "delete" }), [200, { summary: { ok: 0, failed: 1, skipped: 0 } }], [`delete refused ${gone}`], []],
  ["owner", "active", own, [200], ["owner ok"], []],
  ["copy", "active", copy(), [201, { verified: true }], ["write ok", "copy ok"], ["secrets.updated", "secrets.copied"]],
  ["copy of what would be refused", "active", copy({ dry_run: true }), [200, { verified: false }], ["read ok", "read ok"], []],
  ["copy", "absent", copy(), [404, { code: gone }], [`copy refused ${gone}`], []],
  [
    "move",
    "active",
    move(),
    [201, { state: "done" }],
    ["write ok", "move ok"],
    ["secrets.updated", "secrets.moved", "secrets.yaml.removed"],
  ],
  ["move dry", "active", move({ dry_run: true }), [200, { state: "planned" }], ["read ok", "read ok"], []],
];

/** On KVv2. */
const inStore: readonly Row[] = [
  ["write", "absent", write({ k: 1 }), [201, { changed: true, version: 1 }], ["write ok 1"], ["secrets.updated 1"]],
  ["write of the same", "active", write({ k: 1 }), [200, { changed: false, version: 2 }], ["write ok 2"], ["secrets.updated 2"]],
  ["write", "deleted", write({ k: 1 }), [201, { changed: true, version: 2 }], ["write ok 2"], ["secrets.updated 2"]],
  ["rotate", "active", rotate({ k: 2 }), [200, { changed: true, new_version: 2 }], ["rotate ok 2"], ["secrets.rotated 2"]],
  ["rotate to the same", "active", rotate({ k: 1 }), [200, { changed: false, new_version: 2 }], ["rotate ok 2"], ["secrets.updated 2"]],
  ["delete", "absent", remove(), [404, { code: gone }], [`delete refused ${gone}`], []],
  ["delete", "active", remove(), [200, { result: "deleted" }], ["delete ok 1"], ["secrets.deleted 1", "secrets.kv2.deleted 1"]],
  ["delete", "deleted", remove(), [200, { result: "unchanged" }], ["delete refused not_done"], []],
  ["delete", "destroyed", remove(), [200, { result: "unchanged" }], ["delete refused not_done"], []],
  [
    "destroy",
    "deleted",
    remove("&destroy=true"),
    [200, { result: "destroyed" }],
    ["destroy ok 1"],
    ["secrets.destroyed 1", "secrets.kv2.destroyed 1"],
  ],
  ["destroy", "destroyed", remove("&destroy=true"), [200, { result: "unchanged" }], ["destroy refused not_done"], []],
  ["destroy", "absent", remove("&destroy=true"), [404, { code: gone }], [`destroy refused ${gone}`], []],
  ["undelete", "deleted", settle("undelete", [1]), [200], ["undelete ok 1"], ["secrets.undeleted 1", "secrets.kv2.undeleted 1"]],
  ["undelete", "active", settle("undelete", [1]), [200], ["undelete refused not_done"], []],
  ["undelete", "destroyed", settle("undelete", [1]), [200], ["undelete refused not_done"], []],
  [
    "undelete of another version",
    "active",
    settle("undelete", [7]),
    [404, { code: "version_not_found" }],
    ["undelete refused version_not_found"],
    [],
  ],
  [
    "undelete",
    "1 destroyed, 2 deleted, 3 active",
    settle("undelete", [1, 2, 3]),
    [200],
    ["undelete ok 2"],
    ["secrets.undeleted 2", "secrets.kv2.undeleted 2"],
  ],
  ["destroy versions", "destroyed", settle("destroy-versions", [1]), [200], ["destroy_versions refused not_done"], []],
  [
    "destroy versions",
    "1 destroyed, 2 deleted, 3 active",
    settle("destroy-versions", [1, 2]),
    [200],
    ["destroy_versions ok 2"],
    ["secrets.destroyed 2", "secrets.kv2.destroyed 2"],
  ],
  ["bulk undelete", "destroyed", bulk({ op: "undelete", versions: [1] }), [200], ["undelete refused not_done"], []],
  ["bulk delete", "deleted", bulk({ op: "delete" }), [200], ["delete refused not_done"], []],
  ["bulk dry run", "active", (uri) => ["POST", "/bulk", { operations: [{ op: "delete", uri }], dry_run: true }], [200], [], []],
  ["owner", "absent", own, [404, { code: gone }], [`owner refused ${gone}`], []],
  ["copy", "deleted", copy(), [404, { code: "version_deleted" }], ["copy refused version_deleted"], []],
  [
    "move",
    "active",
    move(),
    [201, { state: "done" }],
    ["write ok 1", "move ok 1"],
    ["secrets.updated 1", "secrets.moved 1", "secrets.kv2.deleted 1"],
  ],
];

const stores: readonly [name: string, rows: readonly Row[], start: (t: TestContext) => Promise<SecretProvider | "none" | undefined>][] = [
  ["the file", inFile, async () => "none"],
  [
    "a double of KVv2",
    inStore,
    async (t) => {
      const double = await startKvDouble(t, "vault");
      return kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken }));
    },
  ],
  [
    "OpenBao",
    inStore,
    async (t) => {
      const bao = await openBao(t);
      return bao === undefined ? undefined : kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken }));
    },
  ],
];

suite("what is answered, recorded and reported is what was done", () => {
  for (const [name, rows, start] of stores)
    test(`on ${name}`, async (t) => {
      const store = await start(t);
      if (store === undefined) return;
      const at = await open(t, store === "none" ? undefined : store);
      for (const [index, [what, state, request, [status, members = {}], records, events]] of rows.entries()) {
        const uri = `${at.base}/row${index}`;
        await states[state]!(at, uri);
        const [method, path, body] = request(uri);
        const answer = [status, ...Object.entries(members).map(([member, value]) => `${member} ${JSON.stringify(value)}`)].join(", ");
        assert.deepEqual(
          await at.lived(method, path, body, Object.keys(members)),
          { answer, records, events },
          `${what} where it is ${state}`,
        );
      }
    });

  test("of each version that was named, and of each item of a bulk", async (t) => {
    const double = await startKvDouble(t, "openbao");
    const at = await open(t, kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken })));
    const uri = `${at.base}/mixed`;
    await states["1 destroyed, 2 deleted, 3 active"]!(at, uri);
    const { reply } = await at.send("POST", "/undelete", { uri, versions: [1, 2, 3] });
    assert.deepEqual(
      (reply["versions"] as Json[]).map(({ version, state, changed }) => `${String(version)} ${String(state)} ${String(changed)}`),
      ["3 active false", "2 active true", "1 destroyed false"],
    );
    const items = [
      { op: "undelete", uri, versions: [2] },
      { op: "delete", uri },
      { op: "delete", uri },
      { op: "set", uri, value: { k: 3 } },
    ];
    const done = (await at.send("POST", "/bulk", { operations: items })).reply["results"] as Json[];
    assert.deepEqual(
      done.map(({ changed }) => changed),
      [false, true, false, true],
    );
  });

  test("an owner that is set again, and a copy of what lies at the target already, are not done", async (t) => {
    const at = await open(t, undefined);
    const uri = `${at.base}/same`;
    for (const one of [uri, `${uri}-to`]) await at.send("POST", "", { uri: one, value: { k: 1 } });
    assert.deepEqual((await at.lived(...own(uri), [])).records, ["owner ok"]);
    assert.deepEqual((await at.lived(...own(uri), [])).records, ["owner refused not_done"]);
    const { records, events } = await at.lived(...copy({ overwrite: true })(uri), []);
    assert.deepEqual([records, events], [["write refused not_done", "copy refused not_done"], []]);
  });

  test("a rotation to the value that was there already is no rotation of it", async (t) => {
    const double = await startKvDouble(t, "openbao");
    const at = await open(t, kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken })));
    const uri = `${at.base}/rotated`;
    const rotatedAt = async () => (await at.send("GET", `/metadata?prefix=${encodeURIComponent(at.base)}`)).reply["items"];
    await at.send("POST", "", { uri, value: { k: 1 } });
    await at.send("POST", "/rotate", { uri, value: { k: 1 } });
    assert.ok(!JSON.stringify(await rotatedAt()).includes("rotated_at"));
    await at.send("POST", "/rotate", { uri, value: { k: 2 } });
    assert.ok(JSON.stringify(await rotatedAt()).includes("rotated_at"));
  });

  test("a version that another writer destroys while it is restored: nobody knows, and nothing is reported as restored", async (t) => {
    const double = await startKvDouble(t, "openbao");
    const path = "kv-a/destroy/raced";
    const store = kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken }), {
      wrap: (client) => ({
        ...client,
        call: async (verb, where, ...more) => {
          const answer = await client.call(verb, where, ...more);
          if (where.includes("/undelete/")) await double.ask("POST", path, { versions: [1] });
          return answer;
        },
      }),
    });
    const at = await open(t, store);
    const uri = "vaulta+kv2://kv-a/raced";
    await states["deleted"]!(at, uri);
    const { answer, records, events } = await at.lived("POST", "/undelete", { uri, versions: [1] }, ["code"]);
    assert.deepEqual([answer, records, events], ['504, code "outcome_unknown"', ["undelete unknown outcome_unknown 1"], []]);
  });

  test("a copy that was written and cannot be read back: the write is reported, the copy is not", async (t) => {
    const double = await startKvDouble(t, "openbao");
    const inner = kvProvider(kvServer({ URL: double.url, TOKEN: double.rootToken }));
    let isWritten = false;
    const store: SecretProvider = {
      ...inner,
      write: async (...how) => {
        const written = await inner.write(...how);
        isWritten = true;
        return written;
      },
      read: async (ref) => {
        if (isWritten) double.faults.sealed = true;
        return inner.read(ref);
      },
    };
    const at = await open(t, store);
    await at.send("POST", "", { uri: "yaml://secret/source", value: { k: 1 } });
    const body = { fromUri: "yaml://secret/source", toUri: `${at.base}/target` };
    const { answer, records, events } = await at.lived("POST", "/copy", body, ["code"]);
    double.faults.sealed = false;
    assert.deepEqual([answer, records], ['502, code "copy_unverified"', ["write ok 1", "copy error copy_unverified"]]);
    assert.deepEqual(events, ["secrets.updated 1"]);
    isWritten = false;
    assert.equal((await inner.read(refOf(`${at.base}/target`))).version, 1);
  });
});
