import { randomUUID } from "node:crypto";
import type { Caller } from "#authn/model/caller.ts";
import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import {
  createDelegation as createEndpoint,
  delegationHistory,
  delegationImpact,
  delegationUsage,
  getDelegation,
  listDelegations as listEndpoint,
  patchDelegation,
  pauseDelegation,
  resumeDelegation,
  revokeDelegation,
  revokeMany,
  whatIfDelegation,
  type Delegation,
  type DelegationDraft,
} from "#contract/delegations.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import type { Sql } from "#store/database.ts";
import { requireView, shown, type Asking } from "#membership/context/access.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { findAnswer, keptAnswer, requireKeyedCall, type KeyedAnswer, type KeyedCall } from "#membership/context/idempotency.ts";
import { requireTags, tagOf } from "#membership/model/if-match.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { listOpen, readUsage } from "#membership/delegations/read-ledger.ts";
import { undone } from "#membership/model/dry-run.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { actorOf } from "./acts.ts";
import { requireStanding } from "./change-status.ts";
import { changeDelegation, isWidened } from "./change-terms.ts";
import { checkDraft, readAgent } from "./check-draft.ts";
import { createDelegation, delegatorOf } from "./create-delegation.ts";
import { delegationView, listDelegations, readDelegation, type DelegationRow } from "./delegation-view.ts";
import { draftEffect, endEffect, patchEffect } from "./draft-effect.ts";
import type { Lifts } from "./what-if.ts";
import type { NewDelegation } from "./put-delegation.ts";
import { readHistory } from "./read-history.ts";
import { readImpact } from "./read-impact.ts";
import { readLifts } from "./read-lifts.ts";
import { stopDelegation, stopMany, type Stop } from "./stop-delegations.ts";

