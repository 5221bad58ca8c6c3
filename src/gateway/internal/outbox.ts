import { requireScope } from "#authn/model/caller.ts";
import { createSealedCursors, pageOf } from "#authn/sealing/sealed-cursors.ts";
import { dropOutbox, listOutbox, outboxActQuery, outboxQuery, retryOutbox } from "#contract/outbox.ts";
import { refusalOfAct } from "#pdp-client/deployment-acts.ts";
import type { Principal, PdpClient } from "#pdp-client/pdp-client.ts";
import type { DeadLetters } from "#events/relay/dead-letters.ts";
import { parseQuery } from "#gateway/auth/query.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { actorOf } from "#gateway/steps/record-denial.ts";
import { reply } from "#gateway/model/reply.ts";
import type { InternalHandler, RouteCall } from "#gateway/steps/route-call.ts";
import { requireKnown } from "./own-routes.ts";

/** Whoever comes in person, by a session or a token for it. */
const requireOperator = async (endpoint: typeof listOutbox | typeof retryOutbox, call: RouteCall) => {
  const who = await requireKnown(endpoint, call);
  if (who.kind === "bearer") requireScope(who.caller, endpoint.scope ?? []);
  return who;
};

/** The operator's view of what waits for Kafka; the row of the route table asks for the right. */
export const createOutbox = (
  parts: Pick<GatewayParts, "secrets" | "now"> & {
    readonly deadLetters: DeadLetters;
    readonly pdpClient: Pick<PdpClient, "decide" | "refusal">;
  },
): { readonly list: InternalHandler; readonly retry: InternalHandler; readonly drop: InternalHandler } => {
  const cursors = createSealedCursors<string>({ ...parts, purpose: "gateway.outbox" });

  /** Whose events: the caller's tenant's, or `*`. Throws `access_denied`, `step_up_required`. */
  const tenantOf = async (caller: Principal, whose: "tenant" | "all", { inbound }: RouteCall): Promise<string> => {
    if (whose === "tenant" || caller.tenant === "*") return caller.tenant;
    const refusal = await refusalOfAct(parts.pdpClient, { caller, correlationId: inbound.correlationId }, "manage_events");
    if (refusal !== undefined) throw refusal;
    return "*";
  };

  const acting =
    (act: "retried" | "dropped", endpoint: typeof retryOutbox): InternalHandler =>
    async (call) => {
      const who = await requireOperator(endpoint, call);
      const { principal } = who;
      const { whose } = parseQuery(outboxActQuery, call.inbound.target.query);
      const row = { id: call.captures.get("id") ?? "", tenant: await tenantOf(principal, whose, call) };
      const done = await parts.deadLetters.act(act, row, {
        tenant: principal.tenant,
        actor: actorOf(principal, who.kind === "session" ? who.record.ref : undefined),
        via: { service: "gateway", route_id: call.route.id },
        correlationId: call.inbound.correlationId,
      });
      return reply(endpoint, done);
    };

  return {
    list: async (call) => {
      const { principal } = await requireOperator(listOutbox, call);
      const { whose, state, limit, cursor } = parseQuery(outboxQuery, call.inbound.target.query);
      const shown = await tenantOf(principal, whose, call);
      const bound = [shown, principal.sub, state];
      const after = cursor === undefined ? 0n : BigInt(cursors.open(cursor, bound));
      const { page, last } = pageOf(await parts.deadLetters.list(state, shown, after, limit + 1), limit);
      return reply(listOutbox, {
        items: page.map(({ seq: _seq, next_at: nextAt, dead_at: deadAt, error, tenant, ...row }) => ({
          ...row,
          tenant: shown === "*" ? tenant : undefined,
          next_at: deadAt === null ? nextAt : undefined,
          dead_at: deadAt ?? undefined,
          error: error ?? undefined,
        })),
        next_cursor: last && cursors.seal(String(last.seq), bound),
      });
    },
    retry: acting("retried", retryOutbox),
    drop: acting("dropped", dropOutbox),
  };
};
