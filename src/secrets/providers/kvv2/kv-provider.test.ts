import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { formatPrefix } from "#secrets/model/secret-uri.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import type { Listing } from "#secrets/providers/secret-provider.ts";
import { readText, refOf, refusal, remove, testSecretProvider, write } from "#secrets/providers/secret-provider.contract.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer, sharedOpenBao, type KvProviderOptions } from "#testing/kv-provider.ts";
import { requireProgram } from "#testing/programs.ts";
import type { OpenBao } from "#testing/openbao.ts";
import { until } from "#testing/until.ts";
import type { FoundMounts } from "./kv-provider.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });
let place = 0;

const open = async (t: TestContext, options: KvProviderOptions = {}) => {
  const bao = await openBao(t);
  if (bao === undefined) return undefined;
  const token = bao.rootToken;
  return { bao, provider: kvProvider(kvServer({ URL: bao.url, TOKEN: token }), options), base: `vaultA+kv2://kv-a/t${++place}` };
};

/** A store as its administrator sees it: the real one, or its double in the words of either maker. */
interface Store {
  readonly url: string;
  readonly rootToken: string;
  readonly ask: OpenBao["ask"];
  readonly role: OpenBao["role"];
}
const opening =
  (start: (t: TestContext) => Promise<Store | undefined>) =>
  async (t: TestContext, options: KvProviderOptions = {}) => {
    const store = await start(t);
    if (store === undefined) return undefined;
    const server = kvServer({ URL: store.url, TOKEN: store.rootToken });
    return { store, provider: kvProvider(server, options), base: `vaultA+kv2://kv-a/t${++place}` };
  };
const stores = [
  ["OpenBao", opening(openBao)],
  ["the double in OpenBao's words", opening((t) => startKvDouble(t, "openbao"))],
  ["the double in Vault's words", opening((t) => startKvDouble(t, "vault"))],
] as const;

for (const [name, openStore] of stores) testSecretProvider(name, { open: openStore, keepsDigits: false });

const states = (versions: readonly { version: number; state: string }[] | undefined) =>
  versions?.map(({ version, state }) => `${version} ${state}`);

