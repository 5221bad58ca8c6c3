import assert from "node:assert/strict";
import { atEndOfProcess } from "#testing/shared.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

let instance: Promise<TestInstance> | undefined;
atEndOfProcess(async () => {
  if (instance !== undefined) assert.equal(await (await instance).stop(), 0);
});

/**
 * One instance of the demo for all files of a process that ask for it. They ask, or are refused: whatever they do is nothing to the others.
 * Files that import this share a process (`scripts/tests/batches.ts`).
 */
export const sharedInstance = (): Promise<TestInstance> => (instance ??= startTestInstance());
