import type { Database, TransactionOptions, TransactionSql } from "#store/database.ts";

/** Ends a transaction whose work was only tried: all of it was checked, nothing is kept. */
export class DryRunOnly extends Error {
  /** What it would have come to. */
  readonly outcome: unknown;
  constructor(outcome: unknown) {
    super("tried");
    this.outcome = outcome;
  }
}

/** Of what was thrown: what it would have come to, if it was only tried. Throws anything else. */
export const outcomeOf = (error: unknown): unknown => {
  if (error instanceof DryRunOnly) return error.outcome;
  throw error;
};

/** Runs the work and rolls all of it back, whatever it wrote; in one snapshot unless said. */
export const undone = async <T>(
  database: Database,
  work: (sql: TransactionSql) => Promise<T>,
  isolation: TransactionOptions["isolation"] = "repeatable read",
): Promise<T> => {
  const trying = async (sql: TransactionSql): Promise<never> => {
    throw new DryRunOnly(await work(sql));
  };
  return (await database.transaction(trying, { isolation }).catch(outcomeOf)) as T;
};
