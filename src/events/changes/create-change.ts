import { Problem } from "#contract/problem.ts";
import type { Database, Sql } from "#store/database.ts";
import type { AuditRecorder } from "#events/audit/recorder.ts";
import type { Numbered } from "#events/audit/appender.ts";
import { logOf } from "#events/audit/leaf.ts";
import type { Change } from "./change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { emit, type SinkInUse, type StreamHead } from "#events/model/emit.ts";
import { createUuids } from "#events/model/uuid.ts";

export interface ChangeParts {
  readonly database: Database;
  /** Without `references` nobody is named in events at all. */
  readonly recorder: Pick<AuditRecorder, "writeIn" | "ended"> & Partial<Pick<AuditRecorder, "references">>;
  /** Told of the raised heads after the commit. */
  readonly bus: { announce(heads: readonly StreamHead[]): void };
  /** Who takes events besides the streams; nobody unless given. */
  readonly sink?: SinkInUse | undefined;
  /** The span under way, which events for the sink name; none unless given. */
  readonly traceparent?: (() => string | undefined) | undefined;
}

/**
 * The one way to alter state that others may hear of: callback, audit rows, events, one commit. A throw rolls all back.
 * After the commit the live bus is told, so that streams and caches of all processes hear of it. Throws `event_backlog_full`
 * when the sink has not taken anything for too long.
 */
export const createChange = ({ database, recorder, bus, sink, traceparent }: ChangeParts): Change => {
  const newId = createUuids(() => new Date());
  /** References of whom the events are about and who made them, tenant by tenant in one order, so that two cannot wait for one another. */
  const nameSubjects = async (sql: Sql, events: readonly EventDraft[]) => {
    const wanted = new Map<string, Set<string>>();
    for (const { tenant, about, by } of events)
      for (const subject of [about, by])
        if (subject !== undefined) wanted.set(logOf(tenant), (wanted.get(logOf(tenant)) ?? new Set()).add(subject));
    const refs = new Map<string, string>();
    for (const [log, subjects] of [...wanted].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
      const found = await recorder.references?.resolve(sql, log, subjects, { remember: false });
      for (const [subject, { ref }] of found ?? []) refs.set(JSON.stringify([log, subject]), ref);
    }
    return (tenant: string, subject: string): string | undefined => refs.get(JSON.stringify([logOf(tenant), subject]));
  };
  return async (work) => {
    let heads: readonly StreamHead[] = [];
    let written: readonly Numbered[] = [];
    let isReported = false;
    // Of whoever asked: a transaction may be carried on by another flow.
    const trace = sink === undefined ? undefined : traceparent?.();
    const undo = (outcome: "rolled_back" | "unknown"): void => {
      recorder.ended(written, outcome);
      written = [];
    };
    try {
      const result = await database.transaction(async (sql) => {
        // A second attempt: the first one was rolled back.
        undo("rolled_back");
        const changed = await work(sql);
        if (changed.entries !== undefined && changed.entries.length > 0) written = await recorder.writeIn(sql, changed.entries);
        const kept = (changed.events ?? []).filter(({ stream }) => stream !== undefined || sink !== undefined);
        const events = trace === undefined ? kept : kept.map((event) => ({ traceparent: trace, ...event }));
        isReported = events.length > 0;
        if (isReported) sink?.requireCapacity();
        heads = await emit(sql, events, { newId, refOf: await nameSubjects(sql, events), sink });
        return changed.result;
      });
      recorder.ended(written, "committed");
      if (heads.length > 0) bus.announce(heads);
      if (isReported) sink?.notify();
      return result;
    } catch (error) {
      // A connection that broke at the commit leaves it open whether that was done.
      undo(error instanceof Problem && error.code === "store_unavailable" ? "unknown" : "rolled_back");
      throw error;
    }
  };
};
