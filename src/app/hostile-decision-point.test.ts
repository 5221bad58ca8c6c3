import assert from "node:assert/strict";
import { test } from "node:test";
import type { Peer } from "#contract/ask.ts";
import { createPdpClient } from "#pdp-client/pdp-client.ts";
import { agent, crudInstance } from "#testing/crud-instance.ts";
import { testDatabase } from "#testing/database.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { testSecrets } from "#testing/secrets.ts";

const TIMEOUT_MS = 200;
const json = { headers: { "content-type": "application/json" } };

/** What a decision point can do to whoever waits for its answer; none hears the signal that it is too late. */
const hostile: Readonly<Record<string, Peer>> = {
  "never answers": () => new Promise(() => {}),
  "stops half-way": async () =>
    new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"decision":true,')) }), json),
  "answers without end": async () =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(0x20)) }), json),
};

const deciderOn = (pdp: Peer, service: "crud" | "membership" | "secrets") =>
  createPdpClient({
    pdp,
    pdpAudience: testAudiences.pdp,
    identity: testIdentity().identityOf(service),
    publicOrigin: testAudiences.gateway,
    timeoutMs: TIMEOUT_MS,
    now: () => new Date(),
  });

for (const [what, pdp] of Object.entries(hostile)) {
  test(`a decision point that ${what} permits no tool call, and nothing is sent or held`, async (t) => {
    const instance = await crudInstance(t, { pdpClient: deciderOn(pdp, "crud") });
    const name = "people.demo.list_employees";
    const { status, body } = await instance.rpc(
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } },
      { as: agent },
    );
    assert.deepEqual([status, body.error?.data.code], [503, "decision_unavailable"]);
    const list = await instance.rpc({ jsonrpc: "2.0", id: 2, method: "tools/list", params: {} }, { as: agent });
    assert.deepEqual([list.status, list.body.error?.data.code], [503, "decision_unavailable"]);
    assert.equal(instance.people.requests, 0);
    assert.equal(instance.membership.reservations.size, 0);
  });

  test(`a decision point that ${what} grants and revokes no delegation`, async (t) => {
    const world = await servedWorld(t, await testDatabase(t, graphModules), { pdpClient: deciderOn(pdp, "membership") });
    const asked = await world.call("ben", "POST", "/api/v1/delegations/delegation%3Aben-hr/revoke", { body: { reason: "looking around" } });
    assert.deepEqual([asked.status, asked.body.code], [503, "decision_unavailable"]);
    assert.deepEqual(await world.sql("select status from membership.delegation where id = 'delegation:ben-hr'"), [{ status: "active" }]);
  });

  test(`a decision point that ${what} opens no secret, for a person or for a tool's call`, async (t) => {
    const at = await testSecrets(t, { parts: { pdpClient: deciderOn(pdp, "secrets"), peers: { pdp }, pdpTimeoutMs: TIMEOUT_MS } });
    const path = `/api/secrets/value?uri=${encodeURIComponent("yaml://secret/people/demo#api_key")}`;
    const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: ["secrets.read"] };
    const call = { headers: { "x-tool-id": "people.demo.list_employees", "x-decision-id": "d-1", "x-call-id": "call-7" } };
    for (const reply of [await at.send(ada, "GET", path), await at.send("crud", "GET", path, call)])
      assert.deepEqual([reply.status, ((await reply.json()) as { code: string }).code], [503, "decision_unavailable"]);
    assert.deepEqual(at.touched, []);
  });
}
