import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { configKinds } from "./configs.ts";
import type { Endpoint } from "./endpoint.ts";
import { endpointTable } from "./endpoints.ts";

const folder = new URL("./", import.meta.url);

test("every endpoint that a file of the contract declares stands in the table", () => {
  const declared = readdirSync(folder)
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== "endpoint.ts")
    .flatMap((file) =>
      [...readFileSync(new URL(file, folder), "utf8").matchAll(/^export const (\w+) = endpoint\(/gm)].map(
        ([, name]) => `${file.slice(0, -3)}.${name}`,
      ),
    );
  assert.ok(declared.length > 40);
  const ofKinds: readonly Endpoint[] = Object.values(configKinds).flatMap(({ endpoints, ...row }) => [
    ...Object.values<Endpoint>(endpoints),
    ...Object.values<Endpoint>(("servedEndpoints" in row ? row.servedEndpoints : undefined) ?? {}),
  ]);
  const named = endpointTable.filter(({ endpoint }) => !ofKinds.includes(endpoint));
  assert.deepEqual(named.map((row) => `${row.topic}.${row.name}`).toSorted(), declared.toSorted());
  assert.equal(ofKinds.length + named.length, endpointTable.length, "each endpoint of a kind of configuration object");
});

test("names are unique, and no service serves one method and path twice", () => {
  const names = endpointTable.map((row) => row.name);
  assert.equal(new Set(names).size, names.length);
  const places = endpointTable.map(({ endpoint }) => `${endpoint.service} ${endpoint.method} ${endpoint.path.replace(/\{[^}]+\}/g, "{}")}`);
  assert.deepEqual(
    places.filter((place, at) => places.indexOf(place) !== at),
    [],
  );
});

test("every endpoint says who may call it, and parameters in its path are those it declares", () => {
  for (const { name, endpoint } of endpointTable) {
    assert.ok(["none", "bearer", "session", "session+bearer"].includes(endpoint.auth), name);
    const inPath = [...endpoint.path.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => parameter);
    const shape = (endpoint.params as { shape?: object } | undefined)?.shape ?? {};
    assert.deepEqual(Object.keys(shape), inPath, name);
    assert.match(endpoint.summary, /\.$/, name);
  }
});

test("every endpoint that takes a token says what an agent's gets; acts are the person's alone", () => {
  for (const { name, endpoint } of endpointTable) {
    const takesToken = endpoint.auth === "bearer" || endpoint.auth === "session+bearer";
    assert.equal(endpoint.agents !== undefined, takesToken, `${name} says nothing about agents`);
    if (endpoint.agents === "own") assert.equal(endpoint.method, "GET", `${name}: an act is nobody's part`);
  }
});
