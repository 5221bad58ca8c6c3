import { shadowDecision, type ShadowDecision } from "#contract/decisions.ts";
import { parseDecisionId } from "#pdp/records/decision-id.ts";
import { statement, type Sql } from "#store/database.ts";

/** What a version in shadow made of one decision. */
export interface ShadowedDecision {
  readonly decisionId: string;
  readonly at: Date;
  readonly outcome: ShadowDecision;
}

const put = statement(
  "pdp.shadow_decision.put",
  `insert into pdp.shadow_decision (call_id, place, version, decided_at, outcome)
   select * from unnest($1::text[], $2::int[], $3::text[], $4::timestamptz[], $5::jsonb[]) on conflict do nothing`,
);
const read = statement<{ readonly outcome: unknown }>(
  "pdp.shadow_decision.read",
  "select outcome from pdp.shadow_decision where call_id = $1 and place = $2",
);

const ALONE = -1;
const placeOf = (decisionId: string) => {
  const parsed = parseDecisionId(decisionId);
  return parsed === undefined ? undefined : { callId: parsed.callId, place: parsed.index ?? ALONE };
};

export const addDecisions = async (sql: Sql, decisions: readonly ShadowedDecision[]): Promise<void> => {
  const rows = decisions.flatMap(({ decisionId, at, outcome }) => {
    const place = placeOf(decisionId);
    return place === undefined ? [] : [{ ...place, at, outcome }];
  });
  if (rows.length === 0) return;
  await sql.run(put, [
    rows.map((row) => row.callId),
    rows.map((row) => row.place),
    rows.map((row) => row.outcome.policy_version),
    rows.map((row) => row.at.toISOString()),
    rows.map((row) => JSON.stringify(row.outcome)),
  ]);
};

export const readDecision = async (sql: Sql, decisionId: string): Promise<ShadowDecision | undefined> => {
  const place = placeOf(decisionId);
  if (place === undefined) return undefined;
  const [row] = await sql.run(read, [place.callId, place.place]);
  return row === undefined ? undefined : shadowDecision.parse(row.outcome);
};
