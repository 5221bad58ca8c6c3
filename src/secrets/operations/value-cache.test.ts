import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { kvProvider, kvServer, sharedOpenBao } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets } from "#testing/secrets.ts";
import { createLog } from "#telemetry/log.ts";
import type { KvClient } from "#secrets/providers/kvv2/kv-client.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
type Json = Record<string, unknown>;

let place = 0;
/** Two replicas on one database and one server; `lose` answers of the second one's writes do not come. */
const open = async (t: TestContext, settings: Readonly<Record<string, string>> = {}) => {
  const bao = await openBao(t);
  if (bao === undefined) return undefined;
  const on = { reads: 0, lose: 0 };
  const counting = (client: KvClient): KvClient => ({
    ...client,
    call: async (verb, path, ...more) => {
      if (verb === "GET" && path.startsWith("kv-a/data/")) on.reads++;
      if (verb === "POST" && on.lose > 0) throw new Problem("provider_unavailable");
      return client.call(verb, path, ...more);
    },
  });
  const replica = async () => {
    const provider = kvProvider(kvServer({ URL: bao.url, TOKEN: bao.rootToken }), { wrap: counting });
    return testSecrets(t, { more: [provider], settings });
  };
  const [one, other] = [await replica(), await replica()];
  const uri = `vaultA+kv2://kv-a/c${++place}/row`;
  const path = `kv-a/data/c${place}/row`;
  const read = async (at: typeof one, more: { version?: string; headers?: Readonly<Record<string, string>> } = {}, of = uri) => {
    const query = `uri=${encodeURIComponent(of)}${more.version === undefined ? "" : `&version=${more.version}`}`;
    const response = await at.send(ada, "GET", `/api/secrets/value?${query}`, { headers: more.headers ?? {} });
    const reply = (await response.json()) as Json;
    return response.ok ? `${JSON.stringify(reply["value"])}${reply["cached"] === true ? " cached" : ""}` : String(reply["code"]);
  };
  const act = async (at: typeof one, method: string, where: string, body?: unknown) => {
    const response = await at.send(ada, method, `/api/secrets${where}`, body === undefined ? {} : { body });
    return response.status;
  };
  assert.equal(await act(one, "POST", "", { uri, value: { k: 1 } }), 201);
  return { bao, on, one, other, uri, path, read, act };
};

