import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Problem, problemCodes } from "./problem.ts";

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

test("a problem lists fifty issues and says how many more there are, and no place at any length", () => {
  const issues = (count: number) => Array.from({ length: count }, (_, at) => ({ path: `/m${at}`, message: "is not known here" }));
  const many = new Problem("invalid_body", { errors: issues(75_000) });
  assert.deepEqual([many.options.errors, many.options.detail], [issues(50), "74950 more issues are not listed."]);
  const said = new Problem("invalid_body", { errors: issues(51), detail: "Not this." });
  assert.deepEqual([said.options.errors?.length, said.options.detail], [50, "Not this. 1 more issues are not listed."]);
  const few = new Problem("invalid_body", { errors: issues(50) });
  assert.deepEqual([few.options.errors, few.options.detail], [issues(50), undefined]);
  const long = new Problem("invalid_body", { errors: [{ path: `/${"a".repeat(900_000)}`, message: "is wrong", code: "x" }] });
  assert.deepEqual(long.options.errors, [{ path: `/${"a".repeat(511)}…`, message: "is wrong", code: "x" }]);
});
