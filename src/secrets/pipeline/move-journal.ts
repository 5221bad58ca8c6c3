import { randomUUID } from "node:crypto";
import { statement, type Database } from "#store/database.ts";

export type MoveState = "planned" | "verified" | "source_deleted" | "done" | "failed";

/** A move that began: where from, where to, and which version of the source was read. */
export interface Move {
  readonly id: string;
  readonly tenant: string;
  readonly from_uri: string;
  readonly to_uri: string;
  readonly source_version: number | null;
  readonly source_created_at: string | null;
  /** For whom, by which decision, in which request; absent of moves that began before this was kept. */
  readonly subject: string | null;
  readonly decision_id: string | null;
  readonly correlation_id: string | null;
  readonly state: MoveState;
}

export type MoveJournal = ReturnType<typeof createMoveJournal>;

const BEGIN = statement(
  "secrets.move_begin",
  `insert into secrets.move (id, tenant, from_uri, to_uri, source_version, source_created_at, subject, decision_id, correlation_id, state)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'planned')`,
);
const MARK = statement("secrets.move_mark", "update secrets.move set state = $2, code = $3, updated_at = now() where id = $1");
const TAKE = statement<Move>(
  "secrets.move_take",
  `update secrets.move set updated_at = now()
   where id in (select id from secrets.move where state not in ('done', 'failed') and updated_at < now() - make_interval(secs => $1)
                order by updated_at limit 50 for update skip locked)
   returning id, tenant, from_uri, to_uri, source_version::int as source_version, source_created_at, subject, decision_id, correlation_id, state`,
);

/** A move takes seconds: whoever was silent for so long is gone. */
const ABANDONED_SECONDS = 60;

/** Committed before each step, so that whoever comes after a process that died knows what may have been done. */
export const createMoveJournal = (database: Database, abandonedSeconds = ABANDONED_SECONDS) => ({
  begin: async (move: Omit<Move, "id" | "state">): Promise<string> => {
    const id = randomUUID();
    const { tenant, from_uri, to_uri, source_version, source_created_at, subject, decision_id, correlation_id } = move;
    const values = [tenant, from_uri, to_uri, source_version, source_created_at, subject, decision_id, correlation_id];
    await database.run(BEGIN, [id, ...values]);
    return id;
  },
  mark: async (id: string, state: MoveState, code?: string): Promise<void> => void (await database.run(MARK, [id, state, code ?? null])),
  /** Moves that nobody has gone on with for a minute, taken by this process for another. */
  takeAbandoned: (): Promise<readonly Move[]> => database.run(TAKE, [abandonedSeconds]),
});
