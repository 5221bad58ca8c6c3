import assert from "node:assert/strict";
import { test } from "node:test";
import { readToolsDocument } from "#crud/documents/tools-document.ts";
import { readSystemText } from "./read-system-text.ts";

const LONG = "k".repeat(50_000);
const systemOf = (operations: Readonly<Record<string, object>>): string =>
  JSON.stringify({
    apiVersion: "systems/v1",
    provider: "p",
    instance: "i",
    title: "T",
    owner: "person:ada",
    kind: "http",
    baseUrl: "https://p.example",
    operations,
  });
const operation = (more: object = {}) => ({
  description: "Lists what is there.",
  request: { method: "GET", path: "/" },
  dataScope: "none",
  ...more,
});
const below = { type: "object", properties: { [LONG]: { type: "object", properties: { a: { type: "text", pattern: "(" } } } } };
const shown = `${"k".repeat(200)}…`;

for (const [what, read, paths] of [
  ["an operation", () => readSystemText(systemOf({ [LONG]: operation() }), "s"), [`/operations/${shown}`]],
  ["a property", () => readSystemText(systemOf({ a: operation({ input: below }) }), "s"), [`/operations/a/input/properties/${shown}`]],
  [
    "a member beside one that is not known",
    () => readSystemText(systemOf({ a: operation({ input: below, other: 1 }) }), "s"),
    [`/operations/a/input/properties/${shown}`, "/operations/a/other"],
  ],
  [
    "a tool in the tools document",
    () => readToolsDocument(JSON.stringify({ apiVersion: "tools/v1", overrides: { [LONG]: {} } }), "t"),
    [`/overrides/${shown}`],
  ],
] as const)
  test(`a name that is too long is one issue: ${what}`, () => {
    const found = read();
    assert.ok("issues" in found);
    assert.deepEqual(
      found.issues.map(({ path }) => path),
      paths,
    );
  });

test("what is left out may have long names: the rest of the document is read", () => {
  assert.ok("value" in readSystemText(systemOf({ a: operation({ input: below }), b: operation() }), "s", ["a"]));
});

const mcp = { kind: "mcp", baseUrl: undefined, operations: undefined, transport: { type: "stdio", command: "far" } };
const names = (count: number) => Array.from({ length: count }, (_none, at) => `name_${at}`);
const networks = (count: number) => names(count).map((_name, at) => `10.0.${at}.0/24`);
const mapOf = (items: readonly string[], value: string) => Object.fromEntries(items.map((name) => [name, value]));
const withOperation = (more: object) => ({ operations: { a: operation(more) } });
const request = { method: "POST", path: "/" };

for (const [path, max, documentOf] of [
  ["/tenants", 200, (count) => ({ tenants: names(count) })],
  ["/network/allow", 100, (count) => ({ network: { allow: networks(count) } })],
  [
    "/transport/env",
    100,
    (count) => ({
      ...mcp,
      transport: {
        ...mcp.transport,
        env: mapOf(
          names(count).map((name) => name.toUpperCase()),
          "x",
        ),
      },
    }),
  ],
  ["/tools/include", 200, (count) => ({ ...mcp, tools: { include: names(count) } })],
  ["/tools/exclude", 200, (count) => ({ ...mcp, tools: { exclude: names(count) } })],
  ["/defaults/dataScope/columns", 200, (count) => ({ defaults: { dataScope: { resourceType: "r", columns: mapOf(names(count), "/a") } } })],
  ["/operations/a/bind/query", 200, (count) => withOperation({ bind: { query: mapOf(names(count), "x") } })],
  [
    "/operations/a/authz/properties",
    200,
    (count) => withOperation({ authz: { resource: "r", action: "b", properties: mapOf(names(count), "x") } }),
  ],
  [
    "/operations/a/request/body/encoding",
    200,
    (count) => withOperation({ request: { ...request, body: { encoding: Object.fromEntries(names(count).map((name) => [name, {}])) } } }),
  ],
] as [string, number, (count: number) => object][])
  test(`what a system lists has a bound: ${path}`, () => {
    const read = (count: number) =>
      readSystemText(JSON.stringify({ ...(JSON.parse(systemOf({ a: operation() })) as object), ...documentOf(count) }), "s");
    assert.ok("value" in read(max), JSON.stringify(read(max)));
    const found = read(max + 1);
    assert.ok("issues" in found);
    assert.deepEqual(
      found.issues.map((issue) => [issue.path, issue.message]),
      [[path, `must have at most ${max} ${/allow|tenants|clude/.test(path) ? "items" : "members"}`]],
    );
  });

for (const [path, max, viewOf] of [
  ["/views/0/tenants", 200, (items) => ({ tenants: items })],
  ["/views/0/filters/names", 1000, (items) => ({ filters: { names: items } })],
] as [string, number, (items: readonly string[]) => object][])
  test(`what a view lists has a bound: ${path}`, () => {
    const read = (count: number) =>
      readToolsDocument(JSON.stringify({ apiVersion: "tools/v1", views: [{ name: "v", ...viewOf(names(count)) }] }), "t");
    assert.ok("value" in read(max), JSON.stringify(read(max)));
    const found = read(max + 1);
    assert.ok("issues" in found);
    assert.deepEqual(
      found.issues.map((issue) => [issue.path, issue.message]),
      [[path, `must have at most ${max} items`]],
    );
  });

test("a number of an operation that would be sent in other digits is refused with its place", () => {
  const text = systemOf({ a: operation({ bind: { query: { version: 1.5 } } }) });
  assert.ok("value" in readSystemText(text, "s"));
  const found = readSystemText(text.replace("1.5", "1.10"), "s");
  assert.ok("issues" in found);
  assert.deepEqual(
    found.issues.map(({ message, line, column }) => [message, line, column]),
    [["would be sent as 1.1: write it so, or in quotes for the digits as they are", 1, text.indexOf("1.5") + 1]],
  );
});
