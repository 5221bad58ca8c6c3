import { Problem, type Issue } from "#contract/problem.ts";
import type { RoutesReloaded } from "#contract/routes.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Principal } from "#pdp-client/pdp-client.ts";
import { StartIssues } from "#contract/start-issues.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { actorOf } from "#gateway/steps/record-denial.ts";
import type { RoutesInForce } from "./active-routes.ts";

/** Who had the table reloaded: somebody by a request, or the operator by a signal. */
export interface ReloadedBy {
  readonly principal?: Principal;
  readonly sessionRef?: string;
  readonly routeId?: string;
  readonly correlationId: string;
}

export type ReloadRoutes = (by: ReloadedBy) => Promise<RoutesReloaded>;

const entryOf = (by: ReloadedBy): Omit<EntryDraft, "outcome" | "data"> => {
  const { principal } = by;
  return {
    tenant: principal?.tenant ?? "*",
    category: "config",
    actor: principal === undefined ? { subject: "service:gateway", kind: "system" } : actorOf(principal, by.sessionRef),
    via: { service: "gateway", route_id: by.routeId },
    resource: { type: "gateway.routes" },
    correlationId: by.correlationId,
  };
};

/**
 * Takes up the changed files: one reload at a time, all or nothing. Throws `routes_invalid` (422) with every issue, and
 * `audit_unavailable` (503) when the reload cannot be recorded; the table in force stays then.
 */
export const createReloadRoutes = (
  parts: Pick<GatewayParts, "recorder" | "log"> & {
    readonly routes: RoutesInForce;
    /** Rows are no more what they were: what goes on under them is to look again. */
    readonly onRowsGone: () => void;
  },
): ReloadRoutes => {
  const { routes, recorder, log } = parts;
  let last: Promise<unknown> = Promise.resolve();

  const refuse = async (by: ReloadedBy, issues: readonly Issue[]): Promise<never> => {
    const data = { event: "reload", revision: routes.table.revision, issues: issues.length };
    const record = recorder.one({ ...entryOf(by), outcome: "refused", code: "routes_invalid", data });
    await record.catch((cause: unknown) => log.warn("reload_not_recorded", { correlation_id: by.correlationId, cause }));
    log.warn("routes_reload_refused", { issues: issues.length, correlation_id: by.correlationId });
    throw new Problem("routes_invalid", { errors: issues });
  };

  const reload = async (by: ReloadedBy): Promise<RoutesReloaded> => {
    const prepared = await routes.prepare().catch((error: unknown) => {
      if (error instanceof StartIssues) return refuse(by, error.issues);
      throw error;
    });
    const { revision, previous, added, changed, removed } = prepared;
    const data = { event: "reload", revision, previous, added: added.length, changed: changed.length, removed: removed.length };
    try {
      await recorder.one({ ...entryOf(by), outcome: "ok", data });
    } catch (error) {
      await prepared.discard();
      throw error;
    }
    prepared.commit();
    if (changed.length + removed.length > 0) parts.onRowsGone();
    log.info("routes_reloaded", { ...data, correlation_id: by.correlationId });
    return { revision, previous, added: [...added], changed: [...changed], removed: [...removed] };
  };

  return (by) => {
    const next = last.then(
      () => reload(by),
      () => reload(by),
    );
    last = next.catch(() => undefined);
    return next;
  };
};
