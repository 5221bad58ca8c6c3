import { Problem } from "#contract/problem.ts";

/** What the database said of a statement: SQLSTATE and what it names. Its detail is left out, for it may quote values. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  /** SQLSTATE, e.g. `23505`. */
  readonly code: string;
  readonly constraint: string | undefined;
  readonly table: string | undefined;
  /** Name of the statement that failed. */
  readonly statement: string | undefined;

  constructor(failure: { code: string; message: string; constraint?: string | undefined; table?: string | undefined }, statement?: string) {
    super(statement === undefined ? failure.message : `${statement}: ${failure.message}`);
    this.code = failure.code;
    this.constraint = failure.constraint;
    this.table = failure.table;
    this.statement = statement;
  }
}

/** True for a fault with this SQLSTATE and, if given, of this constraint. */
export const isSqlError = (error: unknown, code: string, constraint?: string): error is SqlError =>
  error instanceof SqlError && error.code === code && (constraint === undefined || error.constraint === constraint);

export const storeUnavailable = (cause: unknown): Problem => new Problem("store_unavailable", { cause, headers: { "retry-after": "5" } });

/** Classes that say "the database cannot work now": connection, resources, operator's stop, system faults; and a read-only standby. */
export const isUnavailable = (code: string): boolean =>
  /^(?:08|53|58|57P)/.test(code) || code === "57014" || code === "25006" || code === "25P03" || code === "55P03";

/** The database broke a statement off because it took too long. */
export const isTimedOut = (error: unknown): boolean => error instanceof Problem && isSqlError(error.options.cause, "57014");

/** A prepared statement no longer fits its tables (0A000) or its connection does not know it (26000): prepared anew, it works. */
export const isStalePlan = (error: unknown): boolean => error instanceof SqlError && (error.code === "0A000" || error.code === "26000");

/** The driver's own words for an answer that it waited for in vain. */
export const isLateAnswer = (error: unknown): boolean => error instanceof Error && error.message === "Query read timeout";

/** The server is there, or was, and says nothing: what was sent may have happened. Its connection is of no use any more. */
export class ServerSilent extends Error {
  override readonly name = "ServerSilent";
}

export const isSilent = (error: unknown): boolean => error instanceof Problem && error.options.cause instanceof ServerSilent;
