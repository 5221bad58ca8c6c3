import assert from "node:assert/strict";
import test from "node:test";
import { Problem } from "#contract/problem.ts";
import { testDatabase } from "#testing/database.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { createTaskGraph } from "./task-graph.ts";

test("groups of persons and links of agents are those of the graph", async (t) => {
  const identity = testIdentity();
  const { service } = await servedWorld(t, await testDatabase(t, graphModules), { identity });
  const shared = { membershipAudience: testAudiences.membership, identity: identity.identityOf("crud") };
  const graph = createTaskGraph({ ...shared, membership: (request) => service.fetch(request) });
  const acme = { tenant: "tenant:acme", correlationId: "c-1" };
  const cleo = await graph.groupsOf("person:cleo", acme);
  assert.ok(cleo?.has("group:analysts") === true && cleo.has("role:member"), String([...(cleo ?? [])]));
  for (const nobody of ["person:nobody", "person:eve", "group:analysts"])
    assert.equal(await graph.groupsOf(nobody, acme), undefined, nobody);
  const links = [
    ["agent:hr-assistant", "person:ben", "control"],
    ["agent:reporter", "person:cleo", "control"],
    // Its delegation has ended.
    ["agent:reporter", "person:ben", undefined],
    ["agent:hr-assistant", "person:ada", undefined],
    ["agent:hr-assistant", "person:cleo", undefined],
    ["agent:nobody", "person:ben", undefined],
  ] as const;
  for (const [agent, person, link] of links) assert.equal(await graph.linkOf(agent, person, acme), link, `${agent} ${person}`);
  // Who delegates to an agent need not control it.
  const uncontrolled = createTaskGraph({
    ...shared,
    membership: async (request) => {
      const { facts, ...rest } = (await (await service.fetch(request)).json()) as { facts: { agent: object }[] };
      return Response.json({ ...rest, facts: facts.map((one) => ({ ...one, agent: { ...one.agent, controllers: [] } })) });
    },
  });
  assert.equal(await uncontrolled.linkOf("agent:hr-assistant", "person:ben", acme), "delegation");
  assert.equal(await uncontrolled.linkOf("agent:reporter", "person:ben", acme), undefined);
  const down = createTaskGraph({ ...shared, membership: async () => new Response(null, { status: 503 }) });
  await assert.rejects(down.groupsOf("person:cleo", acme), (error) => error instanceof Problem && error.code === "membership_unavailable");
});
