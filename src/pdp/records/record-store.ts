import { statement, type Database, type Statement, type TransactionSql } from "#store/database.ts";
import type { CallRows } from "./call-rows.ts";
import { callColumns, type ListedRow } from "./list-calls.ts";
import type { CallNames, StoredCall, StoredItem } from "./record.ts";

type CallRow = ListedRow;

// Rows go as one JSON text, items and facts in it as they are: quoted into arrays they cost several times the CPU.
const insertCalls = statement(
  "pdp.call.insert",
  `insert into pdp.call (call_id, part, decided_at, tenant, subject, agent, subject_name, agent_name, pep, policy_version, graph_version,
     latency_us, request_id, correlation_id, items)
   select call_id, part, decided_at, tenant, subject, agent, subject_name, agent_name, pep, policy_version, graph_version, latency_us, request_id,
     correlation_id, items
   from json_to_recordset($1::json) as c(call_id text, part int, decided_at timestamptz, tenant text, subject text, agent text,
     subject_name text, agent_name text, pep text, policy_version text, graph_version bigint, latency_us int, request_id text, correlation_id text, items jsonb)`,
);
// Ordered, so that two processes that write the same facts cannot wait for one another.
const insertFacts = statement(
  "pdp.facts.insert",
  `insert into pdp.facts (digest, facts, sealed, last_used)
   select f.digest, f.facts, decode(f.sealed, 'base64'), $2::timestamptz
   from json_to_recordset($1::json) as f(digest text, facts jsonb, sealed text) order by f.digest
   on conflict (digest) do update set last_used = greatest(pdp.facts.last_used, excluded.last_used)`,
);

const findItems: Statement<CallRow> = statement(
  "pdp.call.find",
  `select ${callColumns}, i.item from pdp.call c cross join lateral jsonb_array_elements(c.items) i(item) where c.call_id = any($1)`,
);
const pageOfCalls: Statement<StoredCall & CallNames & { readonly items: readonly StoredItem[] }> = statement(
  "pdp.call.page",
  `select ${callColumns}, c.items
   from pdp.call c where tenant = $1 and call_id <= $2 and (call_id, part) < ($2, $3) and ($4::text is null or subject = $4)
     and ($5::timestamptz is null or decided_at >= $5) and ($6::timestamptz is null or decided_at < $6)
   order by call_id desc, part desc limit $7`,
);
const readManyFacts: Statement<{ readonly digest: string; readonly facts: unknown; readonly sealed: Uint8Array | null }> = statement(
  "pdp.facts.read_many",
  "select digest, facts, sealed from pdp.facts where digest = any($1)",
);
const purgeCalls = statement("pdp.call.purge", "delete from pdp.call where decided_at < $1");
const purgeShadows = statement("pdp.shadow_decision.purge", "delete from pdp.shadow_decision where decided_at < $1");
const purgeRequests = statement(
  "pdp.request.purge",
  "delete from pdp.request where created_at < $1 and status <> 'pending' and (approved_until is null or approved_until < $1)",
);
const purgeFacts = statement("pdp.facts.purge", "delete from pdp.facts where last_used < $1");

const factsRow = ([digest, kept]: readonly [string, { readonly text: string } | { readonly sealed: Uint8Array }]): string => {
  const key = JSON.stringify(digest);
  return "text" in kept
    ? `{"digest":${key},"facts":${kept.text}}`
    : `{"digest":${key},"sealed":"${Buffer.from(kept.sealed).toString("base64")}"}`;
};

const callRow = ({ items, graph_version: version, ...call }: CallRows["calls"][number]): string =>
  `${JSON.stringify({ ...call, graph_version: version === null ? null : String(version) }).slice(0, -1)},"items":${items}}`;

/** Posts the rows of several calls; inside the caller's transaction. */
export const writeRows = (sql: TransactionSql, groups: readonly CallRows[], now: Date): void => {
  const facts = new Map(groups.flatMap((group) => [...group.facts]));
  if (facts.size > 0) sql.post(insertFacts, [`[${[...facts].map(factsRow).join(",")}]`, now]);
  const calls = groups.flatMap((group) => group.calls);
  sql.post(insertCalls, [`[${calls.map(callRow).join(",")}]`]);
};

export const findCallItems = (database: Database, callIds: readonly string[]): Promise<readonly CallRow[]> =>
  database.run(findItems, [callIds]);

/** Whole calls of a tenant before a position, newest first. */
export interface CallPageAsk {
  readonly tenant: string;
  readonly before: { readonly callId: string; readonly part: number };
  readonly subject?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit: number;
}

export const readCallPage = (database: Database, ask: CallPageAsk) =>
  database.run(pageOfCalls, [
    ask.tenant,
    ask.before.callId,
    ask.before.part,
    ask.subject ?? null,
    ask.from ?? null,
    ask.to ?? null,
    ask.limit,
  ]);

export const findManyFacts = (database: Database, digests: readonly string[]) => database.run(readManyFacts, [digests]);

/** Drops what is older than records are kept. Facts live a day longer than their last use was noted. */
export const purgeRecords = async (database: Database, before: Date): Promise<void> => {
  await database.run(purgeCalls, [before]);
  await database.run(purgeShadows, [before]);
  await database.run(purgeRequests, [before]);
  await database.run(purgeFacts, [new Date(before.getTime() - 86_400_000)]);
};

export type { CallRow };
