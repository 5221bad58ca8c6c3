import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import { statement } from "#store/database.ts";
import { releaseHeld, settleHeld } from "./steps/reserve-budget.ts";
import type { CallParts, Charged, Settlement, Settlements } from "#crud/tools/tool-call.ts";

interface Row {
  readonly call_id: string;
  readonly reservation_id: string;
  readonly usd_micro: bigint;
  readonly steps: number;
  readonly outcome: Settlement["outcome"];
  readonly correlation_id: string;
}

const ADD = statement(
  "crud.settlement_add",
  `insert into crud.settlement (call_id, reservation_id, usd_micro, steps, outcome, correlation_id, next_at)
   values ($1::uuid, $2, $3, $4::int4, $5, $6, now() + interval '2 seconds') on conflict (call_id) do nothing`,
);
const ACKNOWLEDGED = statement("crud.settlement_acknowledged", "delete from crud.settlement where call_id = $1::uuid");
/** Takes them for a while: of two processes one delivers, and what fails waits twice as long each time, at most five minutes. */
const TAKE = statement<Row>(
  "crud.settlement_take",
  `update crud.settlement set attempts = attempts + 1, next_at = now() + make_interval(secs => least(300, 5 * 2 ^ least(attempts, 6)))
   where call_id in (select call_id from crud.settlement where next_at <= now() order by next_at limit 100 for update skip locked)
   returning call_id::text, reservation_id, usd_micro, steps, outcome, correlation_id`,
);

const EVERY_MS = 5_000;
/** Rows that another process left are looked for once in so many rounds. */
const ROUNDS = 12;

const valuesOf = (one: Settlement) => [one.callId, one.reservationId, one.micro, one.steps, one.outcome, one.correlationId];

/**
 * Charges that outlive the process: written where a call's result is, delivered to membership at once, and again until it acknowledges.
 * Its settle is idempotent. What it refuses for good is logged and dropped: the reservation's own end has charged all of it.
 */
export const createSettlements = (
  parts: Pick<CallParts, "membership" | "membershipAudience" | "identity" | "log" | "database">,
): Settlements => {
  const { database, log } = parts;
  let hasWaiting = false;
  const send = async (one: Settlement): Promise<Charged | "released"> => {
    if (one.outcome !== "released")
      return settleHeld(one, { micro: one.micro, steps: one.steps, outcome: one.outcome }, parts, one.correlationId);
    await releaseHeld(one, parts, one.correlationId);
    return "released";
  };
  const isFinal = (error: unknown): boolean => error instanceof Problem && ["not_found", "reservation_closed"].includes(error.code);
  const deliverStored = async (one: Settlement): Promise<void> => {
    try {
      await send(one);
    } catch (cause) {
      if (!isFinal(cause)) {
        log.warn("tool_settlement_retry", { call_id: one.callId, cause });
        hasWaiting = true;
        return;
      }
      log.error("tool_settlement_refused", { call_id: one.callId, cause });
    }
    await database.run(ACKNOWLEDGED, [one.callId]);
  };
  const deliverDue = async (): Promise<void> => {
    const rows = await database.run(TAKE);
    hasWaiting = rows.length > 0;
    await Promise.all(
      rows.map((row) =>
        deliverStored({
          callId: row.call_id,
          reservationId: row.reservation_id,
          micro: row.usd_micro,
          steps: row.steps,
          outcome: row.outcome,
          correlationId: row.correlation_id,
        }),
      ),
    );
  };
  let round = 0;
  const sweep = startInterval({
    everyMs: EVERY_MS,
    work: async () => {
      round = (round + 1) % ROUNDS;
      if (hasWaiting || round === 0) await deliverDue();
    },
    failed: (cause) => log.warn("tool_settlement_failed", { cause }),
  });
  return {
    post: (sql, one) => sql.post(ADD, valuesOf(one)),
    deliverStored,
    deliverDue,
    settle: async (one) => {
      try {
        return await send(one);
      } catch (cause) {
        log.warn("tool_settlement_retry", { call_id: one.callId, cause });
        hasWaiting = true;
        await database.run(ADD, valuesOf(one));
        return "pending";
      }
    },
    [Symbol.asyncDispose]: () => sweep[Symbol.asyncDispose](),
  };
};
