import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import { statement, type Database } from "#store/database.ts";
import { lockPointer, movePointer } from "./pointer.ts";
import { policyEntry, policyEvents, instanceChanger } from "./policy-events.ts";
import { findLastRetired, findVersion, readStoredBundle } from "./version-store.ts";

const note = statement("pdp.offline.note", "insert into pdp.offline_act (act) values ($1::jsonb)");
const unaudited = statement<{ readonly id: bigint; readonly at: string; readonly act: unknown }>(
  "pdp.offline.unaudited",
  "select id, at, act from pdp.offline_act where audited_at is null order by id for update",
);
const audited = statement("pdp.offline.audited", "update pdp.offline_act set audited_at = clock_timestamp() where id = any($1)");

const rollback = z.object({ op: z.literal("rolled_back"), version: z.string(), from: z.string(), epoch: z.number(), by: z.string() });

export interface RolledBack {
  readonly version: string;
  readonly from: string;
}

/**
 * Lets a version that decided before decide again, on the database alone: for when nobody can any more through the service. Running
 * replicas follow within two seconds; the audit log is told by the next start. Throws `conflict`, `not_found`, `BundleRefused`.
 */
export const rollBackOffline = (database: Database, version: string | undefined, by: string): Promise<RolledBack> =>
  database.transaction(async (sql) => {
    const pointer = await lockPointer(sql);
    if (pointer === undefined) throw new Problem("conflict", { detail: "No version of the policies was ever activated in this database." });
    const stored = version === undefined ? await findLastRetired(sql) : await findVersion(sql, version);
    if (stored === undefined)
      throw version === undefined
        ? new Problem("conflict", { detail: "No version decided before the present one." })
        : new Problem("not_found", { detail: `There is no version ${version}.` });
    if (stored.state !== "retired")
      throw new Problem("conflict", { detail: `${stored.version} is ${stored.state}: only one that decided before can again.` });
    // Whoever is locked out must not be locked out worse.
    await readStoredBundle(sql, stored.version);
    const epoch = await movePointer(sql, pointer, { active: stored.version, shadow: pointer.shadow });
    const act: z.infer<typeof rollback> = { op: "rolled_back", version: stored.version, from: pointer.active, epoch: Number(epoch), by };
    await sql.run(note, [JSON.stringify(act)]);
    return { version: stored.version, from: pointer.active };
  });

/** Tells the audit log and the streams of what was done while nobody could be told. Returns how many acts there were. */
export const auditOfflineActs = (change: Change): Promise<number> =>
  change(async (sql) => {
    const rows = await sql.run(unaudited);
    if (rows.length === 0) return { result: 0 };
    await sql.run(audited, [rows.map(({ id }) => id)]);
    const acts = rows.map(({ id, at, act }) => ({ id, at, act: rollback.parse(act) }));
    const by = (id: bigint) => instanceChanger(`offline-${id}`);
    const events = [];
    for (const { id, act } of acts)
      events.push(...(await policyEvents(sql, by(id), "rolled_back", act.version, { from: act.from, epoch: act.epoch })));
    return {
      result: rows.length,
      events,
      entries: acts.map(({ id, at, act }) =>
        policyEntry(by(id), "rolled_back", act.version, {
          from: act.from,
          epoch: act.epoch,
          offline: true,
          at,
          operating_system_user: act.by,
        }),
      ),
    };
  });
