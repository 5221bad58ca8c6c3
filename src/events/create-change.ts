import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import type { AuditRecorder } from "./audit/recorder.ts";
import type { Numbered } from "./audit/appender.ts";
import type { Change } from "./change.ts";
import { emit, type StreamHead } from "./emit.ts";
import { createUuids } from "./uuid.ts";

export interface ChangeParts {
  readonly database: Database;
  readonly recorder: Pick<AuditRecorder, "writeIn" | "ended">;
  /** Told of the raised heads after the commit. */
  readonly bus: { announce(heads: readonly StreamHead[]): void };
}

/**
 * The one way to alter state that others may hear of: callback, audit rows, events, one commit. A throw rolls all back.
 * After the commit the live bus is told, so that streams and caches of all processes hear of it.
 */
export const createChange = ({ database, recorder, bus }: ChangeParts): Change => {
  const newId = createUuids(() => new Date());
  return async (work) => {
    let heads: readonly StreamHead[] = [];
    let written: readonly Numbered[] = [];
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
        heads = await emit(sql, changed.events ?? [], newId);
        return changed.result;
      });
      recorder.ended(written, "committed");
      if (heads.length > 0) bus.announce(heads);
      return result;
    } catch (error) {
      // A connection that broke at the commit leaves it open whether that was done.
      undo(error instanceof Problem && error.code === "store_unavailable" ? "unknown" : "rolled_back");
      throw error;
    }
  };
};
