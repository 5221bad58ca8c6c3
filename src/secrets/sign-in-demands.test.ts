import assert from "node:assert/strict";
import { test } from "node:test";
import { testSecrets } from "#testing/secrets.ts";
import { assertAsksFor, signInDemands, type DemandedSignIn } from "#testing/sign-in-demands.ts";

const scopes = ["secrets.read", "secrets.write", "secrets.delete", "secrets.rotate"];

for (const demand of signInDemands)
  test(`secrets keep sign-ins apart: ${demand.what}`, async (t) => {
    const at = await testSecrets(t);
    at.rule = () => ({ decision: true, obligations: [demand.obligation] });
    const by = ({ acr, age }: DemandedSignIn) => ({
      sub: "person:ada",
      tenant: "tenant:acme",
      scopes,
      acr,
      authTime: Math.floor(at.clock / 1000) - age,
    });
    const uri = encodeURIComponent("yaml://secret/people/demo#api_key");
    const value = (who: DemandedSignIn) => at.send(by(who), "GET", `/api/secrets/value?uri=${uri}`);
    await assertAsksFor(await value(demand.tooLittle), demand, "a value");
    const written = { body: { uri: "yaml://secret/a#k", value: 1 } };
    await assertAsksFor(await at.send(by(demand.tooLittle), "POST", "/api/secrets", written), demand, "a new value");
    assert.deepEqual(at.touched, []);
    assert.equal((await value(demand.enough)).status, 404, "permitted, and not there");
    at.rule = () => ({ decision: false, reason: "step_up_required", obligations: [demand.obligation] });
    await assertAsksFor(await value(demand.enough), demand, "a denial says what would do");
  });
