import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { entryActor, instanceActor, type ActActor } from "#pdp/records/act-actor.ts";
import { statement, type Sql } from "#store/database.ts";

/** Who changes policies: a person or service by request, or Sallyport itself. */
export interface Changer extends ActActor {
  readonly tenant: string;
  readonly decisionId?: string;
}

export const instanceChanger = (correlationId: string): Changer => ({ ...instanceActor(correlationId), tenant: "*" });

export type PolicyAct =
  | "imported"
  | "drafted"
  | "dropped"
  | "shadowed"
  | "unshadowed"
  | "activated"
  | "rolled_back"
  | "replay_started"
  | "replay_stopped";

// Whoever reads a stream has decisions on record. The index is walked from tenant to tenant, not row by row.
const tenantsOnRecord = statement<{ readonly tenant: string }>(
  "pdp.call.tenants",
  `with recursive t(tenant) as (
     (select tenant from pdp.call order by tenant limit 1)
     union all
     select (select c.tenant from pdp.call c where c.tenant > t.tenant order by c.tenant limit 1) from t where t.tenant is not null)
   select tenant from t where tenant is not null and tenant <> '*'`,
);

export const policyEntry = (by: Changer, act: PolicyAct, version: string, data: Readonly<Record<string, unknown>>): EntryDraft => ({
  tenant: by.tenant,
  category: "policy",
  outcome: "ok",
  actor: entryActor(by),
  via: { service: "pdp" },
  resource: { type: "policies", id: version },
  decisionId: by.decisionId,
  correlationId: by.correlationId,
  data: { op: act, version, ...data },
});

/** Acts after which decisions may fall otherwise: whoever shows what was decided looks again. */
const turning: ReadonlySet<PolicyAct> = new Set(["activated", "rolled_back"]);

/** `policy.<act>` for the config stream: of every tenant when other policies decide from now on, else of who did it. */
export const policyEvents = async (
  sql: Sql,
  by: Changer,
  act: PolicyAct,
  version: string,
  data: Readonly<Record<string, unknown>>,
): Promise<readonly EventDraft[]> => {
  const tenants = new Set(turning.has(act) ? (await sql.run(tenantsOnRecord)).map(({ tenant }) => tenant) : []);
  if (by.tenant !== "*") tenants.add(by.tenant);
  return [...tenants].map((tenant) => ({
    type: `policy.${act}`,
    tenant,
    stream: "config",
    kind: "policy",
    key: version,
    by: tenant === by.tenant ? by.subject : undefined,
    data: { op: act, version, ...data },
    correlationId: by.correlationId,
  }));
};

/** What is told of an act: its audit entry and its events, for the commit that it is part of. */
export const tellOf = async (sql: Sql, by: Changer, act: PolicyAct, version: string, data: Readonly<Record<string, unknown>>) => ({
  entries: [policyEntry(by, act, version, data)],
  events: await policyEvents(sql, by, act, version, data),
});