/** Delegations: who may let which agent do what, for how long and for how much. */
export const serveDelegations = (context: MembershipContext): void => {
  const { router, pdpClient, database } = context;

  /** Unknown and foreign ids end here, before any decision. */
  const requireRow = async (caller: Caller, id: string): Promise<{ row: DelegationRow & { version: bigint }; scope: TenantScope }> => {
    const scope = tenantScopeOf(caller);
    const row = await readDelegation(database, scope, id);
    if (row === undefined) throw new Problem("not_found");
    return { row, scope };
  };
  const requireRead = async ({ caller, correlationId }: Asking, id: string) => {
    const found = await requireRow(caller, id);
    await pdpClient.require(caller, { type: "delegations", action: "view", id }, correlationId);
    return found;
  };

  router.serve(listEndpoint, async (call) => {
    const { caller, query, correlationId } = call;
    const scope = await requireView(context, call, { type: "delegations", action: "view_all" });
    // Read before the list: what happens in between is told again rather than missed.
    const streamSeq = scope.tenant === "*" ? undefined : await context.bus?.head(scope.tenant, "config");
    const { limit, cursor, ...filters } = query;
    const isOthers = filters.whose === "all" || (filters.user_id !== undefined && filters.user_id !== caller.sub);
    const binding = ["delegations", caller.sub, scope.tenant, filters];
    const rows = await listDelegations(database, scope, {
      after: cursor === undefined ? "" : context.cursors.open(cursor, binding),
      delegatorId: isOthers ? filters.user_id : caller.sub,
      agentId: filters.agent_id,
      parentId: filters.parent_id,
      status: filters.status,
      attention: filters.attention === "true",
      limit: limit + 1,
    });
    const { page, last } = pageOf(rows, limit);
    const others = page.filter((row) => row.delegator_id !== caller.sub);
    const asks = others.map((row) => ({ type: "delegations", action: "view", id: row.id, ...shown }));
    const decided = await pdpClient.decideMany(caller, asks, correlationId);
    const refusals = decided.map((one) => pdpClient.refusal(caller, one));
    // What a sign-in would bring is not left out unsaid.
    const stepUp = refusals.find((refusal) => refusal?.code === "step_up_required");
    if (stepUp !== undefined) throw stepUp;
    const hidden = new Set(others.filter((_row, index) => refusals[index] !== undefined).map((row) => row.id));
    return {
      items: page.filter((row) => !hidden.has(row.id)).map(delegationView),
      next_cursor: last && context.cursors.seal(last.id, binding),
      ...(streamSeq === undefined ? {} : { stream_seq: Number(streamSeq) }),
    };
  });

  const written = (sql: Sql, caller: Caller, draft: DelegationDraft): Promise<NewDelegation> =>
    checkDraft(sql, tenantScopeOf(caller), draft, {
      id: `delegation:${randomUUID()}`,
      delegatorId: delegatorOf(caller, draft),
      createdBy: caller.sub,
      config: context.config,
      now: context.now(),
    });

  const liftsOf = async (caller: Caller, draft: DelegationDraft, tenantId: string, correlationId: string): Promise<Lifts> =>
    readLifts(context, { tenantId, draft, correlationId, written: await undone(database, (sql) => written(sql, caller, draft)) });

  /** What the caller was answered under the key already. Throws `in_progress`, `idempotency_conflict`. */
  const findKept = (key: KeyedCall): Promise<KeyedAnswer | undefined> => database.transaction((sql) => findAnswer(sql, key));

  router.serve(createEndpoint, async ({ caller, body, request, correlationId }) => {
    const key = requireKeyedCall(request, caller, body);
    const scope = tenantScopeOf(caller);
    // Before anything that may have changed since: the caller's own words, told to nobody else.
    const kept = await findKept(key);
    if (kept !== undefined) return keptAnswer<Delegation>(kept);
    const agent = await readAgent(database, scope, body.agent_id);
    if (agent === undefined) throw new Problem("not_found");
    const decided = await pdpClient.require(caller, { type: "delegations", action: "create", id: body.agent_id }, correlationId);
    delegatorOf(caller, body);
    const actor = actorOf(caller, undefined, correlationId, decided.decisionId);
    return keptAnswer<Delegation>(
      await createDelegation(context, {
        caller,
        scope,
        draft: body,
        key,
        actor,
        tenantId: agent.tenant_id,
        lifts: () => liftsOf(caller, body, agent.tenant_id, correlationId),
      }),
    );
  });

  /** Who widens it or lets it go on is who might give it anew; who narrows it or holds it up, who might end it. Gives the decision's id. */
  const requireChange = async ({ caller, correlationId }: Asking, row: DelegationRow, isGiven: boolean, more: object = {}) => {
    const ask = isGiven ? { action: "create", id: row.agent_id } : { action: "revoke", id: row.id };
    const { decisionId } = await pdpClient.require(caller, { type: "delegations", ...ask, ...more }, correlationId);
    if (isGiven) delegatorOf(caller, { delegator_id: row.person_id });
    return decisionId;
  };

  router.serve(patchDelegation, async (call) => {
    const { caller, body: patch, correlationId } = call;
    const tags = requireTags(call.request);
    const { row, scope } = await requireRow(caller, call.params.id);
    const mayWiden = isWidened(row, patch);
    const decisionId = await requireChange(call, row, mayWiden);
    const { body, etag, version } = await changeDelegation(context, {
      id: row.id,
      scope,
      tenantId: row.tenant_id,
      patch,
      mayWiden,
      actor: actorOf(caller, patch.reason, correlationId, decisionId),
      tags,
    });
    return answer(body, { headers: { etag, ...versioned(version) } });
  });

  router.serve(whatIfDelegation, async (call) => {
    const { caller, body, correlationId } = call;
    if ("revoke" in body) {
      const { scope, row } = await requireRow(caller, body.revoke);
      await requireChange(call, row, false, shown);
      return undone(database, (sql) => endEffect(sql, scope, row, context.dataScope));
    }
    if ("patch" in body) {
      const { scope, row } = await requireRow(caller, body.id);
      requireStanding(row);
      await requireChange(call, row, isWidened(row, body.patch), shown);
      return undone(database, (sql) => patchEffect(sql, scope, row, body.patch, context));
    }
    const scope = tenantScopeOf(caller);
    const agent = await readAgent(database, scope, body.agent_id);
    if (agent === undefined) throw new Problem("not_found");
    await pdpClient.require(caller, { type: "delegations", action: "create", id: body.agent_id, ...shown }, correlationId);
    const lifts = await liftsOf(caller, body, agent.tenant_id, correlationId);
    return undone(database, async (sql) => draftEffect(sql, scope, body, await written(sql, caller, body), context.dataScope, lifts));
  });

  /** What was ended is named again to whoever might end it now. Throws `step_up_required`, `reply_withheld`. */
  const requireSight = async (caller: Caller, kept: KeyedAnswer, correlationId: string): Promise<KeyedAnswer> => {
    const { delegations } = revokeMany.reply.parse(kept.body);
    const asks = delegations.map((id) => ({ type: "delegations", action: "revoke", id }));
    const decided = await pdpClient.decideMany(caller, asks, correlationId);
    const refusals = decided.flatMap((one) => pdpClient.refusal(caller, one) ?? []);
    const [refusal] = refusals;
    if (refusal !== undefined) throw refusals.find(({ code }) => code === "step_up_required") ?? new Problem("reply_withheld");
    return kept;
  };

  router.serve(revokeMany, async ({ caller, body, request, correlationId }) => {
    const key = requireKeyedCall(request, caller, body);
    const scope = tenantScopeOf(caller);
    if (body.agent_id === undefined && body.delegator_id === undefined)
      throw new Problem("unprocessable", { errors: [{ path: "/agent_id", message: "name an agent, a delegator, or both" }] });
    const kept = await findKept(key);
    if (kept !== undefined) return keptAnswer(await requireSight(caller, kept, correlationId));
    const rows: DelegationRow[] = [];
    for (let page = await next(scope, body, ""); page.length > 0; page = await next(scope, body, page.at(-1)?.id ?? "")) rows.push(...page);
    const standing = rows.filter((row) => row.status === "active" || row.status === "paused");
    const asks = standing.map((row) => ({ type: "delegations", action: "revoke", id: row.id }));
    const decided = await pdpClient.decideMany(caller, asks, correlationId);
    const decisionOf = new Map(standing.map((row, index) => [row.id, decided[index]]));
    const refusals = decided.map((one) => pdpClient.refusal(caller, one));
    const allowed = standing.filter((_row, index) => refusals[index] === undefined);
    // Nothing is ended while more would be after a sign-in: who ends all of an agent's must not be told so of half of them.
    const stepUp = refusals.find((refusal) => refusal?.code === "step_up_required");
    if (stepUp !== undefined) throw stepUp;
    const denied = refusals.find((refusal) => refusal !== undefined);
    // Of what others gave to the same agent the caller may know nothing; but nothing at all is a refusal, not a success.
    if (denied !== undefined && (allowed.length === 0 || body.delegator_id !== undefined)) throw denied;
    const tenants = new Set(allowed.map((row) => row.tenant_id));
    if (tenants.size > 1) throw new Problem("ambiguous", { detail: "These belong to several tenants; name a delegator." });
    return keptAnswer(
      await stopMany(context, {
        mode: body.mode,
        ids: allowed.map((row) => row.id),
        scope,
        tenantId: [...tenants][0] ?? scope.tenant,
        reason: body.reason,
        actor: actorOf(caller, body.reason, correlationId),
        decisionIds: new Map(allowed.map((row) => [row.id, decisionOf.get(row.id)?.decisionId ?? ""])),
        key,
      }),
    );
  });
  const next = (scope: TenantScope, body: { agent_id?: string | undefined; delegator_id?: string | undefined }, after: string) =>
    listDelegations(database, scope, { after, agentId: body.agent_id, delegatorId: body.delegator_id, attention: false, limit: 500 });

  const serveStop = (endpoint: typeof revokeDelegation, stop: Stop): void =>
    router.serve(endpoint, async (call) => {
      const { caller, body, correlationId } = call;
      const tags = stop === "resume" ? requireTags(call.request) : undefined;
      const { row, scope } = await requireRow(caller, call.params.id);
      const decisionId = await requireChange(call, row, stop === "resume");
      const { body: stopped, etag } = await stopDelegation(context, {
        stop,
        id: row.id,
        scope,
        tenantId: row.tenant_id,
        reason: body.reason,
        actor: actorOf(caller, body.reason, correlationId, decisionId),
        tags,
      });
      return answer(stopped, { headers: { etag, ...versioned(stopped.graph_version) } });
    });
  serveStop(revokeDelegation, "revoke");
  serveStop(pauseDelegation, "pause");
  serveStop(resumeDelegation, "resume");

  router.serve(delegationImpact, async (call) => {
    const { row, scope } = await requireRead(call, call.params.id);
    return readImpact(database, scope, row.id);
  });
  router.serve(delegationUsage, async (call) => {
    const { row, scope } = await requireRead(call, call.params.id);
    const usage = await readUsage(database, scope, row.id, call.query.from, call.query.to);
    return { ...usage, open: [...(await listOpen(database, scope, [row.id]))] };
  });
  router.serve(delegationHistory, async (call) => {
    const { row, scope } = await requireRead(call, call.params.id);
    return readHistory(database, scope, row.id);
  });
  router.serve(getDelegation, async (call) => {
    const { row } = await requireRead(call, call.params.id);
    return answer(delegationView(row), { headers: { etag: tagOf(row), ...versioned(row.version) } });
  });
};
