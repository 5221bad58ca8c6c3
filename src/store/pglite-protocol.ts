/** What the main thread and the PGlite worker say to one another. */

export interface WireFault {
  readonly code: string;
  readonly message: string;
  readonly constraint?: string | undefined;
  readonly table?: string | undefined;
}

/** `tx` 0 = outside any transaction. `begin` opens the lane of its `tx`; `end` (commit or rollback) closes it. */
export type WorkerRequest = { readonly id: number; readonly tx: number } & (
  | { readonly op: "run"; readonly name: string; readonly text: string; readonly values: readonly (string | null)[] }
  | { readonly op: "script" | "begin" | "end"; readonly text: string }
  | { readonly op: "dump" | "close" }
);

export type WorkerReply =
  | {
      readonly id: number;
      readonly columns: readonly Column[];
      readonly rows: readonly (readonly (string | null)[])[];
      readonly tag: string;
    }
  | { readonly id: number; readonly dump: Blob }
  | { readonly id: number; readonly fault: WireFault }
  | { readonly channel: string; readonly payload: string }
  | { readonly ready: true }
  | { readonly failed: string };

export interface Column {
  readonly name: string;
  readonly oid: number;
}

export interface WorkerStart {
  /** Folder of the cluster; undefined = in memory. */
  readonly folder: string | undefined;
  /** File of a dumped data folder to start from. */
  readonly snapshot: string | undefined;
  readonly idleInTransactionMs: number;
}
