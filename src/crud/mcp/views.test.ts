import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyToolsDocument } from "#crud/documents/tools-document.ts";
import { buildViews, type NamedSystem } from "./views.ts";

const globex = ["tenant:globex"];
const both = ["tenant:acme", "tenant:globex"];
const system = (provider: string, instance: string, tenants?: readonly string[]): NamedSystem => ({
  provider,
  instance,
  ...(tenants === undefined ? {} : { tenants }),
});

for (const [what, systems, name, tenants] of [
  ["a provider of one tenant", [system("people", "demo"), system("people-demo", "x", globex)], "people-demo", []],
  ["a provider of fewer tenants", [system("people", "demo", both), system("people-demo", "x", globex)], "people-demo", both],
  ["an instance that is named alike", [system("crm", "eu-main"), system("crm-eu", "main", globex)], "crm-eu-main", []],
  ["an instance that comes first", [system("crm-eu", "main", globex), system("crm", "eu-main")], "crm-eu-main", []],
  ["a provider for all", [system("people", "demo", both), system("people-demo", "x")], "people-demo", []],
] as const)
  test(`a view that others see is not taken from them: ${what}`, () => {
    assert.deepEqual(buildViews([], emptyToolsDocument, systems).get(name)?.tenants, tenants);
  });
