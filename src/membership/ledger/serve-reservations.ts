import {
  extend as extendEndpoint,
  findReservation,
  release as releaseEndpoint,
  reserve as reserveEndpoint,
  settle as settleEndpoint,
  spend,
} from "#contract/reservations.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { AMOUNT_ISSUE, microOf } from "#membership/model/amount.ts";
import { tenantScopeOf } from "#membership/graph/tenant-scope.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { extend, release, settle } from "./close-reservation.ts";
import { findByCall, readSpend } from "#membership/delegations/read-ledger.ts";
import { reserve, tryReserve } from "./reserve.ts";

const requireMicro = (usd: number): bigint => {
  const micro = microOf(usd);
  if (micro === undefined) throw new Problem("invalid_body", { errors: [{ path: "/usd", message: AMOUNT_ISSUE }] });
  return micro;
};

/** The money of single calls. Services alone come here (`membership.budget`), after they have decided: nothing is decided twice. */
export const serveReservations = (context: MembershipContext): void => {
  const { router, database, metrics, notifier } = context;

  router.serve(reserveEndpoint, async ({ caller, body }) => {
    const ask = {
      callId: body.call_id,
      userId: body.user_id,
      agentId: body.agent_id,
      personId: body.person_id,
      toolId: body.tool_id,
      delegationId: body.delegation_id,
      steps: body.steps,
      micro: requireMicro(body.usd),
      ttlSeconds: body.ttl_s,
    };
    if (body.dry_run) return answer(await tryReserve(database, tenantScopeOf(caller), ask), { status: 200 });
    try {
      const { reply, isNew } = await reserve(database, tenantScopeOf(caller), ask);
      metrics.count("membership_reservations_total", { result: isNew ? "held" : "replayed" });
      if (isNew) notifier.moved(reply.delegation_id);
      return reply;
    } catch (error) {
      metrics.count("membership_reservations_total", { result: error instanceof Problem ? error.code : "failed" });
      throw error;
    }
  });
  router.serve(settleEndpoint, async ({ caller, params, body }) => {
    const actual = { steps: body.steps, micro: requireMicro(body.usd), outcome: body.outcome };
    const { delegationId, ...reply } = await settle(database, tenantScopeOf(caller), params.id, actual);
    notifier.moved(delegationId);
    return reply;
  });
  router.serve(releaseEndpoint, async ({ caller, params }) => {
    const delegationId = await release(database, tenantScopeOf(caller), params.id);
    if (delegationId !== undefined) notifier.moved(delegationId);
    return { released: true as const };
  });
  router.serve(extendEndpoint, async ({ caller, params, body }) => ({
    reservation_id: params.id,
    ends_at: await extend(database, tenantScopeOf(caller), params.id, body.ttl_s),
  }));
  router.serve(findReservation, ({ caller, query }) => findByCall(database, tenantScopeOf(caller), query.call_id));
  router.serve(spend, ({ caller, query }) => readSpend(database, tenantScopeOf(caller), query.user_id, query.from, query.to));
};
