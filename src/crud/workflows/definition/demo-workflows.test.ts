import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import type * as Sdk from "@serverlessworkflow/sdk";
import fc from "fast-check";
import { expressionsOf } from "./expressions.ts";
import { eachStep } from "./each-step.ts";
import { readWorkflow } from "./read-workflow.ts";

const { Classes } = createRequire(import.meta.url)("@serverlessworkflow/sdk") as typeof Sdk;
const folder = join(import.meta.dirname, "../../../../config/demo/workflows");
const files = globSync("*.yaml", { cwd: folder });
const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));

for (const [file, text] of texts)
  test(`${file} of the demo is valid, by the standard's SDK too`, () => {
    const read = readWorkflow(text, file);
    assert.ok("value" in read, JSON.stringify("issues" in read ? read.issues : []));
    assert.equal(`${read.value.name}.yaml`, file);
    Classes.Workflow.deserialize(text).validate();
  });

test("both workflows of the demo are there", () => {
  assert.deepEqual(files.toSorted(), ["grant-access.yaml", "offboard.yaml"]);
});

test("the reader never throws, whatever was cut out of a document, and what it accepts evaluates or names its place", () => {
  const [text = ""] = [...texts.values()];
  const lines = text.split("\n");
  fc.assert(
    fc.property(
      fc.array(fc.record({ at: fc.nat(lines.length - 1), of: fc.nat(lines.length - 1), how: fc.constantFrom("drop", "swap", "cut") }), {
        minLength: 1,
        maxLength: 3,
      }),
      (edits) => {
        const made = [...lines];
        for (const { at, of, how } of edits) {
          if (how === "drop") made[at] = "";
          else if (how === "swap") [made[at], made[of]] = [made[of] ?? "", made[at] ?? ""];
          else made[at] = (made[at] ?? "").slice(0, of);
        }
        const read = readWorkflow(made.join("\n"), "w.yaml");
        if ("issues" in read) {
          assert.ok(read.issues.length > 0 && read.issues.length <= 50);
          assert.ok(read.issues.every(({ line, column, code }) => (line ?? 0) > 0 && (column ?? 0) > 0 && code !== undefined));
          return;
        }
        Classes.Workflow.deserialize(made.join("\n")).validate();
        const { evaluate } = expressionsOf(read.value);
        for (const { step } of eachStep(read.value.steps)) {
          if (step.kind !== "call") continue;
          try {
            evaluate(step.with, { input: {}, context: null, steps: {}, run: {}, caller: {}, now: new Date(0) });
          } catch (error) {
            assert.match(String(error), /^ExpressionError: (w\.yaml:\d+:\d+: |Unknown variable)/);
          }
        }
      },
    ),
    { numRuns: 150, seed: 32 },
  );
});
