import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { readInstanceSettings } from "#app/model/settings.ts";
import { ceilingOf } from "#crud/config.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance } from "#testing/crud-instance.ts";

const system = (instance: string, more: string): string => `apiVersion: systems/v1
provider: staff
instance: ${instance}
title: Staff book
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "https://staff.example"
${more}
defaults: { dataScope: none }
operations:
  get_one:
    description: Shows one of them.
    request: { method: GET, path: "/one" }
`;
const ada = { sub: "person:ada", scopes: ["config.read", "config.write"] };

test("a system that allows itself more than the operator's networks is refused as it is published, and degraded alone as it is loaded", async (t) => {
  const configFolder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(configFolder, { recursive: true, force: true }));
  await cp(fileURLToPath(new URL("../../../config/", import.meta.url)), configFolder, { recursive: true });
  const wide = system("wide", "network: { allow: [10.1.2.0/24, 10.0.0.0/8] }");
  await writeFile(join(configFolder, "systems/staff.wide.yaml"), wide);
  const instance = await crudInstance(t, {
    configFolder,
    servers: "away",
    settings: { TOOLS_NETWORK_CEILING: "10.1.0.0/16,127.0.0.1/32,::1/128" },
  });
  const ask = async (method: string, path: string, raw?: string) => {
    const headers = { "content-type": "application/yaml" };
    const response = await instance.request(path, { as: ada, method, headers, ...(raw === undefined ? {} : { raw }) });
    // oxlint-disable-next-line typescript/no-explicit-any -- bodies of many shapes
    return { status: response.status, body: (await response.json()) as any };
  };
  const states = (await ask("GET", "/config/systems")).body.systems as readonly { readonly name: string; readonly state: string }[];
  assert.deepEqual(
    states.map(({ name, state }) => `${name} ${state}`),
    ["memory.demo serving", "people.demo serving", "sallyport.local serving", "staff.wide degraded"],
  );
  const [loaded] = (await ask("GET", "/config/systems/staff.wide")).body.degraded.errors;
  const said = /is more than the operator lets systems dial: TOOLS_NETWORK_CEILING is 10\.1\.0\.0\/16, 127\.0\.0\.1\/32, ::1\/128/;
  assert.deepEqual([loaded.path, loaded.line, loaded.column], ["/network/allow/1", 9, 33]);
  assert.match(loaded.message, said);

  for (const [name, more, path] of [
    ["a wider network", "network: { allow: [10.0.0.0/8] }", "/network/allow/0"],
    ["another network", "network: { allow: [192.168.1.0/24] }", "/network/allow/0"],
    ["the second of two", "network: { allow: [10.1.9.9/32, 127.0.0.0/8] }", "/network/allow/1"],
    ["in the clothes of IPv6", 'network: { allow: ["::ffff:10.1.0.0/112"] }', "/network/allow/0"],
    ["another address of IPv6", 'network: { allow: ["::2/128"] }', "/network/allow/0"],
  ] as const)
    for (const way of ["POST", "dry run"] as const) {
      const { status, body } = await ask("POST", `/config/systems${way === "POST" ? "" : "?dryRun=true"}`, system("book", more));
      assert.equal(status, way === "POST" ? 422 : 200, name);
      assert.deepEqual([body.errors[0].path, body.errors[0].line], [path, 9], name);
      assert.match(body.errors[0].message, said, name);
    }
  assert.equal((await ask("POST", "/config/systems", system("book", "network: { allow: [10.1.2.0/24] }"))).status, 201);
  const imported = await ask("POST", "/config/imports/openapi?provider=a&instance=b&url=https%3A%2F%2F10.2.0.1%2Fx&allow=10.2.0.0%2F16");
  assert.deepEqual([imported.status, imported.body.errors[0].path], [422, "/allow"]);
  assert.match(imported.body.errors[0].message, said);
});

test("without a word of the operator systems dial loopback in dev and test, and nothing that is not public in production", () => {
  const of = (environment: "dev" | "test" | "production", networkCeiling?: readonly string[]) =>
    ceilingOf({ networkCeiling }, environment).networks.map(({ address, bits }) => `${address}/${bits}`);
  assert.deepEqual(of("production"), []);
  for (const kind of ["dev", "test"] as const) assert.deepEqual(of(kind), ["127.0.0.0/8", "::1/128"]);
  assert.deepEqual(of("dev", []), []);
  assert.deepEqual(of("production", ["10.1.0.0/16"]), ["10.1.0.0/16"]);
  for (const wrong of ["10.1.0.0", "10.0.0.0/33", "internal", "10.1.0.0/16;10.2.0.0/16"])
    assert.ok(
      readInstanceSettings({ ENVIRONMENT: "test", TOOLS_NETWORK_CEILING: wrong }).issues.some(
        ({ path }) => path === "TOOLS_NETWORK_CEILING",
      ),
      wrong,
    );
});
