import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { idempotencyKey } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { answer, type Answer } from "#http/serve.ts";
import { statement, type Sql } from "#store/database.ts";
import type { Written } from "#membership/graph/write.ts";
import { keyHolderOf, type Caller } from "#authn/model/caller.ts";

/** A write that may be sent again without being done again. */
export interface KeyedCall {
  readonly tenant: string;
  readonly caller: string;
  readonly method: string;
  readonly path: string;
  readonly key: string;
  /** SHA-256 of the body's RFC 8785 text. */
  readonly bodyDigest: string;
}

export interface KeyedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Throws `idempotency_key_required` (400) without a well-formed key. */
export const requireKey = (request: Request): string => {
  const key = request.headers.get("idempotency-key");
  if (key === null || !idempotencyKey.safeParse(key).success)
    throw new Problem("idempotency_key_required", { detail: "Send Idempotency-Key: 1 to 128 of A-Z a-z 0-9 . _ : -" });
  return key;
};

/** Throws what `requireKey` does. */
export const requireKeyedCall = (request: Request, caller: Caller, body: unknown): KeyedCall => {
  const key = requireKey(request);
  return {
    tenant: caller.tenant,
    caller: keyHolderOf(caller),
    method: request.method,
    path: new URL(request.url).pathname,
    key,
    bodyDigest: createHash("sha256")
      .update(canonicalJson(body) ?? "")
      .digest("hex"),
  };
};

const LOCK = statement<{ locked: boolean }>(
  "membership.idempotency_lock",
  "select pg_try_advisory_xact_lock(hashtextextended('membership.idempotency.' || $1, 0)) as locked",
);
const FIND = statement<{ body_digest: string; status: number; headers: Record<string, string>; body: unknown }>(
  "membership.idempotency_find",
  `select body_digest, status, headers, body from membership.idempotency
   where tenant_id = $1 and caller = $2 and method = $3 and path = $4 and key = $5 and created_at > now() - interval '24 hours'`,
);
const SAVE = statement(
  "membership.idempotency_save",
  `insert into membership.idempotency (tenant_id, caller, method, path, key, body_digest, status, headers, body)
   values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb)
   on conflict (tenant_id, caller, method, path, key) do update set body_digest = excluded.body_digest, status = excluded.status,
     headers = excluded.headers, body = excluded.body, created_at = now()`,
);
const FORGET = statement(
  "membership.idempotency_forget",
  "delete from membership.idempotency where created_at < now() - interval '24 hours'",
);

const placeOf = ({ tenant, caller, method, path, key }: KeyedCall) => [tenant, caller, method, path, key] as const;

/**
 * The answer that the key got within the last 24 hours, or `undefined`: then the write goes on, and the same transaction keeps
 * its answer. Throws `in_progress` while another transaction holds the key, `idempotency_conflict` for another body.
 */
export const findAnswer = async (sql: Sql, call: KeyedCall): Promise<KeyedAnswer | undefined> => {
  const place = placeOf(call);
  const [lock] = await sql.run(LOCK, [JSON.stringify(place)]);
  if (lock?.locked !== true) throw new Problem("in_progress", { headers: { "retry-after": "1" } });
  const [found] = await sql.run(FIND, place);
  if (found === undefined) return undefined;
  if (found.body_digest !== call.bodyDigest) throw new Problem("idempotency_conflict");
  return { status: found.status, headers: found.headers, body: found.body };
};

const saveAnswer = async (sql: Sql, call: KeyedCall, given: KeyedAnswer): Promise<void> => {
  const { status, headers, body } = given;
  await sql.run(SAVE, [...placeOf(call), call.bodyDigest, status, JSON.stringify(headers), JSON.stringify(body)]);
};

/** The answer as the router gives it. */
export const keptAnswer = <R>({ status, headers, body }: KeyedAnswer): Answer<R> => answer(body as R, { status, headers });

/** One write for each key: what is sent again with it gets the first answer, and nothing is done. */
export const createKeyedWrite = (key: KeyedCall) => {
  let kept: KeyedAnswer | undefined;
  return {
    /** The work of the write's transaction: `work` says what it answers at the version that it becomes. Throws what `findAnswer` does. */
    work: async (
      sql: Sql,
      work: () => Promise<Pick<Written<undefined>, "events" | "entries"> & { readonly answerAt: (version: bigint) => KeyedAnswer }>,
    ): Promise<Written<undefined>> => {
      kept = await findAnswer(sql, key);
      if (kept !== undefined) return { value: undefined, entries: () => [] };
      const { answerAt, ...written } = await work();
      const finish = async (version: bigint): Promise<void> => {
        kept = answerAt(version);
        await saveAnswer(sql, key, kept);
      };
      return { value: undefined, ...written, finish };
    },
    /** Once the write has ended. */
    answer: (): KeyedAnswer => {
      if (kept === undefined) throw new Error("a write that ended has an answer");
      return kept;
    },
  };
};

/** Deletes answers older than 24 hours. */
export const forgetAnswers = async (sql: Sql): Promise<void> => void (await sql.run(FORGET));
