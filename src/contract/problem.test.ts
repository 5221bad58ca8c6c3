import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { problemCodes } from "./problem.ts";

const root = join(import.meta.dirname, "..");

/** The program without its tests, and without the table itself. */
const sources = globSync("**/*.{ts,sql}", { cwd: root })
  .filter((file) => !/\.test\.ts$|\.contract\.ts$|^testing\/|^contract\/problem\.ts$/.test(file))
  .map((file) => readFileSync(join(root, file), "utf8"))
  .join("\n");

test("each code of the list is one that the program says: clients are promised no answer that never comes", () => {
  const said = new Set(sources.match(/(?<=["'`])[a-z][a-z0-9_]+(?=["'`])/g));
  assert.deepEqual(
    Object.keys(problemCodes).filter((code) => !said.has(code)),
    [],
  );
});
