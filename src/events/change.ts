import type { TransactionSql } from "#store/database.ts";
import type { EntryDraft } from "./audit/entry.ts";

/** An event to be told: a row of the outbox, and of the live stream where it has one. */
export interface EventDraft {
  /** e.g. `delegation.revoked`; without `.v1`. */
  readonly type: string;
  readonly tenant: string;
  /** Live stream that shows it; absent = none. */
  readonly stream?: "workflow" | "config" | "secret";
  /** `event:` line on the stream, e.g. `delegation`, `budget`, `tools`, `policy`, `session`, `graph`. */
  readonly kind?: string;
  /** Topic of other systems that may take it; it is kept for them although no stream shows it. Absent = none. */
  readonly topic?: string;
  /** Whom it is about: goes out as `subject_ref`, which takes the key's place too. */
  readonly about?: string;
  /** Ordering key, e.g. the delegation's id. */
  readonly key: string;
  /** Subject ids that may see it on the stream; absent = all of the tenant who may read the stream. */
  readonly visibleTo?: readonly string[];
  /** Wire names; never a secret, a token, an argument, a person's name. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly correlationId?: string;
}

/** What a change did and what is told of it, all committed together. */
export interface Changed<T> {
  readonly result: T;
  readonly events?: readonly EventDraft[];
  readonly entries?: readonly EntryDraft[];
}

/** Alters state: callback, events, audit rows, one commit; a throw rolls back all. */
export type Change = <T>(work: (sql: TransactionSql) => Promise<Changed<T>>) => Promise<T>;
