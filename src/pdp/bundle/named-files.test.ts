import assert from "node:assert/strict";
import { test } from "node:test";
import { policyFolder } from "#testing/decision-matrix.ts";
import { inspectBundle } from "./bundle.ts";
import { readPolicyFolder } from "./policy-files.ts";

const files = await readPolicyFolder(policyFolder);
const row = "approvers: resource_owner, ttl_minutes: 1, valid_minutes: 1, single_use: true";
const bomb = ["- &a0 [1]", ...Array.from({ length: 12 }, (_none, n) => `- &a${n + 1} [${`*a${n},`.repeat(10)}]`)].join("\n");

const aliases: readonly (readonly [file: string, text: string, line: number, says: RegExp])[] = [
  ["templates.yaml", `one: &a { ${row} }\ntwo: *a`, 2, /alias/],
  ["templates.yaml", `one: { ${row} }\n\ntwo:\n  <<: *one\n`, 4, /alias/i],
  [
    "obligations.yaml",
    `${files["obligations.yaml"]}\n# more\nx: &x { type: custom }\ny: *x\n`,
    (files["obligations.yaml"] ?? "").split("\n").length + 3,
    /alias/,
  ],
  ["advice.yaml", "one: &a { text: One. }\ntwo: *a", 2, /alias/],
  ["cases/bomb.yaml", bomb, 2, /alias/i],
];
for (const [file, text, line, says] of aliases)
  test(`aliases in ${file} are a finding with its line, whatever they lead to: ${text.slice(-12).trim()}`, () => {
    const { errors } = inspectBundle({ ...files, [file]: text }).findings;
    assert.ok(
      errors.some((issue) => issue.file === `policies/${file}` && issue.line === line && says.test(issue.message)),
      JSON.stringify(errors),
    );
  });