suite("values kept in memory", () => {
  test("two replicas on one file: what one has written the other one reads at once", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "sallyport-shared-file-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const replica = async () => {
      const log = createLog({ level: "silent", service: "secrets", version: "0", environment: "test", write: () => undefined });
      const file = { path: join(folder, "secrets.yaml"), environment: "test", log, now: () => new Date() } as const;
      return testSecrets(t, { providers: [await createYamlProvider(file)] });
    };
    const [one, other] = [await replica(), await replica()];
    const uri = "yaml://secret/shared#k";
    for (let k = 1; k <= 20; k++) {
      const [writer, reader] = k % 2 === 0 ? [one, other] : [other, one];
      assert.ok((await writer.send(ada, "POST", "/api/secrets", { body: { uri, value: k } })).ok);
      const response = await reader.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`);
      assert.equal(((await response.json()) as Json)["value"], k);
    }
  });

  test("a second read is out of memory and says so in answer, record and event; a fresh one is not, nor one that is denied", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    const { one, read, on } = at;
    on.reads = 0;
    assert.deepEqual([await read(one), await read(one), await read(one, {}, `${at.uri}#k`)], ['{"k":1}', '{"k":1} cached', "1 cached"]);
    assert.equal(on.reads, 1);
    assert.equal(await read(one, {}, `${at.uri}#none`), "key_not_found");
    assert.equal(await read(one, { version: "1" }), '{"k":1}', "a pinned version is kept for itself");
    assert.equal(await read(one, { headers: { "cache-control": "no-cache" } }), '{"k":1}');
    assert.deepEqual(
      (await one.events()).filter(({ type }) => type === "secrets.read").map(({ data }) => data["cached"]),
      [false, true, true, false, false],
    );
    const closes = (await one.entries()).filter(({ phase, data }) => phase === "close" && (data as Json)["op"] === "value");
    assert.deepEqual(
      closes.map(({ data }) => (data as Json)["cached"]),
      [false, true, true, false, false, false],
    );
    one.rule = () => false;
    assert.equal(await read(one), "secret_authz_failed");
    const reads = on.reads;
    one.rule = () => true;
    const all = await Promise.all(Array.from({ length: 10 }, () => read(at.other)));
    assert.equal(all.length, 10);
    assert.equal(on.reads, reads + 1, "ten at once ask the store once");
  });

  /** What the other replica does, and what this one reads then, of a secret whose versions 1 and 2 hold k = 1 and 2. */
  const changes: readonly (readonly [
    method: string,
    where: (uri: string) => string,
    body: ((uri: string) => unknown) | undefined,
    then: string,
  ])[] = [
    ["POST", () => "", (uri) => ({ uri: `${uri}#k`, value: 3 }), '{"k":3}'],
    ["POST", () => "/rotate", (uri) => ({ uri, value: { k: 4 } }), '{"k":4}'],
    ["POST", () => "/bulk", (uri) => ({ operations: [{ op: "set", uri, value: { k: 5 } }] }), '{"k":5}'],
    ["DELETE", (uri) => `?uri=${encodeURIComponent(uri)}`, undefined, "version_deleted"],
    ["POST", () => "/undelete", (uri) => ({ uri, versions: [5] }), '{"k":5}'],
    ["POST", () => "/copy", (uri) => ({ fromUri: `${uri}?version=1`, toUri: uri.replace("row", "from") }), '{"k":5} cached'],
    ["POST", () => "/copy", (uri) => ({ fromUri: uri.replace("row", "from"), toUri: uri, overwrite: true }), '{"k":1}'],
    ["POST", () => "/destroy-versions", (uri) => ({ uri, versions: [6] }), "version_destroyed"],
    ["POST", () => "/move", (uri) => ({ fromUri: uri.replace("row", "from"), toUri: uri, overwrite: true }), '{"k":1}'],
    ["POST", () => "/move", (uri) => ({ fromUri: uri, toUri: uri.replace("row", "gone") }), "version_deleted"],
    ["DELETE", (uri) => `?uri=${encodeURIComponent(uri)}&destroy=true`, undefined, "version_destroyed"],
  ];
  test("what one replica changes, by whichever operation, no other serves any more", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    const { one, other, uri, read, act } = at;
    assert.equal(await act(one, "POST", "", { uri, value: { k: 2 } }), 200);
    for (const [method, where, body, then] of changes) {
      // Kept, unless there is nothing to keep.
      await read(one);
      await read(one);
      const status = await act(other, method, where(uri), body?.(uri));
      assert.ok(status === 200 || status === 201, `${method} ${where("")} ${status}`);
      assert.equal(await read(one), then, `${method} ${where("")}`);
    }
  });

  test("while a change is under way, and as long as nobody knows how it ended, the store is asked", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    const { one, other, uri, read, act, on } = at;
    assert.deepEqual([await read(one), await read(one)], ['{"k":1}', '{"k":1} cached']);
    on.lose = 1;
    assert.equal(await act(other, "POST", "", { uri, value: { k: 2 } }), 503);
    on.lose = 0;
    assert.deepEqual([await read(one), await read(one)], ['{"k":1}', '{"k":1}']);
    assert.equal(await act(other, "POST", "", { uri, value: { k: 2 } }), 200);
    assert.deepEqual([await read(one), await read(one)], ['{"k":2}', '{"k":2} cached']);
  });

  test("what is changed beside Sallyport is seen when the time is over, and at once where nothing is kept", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    const { one, read } = at;
    assert.deepEqual([await read(one), await read(one)], ['{"k":1}', '{"k":1} cached']);
    await at.bao.ask("POST", at.path, { data: { k: 9 } });
    assert.equal(await read(one), '{"k":1} cached');
    one.clock += 30_000;
    assert.equal(await read(one), '{"k":9}');
    const none = await open(t, { SECRETS_CACHE_TTL_SECONDS: "0" });
    assert.deepEqual([await none?.read(none.one), await none?.read(none.one)], ['{"k":1}', '{"k":1}']);
  });

  test("who last changed a secret stands in its metadata, unless somebody else has changed it since in the store", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    const { one, uri, act } = at;
    const get = async (where: string) => (await (await one.send(ada, "GET", `/api/secrets${where}`)).json()) as Json;
    const detail = () => get(`/metadata/detail?uri=${encodeURIComponent(uri)}`);
    const [first] = (await get(`/metadata?prefix=${encodeURIComponent(uri)}`))["items"] as Json[];
    assert.equal(first?.["updated_by"], "person:ada");
    assert.equal(first?.["rotated_at"], undefined);
    assert.deepEqual([first?.["created_by"], first?.["created_at"], first?.["owner"]], ["person:ada", first?.["updated_at"], undefined]);
    const own = async (who: typeof ada, of: string, owner: string) => {
      const as = { ...who, scopes: [...who.scopes, "secrets.set_owner"] };
      return (await (await one.send(as, "POST", "/api/secrets/metadata/owner", { body: { uri: of, owner } })).json()) as Json;
    };
    const made = { created_by: "person:ada", created_at: first?.["created_at"] };
    const changed = { updated_by: "person:ada", updated_at: first?.["updated_at"] };
    assert.deepEqual(await own(ada, uri, "group:payments"), { uri: first?.["uri"], owner: "group:payments", ...made, ...changed });
    assert.deepEqual([(await detail())["owner"], (await detail())["updated_by"]], ["group:payments", "person:ada"]);
    // Each question about it, its keys too, says whose it is.
    for (const where of [
      `/keys?uri=${encodeURIComponent(uri)}`,
      `/value?uri=${encodeURIComponent(`${uri}#k`)}`,
      `/metadata?prefix=${uri}`,
    ]) {
      const from = one.asked.length;
      await get(where);
      assert.deepEqual(
        one.asked.slice(from).map(({ ask }) => ask.properties?.["owner"]),
        ["group:payments"],
        where,
      );
    }
    await one.send({ ...ada, sub: "person:ben" }, "POST", "/api/secrets/rotate", { body: { uri, value: { k: 2 } } });
    const rotated = await detail();
    assert.equal(rotated["updated_by"], "person:ben");
    assert.equal(rotated["rotated_at"], rotated["updated_at"]);
    await at.bao.ask("POST", at.path, { data: { k: 9 } });
    assert.equal((await detail())["updated_by"], undefined);
    assert.deepEqual(await own(ada, uri, "group:payments"), { uri: first?.["uri"], owner: "group:payments", ...made });
    assert.equal(await act(one, "POST", "", { uri: "yaml://secret/who/a", value: { k: 1, b: { l: 2 } } }), 201);
    // What a person did at a place that is another tenant's by now is nobody's name there.
    const eve = { ...ada, sub: "person:eve", tenant: "tenant:globex" };
    const shared = "yaml://secret/people/of-both";
    assert.equal(await act(one, "POST", "", { uri: shared, value: { k: 1 } }), 201);
    const settings = { TENANT_ALLOWED_MOUNTS: '{"tenant:globex":["yaml://secret/people"]}' };
    const moved = await testSecrets(t, { providers: [one.provider], settings, keepsRecords: true });
    assert.equal((await moved.send(eve, "POST", "/api/secrets", { body: { uri: shared, value: { k: 2 } } })).status, 200);
    const [ofBoth] = (await get("/metadata?prefix=people/of-both"))["items"] as Json[];
    assert.deepEqual([ofBoth?.["uri"], ofBoth?.["updated_by"]], [shared, undefined]);
    const asEve = async () => {
      const response = await moved.send(eve, "GET", `/api/secrets/metadata?prefix=${encodeURIComponent(shared)}`);
      return ((await response.json()) as { items: Json[] }).items[0];
    };
    assert.deepEqual([(await asEve())?.["created_by"], (await asEve())?.["updated_by"]], [undefined, "person:eve"]);
    assert.equal((await own(ada, shared, "group:payments"))["owner"], "group:payments");
    assert.deepEqual(await asEve(), { uri: shared, keys: 1 }, "nor whose they say it is");
    assert.equal(moved.asked.at(-1)?.ask.properties?.["owner"], undefined);
    const items = (await get("/metadata?prefix=who"))["items"] as Json[];
    assert.deepEqual(
      items.map(({ uri: id, updated_by }) => [id, updated_by]),
      [
        ["yaml://secret/who/a", "person:ada"],
        ["yaml://secret/who/a/b", "person:ada"],
      ],
    );
  });
});
