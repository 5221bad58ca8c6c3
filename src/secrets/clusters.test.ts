// A process of its own: it runs three servers.
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import type { Problem } from "#contract/problem.ts";
import { readText, refOf, refusal, write } from "#secrets/providers/secret-provider.contract.ts";
import { parseSecretPrefix } from "#secrets/model/secret-uri.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { startOpenBaoCluster } from "#testing/openbao-cluster.ts";
import { requireProgram } from "#testing/programs.ts";
import { testSecrets, type TestSecrets } from "#testing/secrets.ts";
import { until } from "#testing/until.ts";
import { parseSchemeAliases } from "./model/uri-schemes.ts";

const scopes = ["read", "write", "delete", "destroy", "rotate", "read_metadata"].map((name) => `secrets.${name}`);
const ada = { sub: "person:ada", tenant: "tenant:acme", scopes };
const { schemes } = parseSchemeAliases([], "SECRETS_SCHEME_ALIASES");
type Json = Record<string, unknown>;
const PAIRS = 30;

/** Two replicas on one database, before one cluster behind a balancer. */
const open = async (t: TestContext, flavor: string) => {
  const program = requireProgram(t, "bao");
  if (program === undefined) return undefined;
  const cluster = await startOpenBaoCluster(t, program);
  const replica = (keepsRecords: boolean) => {
    const server = kvServer({ URL: cluster.url, TOKEN: cluster.rootToken, FLAVOR: flavor, ALLOWED_ORIGINS: cluster.nodes.join() });
    const places = [parseSecretPrefix("vaultA+kv2://kv-a", schemes)];
    return testSecrets(t, { more: [kvProvider(server, { places })], keepsRecords });
  };
  const replicas = [await replica(false), await replica(true)] as const;
  const send = async (at: TestSecrets, method: string, path: string, body?: unknown) => {
    const response = await at.send(ada, method, `/api/secrets${path}`, body === undefined ? {} : { body });
    return { status: response.status, reply: (await response.json()) as Json };
  };
  return { cluster, replicas, send };
};

const query = (uri: string): string => `?uri=${encodeURIComponent(uri)}`;
const keyed = (uri: string): string => `${uri}#k`;

