import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphRooms, graphWorld } from "#testing/membership.ts";
import { createAgentOfClient } from "./agent-of-client.ts";

test("a client is the agent that names it, if exactly one active agent does", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphRooms));
  const agentOf = createAgentOfClient(world.database);
  assert.equal(await agentOf("agent:hr-assistant"), "agent:hr-assistant");
  for (const other of ["sallyport-web", "service:crud", "person:ben", "", "a\u0000b", "agent:hr-assistant' or '1'='1"])
    assert.equal(await agentOf(other), undefined);
  const second = {
    id: "agent:second",
    kind: "AIAgent",
    name: "Second",
    tenant_id: "tenant:acme",
    props: { client_id: "agent:hr-assistant" },
  } as const;
  await world.put(second);
  assert.equal(await agentOf("agent:hr-assistant"), undefined, "two that claim it are none");
  await world.put({ ...second, state: "disabled" });
  assert.equal(await agentOf("agent:hr-assistant"), "agent:hr-assistant");
});
