import type { Change } from "#events/change.ts";
import type { Log } from "#telemetry/log.ts";
import type { FactAsk, Facts } from "#contract/facts.ts";
import type { Sql } from "#store/database.ts";
import type { FactSource } from "#pdp/fact-source.ts";
import { endOutdated } from "./outdated-requests.ts";
import { listLiveOfAgents, voidApproval, type RequestRow } from "./request-store.ts";
import { entryOf, eventOf, theHouse, type RequestAct } from "./tell-request.ts";

export interface RequestSweeper {
  /** Ends now what is due. Throws what the database throws. */
  sweep(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const EVERY_MS = 5_000;
const AT_ONCE = 200;

/** Asks for the very delegation, whatever others there are. */
const delegationAsk = (row: RequestRow): FactAsk => ({
  subject_id: row.subject,
  agent_ids: [...row.agents],
  action: row.action,
  resource: { type: row.resource_type, external_id: row.resource_id ?? "*" },
  tenant_id: row.tenant,
  ...(row.delegation_id === null ? {} : { delegation_id: row.delegation_id }),
});

/** A paused one may go on; one that is revoked or over, or not there, never does. */
const hasEnded = (delegation: Facts["delegation"] | undefined, row: RequestRow): boolean =>
  delegation !== undefined && (delegation?.id !== row.delegation_id || delegation.status === "revoked" || delegation.status === "expired");

/**
 * Writes down, and tells, which requests have expired and which were bound to policies that no longer decide. Nothing waits for
 * it: a request is expired and an approval without effect as soon as it is due. Of several processes one does each.
 */
export const createRequestSweeper = (parts: {
  readonly sql: Sql;
  readonly change: Change;
  readonly facts: Pick<FactSource, "gather">;
  readonly nextId: () => string;
  readonly log: Log;
  readonly now: () => Date;
}): RequestSweeper => {
  /** Approvals whose agent acts no more under the delegation that they were given for. */
  const findRevoked = async (): Promise<readonly RequestRow[]> => {
    const revoked: RequestRow[] = [];
    for (let after: string | undefined = ""; after !== undefined;) {
      const rows: readonly RequestRow[] = await listLiveOfAgents(parts.sql, parts.now(), after, AT_ONCE);
      if (rows.length === 0) break;
      const { facts } = await parts.facts.gather(rows.map(delegationAsk));
      revoked.push(...rows.filter((row, index) => hasEnded(facts[index]?.delegation, row)));
      after = rows.length < AT_ONCE ? undefined : rows.at(-1)?.id;
    }
    return revoked;
  };

  const sweep = async (): Promise<void> => {
    // What the graph cannot tell now, it tells the next time; the rest does not wait for it.
    const revoked = await findRevoked().catch((cause: unknown) => {
      parts.log.warn("pdp_requests_not_swept", { cause });
      return [];
    });
    await parts.change(async (sql) => {
      const { expired, failed, voided: outdated } = await endOutdated(sql, parts.now());
      const voided = [...outdated];
      for (const { id } of revoked) {
        const row = await voidApproval(sql, id, parts.now(), "revoked");
        if (row !== undefined) voided.push(row);
      }
      const ended: readonly (readonly [RequestAct, readonly RequestRow[]])[] = [
        ["expired", expired],
        ["failed", failed],
        ["voided", voided],
      ];
      const by = theHouse(parts.nextId());
      const acts = ended.flatMap(([act, rows]) => rows.map((row) => ({ act, row })));
      return {
        result: undefined,
        events: acts.map(({ act, row }) => eventOf(row, act, by.correlationId)),
        entries: acts.map(({ act, row }) => entryOf(row, act, by)),
      };
    });
  };
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= sweep()
      .catch((cause: unknown) => parts.log.warn("pdp_requests_not_swept", { cause }))
      .finally(() => (running = undefined));
  }, EVERY_MS).unref();
  return {
    sweep,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await running;
    },
  };
};
