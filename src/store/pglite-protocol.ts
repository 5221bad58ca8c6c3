/** What is asked of the embedded database, on whichever thread it computes, and what it answers. */

export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly constraint?: string | undefined;
  readonly table?: string | undefined;
}

/** `tx` 0 = outside any transaction. `begin` opens the lane of its `tx`; `end` (commit or rollback) closes it. */
export type ServerRequest = { readonly id: number; readonly tx: number } & (
  | { readonly op: "run"; readonly name: string; readonly text: string; readonly values: readonly (string | null)[] }
  | { readonly op: "script" | "begin" | "end"; readonly text: string }
  | { readonly op: "dump" | "close" }
);

export type ServerReply =
  | {
      readonly id: number;
      readonly columns: readonly Column[];
      readonly rows: readonly (readonly (string | null)[])[];
      readonly tag: string;
    }
  | { readonly id: number; readonly dump: Blob }
  | { readonly id: number; readonly failure: WireError }
  | { readonly channel: string; readonly payload: string };

/** What a thread of its own says besides. */
export type WorkerReply = ServerReply | { readonly ready: true } | { readonly failed: string };

export interface Column {
  readonly name: string;
  readonly oid: number;
}

export interface ServerStart {
  /** Folder of the cluster; undefined = in memory. */
  readonly folder: string | undefined;
  /** File of a dumped data folder to start from. */
  readonly snapshot: string | undefined;
  readonly idleInTransactionMs: number;
}
