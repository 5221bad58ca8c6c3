import assert from "node:assert/strict";
import { test } from "node:test";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";

const ada = { sub: "person:ada", scopes: ["config.read", "config.write"] };
const document = (tests: object) =>
  JSON.stringify({
    apiVersion: "systems/v1",
    provider: "staff",
    instance: "book",
    title: "Staff book",
    owner: "group:people-ops",
    tenants: ["tenant:acme"],
    kind: "http",
    baseUrl: "https://staff.example",
    auth: { type: "bearer", token: "yaml://secret/staff#token" },
    defaults: { dataScope: "none" },
    operations: {
      get_one: {
        description: "Shows one employee by id.",
        request: { method: "GET", path: "/employees/{id}" },
        input: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
        output: {
          select: "${ response.body.found }",
          schema: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
        },
        mask: [{ path: "/salary", action: "null" }],
        errors: [{ when: "${ response.status == 404 }", as: "not_found", retryable: false }],
        tests,
      },
    },
  });
const send = async (instance: CrudInstance, method: string, path: string, more: object) => {
  const response = await instance.request(path, { method, as: ada, ...more });
  return { status: response.status, body: JSON.parse(await response.text()) };
};
const publish = (instance: CrudInstance, tests: object, query = "") =>
  send(instance, "POST", `/config/systems${query}`, { raw: document(tests), headers: { "content-type": "application/json" } });

const input = { id: "e1" };
const one = { name: "one", input, mock: { body: { found: { name: "Ann", salary: 5 } } } };
const good = [
  { ...one, expect: { output: { name: "Ann", salary: null } } },
  { name: "none", input, mock: { status: 404 }, expect: { error: "not_found" } },
  { name: "away", input, mock: { status: 503, headers: { "retry-after": "9" } }, expect: { error: "upstream_error" } },
  { name: "no id", mock: {}, expect: { error: "invalid_arguments" } },
  { name: "another form", input, mock: { body: { found: { title: "Dr" } } }, expect: { error: "output_invalid" } },
];

test("tests of a document run as it is published and when somebody asks, through request, masks and schema, and nothing is sent", async (t) => {
  const instance = await crudInstance(t);
  const made = await publish(instance, good);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { body } = await send(instance, "POST", "/config/systems/staff.book/test", { body: {} });
  assert.deepEqual(
    body.tests.map(({ operation, name, passed }: { operation: string; name: string; passed: boolean }) => [operation, name, passed]),
    good.map(({ name }) => ["get_one", name, true]),
    JSON.stringify(body),
  );
  const read = instance.asked.secrets.filter(({ path }) => !path.endsWith("/keys"));
  assert.deepEqual(read, [], "publishing looks whether the secret is there, and nobody reads it");
  const asked = instance.asked.decisions.filter(({ ask }) => ask.action === "test");
  assert.deepEqual([asked.length, asked[0]?.ask.type, asked[0]?.ask.id], [1, "system", "staff.book"]);
  assert.equal((await send(instance, "POST", "/config/systems/staff.book/test", { body: { operation: "nothing" } })).status, 404);
  instance.verdicts.set("system:test", false);
  assert.equal((await send(instance, "POST", "/config/systems/staff.book/test", { body: {} })).status, 403);
});

for (const [what, expect, says] of [
  ["a value that is not hidden", { output: { name: "Ann", salary: 5 } }, /one: gives .*"salary":null/],
  ["a failure that does not come", { error: "not_found" }, /one: gives .*"name":"Ann"/],
] as const)
  test(`a document whose test expects ${what} is refused at the test's place, and a dry run says so`, async (t) => {
    const instance = await crudInstance(t);
    for (const query of ["", "?dryRun=true"]) {
      const { status, body } = await publish(instance, [good[1], { ...one, expect }], query);
      assert.deepEqual([status, body.valid], query === "" ? [422, undefined] : [200, false]);
      assert.deepEqual([body.errors[0].code, body.errors[0].path], ["tests_failed", "/operations/get_one/tests/1"]);
      assert.match(body.errors[0].message, says);
    }
    assert.equal(instance.crud.catalogue.snapshot.tools.has("staff.book.get_one"), false);
  });