suite("a cluster behind a balancer, and two replicas", () => {
  for (const flavor of ["auto", "openbao", "vault"])
    test(`what one replica has written, rotated, deleted or restored the other one never reads older (${flavor})`, async (t) => {
      const at = await open(t, flavor);
      if (at === undefined) return;
      const { cluster, send } = at;
      const [one, other] = at.replicas;
      const uri = "vaulta+kv2://kv-a/shared/row";
      assert.equal((await send(one, "POST", "", { uri, value: { k: 0 } })).status, 201);
      const old: string[] = [];
      const see = (what: string, seen: unknown, wanted: unknown): void => {
        if (JSON.stringify(seen) !== JSON.stringify(wanted)) old.push(`${what}: ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
      };
      for (let k = 1; k <= PAIRS; k++) {
        const [writer, reader] = k % 2 === 0 ? [one, other] : [other, one];
        const isRotation = k % 3 === 0;
        const written = await send(writer, "POST", isRotation ? "/rotate" : "", { uri: keyed(uri), value: k });
        assert.equal(written.status, 200, JSON.stringify(written.reply));
        see(`${k} read`, (await send(reader, "GET", `/value${query(keyed(uri))}`)).reply["value"], k);
        see(`${k} read again`, (await send(reader, "GET", `/value${query(keyed(uri))}`)).reply["value"], k);
        see(`${k} versions`, (await send(reader, "GET", `/versions${query(uri)}`)).reply["current_version"], k + 1);
        const cas = await send(reader, "POST", "", { uri, value: { k }, cas: 1 });
        see(`${k} cas`, cas.reply["code"], "cas_mismatch");
        const fresh = `${uri}-${flavor}-${k}`;
        await send(writer, "POST", "", { uri: fresh, value: { k } });
        const listed = (await send(reader, "GET", `/metadata?prefix=${encodeURIComponent("vaulta+kv2://kv-a/shared")}&limit=500`)).reply;
        see(
          `${k} listed`,
          (listed["items"] as Json[]).some((item) => item["uri"] === fresh),
          true,
        );
        await send(reader, "DELETE", query(fresh));
        see(`${k} deleted`, (await send(writer, "GET", `/value${query(fresh)}`)).reply["code"], "version_deleted");
        await send(writer, "POST", "/undelete", { uri: fresh, versions: [1] });
        see(`${k} restored`, (await send(reader, "GET", `/value${query(fresh)}`)).status, 200);
      }
      assert.deepEqual(old, []);
      const used = new Set(cluster.journal.filter((line) => line.startsWith("GET /v1/kv-a/")).map((line) => line.split(" ")[2]));
      assert.equal(used.size, 3, "each node was read");
      for (const replica of at.replicas) assert.deepEqual(await degraded(replica), undefined);
    });

  test("what the active node answers from farther back than was asked for is not believed, unless it answers nothing else for a minute", async (t) => {
    const at = await open(t, "auto");
    if (at === undefined) return;
    const { cluster } = at;
    let later = 0;
    const now = () => new Date(Date.now() + later);
    const server = kvServer({ URL: await cluster.active(), TOKEN: cluster.rootToken, ALLOWED_ORIGINS: cluster.nodes.join() });
    const provider = kvProvider(server, { now });
    const uri = "vaulta+kv2://kv-a/back";
    await write(provider, keyed(uri), "1");
    const position = provider.position?.();
    assert.ok(position?.value !== undefined);
    const { cluster: of } = position;
    const value = String(BigInt(position.value) + 1000n);
    const place = Buffer.from(JSON.stringify({ cluster: of, value })).toString("base64");
    provider.reach?.({ cluster: of, value, place });
    const error = await provider.read(refOf(uri)).then(
      () => undefined,
      (thrown: unknown) => thrown as Problem,
    );
    assert.equal(error?.code, "provider_unavailable");
    assert.deepEqual(error.options.headers, { "retry-after": "2" });
    assert.equal(await refusal(write(provider, keyed(uri), "2")), "provider_unavailable");
    const other = { cluster: "another", value, place: Buffer.from(JSON.stringify({ cluster: "another", value })).toString("base64") };
    const moved = kvProvider(server);
    moved.reach?.(other);
    assert.equal(await readText(moved, keyed(uri)), "1", "places of another cluster are not compared");
    later = 61_000;
    assert.equal(await readText(provider, keyed(uri)), "1", "a store that was restored");
    await write(provider, keyed(uri), "3");
    assert.equal(await readText(provider, keyed(uri)), "3");
  });

  test("when the active node is killed there is a clear error or the right answer, and never an older value", async (t) => {
    const at = await open(t, "auto");
    if (at === undefined) return;
    const { cluster, send } = at;
    const [one, other] = at.replicas;
    const uri = "vaulta+kv2://kv-a/failover";
    let acknowledged = 0;
    let highest = 0;
    const write = async (k: number) => {
      highest = k;
      const { status, reply } = await send(one, "POST", "", { uri: keyed(uri), value: k });
      if (status < 300) acknowledged = k;
      else assert.ok([503, 504].includes(status), JSON.stringify(reply));
      return status;
    };
    const read = async () => {
      const least = acknowledged;
      const { status, reply } = await send(other, "GET", `/value${query(keyed(uri))}`);
      if (status === 200)
        assert.ok(Number(reply["value"]) >= least && Number(reply["value"]) <= highest, `${JSON.stringify(reply)} < ${least}`);
      else assert.equal(status, 503, JSON.stringify(reply));
      return status;
    };
    for (let k = 1; k <= 5; k++) assert.ok((await write(k)) < 300);
    assert.equal(await read(), 200);
    const killed = cluster.kill(await cluster.active());
    for (let k = 6; k <= 15; k++) {
      await write(k);
      await read();
    }
    await killed;
    let k = 15;
    await until(
      async () => [await write(++k), await read()].join(),
      (said) => said === "200,200",
      60_000,
    );
    assert.ok(acknowledged > 15);
  });
});

/** What the service reports of its stores. */
const degraded = async (at: TestSecrets): Promise<unknown> =>
  ((await (await at.service.fetch(new Request("http://sallyport.internal/health/ready"))).json()) as Json)["degraded"];
