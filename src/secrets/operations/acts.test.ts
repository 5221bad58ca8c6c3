import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { suite, test, type TestContext } from "node:test";
import { statement } from "#store/database.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { refOf } from "#secrets/providers/secret-provider.contract.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets, type SendMore, type TestSecrets } from "#testing/secrets.ts";
import { secretOperations, type SecretOperation } from "#contract/secret-operations.ts";

const openBaoA = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const openBaoB = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const eve = { ...ada, sub: "person:eve", tenant: "tenant:globex" };
type Json = Record<string, unknown>;
interface Answered {
  readonly status: number;
  readonly reply: Json;
  /** Status, and the code of a refusal. */
  readonly said: string;
}

const KEYED = statement<{ row: string }>("testing.keyed_rows", "select keyed_answer::text as row from secrets.keyed_answer");

let place = 0;
/** The service on the file, and on two servers; paths of its own on these. */
const open = async (t: TestContext) => {
  const [a, b] = await Promise.all([openBaoA(t), openBaoB(t)]);
  if (a === undefined || b === undefined) return undefined;
  const more = [
    kvProvider(kvServer({ URL: a.url, TOKEN: a.rootToken })),
    kvProvider(kvServer({ URL: b.url, TOKEN: b.rootToken }), { scheme: "vaultb+kv2" }),
  ];
  const at = await testSecrets(t, { more });
  place++;
  const bases = { Y: `yaml://secret/t${place}`, A: `vaulta+kv2://kv-a/t${place}`, B: `vaultb+kv2://kv-b/t${place}` };
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    who: Parameters<TestSecrets["send"]>[0] = ada,
    extra: SendMore = {},
  ): Promise<Answered> => {
    const response = await at.send(who, method, `/api/secrets${path}`, { ...(body === undefined ? {} : { body }), ...extra });
    const reply = (await response.json()) as Json;
    return { status: response.status, reply, said: response.ok ? `${response.status}` : `${response.status} ${String(reply["code"])}` };
  };
  const get = (path: string, parameters: Readonly<Record<string, string>>, who = ada) =>
    send(
      "GET",
      `${path}?${Object.entries(parameters)
        .map(([name, text]) => `${name}=${encodeURIComponent(text)}`)
        .join("&")}`,
      undefined,
      who,
    );
  const set = async (uri: string, value: unknown) => assert.match((await send("POST", "", { uri, value })).said, /^20[01]$/);
  const valueOf = async (uri: string) => {
    const { reply, said } = await get("/value", { uri });
    return said === "200" ? reply["value"] : said;
  };
  return { at, bases, send, get, set, valueOf };
};

/** Each operation as a request on `uri`, and what each provider answers: the file, and KVv2. */
const rows: readonly [
  op: keyof typeof secretOperations,
  method: string,
  path: (uri: string) => string,
  body: (uri: string) => unknown,
  file: string,
  kv: string,
][] = [
  ["write", "POST", () => "", (uri) => ({ uri, value: { k: 2 } }), "200", "200"],
  ["read", "GET", (uri) => `?uri=${uri}`, () => undefined, "200", "501 not_supported"],
  ["value", "GET", (uri) => `/value?uri=${uri}`, () => undefined, "200", "200"],
  ["rotate", "POST", () => "/rotate", (uri) => ({ uri, value: { k: 3 } }), "200", "200"],
  ["metadata", "GET", (uri) => `/metadata?prefix=${uri}`, () => undefined, "200", "200"],
  ["owner", "POST", () => "/metadata/owner", (uri) => ({ uri, owner: "group:payments" }), "200", "200"],
  ["keys", "GET", (uri) => `/keys?uri=${uri}`, () => undefined, "200", "200"],
  ["detail", "GET", (uri) => `/metadata/detail?uri=${uri}`, () => undefined, "501 not_supported", "200"],
  ["versions", "GET", (uri) => `/versions?uri=${uri}`, () => undefined, "501 not_supported", "200"],
  ["search", "GET", (uri) => `/search?q=row&prefix=${uri}`, () => undefined, "200", "200"],
  ["copy", "POST", () => "/copy", (uri) => ({ fromUri: uri, toUri: `${uri}-copy` }), "201", "201"],
  ["move", "POST", () => "/move", (uri) => ({ fromUri: `${uri}-copy`, toUri: `${uri}-moved` }), "201", "201"],
  ["delete", "DELETE", (uri) => `?uri=${uri}`, () => undefined, "200", "200"],
  ["undelete", "POST", () => "/undelete", (uri) => ({ uri, versions: [3] }), "501 not_supported", "200"],
  ["destroyVersions", "POST", () => "/destroy-versions", (uri) => ({ uri, versions: [1] }), "501 not_supported", "200"],
  ["destroy", "DELETE", (uri) => `?uri=${uri}&destroy=true`, () => undefined, "404 secret_not_found", "200"],
];

