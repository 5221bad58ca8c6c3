import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionRecord } from "#contract/decisions.ts";
import { testAudiences } from "#testing/identity.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { readJson } from "#testing/rollout.ts";
import { createPdpClient } from "#pdp-client/pdp-client.ts";

const LIST = "people.demo.list_employees";
const [inner, outer] = ["agent:hr-assistant", "agent:reporter"];

test("of agents that act one for another every hop counts: the token's whole chain is decided, not its last agent", async (t) => {
  const world = await pdpWorld(t);
  const pdpClient = createPdpClient({
    pdp: world.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: world.identity.identityOf("crud"),
    publicOrigin: "http://localhost:8080",
    now: () => world.clock.now,
    timeoutMs: 10_000,
  });
  const verify = world.identity.verifierFor(testAudiences.crud);
  /** As crud reads the token of this chain, outermost first, and asks. */
  const ask = async (chain: readonly string[], tool = LIST) => {
    const now = Math.floor(world.clock.now.getTime() / 1000);
    const act = chain
      .toReversed()
      .reduce<object | undefined>((held, sub) => ({ sub, ...(held === undefined ? {} : { act: held }) }), undefined);
    const claims = {
      iss: world.identity.issuer,
      aud: testAudiences.crud,
      sub: "person:ben",
      tenant: "tenant:acme",
      scope: "mcp.tools.invoke",
      client_id: chain[0],
      iat: now,
      exp: now + 300,
      act,
    };
    const token = await world.identity.sign({ ...claims, jti: crypto.randomUUID() }, { typ: "at+jwt", kid: "test" });
    const caller = await verify(new Request(testAudiences.crud, { headers: { authorization: `Bearer ${token}` } }));
    return pdpClient.decide(
      caller,
      { type: "tool", action: "tools/call", id: tool, properties: { cost_usd: 0.001 }, meets: ["data_scope"] },
      "c",
    );
  };
  const said = async (chain: readonly string[], tool?: string) => {
    const { decision, reason } = await ask(chain, tool);
    return reason ?? decision;
  };

  assert.equal(await said([inner]), true);
  assert.equal(await said([outer, inner]), "delegation_required", "nobody lent the one agent to the other");
  // Ben lends to the outer agent too: that is for its own token, not for one that says it acts for another agent.
  await world.world.sql(`update membership.delegation set delegator_id = 'person:ben' where id = 'delegation:cleo-rep'`);
  assert.equal(await said([outer]), true);
  assert.equal(await said([outer, inner]), "delegation_required");

  await world.world.sql(
    `update membership.delegation set delegator_id = '${inner}', parent_id = 'delegation:ben-hr',
       path = array['delegation:ben-hr', 'delegation:cleo-rep'] where id = 'delegation:cleo-rep'`,
  );
  const permitted = await ask([outer, inner]);
  assert.equal(permitted.decision, true);
  const path = `/access/v1/decisions/${permitted.decisionId}`;
  const record = await readJson<DecisionRecord>(await world.ask(path, await world.personToken("ada")));
  assert.equal(record.agent?.id, outer, "the record names who acted at last");
  assert.equal(await said([outer, inner], "people.demo.get_employee"), "capability_missing", "only one of the two hops has it");
  assert.equal(await said([inner, outer]), "delegation_required", "nor the other way round");
  assert.equal(await said([outer]), "delegation_inactive", "the person lent nothing to the outer agent");
  assert.equal(await said([outer, "service:crud", inner]), true, "a service that passed it on is no agent");

  await world.world.sql(`update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'`);
  assert.equal(await said([outer, inner]), "delegation_inactive", "the first hop's end ends the second");

  const many = Array.from({ length: 8 }, (_one, index) => `agent:a${index}`);
  assert.equal(await said(many), "delegation_required", "as many as a token may name are decided");
  await assert.rejects(ask([...many, "agent:a8"]), /chain of actors|invalid_token/i);
});
