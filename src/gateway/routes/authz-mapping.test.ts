import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "#contract/problem.ts";
import { resolveMapping } from "./authz-mapping.ts";
import { parsePattern, type RoutePattern } from "./route-pattern.ts";
import type { Mapping } from "./route-row.ts";

const pattern = parsePattern("/api/forms/{id}/*") as RoutePattern;
const captures = new Map([
  ["id", "a%20b%2Fc"],
  ["path", "x/y"],
]);
const resolve = (mapping: Omit<Mapping, "resource" | "action">, body?: unknown) =>
  resolveMapping({ resource: "forms", action: "view", ...mapping }, pattern, captures, body);

test("captures are percent-decoded once and make ids and properties", () => {
  const ask = resolve({ id_from: "{id}", props: { rest: "{path}", route: "{route}", fixed: "yes" } });
  assert.equal(ask.id, "a b/c");
  assert.deepEqual(ask.properties, { rest: "x/y", route: "/api/forms/{id}/*", fixed: "yes" });
  assert.deepEqual(ask.claimed, {});
});

test("values of the body are claims, never properties", () => {
  const ask = resolve(
    { props: { amount: "$.order.lines[1].amount", tags: "$.tags" } },
    { order: { lines: [{}, { amount: 7 }] }, tags: ["a", null] },
  );
  assert.deepEqual(ask.claimed, { amount: 7, tags: ["a", null] });
  assert.deepEqual(ask.properties, {});
});

test("an id that resolves to * is refused", () => {
  assert.throws(() => resolveMapping({ resource: "forms", action: "view", id_from: "{id}" }, pattern, new Map([["id", "*"]]), undefined), {
    code: "reserved_resource_id",
  });
});

for (const [what, body] of [
  ["is absent", {}],
  ["is inherited", Object.create({ v: 1 })],
  ["is an object", { v: {} }],
  ["is a long array", { v: Array.from({ length: 101 }, () => 1) }],
  ["is an array of objects", { v: [{}] }],
  ["is beyond what is read exactly", { v: 2 ** 53 }],
  ["has a scalar for a parent", "v"],
] as const)
  test(`a claim that ${what} is refused with its place`, () => {
    assert.throws(
      () => resolve({ props: { v: "$.v" } }, body),
      (error: Problem) => error.code === "unprocessable" && error.options.errors?.[0]?.path === "/v",
    );
  });

test("__proto__ in a body path reads only what the body holds itself", () => {
  assert.throws(() => resolve({ props: { v: "$.__proto__" } }, {}), { code: "unprocessable" });
});
