import type { TransactionSql } from "#store/database.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";

/** What a change did and what is told of it, all committed together. */
export interface Changed<T> {
  readonly result: T;
  readonly events?: readonly EventDraft[];
  readonly entries?: readonly EntryDraft[];
}

/** Alters state: callback, events, audit rows, one commit; a throw rolls back all. */
export type Change = <T>(work: (sql: TransactionSql) => Promise<Changed<T>>) => Promise<T>;