for (const [name, open] of stores)
  suite(`versions in ${name}`, () => {
    test("each write is a version, and an old one is read by its number", async (t) => {
      const at = await open(t);
      if (at === undefined) return;
      const { provider, base } = at;
      const first = await write(provider, `${base}/a#k`, "1");
      const second = await write(provider, `${base}/a#k`, "2", { cas: 1 });
      assert.deepEqual([first.version, second.version, second.oldVersion], [1, 2, 1]);
      assert.equal(await readText(provider, `${base}/a#k?version=1`), "1");
      assert.equal((await provider.read(refOf(`${base}/a`))).version, 2);
      assert.equal(await refusal(write(provider, `${base}/a#k`, "3", { cas: 1 })), "cas_mismatch");
      assert.equal(await refusal(provider.read(refOf(`${base}/a#k?version=9`))), "version_not_found");
      assert.equal(await refusal(provider.read(refOf(`${base}/b#k?version=1`))), "secret_not_found");
    });

    test("deleted is restored, destroyed is not, and each says which it is", async (t) => {
      const at = await open(t);
      if (at === undefined) return;
      const { provider, base } = at;
      const uri = `${base}/a`;
      await write(provider, `${uri}#k`, "1");
      await write(provider, `${uri}#k`, "2");
      const removed = await remove(provider, uri);
      assert.equal(removed.result, "deleted");
      assert.deepEqual(states(removed.versions), ["2 deleted", "1 active"]);
      assert.equal((await remove(provider, uri)).result, "unchanged");
      assert.equal(await refusal(provider.read(refOf(uri))), "version_deleted");
      const restored = await provider.settle(refOf(uri), [2, 7], "undelete");
      assert.deepEqual(
        restored.map(({ version, state, changed }) => [version, state, changed]),
        [[2, "active", true]],
      );
      assert.equal(await readText(provider, `${uri}#k`), "2");
      assert.deepEqual(states(await provider.settle(refOf(uri), [1], "destroy")), ["1 destroyed"]);
      assert.deepEqual(
        (await provider.settle(refOf(uri), [1], "undelete")).map(({ state, changed }) => [state, changed]),
        [["destroyed", false]],
      );
      assert.equal(await refusal(provider.read(refOf(`${uri}?version=1`))), "version_destroyed");
      assert.equal(await refusal(provider.settle(refOf(uri), [7], "destroy")), "version_not_found");
      assert.equal(await refusal(provider.settle(refOf(`${base}/never`), [1], "undelete")), "secret_not_found");
      const hard = await remove(provider, uri, { hard: true });
      assert.deepEqual([hard.result, states(hard.versions)], ["destroyed", ["2 destroyed", "1 destroyed"]]);
      // Numbers never begin anew: who pinned version 1 must not read another value under it.
      assert.equal((await write(provider, `${uri}#k`, "3")).version, 3);
    });

    test("the last key that is removed leaves a deleted secret, which can be restored", async (t) => {
      const at = await open(t);
      if (at === undefined) return;
      const { provider, base } = at;
      await write(provider, `${base}/a#k`, "1");
      assert.equal((await remove(provider, `${base}/a#k`)).result, "key_removed");
      assert.equal(await refusal(provider.read(refOf(`${base}/a`))), "version_deleted");
      await provider.settle(refOf(`${base}/a`), [1], "undelete");
      assert.equal(await readText(provider, `${base}/a`), '{"k":1}');
    });

    test("what is said of a secret holds its custom metadata and the mount's rules", async (t) => {
      const at = await open(t);
      if (at === undefined) return;
      const { store, provider, base } = at;
      const path = base.slice("vaultA+kv2://kv-a/".length);
      await write(provider, `${base}/a#k`, "1");
      const settings = { custom_metadata: { team: "people" }, max_versions: 4, delete_version_after: "720h", cas_required: true };
      await store.ask("POST", `kv-a/metadata/${path}/a`, settings);
      await write(provider, `${base}/a#k`, "2");
      const { custom_metadata, max_versions, delete_version_after, cas_required, current_version, versions } = await provider.describe(
        refOf(`${base}/a`),
      );
      assert.deepEqual(
        { custom_metadata, max_versions, delete_version_after, cas_required, current_version },
        { custom_metadata: { team: "people" }, max_versions: 4, delete_version_after: "720h0m0s", cas_required: true, current_version: 2 },
      );
      // Its deletion lies ahead: until then it is there.
      assert.equal(versions[0]?.state, "active");
      assert.ok(Date.parse(versions[0]?.expires_at ?? "") > Date.now());
      assert.equal(await readText(provider, `${base}/a#k`), "2");
    });

    test("a mount on which every write must name the version it was made from is served like any other", async (t) => {
      const at = await open(t);
      if (at === undefined) return;
      const { store, provider } = at;
      const path = `t${place}/a`;
      const uri = `vaultA+kv2://kv-b/${path}`;
      await store.ask("POST", "kv-b/config", { cas_required: true });
      await until(
        () => store.ask("POST", `kv-b/data/${path}/blind`, { data: { k: 1 } }),
        ({ status }) => status === 400,
      );
      await write(provider, `${uri}#k`, "1");
      await write(provider, uri, '{"l":2}');
      await write(provider, uri, '{"m":3,"n":4}', { replace: true });
      assert.equal((await remove(provider, `${uri}#m`)).result, "key_removed");
      assert.equal((await remove(provider, `${uri}#n`)).result, "key_removed");
      assert.deepEqual(states(await provider.settle(refOf(uri), [4], "undelete")), ["4 active"]);
      assert.equal(await readText(provider, uri), '{"n":4}');
      await store.ask("POST", "kv-b/config", { cas_required: false });
    });

    for (const [type, more, said] of [
      ["a batch token", { token_type: "batch" }, ["1", "1", "provider_unavailable"]],
      ["a token that can be renewed", { token_type: "service" }, ["1", "1", "1"]],
    ] as const)
      test(`${type} that AppRole gives is ${more.token_type === "batch" ? "had anew" : "renewed"} before it ends`, async (t) => {
        let clock = Date.now();
        const at = await open(t);
        if (at === undefined) return;
        // Good for two sign-ins: the third is refused.
        const role = await at.store.role(`role-${place}`, { token_ttl: "600s", token_max_ttl: "1800s", secret_id_num_uses: 2, ...more });
        const server = kvServer({ URL: at.store.url, ROLE_ID: role.roleId, SECRET_ID: await role.secretId() });
        const provider = kvProvider(server, { now: () => new Date(clock) });
        const uri = `${at.base}/a#k`;
        await write(at.provider, uri, "1");
        const reads: string[] = [];
        for (let step = 0; step < 3; step++, clock += 500_000)
          reads.push(await readText(provider, uri).catch((error: unknown) => (error instanceof Problem ? error.code : String(error))));
        assert.deepEqual(reads, said);
      });

    for (const [type, how] of [
      ["a batch token", { type: "batch" }],
      ["a token that cannot be renewed", { renewable: false }],
    ] as const)
      test(`${type} of the settings is used as it is, for as long as the store takes it`, async (t) => {
        let clock = Date.now();
        const at = await open(t);
        if (at === undefined) return;
        const made = (await at.store.ask("POST", "auth/token/create", { policies: ["kv"], ttl: "1h", ...how })).data;
        const { client_token: token } = made["auth"] as { client_token: string };
        const provider = kvProvider(kvServer({ URL: at.store.url, TOKEN: token }), { now: () => new Date(clock) });
        await write(provider, `${at.base}/a#k`, "1");
        clock += 24 * 3_600_000;
        assert.equal(await readText(provider, `${at.base}/a#k`), "1");
      });

    test("two instances that write one secret at once lose no key", async (t) => {
      const one = await open(t);
      if (one === undefined) return;
      const other = kvProvider(kvServer({ URL: one.store.url, TOKEN: one.store.rootToken }));
      const uri = `${one.base}/shared`;
      const writers = [one.provider, other].flatMap((provider, instance) =>
        Array.from({ length: 30 }, (_, index) => write(provider, `${uri}#h${instance}k${index}`, "1")),
      );
      await Promise.all(writers);
      assert.equal(Object.keys(JSON.parse(await readText(one.provider, uri)) as object).length, 60);
    });

    test("whether a version is deleted goes by the server's clock, however wrong that of Sallyport", async (t) => {
      for (const hours of [-2, 2]) {
        const at = await open(t, { now: () => new Date(Date.now() + hours * 3_600_000) });
        if (at === undefined) return;
        const path = at.base.slice("vaultA+kv2://kv-a/".length);
        await write(at.provider, `${at.base}/a#k`, "1");
        assert.deepEqual(states((await remove(at.provider, `${at.base}/a`)).versions), ["1 deleted"]);
        await at.store.ask("POST", `kv-a/metadata/${path}/a`, { delete_version_after: "1h" });
        await write(at.provider, `${at.base}/a#k`, "2");
        assert.deepEqual(states((await at.provider.describe(refOf(`${at.base}/a`))).versions), ["2 active", "1 deleted"]);
      }
    });

    test("what comes between the look and the removal stays", async (t) => {
      let meanwhile: (() => Promise<unknown>) | undefined;
      const at = await open(t, {
        wrap: (client) => ({
          ...client,
          call: async (verb, path, ...more) => {
            const work = path.includes("/delete/") || path.includes("/destroy/") ? meanwhile : undefined;
            if (work !== undefined) meanwhile = undefined;
            await work?.();
            return client.call(verb, path, ...more);
          },
        }),
      });
      if (at === undefined) return;
      const other = kvProvider(kvServer({ URL: at.store.url, TOKEN: at.store.rootToken }));
      const rows = [
        // The last key goes, and who wrote another beside it keeps that.
        ["last", "#k", {}, "done", '{"theirs":1}'],
        ["last-pinned", "#k", { cas: 1 }, "cas_mismatch", '{"k":1,"theirs":1}'],
        ["whole", "", {}, "done", '{"k":1,"theirs":1}'],
        ["whole-pinned", "", { cas: 1 }, "cas_mismatch", '{"k":1,"theirs":1}'],
        ["hard-pinned", "", { cas: 1, hard: true }, "done", '{"k":1,"theirs":1}'],
      ] as const;
      for (const [path, key, how, said, left] of rows) {
        const uri: string = `${at.base}/${path}`;
        await write(at.provider, `${uri}#k`, "1");
        meanwhile = () => write(other, `${uri}#theirs`, "1");
        assert.equal(await refusal(remove(at.provider, `${uri}${key}`, how)), said, path);
        assert.equal(await readText(at.provider, uri), left, path);
        if (said !== "done") assert.equal(await readText(at.provider, `${uri}?version=1`), '{"k":1}', path);
      }
      // Who made the secret anew without the key, after it was gone, finds it as they made it.
      const anew = `${at.base}/anew`;
      await write(at.provider, `${anew}#k`, "1");
      meanwhile = () => write(other, anew, '{"theirs":1}', { replace: true });
      assert.equal((await remove(at.provider, `${anew}#k`)).result, "key_removed");
      assert.equal(await readText(at.provider, anew), '{"theirs":1}');
    });

    test("a version that is not the present one is neither deleted, destroyed nor restored", async (t) => {
      const at = await open(t);
      if (at === undefined) return;
      const { provider, base } = at;
      await write(provider, `${base}/a`, '{"k":1,"l":1}');
      await write(provider, `${base}/a#k`, "2");
      for (const cas of [0, 1, 3]) {
        for (const [uri, hard] of [
          [`${base}/a`, false],
          [`${base}/a`, true],
          [`${base}/a#k`, false],
        ] as const)
          assert.equal(await refusal(remove(provider, uri, { hard, cas })), "cas_mismatch", `${uri} ${hard} ${cas}`);
        for (const how of ["undelete", "destroy"] as const)
          assert.equal(await refusal(provider.settle(refOf(`${base}/a`), [1], how, { cas })), "cas_mismatch");
      }
      assert.deepEqual(states((await provider.describe(refOf(`${base}/a`))).versions), ["2 active", "1 active"]);
      assert.equal((await remove(provider, `${base}/a#k`, { cas: 2 })).result, "key_removed");
      assert.equal((await remove(provider, `${base}/a`, { cas: 3 })).result, "deleted");
      assert.deepEqual(states(await provider.settle(refOf(`${base}/a`), [3], "undelete", { cas: 3 })), ["3 active"]);
      assert.equal((await remove(provider, `${base}/a`, { cas: 3, hard: true })).result, "destroyed");
    });

    test("a listing that is cut short anywhere goes on without gap or repetition, folders and odd names between them too", async (t) => {
      const lists: string[] = [];
      const at = await open(t, {
        wrap: (client) => ({
          ...client,
          call: async (verb, path, ...more) => {
            if (verb === "LIST") lists.push(path);
            return client.call(verb, path, ...more);
          },
        }),
      });
      if (at === undefined) return;
      const { store, provider, base } = at;
      const { scheme, mount, segments } = refOf(base);
      const place = { scheme, mount, segments };
      const paths = ["a", "a-x", "a.x", "a/1", "a/2/x", "a/b", "a0", "b/1", "c", "c/d/e/f", "d@", "z", "Z"];
      for (const path of [...paths, "%C3%A4", "a/odd%20one", "odd%20one/x"])
        await store.ask("POST", `${mount}/data/${segments.join("/")}/${path}`, { data: { k: 1 } });
      for (const depth of [1, 2, 8]) {
        const whole = (await provider.list(place, depth)).items.map(({ node }) => node.id);
        const expected = paths.filter((path) => path.split("/").length <= depth).map((path) => `${formatPrefix(place)}/${path}`);
        assert.deepEqual(whole, expected.toSorted());
        for (const max of [1, 2, 3, 7]) {
          const found: string[] = [];
          for (let after: string | undefined = "", rounds = 0; after !== undefined; rounds++) {
            const { items, goesOnAt, truncatedBy }: Listing = await provider.list(place, depth, after, max);
            assert.ok(items.length <= max && rounds < 50);
            assert.equal(truncatedBy, goesOnAt === undefined ? undefined : "names");
            found.push(...items.map(({ node }) => node.id).filter((id) => id > (after ?? "")));
            after = goesOnAt;
          }
          assert.deepEqual(found, whole, `depth ${depth}, ${max} at a time`);
        }
      }
      assert.ok(lists.every((path) => /\/\?after=[^&]*&limit=\d+$/.test(path)));
    });

    test("a write whose answer is lost is made once, and found", async (t) => {
      let lose = 0;
      const at = await open(t, {
        wrap: (client) => ({
          ...client,
          call: async (verb, path, ...more) => {
            const answer = await client.call(verb, path, ...more);
            if (verb === "POST" && lose-- > 0) throw new Problem("provider_unavailable");
            return answer;
          },
        }),
      });
      if (at === undefined) return;
      lose = 1;
      assert.equal((await write(at.provider, `${at.base}/a#k`, "1")).version, 1);
      lose = 1;
      assert.equal((await write(at.provider, `${at.base}/a#k`, "2")).version, 2);
      assert.equal((await at.provider.describe(refOf(`${at.base}/a`))).current_version, 2);
    });
  });

