import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { drawDemoMatrix, matrixFile } from "#testing/decision-matrix.ts";

test("matrix.txt is what the policies decide in the demo world (else: npm run matrix, and review the difference)", async (t) => {
  assert.equal(await drawDemoMatrix(t), await readFile(matrixFile, "utf8"));
});
