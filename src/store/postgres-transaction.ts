import { statement, type SqlValue, type Statement, type Transaction } from "./database.ts";
import type { Pipeline, Step } from "./postgres-pipeline.ts";
import { rolledBack, transactionOver } from "./transaction.ts";
import { decodeRows, encodeValue } from "./values.ts";

/** A flight that ended, and why if it failed. */
export interface Flown {
  readonly pipeline: Pipeline;
  readonly failure?: unknown;
}

export interface PostgresTransaction {
  readonly sql: Transaction;
  /** Sends what was posted, then commits. Throws what the server says against either. */
  commit(): Promise<void>;
  /** Undoes what was begun, if anything was. */
  rollback(): Promise<void>;
}

/**
 * One transaction on one connection, in as few round trips as its work allows: `begin` goes with the first statement, and
 * what is posted with the next one. The commit goes alone, when all before it is known to be done: whoever hears of a fault
 * before knows that nothing was kept.
 */
export const createPostgresTransaction = (parts: {
  readonly begin: string;
  /** Never rejects. */
  readonly fly: (steps: readonly Step[]) => Promise<Flown>;
  readonly script: (text: string) => Promise<unknown>;
  /** Resolves to what the server made of it. */
  readonly end: (word: "commit" | "rollback") => Promise<string>;
}): PostgresTransaction => {
  const opening: Step = { statement: statement(`store.${parts.begin}`, parts.begin), values: [] };
  let held: Step[] = [opening];
  let isOpen = false;
  let isOver = false;
  let last: Promise<unknown> = Promise.resolve();
  /** One after the other, also where the work does not wait. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  const requireOpen = (): void => {
    // After a `begin` that failed each would be committed by itself.
    if (!isOpen) throw rolledBack();
  };
  const requireRunning = (): void => {
    if (isOver) throw transactionOver();
  };
  const sendAll = async (steps: readonly Step[]): Promise<Pipeline> => {
    if (steps[0] !== opening) requireOpen();
    const sent = await parts.fly(steps);
    isOpen ||= sent.pipeline.done > 0;
    if ("failure" in sent) throw sent.failure;
    return sent.pipeline;
  };
  const takeHeld = (): readonly Step[] => {
    const steps = held;
    held = [];
    return steps;
  };

  return {
    sql: {
      run: async <Row>(wanted: Statement<Row>, values: readonly SqlValue[] = []) => {
        requireRunning();
        const step = { statement: wanted, values: values.map(encodeValue) };
        const steps = [...takeHeld(), step];
        const { columns, rows } = await inTurn(() => sendAll(steps));
        return decodeRows<Row>(columns, rows);
      },
      post: (wanted, values = []) => {
        requireRunning();
        held.push({ statement: wanted, values: values.map(encodeValue) });
      },
      script: async (text) => {
        requireRunning();
        const steps = takeHeld();
        await inTurn(async () => {
          if (steps.length > 0) await sendAll(steps);
          requireOpen();
          await parts.script(text);
        });
      },
    },
    commit: async () => {
      isOver = true;
      const steps = takeHeld();
      // Nothing was asked: nothing was begun.
      if (steps.length === 1 && steps[0] === opening) return;
      await inTurn(async () => {
        if (steps.length > 0) await sendAll(steps);
        requireOpen();
        if ((await parts.end("commit")) === "ROLLBACK") throw rolledBack();
      });
    },
    rollback: async () => {
      isOver = true;
      await inTurn(async () => {
        if (isOpen) await parts.end("rollback");
      });
    },
  };
};
