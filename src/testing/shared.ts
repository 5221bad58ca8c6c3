import { after } from "node:test";

/** Like a test's own `after`; but the last comes first, and all of it also where one fails. */
interface Ends {
  after(end: () => unknown): void;
  endAll(): Promise<void>;
}

const createEnds = (): Ends => {
  const stack = new AsyncDisposableStack();
  return { after: (end) => stack.defer(async () => void (await end())), endAll: () => stack.disposeAsync() };
};

const ofProcess = createEnds();
// Outside of the test runner nobody runs hooks.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) after(() => ofProcess.endAll());

/** Does this after the last test of the process, which may be another file's: hooks of a module end with the file that was first to load it. */
export const atEndOfProcess = (end: () => unknown): void => ofProcess.after(end);

/**
 * One for all tests of a file: made by the first that asks, of what that one gives, and ended after the last. Call it while they are being
 * declared.
 */
export const sharedInFile = <Given extends readonly unknown[], Made>(
  make: (t: Pick<Ends, "after">, ...given: Given) => Promise<Made>,
): ((...given: Given) => Promise<Made>) => {
  const ends = createEnds();
  after(() => ends.endAll());
  let made: Promise<Made> | undefined;
  return (...given) => (made ??= make(ends, ...given));
};
