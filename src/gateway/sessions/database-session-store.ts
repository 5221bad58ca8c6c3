import { Problem } from "#contract/problem.ts";
import { statement, type Database, type Sql, type SqlValue, type Statement } from "#store/database.ts";
import { createChangeFeed } from "./change-feed.ts";
import type { EndReason, SessionChange, SessionRecord, SessionStore } from "./session-store.ts";

interface SessionRow {
  readonly sid_hash: string;
  readonly ref: string;
  readonly generation: number;
  readonly subject: string;
  readonly tenant: string;
  readonly issuer: string;
  readonly idp_sid: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly auth_time: bigint | null;
  readonly claims: SessionRecord["claims"];
  readonly ua_hash: string | null;
  readonly net_hash: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly idle_expires_at: string;
  readonly absolute_expires_at: string;
  readonly access_expires_at: string | null;
  readonly tokens: Uint8Array;
  readonly token_generation: number;
}

const INSERT = statement(
  "gateway.session_insert",
  `insert into gateway.session (sid_hash, ref, generation, subject, tenant, issuer, idp_sid, acr, amr, auth_time, claims, ua_hash,
     net_hash, created_at, last_seen_at, idle_expires_at, absolute_expires_at, access_expires_at, tokens, token_generation)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
);
const READ = statement<SessionRow>("gateway.session_read", "select * from gateway.session where sid_hash = $1");
const TOUCH = statement(
  "gateway.session_touch",
  `update gateway.session set last_seen_at = greatest(last_seen_at, $2), idle_expires_at = greatest(idle_expires_at, $3)
   where sid_hash = $1`,
);
const REPLACE_TOKENS = statement<{ ref: string }>(
  "gateway.session_tokens",
  `update gateway.session set tokens = $3, access_expires_at = $4, token_generation = token_generation + 1
   where sid_hash = $1 and token_generation = $2 returning ref`,
);
const END_ONE = statement<SessionRow>("gateway.session_end_one", "delete from gateway.session where sid_hash = $1 returning *");
const END_OF = statement<SessionRow>(
  "gateway.session_end_of",
  "delete from gateway.session where tenant = $1 and subject = $2 and ($3::uuid is null or ref = $3) returning *",
);
const END_EXPIRED = statement<SessionRow>(
  "gateway.session_end_expired",
  "delete from gateway.session where least(idle_expires_at, absolute_expires_at) <= $1 returning *",
);
const LIST = statement<SessionRow>(
  "gateway.session_list",
  `select * from gateway.session where tenant = $1 and subject = $2 and ($3::uuid is null or ref = $3)
     and least(idle_expires_at, absolute_expires_at) > $4 order by created_at desc, ref`,
);
const COUNT = statement<{ living: bigint }>(
  "gateway.session_count",
  "select count(*) as living from gateway.session where least(idle_expires_at, absolute_expires_at) > $1",
);

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const recordOf = (row: SessionRow): SessionRecord => ({
  sidHash: row.sid_hash,
  ref: row.ref,
  generation: row.generation,
  subject: row.subject,
  tenant: row.tenant,
  issuer: row.issuer,
  idpSid: row.idp_sid ?? undefined,
  acr: row.acr ?? undefined,
  amr: row.amr,
  authTime: row.auth_time === null ? undefined : Number(row.auth_time),
  claims: row.claims,
  uaHash: row.ua_hash ?? undefined,
  netHash: row.net_hash ?? undefined,
  createdAt: new Date(row.created_at),
  lastSeenAt: new Date(row.last_seen_at),
  idleExpiresAt: new Date(row.idle_expires_at),
  absoluteExpiresAt: new Date(row.absolute_expires_at),
  accessExpiresAt: row.access_expires_at === null ? undefined : new Date(row.access_expires_at),
  tokens: row.tokens,
  tokenGeneration: row.token_generation,
});

const valuesOf = (record: SessionRecord): readonly SqlValue[] => [
  record.sidHash,
  record.ref,
  record.generation,
  record.subject,
  record.tenant,
  record.issuer,
  record.idpSid ?? null,
  record.acr ?? null,
  record.amr,
  record.authTime ?? null,
  JSON.stringify(record.claims),
  record.uaHash ?? null,
  record.netHash ?? null,
  record.createdAt,
  record.lastSeenAt,
  record.idleExpiresAt,
  record.absoluteExpiresAt,
  record.accessExpiresAt ?? null,
  record.tokens,
  record.tokenGeneration,
];

/** Sessions in the house's database. Changes are told through its notifications, after they are committed. */
export const createDatabaseSessionStore = (database: Database): SessionStore => {
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      throw new Problem("session_store_unavailable", { cause });
    }
  };
  const run = <Row>(sql: Sql, wanted: Statement<Row>, values: readonly SqlValue[]) => guarded(() => sql.run(wanted, values));
  const feed = createChangeFeed(database);
  const tell = (records: readonly SessionRecord[], reason: EndReason): Promise<void> =>
    feed.tell(records.map((record): SessionChange => ({ ref: record.ref, kind: "ended", reason })));

  const create: SessionStore["create"] = async (record, replaces) => {
    const replaced = await guarded(() =>
      database.transaction(async (sql) => {
        const [old] = replaces === undefined ? [] : await sql.run(END_ONE, [replaces]);
        await sql.run(INSERT, valuesOf(record));
        return old && recordOf(old);
      }),
    );
    if (replaced) await tell([replaced], "replaced");
    return replaced;
  };

  const end: SessionStore["end"] = async (which, reason) => {
    if ("ref" in which && which.ref !== undefined && !uuidPattern.test(which.ref)) return [];
    const rows =
      "sidHash" in which
        ? await run(database, END_ONE, [which.sidHash])
        : await run(database, END_OF, [which.tenant, which.subject, which.ref ?? null]);
    const records = rows.map(recordOf);
    await tell(records, reason);
    return records;
  };

  return {
    create,
    end,
    read: async (sidHash) => {
      const [row] = await run(database, READ, [sidHash]);
      return row && recordOf(row);
    },
    touch: async (sidHash, lastSeenAt, idleExpiresAt) => {
      await run(database, TOUCH, [sidHash, lastSeenAt, idleExpiresAt]);
    },
    replaceTokens: async (sidHash, expectedGeneration, next) => {
      const [row] = await run(database, REPLACE_TOKENS, [sidHash, expectedGeneration, next.tokens, next.accessExpiresAt ?? null]);
      if (row) await feed.tell([{ ref: row.ref, kind: "changed" }]);
      return row !== undefined;
    },
    endExpired: async (now) => {
      const ended = (await run(database, END_EXPIRED, [now]))
        .map(recordOf)
        .map((record) => ({ record, reason: reasonOfExpiry(record, now) }));
      for (const { record, reason } of ended) await tell([record], reason);
      return ended;
    },
    list: async (of, now) => {
      if (of.ref !== undefined && !uuidPattern.test(of.ref)) return [];
      return (await run(database, LIST, [of.tenant, of.subject, of.ref ?? null, now])).map(recordOf);
    },
    count: async (now) => Number((await run(database, COUNT, [now]))[0]?.living ?? 0n),
    changes: (heard) => guarded(() => feed.changes(heard)),
    ready: () => guarded(() => database.ready()),
  };
};

/** Which limit a session has passed; the absolute one counts first, because nothing would have moved it. */
export const reasonOfExpiry = (record: Pick<SessionRecord, "absoluteExpiresAt">, now: Date): "idle" | "absolute" =>
  record.absoluteExpiresAt <= now ? "absolute" : "idle";
