import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { AddressRefused, createGuardedAgent } from "./guarded-agent.ts";
import { parseNetworks } from "./network-rules.ts";

/** An agent whose resolver gives one answer after the other, and a server on loopback, which is allowed. */
const begin = async (t: TestContext, ...answers: readonly (readonly string[])[]) => {
  const upstream = await serverUpstream(t);
  const asked: string[] = [];
  const agent = createGuardedAgent({
    rules: { allow: parseNetworks(["127.0.0.1/32"]).blocks, housePorts: new Set() },
    maxHeaderBytes: 32_768,
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
