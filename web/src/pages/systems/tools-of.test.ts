import assert from "node:assert/strict";
import { test } from "node:test";
import { toolsOf } from "./tools-of.ts";

test("a system has the tools that one may call and those that its document names, each once", () => {
  const listed = ["pets.store.add", "pets.storeroom.add"].map((name) => ({
    name,
    description: "d",
    inputSchema: {},
    source: "system" as const,
  }));
  const document = {
    operations: { add: { description: "x" }, find: { description: "Finds.", input: { properties: { id: {} } } }, odd: 1 },
  };
  assert.deepEqual(
    toolsOf({ name: "pets.store", document }, listed).map(({ tool, isListed }) => [tool.name, isListed, tool.inputSchema]),
    [
      ["pets.store.add", true, {}],
      ["pets.store.find", false, { type: "object", properties: { id: {} } }],
      ["pets.store.odd", false, { type: "object" }],
    ],
  );
  assert.deepEqual(toolsOf({ name: "pets.store", document: null }, []), []);
});
