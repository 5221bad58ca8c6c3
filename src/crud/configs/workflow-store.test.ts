import assert from "node:assert/strict";
import { test } from "node:test";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";

const scopes = ["config.read", "config.write", "mcp.tools.discovery", "mcp.tools.invoke"];
const ada = { sub: "person:ada", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

const text = (version: string, task = "wait: PT1S", more = ""): string => `document:
  dsl: 1.0.0
  namespace: acme
  name: hello
  version: ${version}
  title: Hello
  metadata: { owner: "group:people-ops", mcp: { enabled: true } }
evaluate: { language: cel }
do:
  - first: { ${task} }
${more}`;

const client =
  (instance: CrudInstance, as: object = ada) =>
  async (method: string, path: string, raw?: string) => {
    const response = await instance.request(`/config/workflows${path}`, {
      method,
      as,
      ...(raw === undefined ? {} : { raw, headers: { "content-type": "application/yaml" } }),
    });
    // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
    return { status: response.status, body: JSON.parse(await response.text()) as any };
  };

test("a workflow is published, changed by a higher version alone, rolled back and taken away; others do not see it", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const [ask, other] = [client(instance), client(instance, eve)];
  const tried = await ask("POST", "?dryRun=true", text("1.0.0", "wiat: PT1S"));
  assert.deepEqual([tried.status, tried.body.valid, tried.body.errors[0].code, tried.body.errors[0].line], [200, false, "unknown_key", 10]);
  const bad = await ask("POST", "", text("1.0.0", "call: people.demo.gte_employee, then: last"));
  assert.deepEqual([bad.status, bad.body.code], [422, "invalid_definition"]);
  assert.equal((await ask("POST", "", text("1.0.0"))).status, 201);
  assert.deepEqual([(await ask("POST", "", text("1.0.1"))).body.code, (await other("GET", "/hello")).status], ["already_exists", 404]);
  const [row] = (await ask("GET", "")).body.workflows.filter(({ name }: { readonly name: string }) => name === "hello");
  assert.deepEqual([row.title, row.owner, row.state, row.version], ["Hello", "group:people-ops", "serving", 1]);
  assert.equal(instance.crud.catalogue.snapshot.tools.has("workflow.hello"), true);

  const put = async (version: string, task: string) => {
    const { status, body } = await ask("PUT", "/hello", text(version, task));
    return [status, body.code ?? body.version];
  };
  assert.deepEqual(await put("1.0.0", "wait: PT2S"), [409, "version_exists"]);
  assert.deepEqual(await put("0.9.0", "wait: PT2S"), [422, "version_not_higher"]);
  assert.deepEqual(await put("1.1.0", "call: people.demo.gte_employee, with: { id: e1 }"), [422, "invalid_definition"]);
  assert.deepEqual(await put("1.1.0", "call: people.demo.get_employee, with: { id: e1 }"), [200, 2]);
  const back = await instance.request("/config/workflows/hello/rollback", { method: "POST", as: ada, body: { version: 1 } });
  assert.equal(back.status, 200, await back.text());
  assert.equal((await ask("GET", "/hello")).body.document.document.version, "1.0.0");
  assert.equal((await ask("DELETE", "/hello")).status, 200);
  assert.equal((await ask("GET", "/hello")).status, 404);
});

test("the workflows of the demo serve from their files, large ones are read in a thread", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  const names = (await ask("GET", "")).body.workflows.map(({ name, state }: Record<string, string>) => [name, state]);
  assert.deepEqual(names, [
    ["grant-access", "serving"],
    ["offboard", "serving"],
  ]);
  const large = Array.from({ length: 400 }, (_none, at) => `  - t${at}: { set: { a: "\${ now + days(${at}) }" } }`).join("\n");
  const made = await ask("POST", "", text("1.0.0", "wait: PT1S", large));
  assert.equal(made.status, 201, JSON.stringify(made.body));
});
