import { after } from "node:test";

/** Like a test's own `after`. */
interface Ends {
  after(end: () => unknown): void;
}

/** Undone in the opposite order of its doing. */
const endAll = async (ends: readonly (() => unknown)[]): Promise<void> => {
  for (const end of ends.toReversed()) await end();
};

const ofProcess: (() => unknown)[] = [];
// Outside of the test runner nobody runs hooks.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) after(() => endAll(ofProcess));

/** Does this after the last test of the process, which may be another file's: hooks of a module end with the file that was first to load it. */
export const atEndOfProcess = (end: () => unknown): void => void ofProcess.push(end);

/** One for all tests of a file: made by the first that asks, ended after the last. Call it while they are being declared. */
export const sharedInFile = <Made>(make: (t: Ends) => Promise<Made>): (() => Promise<Made>) => {
  const ends: (() => unknown)[] = [];
  after(() => endAll(ends));
  let made: Promise<Made> | undefined;
  return () => (made ??= make({ after: (end) => void ends.push(end) }));
};
