import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { AuditCategory } from "#contract/events.ts";
import { statement, type Database } from "#store/database.ts";
import { isAlive } from "#store/is-alive.ts";
import type { Log } from "#telemetry/log.ts";
import type { EntryDraft, Settle } from "./entry.ts";

interface Writer {
  readonly writer: string;
  readonly host: string;
  readonly pid: number;
  readonly silent: boolean;
}

const OTHERS = statement<Writer>(
  "events.audit_writers_open",
  `select writer, host, pid, seen_at < clock_timestamp() - interval '20 seconds' as silent
   from events.audit_writer where closed_at is null and writer <> $1`,
);
/** Only one process recovers a writer; a claim ends by itself if that one dies too. */
const CLAIM = statement<{ writer: string }>(
  "events.audit_writer_claim",
  `update events.audit_writer set claimed_by = $2, claimed_until = clock_timestamp() + interval '60 seconds'
   where writer = $1 and closed_at is null and (claimed_until is null or claimed_until < clock_timestamp() or claimed_by = $2)
   returning writer`,
);
const NOW = statement<{ now: string }>("events.audit_now", "select clock_timestamp()::text as now");
const QUEUED = statement<{ waits: boolean }>(
  "events.audit_queue_waits",
  "select exists (select from events.audit_queue where queued_at <= $1::timestamptz) as waits",
);
const OPENS = statement<{ log: string; act_id: string; category: AuditCategory; leaf: Uint8Array | null }>(
  "events.audit_opens",
  `select log, act_id, category, leaf from events.audit_entry as o
   where writer = $1 and phase = 'open'
     and not exists (select from events.audit_entry as c where c.act_id = o.act_id and c.log = o.log and c.phase = 'close')
   order by seq`,
);
/** Numbers that a writer took and that never arrived: of entries it was writing when it died. */
const MISSING = statement<{ last: bigint; missing: readonly bigint[] }>(
  "events.audit_writer_missing",
  `select coalesce(max(writer_n), 0) as last,
     array(select n from generate_series(1, (select max(writer_n) from events.audit_entry where writer = $1)) as n
           except select writer_n from events.audit_entry where writer = $1 order by 1 limit 300) as missing
   from events.audit_entry where writer = $1`,
);
const ENDED = statement("events.audit_writer_recovered", "update events.audit_writer set closed_at = clock_timestamp() where writer = $1");

/**
 * The embedded database has one process, so every other writer is dead. On PostgreSQL a writer is dead that has not been
 * seen for 20 s, or whose process on this machine is gone.
 */
const isDead = (database: Database, writer: Writer): boolean =>
  database.kind === "pglite" || writer.silent || (writer.host === hostname() && writer.pid !== process.pid && !isAlive(writer.pid));

interface Leaf {
  readonly actor: { readonly subject_ref: string } & Omit<EntryDraft["actor"], "subject">;
  readonly via: EntryDraft["via"];
  readonly resource: EntryDraft["resource"];
  readonly decision_id?: string;
  readonly correlation_id: string;
}

/** The close of an act nobody can say anything about; its actor is already a reference and stays it. */
const unknownOf = (log: string, category: AuditCategory, leaf: Uint8Array): EntryDraft => {
  const opened = JSON.parse(Buffer.from(leaf).toString("utf8")) as Leaf;
  const { subject_ref: subject, ...actor } = opened.actor;
  return {
    tenant: log,
    category,
    outcome: "unknown",
    code: "outcome_unknown",
    actor: { ...actor, subject },
    via: opened.via,
    resource: opened.resource,
    decisionId: opened.decision_id,
    correlationId: opened.correlation_id,
    data: { reason: "process_ended" },
  };
};

export interface RecoverParts {
  readonly database: Database;
  readonly writerId: string;
  readonly log: Log;
  readonly integrate: () => Promise<void>;
  readonly settle: Settle;
  readonly close: (draft: EntryDraft, actId: string) => Promise<void>;
  readonly tell: (data: Readonly<Record<string, unknown>>) => Promise<void>;
}

const recoverWriter = async (parts: RecoverParts, writer: string): Promise<number> => {
  const { database, log } = parts;
  let closed = 0;
  for (const open of await database.run(OPENS, [writer])) {
    const settled = await parts.settle({ actId: open.act_id, category: open.category, tenant: open.log });
    if (settled === "left" || open.leaf === null) continue;
    await parts.close(unknownOf(open.log, open.category, open.leaf), open.act_id);
    log.warn("act_unknown", { act_id: open.act_id, category: open.category, tenant: open.log });
    closed++;
    await database.run(CLAIM, [writer, parts.writerId]);
  }
  const [numbers] = await database.run(MISSING, [writer]);
  await parts.tell({
    event: "writer_ended",
    writer,
    last_n: Number(numbers?.last ?? 0n),
    missing: (numbers?.missing ?? []).map(Number),
    unknown: closed,
  });
  await database.run(ENDED, [writer]);
  return closed;
};

/** A close that still waits in the queue must not be mistaken for one that is missing. */
const everythingIntegrated = async ({ database, integrate }: RecoverParts): Promise<void> => {
  const [clock] = await database.run(NOW);
  for (let attempt = 0; attempt < 50; attempt++) {
    await integrate();
    const [queue] = await database.run(QUEUED, [clock?.now ?? null]);
    if (queue?.waits === false) return;
    // Another process is at it.
    await sleep(100);
  }
  throw new Error("the audit queue is not integrated; what dead processes left open cannot be told yet");
};

/** Closes what dead writers left open, as `unknown`; answers how many acts that were. A fault of `settle` leaves the rest for later. */
export const recoverOpens = async (parts: RecoverParts): Promise<number> => {
  const { database } = parts;
  const dead = (await database.run(OTHERS, [parts.writerId])).filter((writer) => isDead(database, writer));
  if (dead.length === 0) return 0;
  await everythingIntegrated(parts);
  let closed = 0;
  for (const { writer } of dead) {
    const [mine] = await database.run(CLAIM, [writer, parts.writerId]);
    if (mine !== undefined) closed += await recoverWriter(parts, writer);
  }
  return closed;
};
