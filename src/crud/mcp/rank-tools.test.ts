import assert from "node:assert/strict";
import { test } from "node:test";
import { buildTool } from "#crud/mcp/build-tool.ts";
import type { SystemDocument } from "#crud/systems/system-document.ts";
import { buildSnapshot } from "#crud/tools/catalogue.ts";
import { rankTools } from "./rank-tools.ts";

const rules = {
  scopes: [],
  mappings: [],
  masks: [],
  timeoutMs: 1000,
  reserveMicro: 0n,
  isReadOnly: true,
  isDestructive: false,
  isRepeatable: true,
};
const tools = (
  [
    ["people.demo.list_employees", "Lists employees of your tenant, newest first.", ["hr"]],
    ["people.demo.updateSalary", "Sets what one employee earns in a year.", ["hr"]],
    ["repo.github.create_issue", "Opens an issue in a repository.", []],
    ["repo.github.list_issues", "Lists issues of a repository, newest first.", []],
    ["clock.wall.now", "Tells what time it is on the wall.", []],
  ] as const
).map(([name, description, tags]) => {
  const [provider = "", instance = ""] = name.split(".");
  const definition = { name, description, inputSchema: { type: "object" }, annotations: { tags } };
  return buildTool({ provider, instance } as SystemDocument, definition, rules, async () => ({ value: null }));
});
const snapshot = buildSnapshot({ tools, document: { apiVersion: "tools/v1", views: [], overrides: {} }, quarantined: new Set() });

for (const [query, ...names] of [
  ["salary", "people.demo.updateSalary"],
  ["create an issue", "repo.github.create_issue", "repo.github.list_issues"],
  ["list of issues", "repo.github.list_issues", "people.demo.list_employees", "repo.github.create_issue"],
  ["Employee!", "people.demo.list_employees", "people.demo.updateSalary"],
  ["time", "clock.wall.now"],
  ["HR", "people.demo.list_employees", "people.demo.updateSalary"],
  ["repository issue", "repo.github.create_issue", "repo.github.list_issues"],
  ["weather"],
  ["?"],
] as const)
  test(`what is found by ${query}, the best first`, () => {
    const found = rankTools(snapshot, [...snapshot.tools.values()], query);
    assert.deepEqual(
      found.map(({ name }) => name),
      names,
    );
  });

test("only what is given is ranked", () => {
  const given = [...snapshot.tools.values()].filter(({ name }) => name.startsWith("people."));
  assert.deepEqual(
    rankTools(snapshot, given, "list").map(({ name }) => name),
    ["people.demo.list_employees"],
  );
});
