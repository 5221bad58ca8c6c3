import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { testSecrets } from "#testing/secrets.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";

const scopes = ["read", "write", "delete", "destroy", "rotate"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
type Json = Record<string, unknown>;

/** The service on the file and on a KVv2 server; `meddle` is done once, before an operation touches its store. */
const open = async (t: TestContext) => {
  const store = await startKvDouble(t, "openbao");
  const stores = [(await testSecrets(t)).provider, kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))];
  const on = { meddle: undefined as (() => Promise<unknown>) | undefined };
  const once = async () => {
    const work = on.meddle;
    on.meddle = undefined;
    await work?.();
  };
  const meddled = stores.map((inner): SecretProvider => ({
    ...inner,
    write: async (...how) => once().then(() => inner.write(...how)),
    remove: async (...how) => once().then(() => inner.remove(...how)),
  }));
  const [at, outside] = [await testSecrets(t, { providers: meddled }), await testSecrets(t, { providers: stores })];
  const send = async (path: string, body: unknown, instance = at): Promise<Json> =>
    (await (await instance.send(ada, "POST", `/api/secrets${path}`, { body })).json()) as Json;
  const set = (uri: string, value: unknown) => send("", { uri, value }, outside);
  const valueOf = async (uri: string) => {
    // A file is looked at four times a second.
    for (const instance of [at, outside]) instance.clock += 1000;
    const reply = (await (await at.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`)).json()) as Json;
    return reply["value"] ?? reply["code"];
  };
  const planOf = async (operations: readonly Json[]) => (await send("/bulk", { operations, dry_run: true }))["plan"];
  const done = async (operations: readonly Json[], plan: unknown) => {
    const { results, code } = await send("/bulk", { operations, plan });
    return (results as Json[] | undefined)?.map(({ status }) => status) ?? code;
  };
  return { on, set, valueOf, planOf, done };
};

const stores = { "the file": "yaml://secret/team/app", KVv2: "vaulta+kv2://kv-a/team/app" } as const;

suite("a bulk with a plan", () => {
  for (const [store, uri] of Object.entries(stores)) {
    test(`does nothing to a secret of ${store} that somebody else wrote after the last look`, async (t) => {
      const { on, set, valueOf, planOf, done } = await open(t);
      for (const operations of [
        [
          { op: "set", uri: `${uri}#k`, value: "ours" },
          { op: "rotate", uri: `${uri}#k`, value: "ours too" },
          { op: "delete", uri },
        ],
        [
          { op: "delete", uri: `${uri}#k` },
          { op: "delete", uri },
        ],
      ]) {
        await set(uri, { k: "planned", beside: 1 });
        const plan = await planOf(operations);
        on.meddle = () => set(`${uri}#k`, "theirs");
        assert.deepEqual(
          await done(operations, plan),
          operations.map(() => 409),
        );
        assert.deepEqual(await valueOf(uri), { k: "theirs", beside: 1 });
      }
    });

    test(`stands on what its own operations made of a secret of ${store}`, async (t) => {
      const { set, valueOf, planOf, done } = await open(t);
      await set(uri, { k: "planned", beside: 1 });
      const operations = [
        { op: "set", uri: `${uri}#k`, value: "ours" },
        { op: "delete", uri: `${uri}#beside` },
        { op: "rotate", uri: `${uri}#k`, value: "ours too" },
        { op: "set", uri: `${uri}/below#k`, value: 1 },
        { op: "delete", uri },
      ];
      assert.deepEqual(await done(operations, await planOf(operations)), [200, 200, 200, 201, 200]);
      assert.match(String(await valueOf(uri)), /^(?:secret_not_found|version_deleted)$/);
    });

    test(`is done once when it is sent four times at once on ${store}`, async (t) => {
      const { set, valueOf, planOf, done } = await open(t);
      await set(uri, { k: "planned" });
      const operations = [{ op: "set", uri: `${uri}#k`, value: "ours" }];
      const plan = await planOf(operations);
      const all = await Promise.all([1, 2, 3, 4].map(() => done(operations, plan)));
      assert.equal(all.filter((one) => String(one) === "200").length, 1, JSON.stringify(all));
      assert.deepEqual(await valueOf(uri), { k: "ours" });
    });
  }
});

