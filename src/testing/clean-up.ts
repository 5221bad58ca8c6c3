import type { TestContext } from "node:test";

const stacks = new WeakMap<object, (() => unknown)[]>();

/**
 * Closes things when the test ends, the last opened first: `t.after` itself runs in the order of registration, which
 * would close a database before what works on it.
 */
export const cleanUp = (t: Pick<TestContext, "after">, close: () => unknown): void => {
  const known = stacks.get(t);
  if (known !== undefined) {
    known.push(close);
    return;
  }
  const stack = [close];
  stacks.set(t, stack);
  t.after(async () => {
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) await next();
  });
};
