import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Asking } from "#membership/context/access.ts";
import { actorOf, doneEntry, type Actor } from "#membership/delegations/acts.ts";
import { refusalOfAct } from "#pdp-client/deployment-acts.ts";
import { tenantScopeOf, type SharedReach, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction, Written } from "#membership/graph/write.ts";
import { holdsPlatform, RoleRefused, type RoleRight } from "#membership/graph/role-watch.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { tenantOfWriter } from "./edits.ts";
import { gone } from "#membership/context/graph-answers.ts";

/** One act on the graph: who does it, what it is called in the audit log, and what it is about. */
export interface GraphAct extends Asking {
  /** The pair that has to be permitted, `resource/action`. */
  readonly pair: readonly [type: string, action: string];
  readonly op: string;
  readonly about: { readonly type: string; readonly id?: string };
  readonly reason: string | undefined;
  readonly source?: "import";
}

/** Acts on things of one type, each by its call: `const act = actOn(["graph", "edit"], "graph")`. */
export const actOn =
  (pair: GraphAct["pair"], type: string) =>
  ({ caller, correlationId }: Asking, op: string, id: string | undefined, reason: string | undefined): GraphAct => ({
    caller,
    correlationId,
    pair,
    op,
    about: { type, id },
    reason,
  });

/** Types of acts that write what is shared too, for who runs the deployment. */
const sharing: ReadonlySet<string> = new Set(["graph", "registry", "policybindings"]);

/** What it asks for somebody follows from a system that it serves. */
const TOOL_SERVER = "service:crud";

const entryOf = (act: GraphAct, actor: Actor, tenant: string): EntryDraft =>
  doneEntry({
    tenant,
    category: "governance",
    actor: actor.entry,
    resource: act.about,
    decisionId: actor.decisionId,
    correlationId: act.correlationId,
    data: { op: act.op, reason: act.reason },
  });

/** Asks for the decision; what it gives is who may do the act, and in which part of the graph. Throws `access_denied`, `step_up_required`. */
const requireAct = async (
  context: MembershipContext,
  act: GraphAct,
  [type, action]: GraphAct["pair"],
): Promise<{ readonly scope: TenantScope; readonly actor: Actor }> => {
  const scope = tenantScopeOf(act.caller);
  const decided = await context.pdpClient.require(act.caller, { type, action }, act.correlationId);
  return { scope, actor: actorOf(act.caller, act.reason, act.correlationId, decided.decisionId) };
};

/**
 * The act as one version of the graph, with its audit entry in the same commit; `also` are entries beside it, `entries` others in its
 * place. Where it shows that the act changes who holds a role, nothing is written, `roles/assign` is asked for, and it is done again
 * (`role:platform` is changed by its holders alone); a file may do so only through groups that are marked for it. Where it shows that
 * the act writes what is shared, or names a secret of the platform, the same with `deployment/edit_graph`.
 */
export const writeAs = async <T>(
  context: MembershipContext,
  act: GraphAct,
  work: (tx: GraphTransaction, scope: TenantScope, actor: Actor) => Promise<Written<T> & { readonly also?: Written<T>["entries"] }>,
): Promise<{ readonly value: T; readonly version: bigint }> => {
  const shared: SharedReach = { isPermitted: false, wasWanted: false };
  const write = async (pair: GraphAct["pair"], roles: RoleRight) => {
    const { scope: own, actor } = await requireAct(context, act, pair);
    const names = act.caller.calledBy === TOOL_SERVER ? ("tools" as const) : ("others" as const);
    const scope = { ...own, names, ...(sharing.has(act.pair[0]) ? { shared } : {}) };
    const tenantId = tenantOfWriter(scope);
    return context.write({ ...actor.by, source: act.source ?? actor.by.source, tenantId, roles, shared }, async (tx) => {
      const { also = () => [], ...written } = await work(tx, scope, actor);
      return { entries: (version) => [...(tenantId === null ? [] : [entryOf(act, actor, tenantId)]), ...also(version)], ...written };
    });
  };
  const writeWithin = async (pair: GraphAct["pair"], roles: RoleRight) => {
    try {
      return await write(pair, roles);
    } catch (error) {
      if (shared.isPermitted || !shared.wasWanted || !(error instanceof Problem)) throw error;
      const refusal = await refusalOfAct(context.pdpClient, act, "edit_graph");
      // Who may not at all is told which row it is.
      if (refusal !== undefined) throw refusal.code === "step_up_required" ? refusal : error;
      shared.isPermitted = true;
      return write(pair, roles);
    }
  };
  if (act.source === "import") return writeWithin(act.pair, "provision");
  try {
    return await writeWithin(act.pair, "none");
  } catch (error) {
    if (!(error instanceof RoleRefused)) throw error;
    return writeWithin(["roles", "assign"], (await holdsPlatform(context.database, act.caller.sub)) ? "platform" : "assign");
  }
};

/** `writeAs` for what takes something away: the answer is empty, but for the graph's version. */
export const takeAway = async (
  context: MembershipContext,
  act: GraphAct,
  work: (tx: GraphTransaction, scope: TenantScope) => Promise<void>,
): Promise<Response> => {
  const { version } = await writeAs(context, act, async (tx, scope) => ({ value: await work(tx, scope) }));
  return gone(version);
};
