import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { suite, test, type TestContext } from "node:test";
import { createPdpClient } from "#pdp-client/pdp-client.ts";
import { createIntegrator } from "#events/audit/integrator.ts";
import { putNode } from "#membership/graph/put-node.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { silentLog } from "#telemetry/log.ts";
import { testAudiences } from "#testing/identity.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { testSecrets } from "#testing/secrets.ts";
import { secretOperations } from "#contract/secret-operations.ts";

const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner", "audit"].map((name) => `secrets.${name}`);
type Json = Record<string, unknown>;
const CANARY = "canary-behind-the-wall";
const people = {
  /** Holds role:platform and role:administrator. */
  ada: { sub: "person:ada", tenant: "tenant:acme", scopes },
  /** Administrator of acme, the operator's tenant, without role:platform. */
  cleo: { sub: "person:cleo", tenant: "tenant:acme", scopes },
  /** Steward of yaml://secret/people/demo. */
  ben: { sub: "person:ben", tenant: "tenant:acme", scopes },
  /** Administrator of another tenant. */
  eve: { sub: "person:eve", tenant: "tenant:globex", scopes },
} as const;
type Login = keyof typeof people;

const open = async (t: TestContext) => {
  const pdp = await pdpWorld(t);
  for (const [src, tenantId] of [
    ["person:cleo", "tenant:acme"],
    ["person:eve", "tenant:globex"],
  ] as const)
    await pdp.world.write({ actor: "person:ada", source: "api", correlationId: "test", tenantId, roles: "platform" }, async (tx) => {
      await putEdge(tx, { kind: "MEMBER_OF", src, dst: "role:administrator" });
      return { value: undefined };
    });
  const store = await startKvDouble(t, "openbao");
  const pdpClient = createPdpClient({
    pdp: pdp.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: pdp.identity.identityOf("secrets"),
    publicOrigin: testAudiences.gateway,
    now: () => pdp.clock.now,
    timeoutMs: 10_000,
  });
  const settings = {
    TENANT_ALLOWED_MOUNTS: JSON.stringify({
      "tenant:acme": ["yaml://secret/acme", "vaultA+kv2://kv-a/acme"],
      "tenant:globex": ["yaml://secret/globex", "vaultA+kv2://kv-a/globex"],
      platform: ["yaml://secret/people", "vaultA+kv2://kv-a/people"],
    }),
    TENANT_SALT: "0123456789abcdef0123456789abcdef",
  };
  const at = await testSecrets(t, {
    identity: pdp.identity,
    settings,
    more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))],
    parts: { pdpClient, peers: { pdp: pdp.service.fetch } },
  });
  await at.database.script("delete from events.audit_entry; delete from events.audit_log");
  const send = async (login: Login, method: string, path: string, body?: unknown) => {
    const response = await at.send(people[login], method, `/api/secrets${path}`, body === undefined ? {} : { body });
    const text = await response.text();
    return { status: response.status, text, reply: (text === "" ? {} : JSON.parse(text)) as Json };
  };
  /** As an administrator names on a secret's node whom it is for. */
  const mark = (externalId: string, tenantId: string): Promise<unknown> =>
    pdp.world.write({ actor: "person:ada", source: "api", correlationId: "test", tenantId, roles: "platform" }, async (tx) => {
      await putNode(tx, {
        id: `secret:${externalId.replaceAll(/[^a-z]+/g, "-")}`,
        kind: "Resource",
        name: externalId,
        system: "sallyport",
        external_id: externalId,
        tenant_id: tenantId,
        props: { type: "secret", attributes: { used_by: "notifications" } },
      });
      return { value: undefined };
    });
  return { at, store, send, mark };
};

type Request = readonly [what: string, method: string, path: string, body?: unknown];
const query = (uri: string): string => `?uri=${encodeURIComponent(uri)}`;

