import type { QueryOf } from "#contract/endpoint.ts";
import type { listSecretAudit } from "#contract/secret-audit.ts";
import { statement, type Sql } from "#store/database.ts";

/** Ended acts on secrets that are wanted; what is absent is not looked at. */
export type SecretActsFilter = Pick<
  QueryOf<typeof listSecretAudit>,
  "op" | "outcome" | "agent" | "decision_id" | "correlation_id" | "since" | "until"
> & {
  readonly subjectRef?: string | undefined;
  readonly resourceRefs?: readonly string[] | undefined;
  /** Acts on the platform's secrets too. */
  readonly seesPlatform: boolean;
};

export interface SecretAct {
  readonly seq: bigint;
  readonly act_id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly decision_id: string | null;
  readonly correlation_id: string;
  readonly actor: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>>;
  /** What is sealed for the key of who acted, in the entry of this id. */
  readonly entry_id: string;
  readonly sealed: string | null;
}

const ACTS = statement<SecretAct>(
  "events.secret_acts",
  `select seq, act_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, outcome, code, decision_id, correlation_id,
     entry -> 'actor' as actor, entry -> 'data' as data, entry_id, entry ->> 'sealed' as sealed
   from events.audit_entry, lateral (select convert_from(leaf, 'UTF8')::json as entry offset 0) as read
   where log = $1 and category = 'secret' and phase <> 'open' and leaf is not null
     and ($2::bigint is null or seq < $2) and ($3::text is null or outcome = $3) and ($4::text is null or subject_ref = $4)
     and ($5::text is null or agent_id = $5) and ($6::text[] is null or resource_ref = any($6)) and ($7::text is null or decision_id = $7)
     and ($8::text is null or correlation_id = $8) and ($9::timestamptz is null or at >= $9) and ($10::timestamptz is null or at <= $10)
     and ($11::text is null or entry -> 'data' ->> 'op' = $11) and ($13 or entry -> 'data' ->> 'platform' is null)
   order by seq desc limit $12`,
);

/** Of one tenant's log, the newest first, before a place in it. */
export const readSecretActs = (
  sql: Sql,
  log: string,
  filter: SecretActsFilter,
  before: bigint | undefined,
  limit: number,
): Promise<readonly SecretAct[]> =>
  sql.run(ACTS, [
    log,
    before ?? null,
    filter.outcome ?? null,
    filter.subjectRef ?? null,
    filter.agent ?? null,
    filter.resourceRefs === undefined ? null : [...filter.resourceRefs],
    filter.decision_id ?? null,
    filter.correlation_id ?? null,
    filter.since ?? null,
    filter.until ?? null,
    filter.op ?? null,
    limit,
    filter.seesPlatform,
  ]);
