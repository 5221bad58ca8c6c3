import DataLoader from "dataloader";
import { statement, type Database, type SqlValue, type Statement } from "#store/database.ts";
import { createChangeFeed } from "./change-feed.ts";
import { guardStore } from "./guard-store.ts";
import { recordOf, columnsOf, type SessionRow } from "./session-row.ts";
import { isRef, reasonOfExpiry, type EndReason, type SessionRecord, type SessionStore } from "./session-store.ts";

const CHANNEL = "sallyport_sessions";
/** A request waits no longer for a session: a store that is silent is as good as gone. */
const ANSWER_MS = 2000;

/** Told with the same commit: whoever hears of an end finds no session any more, and no end goes untold. */
const reported = (which: string, kind: "ended" | "changed", reason: string) =>
  `with done as (${which} returning *)
   select done.*, pg_notify('${CHANNEL}',
     json_strip_nulls(json_build_object('ref', done.ref, 'kind', '${kind}', 'reason', ${reason}))::text) from done`;

const INSERT = statement(
  "gateway.session_insert",
  `insert into gateway.session (sid_hash, ref, generation, subject, tenant, issuer, idp_sid, idp_sub, acr, amr, auth_time, claims,
     ua_hash, net_hash, created_at, last_seen_at, idle_expires_at, absolute_expires_at, access_expires_at, tokens, token_generation)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
);
const READ = statement<SessionRow>("gateway.session_read", "select * from gateway.session where sid_hash = any($1::text[])");
const TOUCH = statement(
  "gateway.session_touch",
  `update gateway.session s set last_seen_at = greatest(s.last_seen_at, t.seen), idle_expires_at = greatest(s.idle_expires_at, t.idle)
   from (select sid_hash, max(seen) as seen, max(idle) as idle
         from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) as given(sid_hash, seen, idle) group by sid_hash) t
   where s.sid_hash = t.sid_hash`,
);
/** Sessions of one statement. */
const MAX_TOGETHER = 250;

interface Seen {
  readonly sidHash: string;
  readonly lastSeenAt: Date;
  readonly idleExpiresAt: Date;
}
/** By the database's clock: those of its callers may differ. An owner whose time is over was never heard of again. */
const LEASE = statement<{ after_unknown: boolean }>(
  "gateway.session_lease",
  `update gateway.session s
   set refresh_owner = $3, refresh_lease_until = clock_timestamp() + $4::int * interval '1 millisecond'
   from (select sid_hash, refresh_owner from gateway.session where sid_hash = $1 for update) old
   where s.sid_hash = old.sid_hash and s.token_generation = $2
     and (s.refresh_owner is null or s.refresh_owner = $3 or s.refresh_lease_until <= clock_timestamp())
   returning old.refresh_owner is not null and old.refresh_owner <> $3 as after_unknown`,
);
const GENERATION = statement<{ token_generation: number }>(
  "gateway.session_generation",
  "select token_generation from gateway.session where sid_hash = $1",
);
const RELEASE = statement(
  "gateway.session_release",
  `update gateway.session set refresh_owner = case when $3 then refresh_owner end, refresh_lease_until = clock_timestamp()
   where sid_hash = $1 and refresh_owner = $2`,
);
const REPLACE_TOKENS = statement<{ ref: string }>(
  "gateway.session_tokens",
  reported(
    `update gateway.session set tokens = $3, access_expires_at = $4, token_generation = token_generation + 1,
       refresh_owner = null, refresh_lease_until = null
     where sid_hash = $1 and token_generation = $2`,
    "changed",
    "null::text",
  ),
);
const ending = (name: string, where: string, reason: string) =>
  statement<SessionRow>(`gateway.session_end_${name}`, reported(`delete from gateway.session where ${where}`, "ended", reason));
const END_ONE = ending("one", "sid_hash = $1", "$2::text");
const END_OF = ending("of", "tenant = $1 and ($2::text is null or subject = $2) and ($3::uuid is null or ref = $3)", "$4::text");
const END_IDP_SID = ending("idp_sid", "issuer = $1 and idp_sid = $2", "$3::text");
const END_IDP_SUB = ending("idp_sub", "issuer = $1 and idp_sub = $2", "$3::text");
const END_EXPIRED = ending(
  "expired",
  "least(idle_expires_at, absolute_expires_at) <= $1",
  "case when done.absolute_expires_at <= $1 then 'absolute' else 'idle' end",
);
const LIST = statement<SessionRow>(
  "gateway.session_list",
  `select * from gateway.session
   where tenant = $1 and ($2::text is null or subject = $2) and ($3::uuid is null or ref = $3)
     and least(idle_expires_at, absolute_expires_at) > $4
     and ($5::timestamptz is null or created_at < $5 or (created_at = $5 and ref > $6::uuid))
   order by created_at desc, ref limit $7`,
);
const SHARED = statement<{ one: number }>(
  "gateway.session_shared",
  `select 1 as one from gateway.session
   where issuer = $1 and (idp_sid = $2 or ((idp_sid is null or $2::text is null) and idp_sub = $3))
     and least(idle_expires_at, absolute_expires_at) > $4
   limit 1`,
);
const COUNT = statement<{ living: bigint }>(
  "gateway.session_count",
  "select count(*) as living from gateway.session where least(idle_expires_at, absolute_expires_at) > $1",
);

/** Sessions in Sallyport's database. Changes are told through its notifications, with the commit that makes them. */
export const createDatabaseSessionStore = (database: Database): SessionStore => {
  const ask = <Row>(wanted: Statement<Row>, values: readonly SqlValue[]) => guardStore(() => database.run(wanted, values));
  const run = <Row>(wanted: Statement<Row>, values: readonly SqlValue[]) => ask({ ...wanted, withinMs: ANSWER_MS }, values);
  const feed = createChangeFeed({
    publish: (message) => database.notify(CHANNEL, message),
    subscribe: (received, regained) => database.listen(CHANNEL, received, regained),
    isConnected: () => database.isListening(),
    isAlone: database.kind === "pglite",
  });

  const endRows = (which: Parameters<SessionStore["end"]>[0], reason: EndReason): Promise<readonly SessionRow[]> => {
    if ("sidHash" in which) return run(END_ONE, [which.sidHash, reason]);
    if ("idpSid" in which) return run(END_IDP_SID, [which.issuer, which.idpSid, reason]);
    if ("idpSub" in which) return run(END_IDP_SUB, [which.issuer, which.idpSub, reason]);
    return run(END_OF, [which.tenant, which.subject ?? null, which.ref ?? null, reason]);
  };

  // What is asked in one turn of the event loop is one statement: the sessions of a busy instance fall due together.
  const together = { cache: false, maxBatchSize: MAX_TOGETHER, batchScheduleFn: setImmediate };
  const reads = new DataLoader<string, SessionRecord | undefined>(async (hashes) => {
    const rows = new Map((await run(READ, [hashes])).map((row) => [row.sid_hash, recordOf(row)]));
    return hashes.map((sidHash) => rows.get(sidHash));
  }, together);
  const touches = new DataLoader<Seen, void>(async (seen) => {
    await run(TOUCH, [
      seen.map(({ sidHash }) => sidHash),
      seen.map(({ lastSeenAt }) => lastSeenAt.toISOString()),
      seen.map(({ idleExpiresAt }) => idleExpiresAt.toISOString()),
    ]);
    return seen.map(() => undefined);
  }, together);

  return {
    create: async (record, replaces) => {
      const replaced = await guardStore(() =>
        database.transaction(
          async (sql) => {
            const [old] = replaces === undefined ? [] : await sql.run(END_ONE, [replaces, "replaced"]);
            await sql.run(INSERT, columnsOf(record));
            return old && recordOf(old);
          },
          { withinMs: ANSWER_MS },
        ),
      );
      if (replaced) feed.spreadEnds([replaced], () => "replaced");
      return replaced;
    },
    end: async (which, reason) => {
      if ("ref" in which && which.ref !== undefined && !isRef(which.ref)) return [];
      const records = (await endRows(which, reason)).map(recordOf);
      feed.spreadEnds(records, () => reason);
      return records;
    },
    read: (sidHash) => reads.load(sidHash),
    touch: (sidHash, lastSeenAt, idleExpiresAt) => touches.load({ sidHash, lastSeenAt, idleExpiresAt }),
    lease: async (sidHash, ask) => {
      const [held] = await run(LEASE, [sidHash, ask.generation, ask.owner, ask.milliseconds]);
      if (held !== undefined) return { kind: "held", afterUnknown: held.after_unknown };
      const [row] = await run(GENERATION, [sidHash]);
      return { kind: row?.token_generation === ask.generation ? "taken" : "moved" };
    },
    release: async (sidHash, owner, outcome) => {
      await run(RELEASE, [sidHash, owner, outcome === "unknown"]);
    },
    replaceTokens: async (sidHash, expectedGeneration, next) => {
      const [row] = await run(REPLACE_TOKENS, [sidHash, expectedGeneration, next.tokens, next.accessExpiresAt ?? null]);
      if (row) feed.spread([{ ref: row.ref, kind: "changed" }]);
      return row !== undefined;
    },
    endExpired: async (now) => {
      const records = (await ask(END_EXPIRED, [now])).map(recordOf);
      feed.spreadEnds(records, (record) => reasonOfExpiry(record, now));
      return records.map((record) => ({ record, reason: reasonOfExpiry(record, now) }));
    },
    list: async (of, { now, limit, after }) => {
      if (of.ref !== undefined && !isRef(of.ref)) return [];
      const values = [of.tenant, of.subject ?? null, of.ref ?? null, now, after?.createdAt ?? null, after?.ref ?? null, limit];
      return (await run(LIST, values)).map(recordOf);
    },
    isShared: async ({ issuer, idpSid, idpSub }, now) => (await run(SHARED, [issuer, idpSid ?? null, idpSub ?? null, now])).length > 0,
    count: async (now) => Number((await ask(COUNT, [now]))[0]?.living ?? 0n),
    changes: (received, regained) => guardStore(() => feed.changes(received, regained)),
    ready: () => guardStore(() => database.ready()),
  };
};
