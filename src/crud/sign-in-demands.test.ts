import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance } from "#testing/crud-instance.ts";
import { assertAsksFor, signInDemands, type DemandedSignIn } from "#testing/sign-in-demands.ts";

const scope = {
  id: "data-scope",
  type: "custom",
  properties: { kind: "data_scope", row_filter_sql: "tenant_id IN ('tenant:acme')", column_mask: {} },
};

for (const demand of signInDemands)
  test(`the tool server keeps sign-ins apart in each of its forms: ${demand.what}`, async (t) => {
    const instance = await crudInstance(t);
    const { acrValue, maxAge } = demand;
    const by = ({ acr, age }: DemandedSignIn) => ({ acr, authTime: Math.floor(Date.now() / 1000) - age });
    const wanted = { level: acrValue, max_age_s: maxAge, url: `http://localhost:8080/auth/login?acr_values=${acrValue}&max_age=${maxAge}` };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } };
    const standard = async (who: DemandedSignIn, body: object) =>
      instance.request("/mcp", { body, as: by(who), headers: { accept: "application/json, text/event-stream" } });

    // The call itself, and one of the tool's own mappings.
    for (const pair of ["tool:tools/call", "employee:list"]) {
      instance.verdicts.clear();
      instance.verdicts.set("tool:tools/call", { obligations: [scope] });
      instance.verdicts.set(pair, { obligations: [scope, demand.obligation] });
      const refused = await instance.rpc(call, { as: by(demand.tooLittle) });
      assert.deepEqual([refused.body.error?.code, refused.body.error?.data.code], [-32001, "step_up_required"], pair);
      assert.deepEqual(refused.body.error?.data.step_up, wanted, pair);
      const result = await (await standard(demand.tooLittle, call)).text();
      assert.ok(result.includes(`Sign in again (${acrValue}, at most ${maxAge} s ago) at ${wanted.url}`), result);
      assert.equal(instance.people.requests, 0);
    }
    const done = await instance.rpc(call, { as: by(demand.enough) });
    assert.equal(done.body.error, undefined, JSON.stringify(done.body));

    instance.verdicts.clear();
    for (const pair of ["streams:config", "mcp_server:tools/list", "mcp_server:initialize"])
      instance.verdicts.set(pair, { obligations: [demand.obligation] });
    await assertAsksFor(await instance.request("/events/config", { as: by(demand.tooLittle) }), demand, "a stream");
    const list = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: by(demand.tooLittle) });
    assert.deepEqual([list.body.error?.data.code, list.body.error?.data.step_up], ["step_up_required", wanted]);
    assert.equal((await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: by(demand.enough) })).body.error, undefined);
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    await assertAsksFor(await standard(demand.tooLittle, initialize), demand, "entering");
    assert.equal((await standard(demand.enough, initialize)).status, 200);
  });

test("what a tool's file asks for and what a policy obliges to are asked for together", async (t) => {
  const instance = await crudInstance(t);
  const strict = { id: "mfa", type: "step-up", properties: { acr_value: "phishing_resistant", max_age_seconds: 60 } };
  instance.verdicts.set("tool:tools/call", { obligations: [scope, strict] });
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "people.demo.update_salary", arguments: { id: "e1", salary: 90000 } },
  };
  const { body } = await instance.rpc(call, { as: { acr: "strong", authTime: Math.floor(Date.now() / 1000) } });
  assert.deepEqual(body.error?.data.step_up, {
    level: "phishing_resistant",
    max_age_s: 60,
    url: "http://localhost:8080/auth/login?acr_values=phishing_resistant&max_age=60",
  });
});

test("a denial for want of a sign-in asks for the tool's own too, and a denied mapping for the policies' alone", async (t) => {
  const configFolder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(configFolder, { recursive: true, force: true }));
  await cp(fileURLToPath(new URL("../../config/", import.meta.url)), configFolder, { recursive: true });
  const file = join(configFolder, "demo/systems/people.demo.yaml");
  const shipped = await readFile(file, "utf8");
  const strict = shipped.replace("stepUp: { level: strong, maxAge: PT5M }", "stepUp: { level: phishing_resistant, maxAge: PT1M }");
  assert.notEqual(strict, shipped);
  await writeFile(file, strict);
  const instance = await crudInstance(t, { configFolder });
  const params = { name: "people.demo.update_salary", arguments: { id: "e1", salary: 90000 } };
  for (const [denied, level, maxAge] of [
    ["tool:tools/call", "phishing_resistant", 60],
    ["employee:update_salary", "strong", 300],
  ] as const) {
    instance.verdicts.clear();
    instance.verdicts.set(denied, "step_up_required");
    const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    assert.deepEqual(
      body.error?.data.step_up,
      { level, max_age_s: maxAge, url: `http://localhost:8080/auth/login?acr_values=${level}&max_age=${maxAge}` },
      denied,
    );
  }
});