suite("numbers in a bulk", () => {
  for (const [store, uri] of Object.entries(stores))
    test(`keep every digit in ${store}, or are refused there as a write of one is`, async (t) => {
      const server = await startKvDouble(t, "openbao");
      const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: server.url, TOKEN: server.rootToken }))] });
      const send = (path: string, raw: string, key: string) =>
        at.send(ada, "POST", `/api/secrets${path}`, { raw, headers: { "idempotency-key": key } });
      for (const [index, digits] of ["12345678901234567890", "1.10", "1e999", "-0"].entries()) {
        const [one, other] = [`${uri}${index}#alone`, `${uri}${index}#k`];
        const alone = await send("", `{"uri":"${one}","value":${digits}}`, `alone-${index}`);
        const refusal = alone.ok ? undefined : ((await alone.json()) as Json)["code"];
        assert.equal(refusal, store === "KVv2" ? "value_shape" : undefined, digits);
        const operations = `[{"op":"set","uri":"${other}","value":[${digits}]},{"op":"rotate","uri":"${other}","value":${digits}}]`;
        const { results } = (await (await send("/bulk", `{"operations":${operations}}`, `bulk-${index}`)).json()) as { results: Json[] };
        assert.deepEqual(
          results.map(({ code }) => code),
          [refusal, refusal],
          digits,
        );
        const read = await (await at.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(other)}`)).text();
        assert.match(read, refusal === undefined ? new RegExp(`"value":${digits.replace(".", "[.]")},`) : /"code":"secret_not_found"/);
      }
    });

  test("are other numbers to a plan where their digits are", async (t) => {
    const at = await testSecrets(t);
    const send = async (digits: string, more: string): Promise<Json> => {
      const raw = `{"operations":[{"op":"set","uri":"${stores["the file"]}#k","value":${digits}}],${more}}`;
      return (await (await at.send(ada, "POST", "/api/secrets/bulk", { raw })).json()) as Json;
    };
    const { plan } = await send("1.10", '"dry_run":true');
    assert.equal((await send("1.1", `"plan":"${String(plan)}"`))["code"], "plan_stale");
    assert.equal((await send("1.10", `"plan":"${String(plan)}"`))["code"], undefined);
  });
});

suite("an operation of a bulk as the contract has it: op and uri alone", () => {
  const uri = stores.KVv2;
  const bulk = async (t: TestContext) => {
    const store = await startKvDouble(t, "openbao");
    const at = await testSecrets(t, { more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))] });
    const send = async (path: string, body: unknown): Promise<Json> =>
      (await (await at.send(ada, "POST", `/api/secrets${path}`, { body })).json()) as Json;
    return {
      send,
      run: async (...operations: readonly Json[]) => (await send("/bulk", { operations }))["results"] as readonly Json[],
      read: async (version: number) => {
        const found = await at.send(ada, "GET", `/api/secrets/value?uri=${encodeURIComponent(`${uri}?version=${version}`)}`);
        return (await found.json()) as Json;
      },
    };
  };

  test("restores and destroys the version that its uri names, and no other", async (t) => {
    const { send, run, read } = await bulk(t);
    for (const k of ["one", "two"]) await send("", { uri, value: { k } });
    await run({ op: "delete", uri });
    assert.equal((await read(2))["code"], "version_deleted");
    const [restored] = await run({ op: "undelete", uri: `${uri}?version=2` });
    assert.deepEqual([restored?.["status"], restored?.["uri"]], [200, `${uri}?version=2`]);
    assert.deepEqual((await read(2))["value"], { k: "two" });
    const [destroyed] = await run({ op: "destroy", uri: `${uri}?version=1` });
    assert.equal(destroyed?.["status"], 200);
    assert.deepEqual([(await read(1))["code"], (await read(2))["value"]], ["version_destroyed", { k: "two" }]);
  });

  test("names its secret however early it is refused, but for a uri that is none", async (t) => {
    const { run } = await bulk(t);
    const results = await run(
      { op: "set", uri },
      { op: "rotate", uri },
      { op: "undelete", uri },
      { op: "undelete", uri: `${uri}#k?version=1` },
      { op: "destroy", uri, versions: "all" },
      { op: "set", uri: `${uri}?version=1`, value: { k: 1 } },
      { op: "set", uri: "no secret", value: 1 },
    );
    assert.deepEqual(
      results.map(({ code, uri: named }) => [code, named]),
      [
        ["invalid_body", uri],
        ["invalid_body", uri],
        ["versions_required", uri],
        ["fragment_not_allowed", `${uri}#k?version=1`],
        ["versions_required", uri],
        ["uri_version_not_allowed", `${uri}?version=1`],
        ["uri_syntax", undefined],
      ],
    );
  });
});
