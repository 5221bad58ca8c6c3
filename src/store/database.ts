/**
 * The one port to everything that is kept: PostgreSQL dialect on PGlite (embedded) and PostgreSQL 15+.
 *
 * Values come out alike from both adapters: `int8` as bigint, `int4`/`float8` as number, `timestamptz` as RFC 3339 UTC
 * text with milliseconds, `json`/`jsonb` parsed, `bytea` as Uint8Array, `uuid`/`text`/`numeric` as string, `text[]` as
 * string[]. Parameters go in as: bigint, number, string, boolean, null, Uint8Array, Date, arrays of those; objects only
 * for json columns and then as text (`JSON.stringify`).
 */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | Date
  | readonly (string | number | bigint | boolean | null)[];

/** A named statement: written once, prepared once a connection. `Row` is what one row holds. */
export interface Statement<Row> {
  /** Unique in Sallyport, e.g. `membership.reserve`. */
  readonly name: string;
  readonly text: string;
  /**
   * Longest wait for the answer of a server, the wait for a connection included; then `store_unavailable`, and what was
   * sent may have happened. Absent: as long as the server itself lets a statement take.
   */
  readonly withinMs?: number;
  /**
   * Longest time that a server works at it, and at what follows in its transaction; then `store_unavailable`, and nothing of it was done.
   * Absent: as a connection has it. The embedded database cannot break off a statement: what it is asked has to be bounded in itself.
   */
  readonly timeoutMs?: number;
  /** Only a type. */
  readonly _row?: Row;
}

export const statement = <Row>(
  name: string,
  text: string,
  more: { readonly withinMs?: number; readonly timeoutMs?: number } = {},
): Statement<Row> => ({
  name,
  text,
  ...more,
});

export interface Sql {
  run<Row>(statement: Statement<Row>, values?: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** Inside a running transaction. */
export interface TransactionSql extends Sql {
  /**
   * A statement whose rows nobody needs, without a wait of its own: it goes with the next `run`, or ahead of the commit, in
   * the order given. If it fails, nothing after it is done and its fault is what that `run`, or the transaction, throws.
   */
  post(statement: Statement<unknown>, values?: readonly SqlValue[]): void;
}

/** What a transaction's work gets; `script` is for migrations. */
export interface Transaction extends TransactionSql {
  script(text: string): Promise<void>;
}

/** The part of a log that this module writes to. */
export interface StoreLog {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface TransactionOptions {
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  readonly readOnly?: boolean;
  /** Of the whole, as a statement's. */
  readonly withinMs?: number;
}

export interface Database extends Sql {
  readonly kind: "pglite" | "postgres";
  /**
   * Runs the work in one transaction, which begins with its first statement; a throw rolls back. 40001 and 40P01 are tried up to 3 more times with jitter, so the
   * work may run more than once. Inside it only its own `sql` may be used; the database itself throws there.
   */
  transaction<T>(work: (sql: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Several statements without parameters; for migrations. */
  script(text: string): Promise<void>;
  /**
   * Hints from `notify`; the returned function ends it. Survives reconnects: `regained` is told after each, because what
   * was notified in between was not heard.
   */
  listen(channel: string, received: (payload: string) => void, regained?: () => void): Promise<() => Promise<void>>;
  /** Whether hints are heard now. */
  isListening(): boolean;
  notify(channel: string, payload: string): Promise<void>;
  /** Throws `store_unavailable` when the database does not answer. */
  ready(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
