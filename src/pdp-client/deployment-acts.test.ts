import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { deploymentActs } from "./deployment-acts.ts";
import { pairs } from "./pairs.ts";

const textOf = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), "utf8");

test("the list of the deployment's acts, the policies' schema and the page of documents name the same pairs", async () => {
  const listed = deploymentActs.map(({ type, action }) => `${type}:${action}`).toSorted();
  const schema = await textOf("../pdp/policies/schema.cedarschema");
  const [, group = ""] = /action\n((?: {2}"[^"]+",?\n)+)in \[Action::"deployment_act"/.exec(schema) ?? [];
  assert.deepEqual([...group.matchAll(/"([^"]+)"/g)].map(([, name]) => name).toSorted(), listed);
  const rows = [...(await textOf("../../docs/explanation/policies.md")).matchAll(/^\| `([a-z.]+)\/([a-z_]+)` \| (.+) \|$/gm)];
  const shown = rows.map(([, type, action, what]) => ({ type, action, what }));
  assert.deepEqual(shown, [...deploymentActs]);
  for (const key of listed) assert.ok(pairs.find((pair) => pair.key === key)?.of === "all", key);
  for (const { type, key } of pairs) assert.ok(type !== "deployment" || listed.includes(key), `${key} is no act of the list`);
});
