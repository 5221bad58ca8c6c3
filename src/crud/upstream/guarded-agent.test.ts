import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { startChild } from "#testing/child.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { AddressRefused, createGuardedAgent } from "./guarded-agent.ts";
import { parseNetworks, readCeiling } from "./network-rules.ts";

const ceiling = readCeiling(["127.0.0.0/8"]);

/** An agent whose resolver gives one answer after the other, and a server on loopback, which is allowed. */
const begin = async (t: TestContext, ...answers: readonly (readonly string[])[]) => {
  const upstream = await serverUpstream(t);
  const asked: string[] = [];
  const agent = createGuardedAgent({
    rules: { allow: parseNetworks(["127.0.0.1/32"], ceiling).blocks, ceiling, internalPorts: new Set() },
    resolve: async (hostname) => {
      asked.push(hostname);
      return (answers[asked.length - 1] ?? []).map((address) => ({ address }));
    },
  });
  cleanUp(t, () => agent.close());
  const { port } = new URL(upstream.url);
  // Each request has a connection of its own: the name is resolved anew for it.
  const get = async (): Promise<number> => {
    const headers = { connection: "close" };
    const { statusCode, body } = await agent.request({ origin: `http://rebinding.example:${port}`, path: "/", method: "GET", headers });
    await body.dump();
    return statusCode;
  };
  return { upstream, asked, get };
};

for (const asks of ["0", "1"])
  test(`proxies that the environment names are not asked, ${asks === "1" ? "also where Node is told to ask them" : "in whichever case"}`, async (t) => {
    const [upstream, proxy] = [await serverUpstream(t), await serverUpstream(t, "proxy")];
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
    const child = startChild(
      `
      const { createGuardedAgent } = await import(new URL("crud/upstream/guarded-agent.ts", src));
      const { parseNetworks, readCeiling } = await import(new URL("crud/upstream/network-rules.ts", src));
      const ceiling = readCeiling(["127.0.0.0/8"]);
      const rules = { allow: parseNetworks(["127.0.0.1/32"], ceiling).blocks, ceiling, internalPorts: new Set() };
      const agent = createGuardedAgent({ rules, resolve: async () => [{ address: "127.0.0.1" }] });
      const { port } = new URL(${JSON.stringify(upstream.url)});
      const ask = async (origin) => {
        try {
          const { statusCode, body } = await agent.request({ origin, path: "/", method: "GET" });
          return statusCode + " " + (await body.text());
        } catch (error) {
          return error.code;
        }
      };
      console.log(await ask("http://system.example:" + port));
      console.log(await ask("https://system.example:" + port));
      console.log(await fetch(${JSON.stringify(upstream.url)}).then(async (response) => (await response.json()).name));
      process.exit(0);
      `,
      {
        ...Object.fromEntries(names.map((name) => [name, proxy.url])),
        NO_PROXY: "elsewhere.example",
        no_proxy: "",
        NODE_USE_ENV_PROXY: asks,
      },
    );
    cleanUp(t, () => child.kill());
    assert.equal(await child.line(), '200 {"name":"U"}');
    // The server speaks no TLS; a proxy would have been asked for a tunnel to it.
    assert.match(await child.line(), /SSL/);
    // That they would have been asked: Node's own client does, where it is told to.
    assert.equal(await child.line(), asks === "1" ? "proxy" : "U");
    assert.equal(proxy.seen.length, asks === "1" ? 1 : 0);
  });

const refusedFor = (reason: string) => (error: unknown) => error instanceof AddressRefused && error.reason === reason;

test("the address that was judged is the one that is dialled: the name is not resolved a second time for it", async (t) => {
  const { upstream, asked, get } = await begin(t, ["127.0.0.1"], ["169.254.169.254"], ["10.0.0.1"]);
  assert.equal(await get(), 200);
  assert.deepEqual([asked, upstream.seen[0]?.headers.host?.split(":")[0]], [["rebinding.example"], "rebinding.example"]);
  await assert.rejects(get, refusedFor("metadata"));
  await assert.rejects(get, refusedFor("not_public"));
  assert.deepEqual([asked.length, upstream.seen.length], [3, 1]);
});

for (const [name, answer, reason] of [
  ["a forbidden address behind an allowed one", ["127.0.0.1", "169.254.169.254"], "metadata"],
  ["a forbidden address before an allowed one", ["10.0.0.1", "127.0.0.1"], "not_public"],
  ["an allowed address in another spelling beside a forbidden one", ["::ffff:127.0.0.1", "::ffff:10.0.0.1"], "not_public"],
  ["what is no address", ["localhost"], "not_an_address"],
  ["nothing", [], "not_found"],
] as const)
  test(`a resolver that answers ${name} leads nowhere`, async (t) => {
    const { upstream, get } = await begin(t, answer);
    await assert.rejects(get, refusedFor(reason));
    assert.equal(upstream.seen.length, 0);
  });
