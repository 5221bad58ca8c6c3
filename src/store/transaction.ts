import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { isStalePlan, SqlError } from "./sql-error.ts";
import type { TransactionOptions } from "./database.ts";

const MAX_RETRIES = 3;

/** Serialization failure and deadlock: the same work may well succeed when tried again. */
const isRetriable = (error: unknown): boolean => error instanceof SqlError && (error.code === "40001" || error.code === "40P01");

/** Tries work again, up to 3 times, with growing jitter, when the database asked for it. */
export const withRetries = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === MAX_RETRIES || !isRetriable(error)) throw error;
      await sleep(Math.random() * 10 * 2 ** attempt);
    }
  }
};

/** Runs one statement again when its plan was stale; only outside a transaction, which the fault has already lost. */
export const withFreshPlan = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!isStalePlan(error)) throw error;
    return work();
  }
};

export const beginText = (options: TransactionOptions = {}): string =>
  `begin isolation level ${options.isolation ?? "read committed"} ${options.readOnly === true ? "read only" : "read write"}`;

/** A transaction whose commit did not commit: a statement in it failed and its fault was swallowed. */
export const rolledBack = (): SqlError =>
  new SqlError({ code: "25P02", message: "the transaction was rolled back: a statement in it had failed" });

/** Of work that goes on after its transaction was committed or rolled back. */
export const transactionOver = (): Error => new Error("the transaction has ended");

/**
 * Inside a transaction only its own `sql` may be used: on the embedded database anything else would wait for the
 * transaction and the transaction for it. So it fails at once, and on both adapters alike.
 */
export const createNestingGuard = () => {
  const inside = new AsyncLocalStorage<{ open: boolean }>();
  return {
    run: async <T>(work: () => Promise<T>): Promise<T> => {
      const state = { open: true };
      try {
        return await inside.run(state, work);
      } finally {
        state.open = false;
      }
    },
    /** Throws when called from inside a transaction of this database. */
    check: (what: string): void => {
      if (inside.getStore()?.open === true) throw new Error(`${what}: inside a transaction use its own sql, not the database`);
    },
  };
};
