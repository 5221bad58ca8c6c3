import assert from "node:assert/strict";
import { atEndOfProcess } from "#testing/shared.ts";
import { startTestHouse, type TestHouse } from "./test-house.ts";

let house: Promise<TestHouse> | undefined;
atEndOfProcess(async () => {
  if (house !== undefined) assert.equal(await (await house).stop(), 0);
});

/**
 * One house of the demo for all files of a process that ask for it. They ask, or are refused: whatever they do is nothing to the others.
 * Files that import this share a process (`scripts/tests/batches.ts`).
 */
export const sharedHouse = (): Promise<TestHouse> => (house ??= startTestHouse());
