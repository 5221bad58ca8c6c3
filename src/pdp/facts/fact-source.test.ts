import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import type { Facts } from "#contract/facts.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { createPeerFacts } from "./fact-source.ts";

const nobody: Facts = {
  subject: null,
  agent: null,
  capability: false,
  chain: true,
  definition_ok: true,
  delegation: null,
  resource: null,
  edges: [],
};
const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
const identity = testIdentity();

const source = (membership: (request: Request) => Promise<Response>, timeoutMs = 1000) =>
  createPeerFacts({ membership, membershipAudience: testAudiences.membership, identity: identity.identityOf("pdp"), timeoutMs });
const asks = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    subject_id: `person:p${n % 1500}`,
    action: "view",
    resource: { type: "pages", external_id: "people" },
  }));

test("facts are asked as the decision point itself, each question once, at most a thousand a call", async () => {
  const sizes: number[] = [];
  const { gather } = source(async (request) => {
    const caller = await identity.verifierFor(testAudiences.membership)(request);
    assert.equal(caller.sub, "service:pdp");
    assert.ok(caller.scopes.has("pip.read"));
    const body = (await request.json()) as { asks: { subject_id: string }[] };
    sizes.push(body.asks.length);
    return json(200, {
      graph_version: 10 - sizes.length,
      facts: body.asks.map((ask) => ({ ...nobody, edges: [{ kind: "X", from: ask.subject_id, to: "t", present: true }] })),
    });
  });
  const gathered = await gather(asks(2000));
  assert.deepEqual(sizes, [1000, 500]);
  assert.equal(gathered.graphVersion, 8);
  assert.equal(gathered.facts.length, 2000);
  for (const [n, facts] of gathered.facts.entries()) assert.equal(facts.edges[0]?.from, `person:p${n % 1500}`);
});

const failing: readonly (readonly [name: string, peer: () => Promise<Response>, code: string])[] = [
  ["a fault of the connection", () => Promise.reject(new Error("refused")), "membership_unavailable"],
  // As of a service in the same process: it hears of no signal.
  ["silence", () => new Promise(() => {}), "membership_unavailable"],
  ["a refusal", async () => json(403, { code: "insufficient_scope" }), "membership_unavailable"],
  ["a graph that is away", async () => json(503, { code: "graph_unavailable" }), "graph_unavailable"],
  ["fewer facts than asks", async () => json(200, { graph_version: 1, facts: [] }), "membership_unavailable"],
  [
    "facts of another shape",
    async () => json(200, { graph_version: 1, facts: [{ ...nobody, capability: "true" }] }),
    "membership_unavailable",
  ],
  ["no JSON", async () => new Response("<html>"), "membership_unavailable"],
];
for (const [name, peer, code] of failing) {
  test(`${name} from membership is ${code}, never a fact`, async (t) => {
    // A timeout alone keeps no process running.
    const running = setInterval(() => {}, 1000);
    t.after(() => clearInterval(running));
    const { gather, ready } = source(peer, 20);
    await assert.rejects(gather(asks(1)), (error: unknown) => error instanceof Problem && error.code === code);
    assert.equal(await ready(), false);
  });
}
