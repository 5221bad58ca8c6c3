import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { assertAsksFor, signInDemands, type DemandedSignIn } from "#testing/sign-in-demands.ts";

for (const demand of signInDemands)
  test(`membership keeps sign-ins apart: ${demand.what}`, async (t) => {
    const identity = testIdentity();
    const world = await servedWorld(t, await testDatabase(t, graphModules), {
      identity,
      rule: () => ({ obligations: [demand.obligation] }),
    });
    const ask = async ({ acr, age }: DemandedSignIn, method: string, path: string, body?: object): Promise<Response> => {
      const authTime = Math.floor(Date.now() / 1000) - age;
      const token = await identity.tokenFor(
        { sub: "person:ada", tenant: "tenant:acme", scopes: ["membership.read", "membership.delegate"], acr, authTime },
        testAudiences.membership,
      );
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": crypto.randomUUID() };
      const url = `http://localhost:8084/api/v1/${path}`;
      return world.service.fetch(new Request(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }));
    };
    const all = { mode: "revoke", reason: "all of it", agent_id: "agent:reporter" };
    for (const [method, path, body] of [
      ["GET", "delegations"],
      ["GET", "delegations?whose=all"],
      ["GET", "delegations/delegation:cleo-rep"],
      ["POST", "delegations/revoke-many", all],
      ["POST", "delegations/delegation:cleo-rep/revoke", { reason: "over" }],
      ["GET", "identity_nodes/person:cleo"],
    ] as const)
      await assertAsksFor(await ask(demand.tooLittle, method, path, body), demand, `${method} ${path}`);
    const kept = await ask(demand.enough, "GET", "delegations/delegation:cleo-rep");
    assert.deepEqual([kept.status, ((await kept.json()) as { status: string }).status], [200, "active"]);
  });
