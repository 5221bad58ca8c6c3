import {
  budgetSnapshot,
  dropBudgetLimit,
  listBudgetLimits,
  putBudgetLimit,
  type BudgetLimit,
  type budgetLimitDraft,
} from "#contract/budgets.ts";
import { microFromUsd, usdText } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { z } from "zod";
import type { EventDraft } from "#events/model/event-draft.ts";
import { AMOUNT_ISSUE, microOf } from "#membership/model/amount.ts";
import { actorOf, doneEntry, type Actor } from "#membership/delegations/acts.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { dropLimit, findLimit, limitsOfPerson, listLimits, putLimit, type LimitDraft } from "./limits.ts";
import { delegationBudgets } from "./snapshot.ts";

const kinds: Readonly<Record<"user" | "team", string>> = { user: "Person", team: "Group" };

const refuse = (path: string, message: string): never => {
  throw new Problem("unprocessable", { errors: [{ path: `body.${path}`, message }] });
};

/** Limits of a day or a month: who may spend how much, whatever the delegations say. */
export const serveBudgets = (context: MembershipContext): void => {
  const { router, database, pdpClient, reader } = context;

  const requireKind = async (scope: TenantScope, id: string, kind: string, path: string): Promise<void> => {
    const { value } = await reader.node(scope, id);
    if (value?.kind !== kind) refuse(path, `must be the id of a ${kind} of the tenant`);
  };

  /** A tenant's limit is about its own people and groups; Sallyport itself sets none. */
  const draftOf = async (caller: Caller, body: z.output<typeof budgetLimitDraft>, scope: TenantScope): Promise<LimitDraft> => {
    if (scope.tenant === "*") throw new Problem("tenant_required");
    const nodeId = body.node_id ?? (body.scope === "tenant" ? scope.tenant : refuse("node_id", "is needed for this scope"));
    if (body.scope !== "tenant") await requireKind(scope, nodeId, kinds[body.scope], "node_id");
    else if (nodeId !== scope.tenant) refuse("node_id", "must be the own tenant");
    if (body.agent_id !== undefined) await requireKind(scope, body.agent_id, "AIAgent", "agent_id");
    return {
      tenantId: scope.tenant,
      scope: body.scope,
      nodeId,
      agentId: body.agent_id,
      period: body.period,
      limitMicro: microOf(body.limit_usd) ?? refuse("limit_usd", AMOUNT_ISSUE),
      changedBy: caller.sub,
    };
  };

  /** The limit with its event and its audit entry, in one commit. */
  const written = (op: "set" | "dropped", limit: BudgetLimit, tenant: string, actor: Actor) => ({
    events: (): readonly EventDraft[] => [
      {
        type: "budget.limit_changed",
        tenant,
        stream: "config",
        kind: "budget",
        key: limit.limit_id,
        data: { op, limit_id: limit.limit_id, scope: limit.scope, period: limit.period },
        correlationId: actor.by.correlationId,
      },
    ],
    entries: () => [
      doneEntry({
        tenant,
        category: "governance",
        actor: actor.entry,
        resource: { type: "budgets", id: limit.limit_id },
        decisionId: actor.decisionId,
        correlationId: actor.by.correlationId,
        data: {
          op: `budget_limit_${op}`,
          scope: limit.scope,
          node_id: limit.node_id,
          period: limit.period,
          limit_usd: usdText(microFromUsd(limit.limit_usd)),
          agent_id: limit.agent_id ?? undefined,
          reason: actor.by.reason,
        },
      }),
    ],
  });

  router.serve(listBudgetLimits, async ({ caller, correlationId }) => {
    await pdpClient.require(caller, { type: "budgets", action: "view_tenant" }, correlationId);
    return { items: [...(await listLimits(database, tenantScopeOf(caller)))] };
  });

  router.serve(putBudgetLimit, async ({ caller, body, correlationId }) => {
    const scope = tenantScopeOf(caller);
    const decided = await pdpClient.require(caller, { type: "budgets", action: "edit" }, correlationId);
    const draft = await draftOf(caller, body, scope);
    const actor = actorOf(caller, body.reason, correlationId, decided.decisionId);
    const { value } = await context.write({ ...actor.by, tenantId: draft.tenantId }, async (tx) => {
      const id = await putLimit(tx.sql, draft);
      const limit = await findLimit(tx.sql, scope, id);
      if (limit === undefined) throw new Error("the limit is not there after it was set");
      return { value: limit, ...written("set", limit, draft.tenantId, actor) };
    });
    return value;
  });

  router.serve(dropBudgetLimit, async ({ caller, params, correlationId }) => {
    const scope = tenantScopeOf(caller);
    const decided = await pdpClient.require(caller, { type: "budgets", action: "edit" }, correlationId);
    const actor = actorOf(caller, undefined, correlationId, decided.decisionId);
    await context.write({ ...actor.by, tenantId: scope.tenant }, async (tx) => {
      const limit = await findLimit(tx.sql, scope, params.id);
      if (limit === undefined) throw new Problem("not_found");
      await dropLimit(tx.sql, params.id);
      return { value: undefined, ...written("dropped", limit, scope.tenant, actor) };
    });
    return { dropped: true as const };
  });

  // Services alone come here, for somebody whom they have recognised: nothing is decided twice.
  router.serve(budgetSnapshot, ({ caller, query }) => {
    const scope = tenantScopeOf(caller);
    const person = { userId: query.user_id, tenantId: query.tenant_id, scope: query.scope };
    return database.transaction(
      async (sql) => ({
        delegations: query.scope === "user" ? await delegationBudgets(sql, scope, query.user_id, query.tenant_id) : [],
        limits: [...(await limitsOfPerson(sql, scope, person))],
      }),
      { isolation: "repeatable read", readOnly: true },
    );
  });
};
