import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { testIdentity } from "#testing/identity.ts";
import { hopsOf, tookPart, type Hop } from "./agent-rule.ts";

const made = { reply: z.object({}), summary: "For this test.", auth: "bearer" } as const;
const endpoints = {
  never: endpoint("crud", "GET", "/never", { ...made, agents: "never", scope: ["a.read"] }),
  own: endpoint("crud", "GET", "/own", { ...made, agents: "own" }),
  decided: endpoint("crud", "GET", "/decided", { ...made, agents: "decided" }),
};
// What no file may declare, for it would not compile, opens nothing either.
const { agents: _unsaid, ...silent } = endpoints.own;

const hr = "agent:hr-assistant";
const living = new Set(["person:ben agent:hr-assistant"]);
const asked: (readonly Hop[])[] = [];
const identity = testIdentity({
  agentOfClient: async (clientId) => (clientId.startsWith("agent:") ? clientId : undefined),
  lives: async (tenant, hops) => {
    asked.push(hops);
    return tenant === "tenant:acme" && hops.every(({ userId, agentId }) => living.has(`${userId} ${agentId}`));
  },
});
const person = { sub: "person:ben", tenant: "tenant:acme", scopes: ["a.read"] };
const chain = async () => {
  const seconds = Math.floor(Date.now() / 1000);
  const act = { sub: "agent:reporter", act: { sub: hr } };
  const claims = {
    sub: "person:ben",
    tenant: "tenant:acme",
    scope: "",
    act,
    aud: "http://localhost:8083",
    iat: seconds,
    exp: seconds + 60,
  };
  return identity.sign({ iss: identity.issuer, ...claims }, { alg: "ES256", typ: "at+jwt", kid: "test" });
};

const holders: readonly (readonly [
  string,
  () => Promise<string>,
  { readonly never: string; readonly own: string; readonly decided: string },
])[] = [
  ["the person", () => identity.tokenFor(person), { never: "in", own: "in", decided: "in" }],
  ["an agent with a delegation", () => identity.tokenFor({ ...person, agent: hr }), { never: "person_required", own: "in", decided: "in" }],
  [
    "the agent's client, without a word on who acts",
    () => identity.tokenFor({ ...person, clientId: hr }),
    { never: "person_required", own: "in", decided: "in" },
  ],
  [
    "another agent",
    () => identity.tokenFor({ ...person, agent: "agent:reporter" }),
    { never: "person_required", own: "delegation_inactive", decided: "in" },
  ],
  [
    "the agent for another person",
    () => identity.tokenFor({ ...person, sub: "person:cleo", agent: hr }),
    { never: "person_required", own: "delegation_inactive", decided: "in" },
  ],
  [
    "the agent in another tenant",
    () => identity.tokenFor({ ...person, tenant: "tenant:globex", agent: hr }),
    { never: "person_required", own: "delegation_inactive", decided: "in" },
  ],
  ["an agent to which the first passed it on, undelegated", chain, { never: "person_required", own: "delegation_inactive", decided: "in" }],
  [
    "an agent in nobody's name",
    () => identity.tokenFor({ ...person, sub: hr }),
    { never: "person_required", own: "delegation_inactive", decided: "in" },
  ],
  [
    "an agent without the scope",
    () => identity.tokenFor({ ...person, scopes: [], agent: hr }),
    { never: "person_required", own: "in", decided: "in" },
  ],
];

for (const [who, tokenOf, expected] of holders)
  test(`what an endpoint says of agents is what they get: ${who}`, async () => {
    const token = await tokenOf();
    const enter = (at: Parameters<typeof identity.authenticate>[1]) =>
      identity.authenticate(new Request("http://localhost:8083/x", { headers: { authorization: `Bearer ${token}` } }), at).then(
        () => "in",
        (error: unknown) => (error instanceof Problem ? `${error.code}` : String(error)),
      );
    for (const [agents, one] of Object.entries(endpoints))
      assert.equal(await enter(one), expected[agents as keyof typeof expected], agents);
    assert.equal(await enter(silent), expected.never, "an endpoint that says nothing");
  });

test("every hop of a chain is asked for, the person's first", () => {
  const acting = { sub: "person:ben", actors: ["service:gateway", "agent:b", "agent:a"], agent: "agent:b" };
  assert.deepEqual(hopsOf(acting), [
    { userId: "person:ben", agentId: "agent:a" },
    { userId: "agent:a", agentId: "agent:b" },
  ]);
  assert.deepEqual(hopsOf({ sub: "person:ben", actors: [], agent: hr }), [{ userId: "person:ben", agentId: hr }]);
  assert.deepEqual(hopsOf({ sub: "person:ben", actors: ["service:crud"] }), []);
  assert.ok(asked.every((hops) => hops.length > 0));
});

test("an agent took part in what it did for this subject; a person in all of his own", () => {
  const of = { subject: "person:ben", agents: [hr] };
  assert.deepEqual(
    [
      { sub: "person:ben" },
      { sub: "person:ben", agent: hr },
      { sub: "person:ben", agent: "agent:reporter" },
      { sub: "person:cleo", agent: hr },
    ].map((caller) => tookPart(caller, of)),
    [true, true, false, false],
  );
  assert.equal(tookPart({ sub: "person:ben", agent: hr }, { subject: "person:ben", agents: [undefined] }), false);
});