suite("operations on the file and on OpenBao", () => {
  test("each answers as its provider can, leaves a record, and its event where it does something", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    assert.equal(rows.length, Object.keys(secretOperations).length);
    for (const [base, column] of [
      [on.bases.Y, 4],
      [on.bases.A, 5],
    ] as const) {
      await on.set(`${base}/row`, { k: 1 });
      for (const row of rows) {
        const [op, method, path, body] = row;
        const before: { readonly entries: number; readonly events: number } = {
          entries: (await on.at.entries()).length,
          events: (await on.at.events()).length,
        };
        const { said } = await on.send(method, path(`${base}/row`), body(`${base}/row`));
        assert.equal(said, row[column], `${op} ${base}`);
        if (!said.startsWith("20")) continue;
        assert.ok((await on.at.entries()).length > before.entries, op);
        const operation: SecretOperation = secretOperations[op];
        const events: readonly string[] = (await on.at.events()).slice(before.events).map(({ type }) => type);
        assert.deepEqual(events.includes(operation.event?.type ?? "none"), operation.event !== undefined, `${op}: ${events.join()}`);
      }
    }
  });

  test("each needs its scope, its tenant's mount and a permit; who is denied touches nothing", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    for (const base of [on.bases.Y, on.bases.A]) {
      const uri = `${base}/row`;
      await on.set(uri, { k: 1 });
      await on.set(`${uri}-copy`, { k: 1 });
      on.at.touched.length = 0;
      for (const row of rows) {
        const [op, method, path, body] = row;
        if (row[base === on.bases.Y ? 4 : 5].startsWith("501")) continue;
        const ask = (who: typeof ada): Promise<Answered> => on.send(method, path(uri), body(uri), who);
        assert.equal((await ask({ ...ada, scopes: ["secrets.nothing"] })).said, "403 insufficient_scope", op);
        assert.equal((await ask(eve)).said, "403 tenant_mount", op);
        on.at.rule = () => false;
        const { said, reply } = await ask(ada);
        on.at.rule = () => true;
        if (op === "metadata" || op === "search") assert.deepEqual(reply["items"], [], op);
        else {
          assert.equal(said, "403 secret_authz_failed", op);
          const [failure] = (reply["details"] as { failures: Json[] }).failures;
          assert.match(String(failure?.["argument"]), op === "copy" || op === "move" ? /^toUri$/ : /^uri$/);
        }
      }
      assert.deepEqual(on.at.touched, []);
      assert.deepEqual(await on.valueOf(uri), { k: 1 });
    }
  });

  test("fingerprints tell which versions hold the same, to who may read it, and are others in each answer", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const uri = `${on.bases.A}/prints`;
    for (const k of ["first", "second", "first"]) await on.set(uri, { k });
    const prints = async () => {
      const { reply } = await on.get("/versions", { uri, fingerprints: "true" });
      return (reply["versions"] as Json[]).map(({ fingerprint }) => fingerprint);
    };
    const [third, second, first] = await prints();
    assert.match(String(first), /^[A-Za-z0-9_-]{43}$/);
    assert.deepEqual([third === first, second === first, (await prints())[0] === third], [true, false, false]);
    await on.send("POST", "/destroy-versions", { uri, versions: [2] });
    assert.deepEqual(
      (await prints()).map((one) => one === undefined),
      [false, true, false],
    );
    on.at.rule = ({ ask }) => ask.action === "read_metadata";
    assert.equal((await on.get("/versions", { uri, fingerprints: "true" })).said, "403 secret_authz_failed");
    assert.equal((await on.get("/versions", { uri })).said, "200");
  });

  test("a place whose store lets Sallyport list nothing is 501 where it is named, and passed over where it is not", async (t) => {
    const store = await startKvDouble(t, "openbao");
    const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))] });
    await at.send(ada, "POST", "/api/secrets", { body: { uri: "yaml://secret/seen#k", value: 1 } });
    const search = async (prefix: string) => {
      store.faults.deny = 9;
      const response = await at.send(ada, "GET", `/api/secrets/search?q=seen${prefix}`);
      const reply = (await response.json()) as Json;
      return [response.status, reply["code"], (reply["items"] as Json[] | undefined)?.length, reply["skipped"]];
    };
    assert.deepEqual(await search("&prefix=vaultA%2Bkv2://kv-a/"), [501, "not_supported", undefined, undefined]);
    assert.deepEqual(await search(""), [200, undefined, 1, ["vaulta+kv2://kv-a"]]);
  });

  test("a destruction is decided as deletion and as destruction", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const uri = `${on.bases.A}/row`;
    await on.set(uri, { k: 1 });
    on.at.rule = ({ ask }) => ask.action !== "destroy_versions";
    assert.equal((await on.send("DELETE", `?uri=${uri}&destroy=true`)).said, "403 secret_authz_failed");
    assert.equal((await on.send("DELETE", `?uri=${uri}`)).said, "200");
  });

  const badInput: readonly [what: string, method: string, path: string, body: unknown, said: string][] = [
    ["a key where the whole is meant", "GET", "/versions?uri=vaultA%2Bkv2://kv-a/x%23k", undefined, "422 fragment_not_allowed"],
    ["a version where the newest is meant", "DELETE", "?uri=vaultA%2Bkv2://kv-a/x%3Fversion=1", undefined, "400 uri_version_not_allowed"],
    ["a hard deletion of a key", "DELETE", "?uri=vaultA%2Bkv2://kv-a/x%23k&destroy=true", undefined, "422 fragment_not_allowed"],
    ["no versions", "POST", "/undelete", { uri: "vaultA+kv2://kv-a/x", versions: [] }, "422 versions_required"],
    ["a version twice", "POST", "/undelete", { uri: "vaultA+kv2://kv-a/x", versions: [1, 1] }, "422 versions_required"],
    ["version nought", "POST", "/destroy-versions", { uri: "vaultA+kv2://kv-a/x", versions: [0] }, "422 versions_required"],
    ["a copy onto itself", "POST", "/copy", { fromUri: "yaml://secret/x", toUri: "YAML://secret/x" }, "400 same_resource"],
    ["a map under a key", "POST", "/copy", { fromUri: "yaml://secret/x", toUri: "yaml://secret/y#k" }, "422 copy_shape"],
    [
      "a pinned target",
      "POST",
      "/copy",
      { fromUri: "yaml://secret/x", toUri: "vaultA+kv2://kv-a/x?version=1" },
      "400 uri_version_not_allowed",
    ],
    ["a target of another mount", "POST", "/copy", { fromUri: "yaml://secret/x", toUri: "vaultA+kv2://kv-z/x" }, "403 tenant_mount"],
    [
      "a pinned source that moves",
      "POST",
      "/move",
      { fromUri: "vaultA+kv2://kv-a/x?version=1", toUri: "yaml://secret/x" },
      "400 uri_version_not_allowed",
    ],
    ["a foreign prefix", "GET", "/search?q=a&prefix=vaultA%2Bkv2://kv-z/", undefined, "403 tenant_mount"],
    ["a cursor of nobody's", "GET", "/search?q=a&cursor=abc", undefined, "400 invalid_cursor"],
    ["too many of them", "GET", "/search?q=a&limit=501", undefined, "422 unprocessable"],
    ["an owner that is none", "POST", "/metadata/owner", { uri: "yaml://secret/x", owner: "somebody" }, "422 owner_invalid"],
    ["an owner of what is not there", "POST", "/metadata/owner", { uri: "yaml://secret/never", owner: "group:a" }, "404 secret_not_found"],
    ["a rotation of a secret that is not there", "POST", "/rotate", { uri: "yaml://secret/never#k", value: 1 }, "404 secret_not_found"],
    ["a rotation of a key that is not there", "POST", "/rotate", { uri: "yaml://secret/there#kye", value: 1 }, "404 key_not_found"],
    ["an owner of a key", "POST", "/metadata/owner", { uri: "yaml://secret/x#k", owner: "group:a" }, "422 fragment_not_allowed"],
    ["a stale If-Match", "POST", "", { uri: "vaultA+kv2://kv-a/ifmatch#k", value: 1 }, "412 stale_version"],
  ];
  test("what cannot be meant is refused by its own code", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    await on.set("yaml://secret/there#key", 1);
    for (const [what, method, path, body, said] of badInput) {
      const headers: Record<string, string> = said.startsWith("412") ? { "if-match": '"7"' } : {};
      assert.equal((await on.send(method, path, body, ada, { headers })).said, said, what);
    }
    assert.deepEqual(await on.valueOf("yaml://secret/there"), { key: 1 });
    // A store of versions takes a key that it does not have as the next version's.
    assert.equal((await on.send("POST", "/rotate", { uri: `${on.bases.A}/rotated#k`, value: 1 })).said, "200");
  });

  test("a version that was named and is not there any more stops what changes it: 412 of If-Match, 409 of cas", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const uri = `${on.bases.A}/pinned`;
    for (const k of [1, 2, 3]) await on.set(uri, { k });
    const rows = [
      ["POST", "", { uri, value: { k: 4 } }],
      ["POST", "/rotate", { uri, value: { k: 4 } }],
      ["DELETE", `?uri=${uri}`, undefined],
      ["DELETE", `?uri=${uri}%23k`, undefined],
      ["DELETE", `?uri=${uri}&destroy=true`, undefined],
      ["POST", "/undelete", { uri, versions: [1] }],
      ["POST", "/destroy-versions", { uri, versions: [1] }],
    ] as const;
    const sent = (version: string, [method, path, body]: (typeof rows)[number]) =>
      on.send(method, path, body, ada, { headers: { "if-match": version } });
    for (const row of rows)
      for (const version of ['"2"', '"99"', "3", "*"])
        assert.equal((await sent(version, row)).said, "412 stale_version", `${row[0]} ${row[1]}`);
    const operations = [
      { op: "set", uri, value: { k: 4 } },
      { op: "rotate", uri, value: { k: 4 } },
      { op: "delete", uri },
      { op: "destroy", uri },
      { op: "undelete", uri, versions: [1] },
      { op: "destroy", uri, versions: [1] },
    ];
    const { reply } = await on.send("POST", "/bulk", { operations: operations.map((one) => ({ ...one, cas: 1 })) });
    assert.deepEqual(
      (reply["results"] as Json[]).map(({ status, code }) => `${String(status)} ${String(code)}`),
      operations.map(() => "409 cas_mismatch"),
    );
    const { reply: detail } = await on.get("/versions", { uri });
    assert.deepEqual(
      (detail["versions"] as Json[]).map(({ version, state }) => [version, state]),
      [3, 2, 1].map((version) => [version, "active"]),
    );
    for (const row of rows.slice(1, 3)) assert.equal((await sent(row[0] === "POST" ? '"3"' : '"4"', row)).said, "200");

    // Two that differ are refused, in whatever way either stands.
    for (const [path, body] of [
      ["", { uri, value: { k: 5 } }],
      ["/rotate", { uri, value: { k: 5 } }],
    ] as const) {
      const newest: Answered = await on.get("/versions", { uri });
      const version = Number(newest.reply["current_version"]);
      const both = (cas: number): Promise<Answered> =>
        on.send("POST", path, { ...body, cas }, ada, { headers: { "if-match": `"${version}"` } });
      for (const cas of [0, version - 1]) {
        const { said, reply: refused } = await both(cas);
        assert.equal(said, "422 invalid_body");
        assert.match(JSON.stringify(refused), /\/cas.*If-Match/);
      }
      assert.match((await both(version)).said, /^20[01]$/);
    }

    // The file keeps no versions.
    const plain = `${on.bases.Y}/pinned`;
    await on.set(plain, { k: 1 });
    const without = rows.map(([method, path, body]) => [method, path.replaceAll(uri, plain), body && { ...body, uri: plain }] as const);
    for (const row of without) assert.equal((await sent('"1"', row as (typeof rows)[number])).said, "501 not_supported");
    for (const [cas, said] of [
      [1, "501 not_supported"],
      [0, "409 cas_mismatch"],
    ] as const) {
      const { reply: done } = await on.send("POST", "/bulk", { operations: [{ op: "delete", uri: plain, cas }] });
      assert.equal((done["results"] as Json[]).map(({ status, code }) => `${String(status)} ${String(code)}`).join(), said);
    }
    assert.deepEqual(await on.valueOf(plain), { k: 1 });
  });

  test("what a plan deletes, destroys or restores is the version that was planned, and no later one", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const uri = `${on.bases.A}/planned`;
    for (const k of [1, 2]) await on.set(uri, { k });
    for (const operation of [
      { op: "delete", uri },
      { op: "destroy", uri },
      { op: "destroy", uri, versions: [1] },
      { op: "undelete", uri, versions: [1] },
    ]) {
      const operations = [{ op: "set", uri: `${uri}-other#k`, value: 1 }, operation];
      const { reply: planned } = await on.send("POST", "/bulk", { operations, dry_run: true });
      // The first operation's decision is asked once more when it is done, which is after both were looked at.
      let asked = 0;
      const rule = on.at.rule;
      on.at.rule = ({ ask }) => {
        if (ask.id?.endsWith("-other#k") === true && ++asked === 2) meddling = on.set(uri, { k: 3 });
        return true;
      };
      let meddling: Promise<unknown> | undefined;
      const { reply } = await on.send("POST", "/bulk", { operations, plan: planned["plan"] });
      on.at.rule = rule;
      await meddling;
      assert.equal((reply["results"] as Json[])[1]?.["code"], "cas_mismatch", JSON.stringify(operation));
      assert.deepEqual(await on.valueOf(uri), { k: 3 });
    }
  });

  test("bulk does each as if it came alone, and a dry run decides each and does none", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const { Y, A } = on.bases;
    const batch = [
      { op: "set", uri: `${A}/one#k`, value: 1 },
      { op: "set", uri: "vaultB+kv2://kv-a/foreign#k", value: 1 },
      { op: "set", uri: `${Y}/two#k`, value: 2 },
      { op: "rotate", uri: `${A}/one#k`, value: 11 },
      { op: "undelete", uri: `${Y}/two`, versions: [1] },
      { op: "delete", uri: `${Y}/nowhere` },
    ];
    const statuses = (reply: Json) => (reply["results"] as Json[]).map(({ status, code }) => [status, code].filter(Boolean).join(" "));
    const dry = await on.send("POST", "/bulk", { operations: batch, dry_run: true });
    assert.deepEqual(statuses(dry.reply), ["200", "403 tenant_mount", "200", "200", "501 not_supported", "200"]);
    assert.equal(await on.valueOf(`${A}/one#k`), "404 secret_not_found");
    const plan = dry.reply["plan"];
    for (const [said, body, who] of [
      ["409 plan_stale", { operations: batch.slice(1), plan }, ada],
      ["409 plan_stale", { operations: batch, plan }, { ...ada, sub: "person:ben" }],
      ["409 plan_stale", { operations: batch, plan: "made-up" }, ada],
    ] as const)
      assert.equal((await on.send("POST", "/bulk", body, who)).said, said);
    await on.set(`${Y}/two#other`, 1);
    assert.equal((await on.send("POST", "/bulk", { operations: batch, plan })).said, "409 plan_stale");
    assert.equal(await on.valueOf(`${A}/one#k`), "404 secret_not_found");
    const again = await on.send("POST", "/bulk", { operations: batch, dry_run: true });
    on.at.clock += 301_000;
    assert.equal((await on.send("POST", "/bulk", { operations: batch, plan: again.reply["plan"] })).said, "409 plan_stale");
    const fresh = await on.send("POST", "/bulk", { operations: batch, dry_run: true });
    const done = await on.send("POST", "/bulk", { operations: batch, plan: fresh.reply["plan"] });
    assert.equal((await on.send("POST", "/bulk", { operations: batch, plan: fresh.reply["plan"] })).said, "409 plan_stale", "once");
    assert.deepEqual(statuses(done.reply), ["201", "403 tenant_mount", "201", "200", "501 not_supported", "404 secret_not_found"]);
    assert.deepEqual(done.reply["summary"], { ok: 3, failed: 3, skipped: 0 });
    assert.equal(await on.valueOf(`${A}/one#k`), 11);
    assert.equal((await on.send("POST", "/bulk", { operations: batch, mode: "atomic" })).said, "422 invalid_body");
    const stopped = await on.send("POST", "/bulk", { operations: batch.slice(1), continueOnError: false, mode: "per_item" });
    assert.deepEqual(stopped.reply["summary"], { ok: 0, failed: 1, skipped: 4 });
  });

  test("what is sent again with its Idempotency-Key is answered again and not done again", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const { A, Y } = on.bases;
    const uri = `${A}/once`;
    const keyed = (key: string, body: unknown, path = "", who: Parameters<TestSecrets["send"]>[0] = ada) =>
      on.send("POST", path, body, who, { headers: { "idempotency-key": key } });
    const first = await keyed("one", { uri, value: { k: 1 } });
    assert.equal(first.said, "201");
    const events = (await on.at.events()).length;
    assert.deepEqual(await keyed("one", { uri, value: { k: 1 } }), first);
    assert.equal((await on.at.events()).length, events, "nothing was done");
    assert.equal((await keyed("one", { uri, value: { k: 2 } })).said, "409 idempotency_conflict");
    assert.equal(
      (await keyed("one", { uri, value: { k: 2 } }, "", { ...ada, sub: "person:ben" })).said,
      "200",
      "keys are the caller's own",
    );
    assert.equal((await keyed("one", { uri, value: { k: 3 } }, "/rotate")).said, "200", "and the operation's");
    assert.equal((await keyed("two words", { uri, value: { k: 4 } })).said, "400 idempotency_key_required");
    // What was refused may be tried again with its key.
    on.at.rule = () => false;
    assert.equal((await keyed("later", { uri, value: { k: 5 } })).said, "403 secret_authz_failed");
    on.at.rule = () => true;
    assert.equal((await keyed("later", { uri, value: { k: 5 } })).said, "200");
    const many = await Promise.all(Array.from({ length: 8 }, () => keyed("race", { fromUri: uri, toUri: `${Y}/copied` }, "/copy")));
    assert.ok(
      many.every(({ said }) => said === "201" || said === "409 in_progress"),
      many.map(({ said }) => said).join(),
    );
    assert.ok(many.some(({ said }) => said === "201"));
    assert.equal((await on.at.events()).filter(({ type }) => type === "secrets.copied").length, 1);
    const kept = JSON.stringify(await on.at.database.run(KEYED));
    assert.ok(
      kept.includes("later") && !kept.includes('\\"k\\":5') && !kept.includes(createHash("sha256").update('{"k":5}').digest("hex")),
    );
  });

  test("a kept answer is for whoever would be permitted to do it now: scope, mount and decision are passed again, and a refusal is recorded", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const { A, Y } = on.bases;
    const uri = `${A}/kept`;
    const sent: readonly (readonly [path: string, body: Json])[] = [
      ["", { uri, value: { k: 1 } }],
      ["/rotate", { uri, value: { k: 2, below: { m: 1 } } }],
      ["/metadata/owner", { uri, owner: "group:payments" }],
      ["/copy", { fromUri: uri, toUri: `${Y}/kept` }],
      ["/move", { fromUri: `${Y}/kept`, toUri: `${Y}/moved` }],
      ["/undelete", { uri, versions: [1] }],
      ["/destroy-versions", { uri, versions: [1] }],
      [
        "/bulk",
        {
          operations: [
            { op: "set", uri, value: { k: 3 } },
            { op: "set", uri: `${A}-not#k`, value: 1 },
            { op: "delete", uri: `${A}/never` },
          ],
        },
      ],
    ];
    for (const [path, body] of sent) {
      const again = (who = ada): Promise<Answered> => on.send("POST", path, body, who, { headers: { "idempotency-key": "kept" } });
      const decided = new Set<string>();
      const nameOf = (ask: { readonly action: string; readonly id?: string }): string => `${ask.action} ${ask.id}`;
      on.at.rule = ({ ask }) => decided.add(nameOf(ask)) !== undefined;
      const first = await again();
      assert.match(first.said, /^20[01]$/, path);
      const entries: number = (await on.at.entries()).length;
      assert.deepEqual(await again(), first, path);
      assert.equal((await on.at.entries()).length, entries, `${path}: nothing was done`);
      assert.equal((await again({ ...ada, scopes: ["secrets.nothing"] })).said, "403 insufficient_scope", path);
      // Each thing that was decided then, not only the first; but for what is there no more, and what was refused for itself.
      const gone = path === "/move" ? /\/kept\/below$/ : /-not|never/;
      for (const name of [...decided].filter((one) => !gone.test(one))) {
        on.at.rule = ({ ask }) => nameOf(ask) !== name;
        assert.equal((await again()).said, "403 secret_authz_failed", `${path}: ${name}`);
      }
      on.at.rule = () => true;
      assert.ok(
        (await on.at.entries()).slice(entries).some(({ outcome }) => outcome === "denied"),
        path,
      );
      assert.deepEqual(await again(), first, path);
    }
  });

  test("search pages through the file and both servers without gap or repetition, and never beside the prefix or a permit", async (t) => {
    const on = await open(t);
    if (on === undefined) return;
    const { Y, A, B } = on.bases;
    const paths = ["team/a", "team/b", "team/c", "team/deep/d", "team/deep/e", "team2/x", "other/needle"];
    for (const base of [Y, A, B]) for (const path of paths) await on.set(`${base}/${path}#needle`, 1);
    const all = async (parameters: Readonly<Record<string, string>>) => {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const { reply } = await on.get("/search", { limit: "2", ...parameters, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...(reply["items"] as { uri: string }[]).map(({ uri }) => uri));
        cursor = reply["next_cursor"] as string | undefined;
      } while (cursor !== undefined);
      return found;
    };
    on.at.rule = ({ ask }) => ask.id?.endsWith("/team/b") !== true;
    const expected = ["team/a", "team/c", "team/deep/d", "team/deep/e"];
    for (const base of [Y, A, B])
      assert.deepEqual(
        await all({ q: "TEAM", prefix: `${base}/team` }),
        expected.map((path) => `${base}/${path}`),
      );
    const everywhere = (await all({ q: `t${place}/team/`, depth: "8" })).toSorted();
    assert.deepEqual(everywhere, [Y, A, B].flatMap((base) => expected.map((path) => `${base}/${path}`)).toSorted());
    const byKey = await on.get("/search", { q: "needle", prefix: `${Y}/other` });
    assert.deepEqual(byKey.reply["items"], [{ uri: `${Y}/other/needle`, match: "path" }]);
    const { reply } = await on.get("/search", { q: "needle", prefix: `${Y}/team2` });
    assert.deepEqual(reply["items"], [{ uri: `${Y}/team2/x`, match: "key" }]);
  });

  test("what a store lists beside the place that was asked for is told to nobody", async (t) => {
    const store = await startKvDouble(t, "openbao");
    const honest = kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }));
    const listed = ["kv-a/team/a", "kv-a/team2/a", "kv-b/team/a"].map((path) => ({ node: refOf(`vaultA+kv2://${path}`) }));
    const at = await testSecrets(t, { more: [{ ...honest, list: async () => ({ items: listed }) }] });
    const prefix = encodeURIComponent("vaultA+kv2://kv-a/team");
    for (const [path, uris] of [
      ["metadata?", ["vaulta+kv2://kv-a/team/a"]],
      ["search?q=a&", ["vaulta+kv2://kv-a/team/a"]],
    ] as const) {
      const response = await at.send(ada, "GET", `/api/secrets/${path}prefix=${prefix}`);
      const { items } = (await response.json()) as { items: { uri: string }[] };
      assert.deepEqual(
        items.map(({ uri }) => uri),
        uris,
        path,
      );
    }
    assert.ok(at.asked.every(({ ask }) => ask.id === "vaulta+kv2://kv-a/team/a"));
  });

  test("a search through more folders than one request lists goes on by its cursor, folder by folder, without gap or repetition", async (t) => {
    const store = await startKvDouble(t, "openbao");
    const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))] });
    const paths = Array.from(
      { length: 450 },
      (_, index) => `wide/f${index}${index % 3 === 0 ? "/deep" : index % 3 === 1 ? "-x/d" : ".y"}/leaf`,
    );
    paths.push("wide", "wide/f1", "wide/f1-x", "wider/leaf");
    for (const path of paths) await store.ask("POST", `kv-a/data/${path}`, { data: { k: 1 } });
    const found: string[] = [];
    const reasons: unknown[] = [];
    let cursor: string | undefined;
    do {
      const lists = store.journal.filter(({ line }) => line.includes("list=true")).length;
      const more = cursor === undefined ? "" : `&cursor=${cursor}`;
      const uri = encodeURIComponent("vaultA+kv2://kv-a/wide");
      const response = await at.send(ada, "GET", `/api/secrets/search?q=w&limit=500&depth=8&prefix=${uri}${more}`);
      const reply = (await response.json()) as Json;
      assert.equal(response.status, 200, JSON.stringify(reply));
      found.push(...(reply["items"] as { uri: string }[]).map((item) => item.uri));
      reasons.push(reply["truncated_by"]);
      cursor = reply["next_cursor"] as string | undefined;
      const listed = store.journal.filter(({ line }) => line.includes("list=true")).length - lists;
      // Those that were asked ahead of need may arrive after the answer they were for.
      assert.ok(listed <= 208, `${listed} listings`);
      assert.ok(reasons.length < 20);
    } while (cursor !== undefined);
    const expected = paths.filter((path) => path.startsWith("wide/") || path === "wide").map((path) => `vaulta+kv2://kv-a/${path}`);
    assert.deepEqual(found, expected.toSorted());
    assert.ok(reasons.length > 2 && reasons.slice(0, -1).every((reason) => reason === "calls" || reason === "time"), reasons.join());
  });
});
