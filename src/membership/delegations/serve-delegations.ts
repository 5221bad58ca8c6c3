import { randomUUID } from "node:crypto";
import type { Caller } from "#authn/caller.ts";
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
  type DelegationPatch,
} from "#contract/delegations.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import type { Sql } from "#store/database.ts";
import { findAnswer, requireKeyedCall, type KeyedAnswer } from "#membership/idempotency.ts";
import { requireTags, tagOf } from "#membership/if-match.ts";
import { tenantScopeOf, type TenantScope } from "#membership/graph/tenant-scope.ts";
import { listOpen, readUsage } from "#membership/meter/read-ledger.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { actorOf } from "./acts.ts";
import { requireStanding } from "./change-status.ts";
import { changeDelegation, isWidened } from "./change-terms.ts";
import { checkDraft, readAgent } from "./check-draft.ts";
import { createDelegation, delegatorOf } from "./create-delegation.ts";
import { delegationView, readDelegation, type DelegationRow } from "./delegation-view.ts";
import { draftEffect, endEffect, patchEffect, undone } from "./draft-effect.ts";
import type { Lifts } from "./lifts.ts";
import { listDelegations } from "./list-delegations.ts";
import type { NewDelegation } from "./put-delegation.ts";
import { readHistory } from "./read-history.ts";
import { readImpact } from "./read-impact.ts";
import { readLifts } from "./read-lifts.ts";
import { stopDelegation, stopMany, type Stop } from "./stop-delegations.ts";

const keyed = <R>(given: KeyedAnswer) => answer(given.body as R, { status: given.status, headers: given.headers });

/** Of what is asked to draw a page: which rows of a list, and what a form would do. Nobody tried anything. */
const shown = { context: { showing: true } } as const;