/** Every operation on a secret, and every way to have it in a bulk, a dry run, or as one end of a copy or a move. */
const requestsOn = (uri: string, own: string): readonly Request[] => {
  const isFile = uri.startsWith("yaml:");
  const prefix = encodeURIComponent(uri);
  const items = [
    { op: "set", uri, value: { k: "bulk" } },
    { op: "rotate", uri, value: { k: "bulk" } },
    { op: "delete", uri },
    { op: "destroy", uri },
    ...(isFile
      ? []
      : [
          { op: "undelete", uri, versions: [1] },
          { op: "destroy", uri, versions: [1] },
        ]),
  ];
  const ends = [
    { fromUri: uri, toUri: own, overwrite: true },
    { fromUri: own, toUri: uri, overwrite: true },
  ];
  return [
    ["keys", "GET", `/keys${query(uri)}`],
    ["metadata", "GET", `/metadata?prefix=${prefix}`],
    ["search", "GET", `/search?q=${isFile ? "demo" : "s"}&prefix=${prefix}`],
    ["value", "GET", `/value${query(uri)}`],
    ...(isFile
      ? ([["read", "GET", query(uri)]] as const)
      : ([
          ["detail", "GET", `/metadata/detail${query(uri)}`],
          ["versions", "GET", `/versions${query(uri)}`],
          ["versions", "GET", `/versions${query(uri)}&fingerprints=true`],
          ["undelete", "POST", "/undelete", { uri, versions: [1] }],
          ["destroyVersions", "POST", "/destroy-versions", { uri, versions: [1] }],
        ] as const)),
    ...ends.flatMap((body) =>
      ["copy", "move"].flatMap((op): Request[] => [
        [op, "POST", `/${op}`, { ...body, dry_run: true }],
        [op, "POST", `/${op}`, body],
      ]),
    ),
    ["owner", "POST", "/metadata/owner", { uri, owner: "person:eve" }],
    ["write", "POST", "", { uri, value: { k: "written" } }],
    ["rotate", "POST", "/rotate", { uri, value: { k: "rotated" } }],
    ...items.flatMap((item): Request[] => [
      ["bulk", "POST", "/bulk", { operations: [item], dry_run: true }],
      ["bulk", "POST", "/bulk", { operations: [item] }],
    ]),
    ["delete", "DELETE", query(uri)],
    ["destroy", "DELETE", `${query(uri)}&destroy=true`],
  ];
};

/** Who may do nothing with which secret, of which own place. */
const walls: readonly (readonly [who: Login, target: string, own: string])[] = [
  ["eve", "yaml://secret/people/demo", "yaml://secret/globex/own"],
  ["eve", "vaulta+kv2://kv-a/people/s", "vaulta+kv2://kv-a/globex/own"],
  ["eve", "yaml://secret/acme/demo", "yaml://secret/globex/own"],
  ["eve", "vaulta+kv2://kv-a/acme/s", "vaulta+kv2://kv-a/globex/own"],
  ["cleo", "yaml://secret/people/demo", "yaml://secret/acme/own"],
  ["cleo", "vaulta+kv2://kv-a/people/s", "vaulta+kv2://kv-a/acme/own"],
  ["cleo", "yaml://secret/globex/demo", "yaml://secret/acme/own"],
  ["ada", "yaml://secret/globex/demo", "yaml://secret/acme/own"],
  ["ada", "vaulta+kv2://kv-a/globex/s", "vaulta+kv2://kv-a/people/own"],
];
const writerOf = (uri: string): Login => (uri.includes("/globex/") ? "eve" : "ada");

