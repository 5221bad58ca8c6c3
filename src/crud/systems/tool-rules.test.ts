import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { isProblemCode } from "#contract/problem.ts";
import { httpOperation } from "./http-operation.ts";
import { toolRules } from "./tool-rules.ts";

/** Members of an operation that are no rule: its definition, what is sent, what becomes of the answer. */
const others = "title description input output request bind paginate retry response errors tests approval".split(" ");

test("every member of an operation is of a rule, of its definition or of its request", () => {
  const ofRules = Object.values(toolRules).flatMap(({ members }) => members);
  assert.deepEqual([...new Set([...ofRules, ...others])].toSorted(), Object.keys(httpOperation.shape).toSorted());
});

test("every rule of a tool is enforced by a step of the call, by its arguments' check or by a connector", () => {
  const folder = new URL("../", import.meta.url);
  const files = ["mcp/call/", "upstream/"].flatMap((below) =>
    readdirSync(new URL(below, folder), { recursive: true, encoding: "utf8" }).map((file) => `${below}${file}`),
  );
  const texts = [...files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts")), "mcp/build-tool.ts"]
    .map((file) => readFileSync(new URL(file, folder), "utf8"))
    .join("\n");
  const unenforced = Object.keys(toolRules).filter((member) => !new RegExp(`\\b${member}\\b`).test(texts));
  assert.deepEqual(unenforced, []);
});

test("rules show their changes by names of their own, and name what helps by codes of refusals", () => {
  const names = Object.values(toolRules).flatMap(({ diff }) => (diff === undefined ? [] : [diff.name]));
  assert.equal(new Set(names).size, names.length);
  const codes = Object.values(toolRules).flatMap(({ remedies }) => Object.keys(remedies));
  assert.deepEqual(
    codes.filter((code) => !isProblemCode(code)),
    [],
  );
});
