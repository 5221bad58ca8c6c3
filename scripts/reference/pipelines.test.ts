import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pipelines } from "./pipelines.ts";

const source = (file: string): string => readFileSync(join(import.meta.dirname, "../../src", file), "utf8");

for (const { title, sources, steps } of pipelines)
  test(`${title}: the code of the pipeline calls each step, and each file has what it is named for`, () => {
    const code = sources.map(source).join("\n");
    for (const [name, { call, file }] of Object.entries(steps)) {
      assert.match(code, new RegExp(`\\b${call}\\b`), `${name}: ${call}`);
      assert.notEqual(source(file), "", file);
    }
  });