suite("mounts of OpenBao", () => {
  test("one store under two addresses is one: its mount is served by the name that was asked first, and a move between the two is none", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    const found: FoundMounts = new Map();
    const named = (scheme: Scheme, url: string) => kvProvider(kvServer({ URL: url, TOKEN: at.bao.rootToken }), { scheme, found });
    const one = named("vaulta+kv2", at.bao.url);
    const other = named("vaultb+kv2", at.bao.url.replace("127.0.0.1", "localhost"));
    const uri = `${at.base}/only#k`;
    await write(one, uri, "1");
    for (let tries = 0; tries < 2; tries++)
      assert.equal(await refusal(other.read(refOf(uri.replace("vaultA", "vaultB")))), "not_supported");
    assert.equal(await refusal(other.read(refOf("vaultB+kv2://kv-b/a#k"))), "secret_not_found", "another mount of it");
    assert.equal(await readText(one, uri), "1");
    const apart = await startKvDouble(t, "openbao");
    const third = kvProvider(kvServer({ URL: apart.url, TOKEN: apart.rootToken }), { scheme: "vaultb+kv2", found });
    assert.equal(await refusal(third.read(refOf("vaultB+kv2://kv-a/a#k"))), "secret_not_found", "another store has a mount of that name");
  });

  test("a store in a namespace is as well as it says outside of it, and a child namespace is no mount", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    await at.bao.ask("POST", "sys/namespaces/team");
    const inside = { "x-vault-token": at.bao.rootToken, "x-vault-namespace": "team" };
    const mounting = { method: "POST", headers: inside, body: JSON.stringify({ type: "kv", options: { version: "2" } }) };
    assert.equal((await fetch(`${at.bao.url}/v1/sys/mounts/kv-a`, mounting)).status, 204);
    const provider = kvProvider(kvServer({ URL: at.bao.url, TOKEN: at.bao.rootToken, NAMESPACE: "team" }));
    assert.deepEqual(await provider.state(), { status: "up" });
    await until(
      () => refusal(write(provider, "vaultA+kv2://kv-a/a#k", "1")),
      (said) => said === "done",
    );
    assert.equal(await refusal(at.provider.read(refOf("vaultA+kv2://team/kv-a/a#k"))), "provider_denied");
  });

  test("a mount of the first version of KV, and one that is not there, hold no secrets", async (t) => {
    const at = await open(t);
    if (at === undefined) return;
    await at.bao.ask("POST", "sys/mounts/kv-old", { type: "kv", options: { version: "1" } });
    assert.equal(await refusal(write(at.provider, "vaultA+kv2://kv-old/a#k", "1")), "not_supported");
    assert.equal(await refusal(at.provider.read(refOf("vaultA+kv2://kv-none/a#k"))), "provider_denied");
  });
});