suite("walls between tenants' secrets, and around the platform's", () => {
  test("an administrator does nothing with another tenant's secret, nor with the platform's without its role, by any operation", async (t) => {
    const { at, store, send } = await open(t);
    const covered = new Set<string>();
    for (const [who, target, own] of walls) {
      for (const uri of [target, own]) {
        const { status, text } = await send(writerOf(uri), "POST", "", { uri, value: { k: uri === own ? "own" : CANARY } });
        assert.ok(status < 300, text);
      }
      const stored = async () => [
        await readFile(at.path, "utf8"),
        JSON.stringify(await store.ask("GET", target.replace(/^.*kv-a/, "kv-a/metadata"))),
      ];
      for (const [what, method, path, body] of requestsOn(target, own)) {
        covered.add(what);
        const before = await stored();
        at.touched.length = 0;
        const { status, text, reply } = await send(who, method, path, body);
        const label = `${who} ${what} ${target}: ${status} ${text}`;
        if (what === "bulk")
          assert.deepEqual(
            (reply["results"] as Json[]).map((one) => one["status"] === 403 || one["status"] === 401),
            [true],
            label,
          );
        else if ((what === "metadata" || what === "search") && status === 200) assert.deepEqual(reply["items"], [], label);
        else assert.ok(status === 403 || status === 401, label);
        assert.ok(!text.includes(CANARY), label);
        assert.deepEqual(await stored(), before, label);
        assert.ok(!at.touched.some((one) => one.includes(target)), `${label} ${at.touched.join()}`);
      }
    }
    assert.deepEqual(
      Object.keys(secretOperations).filter((op) => !covered.has(op)),
      [],
    );
  });

  test("what is refused there is done by whoever holds the role, and by a steward as far as it was granted", async (t) => {
    const { send } = await open(t);
    for (const [target, own] of [
      ["yaml://secret/people/demo", "yaml://secret/acme/own"],
      ["vaulta+kv2://kv-a/people/s", "vaulta+kv2://kv-a/acme/own"],
    ] as const)
      for (const [what, method, path, body] of requestsOn(target, own)) {
        for (const uri of [target, own]) await send("ada", "POST", "", { uri, value: { k: 1 } });
        const { status, text } = await send("ada", method, path, body);
        // Destroying wants a strong sign-in, which this one is not.
        const isStrong = status === 401 && text.includes("step_up_required");
        assert.ok(status < 300 || isStrong, `${what} ${target}: ${status} ${text}`);
        if (what !== "destroy" && what !== "destroyVersions") assert.ok(!isStrong, `${what} ${text}`);
      }
    const uri = "yaml://secret/people/demo";
    assert.ok((await send("ben", "POST", "", { uri, value: { k: 2 } })).status < 300);
    assert.equal((await send("ben", "POST", "/rotate", { uri, value: { k: 3 } })).status, 200);
    assert.equal((await send("ben", "GET", `/value${query(uri)}`)).status, 403);
    assert.equal((await send("ben", "POST", "", { uri: "yaml://secret/people/other", value: { k: 2 } })).status, 403);
  });

  test("lists, searches and mounts end at the tenant's places, however wide the prefix", async (t) => {
    const { send } = await open(t);
    for (const uri of ["yaml://secret/people/demo", "yaml://secret/acme/demo", "yaml://secret/globex/demo"])
      assert.ok((await send(writerOf(uri), "POST", "", { uri, value: { k: CANARY } })).status < 300);
    const seen = async (who: Login, path: string) => ((await send(who, "GET", path)).reply["items"] as Json[]).map(({ uri }) => uri);
    for (const path of ["/search?q=demo", "/search?q=demo&prefix=yaml%3A%2F%2Fsecret", "/metadata?prefix=yaml%3A%2F%2Fsecret"]) {
      assert.deepEqual(await seen("eve", path), ["yaml://secret/globex/demo"], path);
      assert.deepEqual(await seen("cleo", path), ["yaml://secret/acme/demo"], path);
      assert.deepEqual(await seen("ada", path), ["yaml://secret/acme/demo", "yaml://secret/people/demo"], path);
    }
    const { reply } = await send("eve", "GET", "/mounts");
    assert.deepEqual(
      (reply["mounts"] as Json[]).map(({ uri }) => uri),
      ["yaml://secret/globex", "vaulta+kv2://kv-a/globex"],
    );
  });

  test("what happened to the platform's secrets is told to holders of its role alone, in the audit and in the stream", async (t) => {
    const { at, send } = await open(t);
    const uri = "yaml://secret/people/demo";
    const mine = "yaml://secret/acme/mine";
    for (const one of [uri, mine]) assert.ok((await send("ada", "POST", "", { uri: one, value: { k: 1 } })).status < 300);
    assert.equal((await send("cleo", "GET", `/value${query(uri)}`)).status, 403);
    await using integrator = createIntegrator({ database: at.database, log: silentLog, origin: "test" });
    await integrator.integrate();
    const reported = async (who: Login, more = "") => {
      const { status, reply } = await send(who, "GET", `/audit${more}`);
      return status === 200
        ? (reply["items"] as { data: Json }[]).map(({ data }) => `${String(data["op"])} ${String(data["platform"])}`)
        : status;
    };
    assert.deepEqual(await reported("ada"), ["value true", "write undefined", "write true"]);
    assert.deepEqual(await reported("cleo"), ["write undefined"]);
    assert.deepEqual(await reported("cleo", query(uri)), []);
    assert.deepEqual(await reported("eve"), []);
    assert.equal(await reported("eve", query(uri)), 403);
    assert.equal(await reported("ben"), 403);
    const streamed = async (who: Login, count: number): Promise<readonly string[]> => {
      const live = await at.send(people[who], "GET", "/api/secrets/events?op=write");
      assert.equal(live.status, 200);
      for (const one of [uri, mine]) await send("ada", "POST", "", { uri: one, value: { k: `${who} ${one}` } });
      let text = "";
      const framesIn = () =>
        text
          .split("\n\n")
          .slice(0, -1)
          .filter((frame) => frame.includes("event: secrets.updated"));
      for await (const chunk of live.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        if (framesIn().length >= count) break;
      }
      assert.ok(!text.includes("platform"));
      return framesIn();
    };
    assert.equal((await streamed("ada", 2)).length, 2);
    const [only, ...more] = await streamed("cleo", 1);
    const last = (await at.events()).at(-1);
    assert.deepEqual([only?.includes(String(last?.data["correlation_id"])), more], [true, []]);
  });

  test("a key of an idempotent request, and a cursor, are of one tenant", async (t) => {
    const { at, send } = await open(t);
    const write = async (who: Login, uri: string) =>
      (await at.send(people[who], "POST", "/api/secrets", { body: { uri, value: { k: 1 } }, headers: { "idempotency-key": "same" } }))
        .status;
    assert.equal(await write("cleo", "yaml://secret/acme/keyed"), 201);
    assert.equal(await write("eve", "yaml://secret/acme/keyed"), 403);
    assert.equal(await write("eve", "yaml://secret/globex/keyed"), 201);
    for (const name of ["a", "b"]) await send("cleo", "POST", "", { uri: `yaml://secret/acme/${name}`, value: { k: 1 } });
    const { reply } = await send("cleo", "GET", "/search?q=k&limit=1");
    assert.equal(typeof reply["next_cursor"], "string");
    const stolen = await send("eve", "GET", `/search?q=k&limit=1&cursor=${encodeURIComponent(String(reply["next_cursor"]))}`);
    assert.equal(stolen.status, 400, stolen.text);
  });

  test("what is named for notifications the tool server reads within the tenant that it names, and nothing else", async (t) => {
    const { at, send, mark } = await open(t);
    const own = "yaml://secret/acme/hooks#key";
    for (const [uri, by] of [
      [own, "ada"],
      ["yaml://secret/acme/other#key", "ada"],
      ["yaml://secret/globex/hooks#key", "eve"],
    ] as const)
      assert.ok((await send(by, "POST", "", { uri, value: CANARY })).status < 300);
    await mark("yaml://secret/acme/hooks", "tenant:acme");
    await mark("yaml://secret/globex/hooks", "tenant:globex");
    const token = await at.identity.identityOf("crud").asService(testAudiences.secrets, ["secrets.read"]);
    const read = async (uri: string, headers: Record<string, string>) => {
      const path = `http://localhost:8085/api/secrets/value${query(uri)}&purpose=read`;
      const response = await at.service.fetch(new Request(path, { headers: { authorization: `Bearer ${token}`, ...headers } }));
      return [response.status, (await response.text()).includes(CANARY)] as const;
    };
    assert.deepEqual(await read(own, { "x-tenant-id": "tenant:acme" }), [200, true]);
    assert.deepEqual(await read("yaml://secret/globex/hooks#key", { "x-tenant-id": "tenant:globex" }), [200, true]);
    assert.deepEqual(await read("yaml://secret/acme/other#key", { "x-tenant-id": "tenant:acme" }), [403, false], "not named");
    assert.deepEqual(await read(own, { "x-tenant-id": "tenant:globex" }), [403, false], "another tenant's");
    assert.deepEqual(await read(own, {}), [403, false], "no tenant");
    // Of a person's request the header says nothing.
    const response = await at.send(people.eve, "GET", `/api/secrets/value${query(own)}`, { headers: { "x-tenant-id": "tenant:acme" } });
    assert.equal(response.status, 403);
  });
});
