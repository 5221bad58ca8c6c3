import { startInterval } from "#http/interval.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { findEnded } from "./ended-delegations.ts";
import { endOutdated } from "#pdp/records/outdated-requests.ts";
import { failRequest, listOpenOfAgents, voidApproval, type RequestRow } from "#pdp/records/request-store.ts";
import { tellRequests, type RequestAct } from "#pdp/records/report-request.ts";
import { instanceActor } from "#pdp/records/act-actor.ts";

export interface RequestSweeper {
  /** Ends now what is due. Throws what the database throws. */
  sweep(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const EVERY_MS = 5_000;
const AT_ONCE = 200;

/**
 * Writes down, and tells, which requests have expired and which were bound to policies that no longer decide. Nothing waits for
 * it: a request is expired and an approval without effect as soon as it is due. Of several processes one does each.
 */
export const createRequestSweeper = (
  parts: Pick<ServiceParts, "database" | "change" | "log" | "now"> & {
    readonly facts: Pick<FactSource, "gather">;
    readonly nextId: () => string;
  },
): RequestSweeper => {
  /** Requests and approvals whose agent acts no more under the delegation that they rest on. */
  const findRevoked = async (): Promise<readonly RequestRow[]> => {
    const revoked: RequestRow[] = [];
    for (let after: string | undefined = ""; after !== undefined;) {
      const rows: readonly RequestRow[] = await listOpenOfAgents(parts.database, parts.now(), after, AT_ONCE);
      if (rows.length === 0) break;
      revoked.push(...(await findEnded(parts.facts, rows)));
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
      const { expired, failed: outdated, voided: without } = await endOutdated(sql, parts.now());
      const [failed, voided] = [[...outdated], [...without]];
      for (const { id, status } of revoked) {
        const isOpen = status === "pending";
        const row = isOpen ? await failRequest(sql, id, "revoked") : await voidApproval(sql, id, parts.now(), "revoked");
        if (row !== undefined) (isOpen ? failed : voided).push(row);
      }
      const ended: readonly (readonly [RequestAct, readonly RequestRow[]])[] = [
        ["expired", expired],
        ["failed", failed],
        ["voided", voided],
      ];
      const by = instanceActor(parts.nextId());
      return { result: undefined, ...tellRequests(ended.flatMap(([act, rows]) => rows.map((row) => ({ row, act, by })))) };
    });
  };
  const loop = startInterval({ everyMs: EVERY_MS, work: sweep, failed: (cause) => parts.log.warn("pdp_requests_not_swept", { cause }) });
  return { sweep, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
};