suite("signing in at OpenBao", () => {
  const folderOf = async (t: TestContext) => {
    const folder = await mkdtemp(join(tmpdir(), "kv-session-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const count = async (bao: OpenBao) =>
    ((await bao.ask("GET", "auth/token/accessors?list=true")).data["data"] as { keys: string[] }).keys.length;

  test("by AppRole: renewed before it ends, signed in anew at the end of its life, with no failed read", async (t) => {
    const bao = await openBao(t);
    if (bao === undefined) return;
    const role = await bao.role("short", { token_ttl: "60s", token_max_ttl: "90s" });
    let clock = Date.now();
    const server = kvServer({ URL: bao.url, ROLE_ID: role.roleId, SECRET_ID: await role.secretId() });
    const provider = kvProvider(server, { now: () => new Date(clock) });
    const base = `vaultA+kv2://kv-a/t${++place}`;
    const before = await count(bao);
    await write(provider, `${base}/a#k`, "1");
    const reads = () => Promise.all(Array.from({ length: 10 }, () => readText(provider, `${base}/a#k`)));
    assert.equal(await count(bao), before + 1);
    for (let step = 0; step < 3; step++) {
      clock += 50_000;
      assert.deepEqual([...new Set(await reads())], ["1"]);
    }
    assert.equal(await count(bao), before + 1, "a renewal is no sign-in, and ten at once are one");
  });

  test("a revoked token is replaced by a new one; the secret id's file is read again", async (t) => {
    const bao = await openBao(t);
    if (bao === undefined) return;
    const role = await bao.role("rotated", { secret_id_num_uses: 1 });
    const file = join(await folderOf(t), "secret-id");
    await writeFile(file, `${await role.secretId()}\n`);
    const provider = kvProvider(kvServer({ URL: bao.url, ROLE_ID: role.roleId, SECRET_ID_FILE: file }));
    const uri = `vaultA+kv2://kv-a/t${++place}/a#k`;
    await write(provider, uri, "1");
    await bao.ask("POST", "sys/leases/revoke-prefix/auth/approle/login");
    // The secret id was good for one sign-in.
    assert.equal(await refusal(provider.read(refOf(uri))), "provider_unavailable");
    await writeFile(file, await role.secretId());
    assert.equal(await readText(provider, uri), "1");
  });

  test("a wrapped secret id is opened once; one that was opened before, or is something else, is an alarm", async (t) => {
    const bao = await openBao(t);
    if (bao === undefined) return;
    const role = await bao.role("wrapped");
    const wrap = async (path: string, body?: unknown) => {
      const response = await fetch(`${bao.url}/v1/${path}`, {
        method: "POST",
        headers: { "x-vault-token": bao.rootToken, "x-vault-wrap-ttl": "60s" },
        body: JSON.stringify(body ?? {}),
      });
      return ((await response.json()) as { wrap_info: { token: string } }).wrap_info.token;
    };
    const path = "auth/approle/role/wrapped/secret-id";
    const server = async (token: string) => kvServer({ URL: bao.url, ROLE_ID: role.roleId, SECRET_ID_WRAPPED: token });
    const own = await server(await wrap(path));
    const memory = {};
    const [one, other] = [kvProvider(own, { memory }), kvProvider(own, { memory, scheme: "vaultb+kv2" })];
    const uri = `vaultA+kv2://kv-a/t${++place}/a#k`;
    await Promise.all([write(one, uri, "1"), write(other, uri.replace("vaultA", "vaultB"), "1")]);
    await bao.ask("POST", "sys/leases/revoke-prefix/auth/approle/login");
    assert.equal(await readText(one, uri), "1", "signed in anew with what was wrapped");
    const reported = async (settings: ReturnType<typeof kvServer>) => refusal(kvProvider(settings).read(refOf(uri)));
    assert.equal(await reported(own), "provider_denied", "opened already");
    assert.equal(await reported(await server(await wrap("sys/wrapping/wrap", { secret_id: "planted" }))), "provider_denied");
    assert.equal(await reported(await server("nonsense")), "provider_denied");
  });

  test("a fixed token that is revoked is refused in words, and its file is read again", async (t) => {
    const bao = await openBao(t);
    if (bao === undefined) return;
    const newToken = async () =>
      ((await bao.ask("POST", "auth/token/create", { policies: ["kv"], ttl: "1h" })).data["auth"] as { client_token: string }).client_token;
    const file = join(await folderOf(t), "token");
    const [fixed, filed] = [await newToken(), await newToken()];
    await writeFile(file, filed);
    const byToken = kvProvider(kvServer({ URL: bao.url, TOKEN: fixed }));
    const byFile = kvProvider(kvServer({ URL: bao.url, TOKEN_FILE: file }));
    const uri = `vaultA+kv2://kv-a/t${++place}/a#k`;
    await write(byToken, uri, "1");
    assert.equal(await readText(byFile, uri), "1");
    for (const token of [fixed, filed]) await bao.ask("POST", "auth/token/revoke", { token });
    assert.equal(await refusal(byToken.read(refOf(uri))), "provider_denied");
    await writeFile(file, await newToken());
    assert.equal(await readText(byFile, uri), "1");
  });

  test("what the token's policies forbid is refused without a word of the store's", async (t) => {
    const bao = await openBao(t);
    if (bao === undefined) return;
    const auth = (await bao.ask("POST", "auth/token/create", { policies: ["kv"] })).data["auth"] as { client_token: string };
    const provider = kvProvider(kvServer({ URL: bao.url, TOKEN: auth.client_token }));
    assert.equal(await refusal(provider.read(refOf("vaultA+kv2://secret/a#k"))), "provider_denied");
  });
});