/** Delegations: who may let which agent do what, for how long and for how much. */
export const serveDelegations = (room: MembershipRoom): void => {
  const { router, decider, database } = room;

  /** Unknown and foreign ids end here, before any decision. */
  const requireRow = async (caller: Caller, id: string): Promise<{ row: DelegationRow & { version: bigint }; scope: TenantScope }> => {
    const scope = tenantScopeOf(caller);
    const row = await readDelegation(database, scope, id);
    if (row === undefined) throw new Problem("not_found");
    return { row, scope };
  };
  const requireView = async (caller: Caller, id: string, correlationId: string) => {
    const found = await requireRow(caller, id);
    await decider.require(caller, { type: "delegations", action: "view", id }, correlationId);
    return found;
  };

  router.serve(listEndpoint, async ({ caller, query, correlationId }) => {
    const scope = tenantScopeOf(caller);
    await decider.require(caller, { type: "delegations", action: "view_all" }, correlationId);
    // Read before the list: what happens in between is told again rather than missed.
    const streamSeq = scope.tenant === "*" ? undefined : await room.bus?.head(scope.tenant, "config");
    const { limit, cursor, ...filters } = query;
    const isOthers = filters.whose === "all" || (filters.user_id !== undefined && filters.user_id !== caller.sub);
    const binding = ["delegations", caller.sub, scope.tenant, filters];
    const rows = await listDelegations(database, scope, {
      after: cursor === undefined ? "" : room.cursors.open(cursor, binding),
      delegatorId: isOthers ? filters.user_id : caller.sub,
      agentId: filters.agent_id,
      status: filters.status,
      attention: filters.attention === "true",
      limit: limit + 1,
    });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const others = page.filter((row) => row.delegator_id !== caller.sub);
    const decided = await decider.decideMany(
      caller,
      others.map((row) => ({ type: "delegations", action: "view", id: row.id, ...shown })),
      correlationId,
    );
    const refusals = decided.map((one) => decider.refusal(caller, one));
    // What a sign-in would bring is not left out unsaid.
    const stepUp = refusals.find((refusal) => refusal?.code === "step_up_required");
    if (stepUp !== undefined) throw stepUp;
    const hidden = new Set(others.filter((_row, index) => refusals[index] !== undefined).map((row) => row.id));
    return {
      items: page.filter((row) => !hidden.has(row.id)).map(delegationView),
      ...(rows.length > limit && last !== undefined ? { next_cursor: room.cursors.seal(last.id, binding) } : {}),
      ...(streamSeq === undefined ? {} : { stream_seq: Number(streamSeq) }),
    };
  });

  const written = (sql: Sql, caller: Caller, draft: DelegationDraft): Promise<NewDelegation> =>
    checkDraft(sql, tenantScopeOf(caller), draft, {
      id: `delegation:${randomUUID()}`,
      delegatorId: delegatorOf(caller, draft),
      createdBy: caller.sub,
      config: room.config,
      now: room.now(),
    });

  const liftsOf = async (caller: Caller, draft: DelegationDraft, tenantId: string, correlationId: string): Promise<Lifts> =>
    readLifts(room, { tenantId, draft, correlationId, written: await undone(database, (sql) => written(sql, caller, draft)) });

  router.serve(createEndpoint, async ({ caller, body, request, correlationId }) => {
    const key = requireKeyedCall(request, caller, body);
    const scope = tenantScopeOf(caller);
    const agent = await readAgent(database, scope, body.agent_id);
    if (agent === undefined) throw new Problem("not_found");
    const decided = await decider.require(caller, { type: "delegations", action: "create", id: body.agent_id }, correlationId);
    delegatorOf(caller, body);
    const actor = actorOf(caller, undefined, correlationId, decided.decisionId);
    return keyed<Delegation>(
      await createDelegation(room, {
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

  /** Who widens it is who might give it anew; who narrows it, who might end it. */
  const requireChange = async (caller: Caller, row: DelegationRow, patch: DelegationPatch, more: object, correlationId: string) => {
    const mayWiden = isWidened(row, patch);
    const ask = mayWiden ? { action: "create", id: row.agent_id } : { action: "revoke", id: row.id };
    const { decisionId } = await decider.require(caller, { type: "delegations", ...ask, ...more }, correlationId);
    if (mayWiden) delegatorOf(caller, { delegator_id: row.person_id });
    return { decisionId, mayWiden };
  };

  router.serve(patchDelegation, async ({ caller, params, body: patch, request, correlationId }) => {
    const tags = requireTags(request);
    const { row, scope } = await requireRow(caller, params.id);
    const { decisionId, mayWiden } = await requireChange(caller, row, patch, {}, correlationId);
    const { body, etag, version } = await changeDelegation(room, {
      id: row.id,
      scope,
      tenantId: row.tenant_id,
      patch,
      mayWiden,
      actor: actorOf(caller, patch.reason, correlationId, decisionId),
      tags,
    });
    return answer(body, { headers: { etag, "x-graph-version": String(version) } });
  });

  router.serve(whatIfDelegation, async ({ caller, body, correlationId }) => {
    if ("revoke" in body) {
      const { scope, row } = await requireRow(caller, body.revoke);
      await decider.require(caller, { type: "delegations", action: "revoke", id: row.id, ...shown }, correlationId);
      return undone(database, (sql) => endEffect(sql, scope, row, room.dataScope));
    }
    if ("patch" in body) {
      const { scope, row } = await requireRow(caller, body.id);
      requireStanding(row);
      await requireChange(caller, row, body.patch, shown, correlationId);
      return undone(database, (sql) => patchEffect(sql, scope, row, body.patch, room));
    }
    const scope = tenantScopeOf(caller);
    const agent = await readAgent(database, scope, body.agent_id);
    if (agent === undefined) throw new Problem("not_found");
    await decider.require(caller, { type: "delegations", action: "create", id: body.agent_id, ...shown }, correlationId);
    const lifts = await liftsOf(caller, body, agent.tenant_id, correlationId);
    return undone(database, async (sql) => draftEffect(sql, scope, body, await written(sql, caller, body), room.dataScope, lifts));
  });

  /** What was ended is named again to whoever might end it now. Throws `step_up_required`, `reply_withheld`. */
  const requireSight = async (caller: Caller, kept: KeyedAnswer, correlationId: string): Promise<KeyedAnswer> => {
    const { delegations } = revokeMany.reply.parse(kept.body);
    const decided = await decider.decideMany(
      caller,
      delegations.map((id) => ({ type: "delegations", action: "revoke", id })),
      correlationId,
    );
    const refusals = decided.flatMap((one) => decider.refusal(caller, one) ?? []);
    const [refusal] = refusals;
    if (refusal !== undefined) throw refusals.find(({ code }) => code === "step_up_required") ?? new Problem("reply_withheld");
    return kept;
  };

  router.serve(revokeMany, async ({ caller, body, request, correlationId }) => {
    const key = requireKeyedCall(request, caller, body);
    const scope = tenantScopeOf(caller);
    if (body.agent_id === undefined && body.delegator_id === undefined)
      throw new Problem("unprocessable", { errors: [{ path: "/agent_id", message: "name an agent, a delegator, or both" }] });
    const kept = await database.transaction((sql) => findAnswer(sql, key));
    if (kept !== undefined) return keyed(await requireSight(caller, kept, correlationId));
    const rows: DelegationRow[] = [];
    for (let page = await next(scope, body, ""); page.length > 0; page = await next(scope, body, page.at(-1)?.id ?? "")) rows.push(...page);
    const standing = rows.filter((row) => row.status === "active" || row.status === "paused");
    const decided = await decider.decideMany(
      caller,
      standing.map((row) => ({ type: "delegations", action: "revoke", id: row.id })),
      correlationId,
    );
    const decisionOf = new Map(standing.map((row, index) => [row.id, decided[index]]));
    const refusals = decided.map((one) => decider.refusal(caller, one));
    const allowed = standing.filter((_row, index) => refusals[index] === undefined);
    // Nothing is ended while more would be after a sign-in: who ends all of an agent's must not be told so of half of them.
    const stepUp = refusals.find((refusal) => refusal?.code === "step_up_required");
    if (stepUp !== undefined) throw stepUp;
    const denied = refusals.find((refusal) => refusal !== undefined);
    // Of what others gave to the same agent the caller may know nothing; but nothing at all is a refusal, not a success.
    if (denied !== undefined && (allowed.length === 0 || body.delegator_id !== undefined)) throw denied;
    const tenants = new Set(allowed.map((row) => row.tenant_id));
    if (tenants.size > 1) throw new Problem("ambiguous", { detail: "These belong to several tenants; name a delegator." });
    return keyed(
      await stopMany(room, {
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
    router.serve(endpoint, async ({ caller, params, body, request, correlationId }) => {
      const tags = stop === "resume" ? requireTags(request) : undefined;
      const { row, scope } = await requireRow(caller, params.id);
      // Who may let it go on is who might give it anew.
      const ask = stop === "resume" ? { action: "create", id: row.agent_id } : { action: "revoke", id: row.id };
      const decided = await decider.require(caller, { type: "delegations", ...ask }, correlationId);
      if (stop === "resume") delegatorOf(caller, { delegator_id: row.person_id });
      const { body: stopped, etag } = await stopDelegation(room, {
        stop,
        id: row.id,
        scope,
        tenantId: row.tenant_id,
        reason: body.reason,
        actor: actorOf(caller, body.reason, correlationId, decided.decisionId),
        tags,
      });
      return answer(stopped, { headers: { etag, "x-graph-version": String(stopped.graph_version) } });
    });
  serveStop(revokeDelegation, "revoke");
  serveStop(pauseDelegation, "pause");
  serveStop(resumeDelegation, "resume");

  router.serve(delegationImpact, async ({ caller, params, correlationId }) => {
    const { scope } = await requireView(caller, params.id, correlationId);
    return readImpact(database, scope, params.id);
  });
  router.serve(delegationUsage, async ({ caller, params, query, correlationId }) => {
    const { scope } = await requireView(caller, params.id, correlationId);
    const usage = await readUsage(database, scope, params.id, query.from, query.to);
    return { ...usage, open: [...(await listOpen(database, scope, [params.id]))] };
  });
  router.serve(delegationHistory, async ({ caller, params, correlationId }) => {
    const { scope } = await requireView(caller, params.id, correlationId);
    return readHistory(database, scope, params.id);
  });
  router.serve(getDelegation, async ({ caller, params, correlationId }) => {
    const { row } = await requireView(caller, params.id, correlationId);
    return answer(delegationView(row), { headers: { etag: tagOf(row), "x-graph-version": String(row.version) } });
  });
};
