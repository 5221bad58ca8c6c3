import { requireScope } from "#authn/caller.ts";
import { createSealedCursors, pageOf } from "#authn/sealed-cursors.ts";
import { dropOutbox, listOutbox, outboxQuery, retryOutbox } from "#contract/outbox.ts";
import type { DeadLetters } from "#events/relay/dead-letters.ts";
import { parseQuery } from "#gateway/auth/query.ts";
import type { GatewayParts } from "#gateway/gateway-parts.ts";
import { actorOf } from "#gateway/record-denial.ts";
import { reply } from "#gateway/reply.ts";
import type { InsideHandler, RouteCall } from "#gateway/serve-route.ts";
import { requireKnown } from "./own-routes.ts";

/** Whoever comes in person, by a session or a token for it. */
const requireOperator = async (endpoint: typeof listOutbox | typeof retryOutbox, call: RouteCall) => {
  const who = await requireKnown(endpoint, call);
  if (who.kind === "bearer") requireScope(who.caller, endpoint.scope ?? []);
  return who;
};

/** The operator's view of what waits for Kafka; the row of the route table asks for the right. */
export const createOutbox = (
  parts: Pick<GatewayParts, "secrets" | "now"> & { readonly deadLetters: DeadLetters },
): { readonly list: InsideHandler; readonly retry: InsideHandler; readonly drop: InsideHandler } => {
  const cursors = createSealedCursors<string>({ ...parts, purpose: "gateway.outbox" });

  const acting =
    (act: "retried" | "dropped", endpoint: typeof retryOutbox): InsideHandler =>
    async (call) => {
      const who = await requireOperator(endpoint, call);
      const { asker } = who;
      const done = await parts.deadLetters.act(act, call.captures.get("id") ?? "", {
        tenant: asker.tenant,
        actor: actorOf(asker, who.kind === "session" ? who.record.ref : undefined),
        via: { service: "gateway", route_id: call.route.id },
        correlationId: call.inbound.correlationId,
      });
      return reply(endpoint, done);
    };

  return {
    list: async (call) => {
      const { asker } = await requireOperator(listOutbox, call);
      const { state, limit, cursor } = parseQuery(outboxQuery, call.inbound.target.query);
      const bound = [asker.tenant, asker.sub, state];
      const after = cursor === undefined ? 0n : BigInt(cursors.open(cursor, bound));
      const { page, last } = pageOf(await parts.deadLetters.list(state, asker.tenant, after, limit + 1), limit);
      return reply(listOutbox, {
        items: page.map(({ seq: _seq, next_at: nextAt, dead_at: deadAt, error, tenant, ...row }) => ({
          ...row,
          tenant: asker.tenant === "*" ? tenant : undefined,
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
