import { ask } from "#contract/ask.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import { release, reserve, reserveRefusals, settle, type Reservation } from "#contract/reservations.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import type { Hop } from "#authn/model/agent-rule.ts";
import { prepareSchema } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { wasNeverSent } from "#http/was-never-sent.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { AuthorizedCall } from "./check-chain.ts";
import { requireStill } from "./authorize.ts";
import { settleSurely } from "#crud/tools/settle-surely.ts";
import type { CallParts, Charged } from "#crud/tools/tool-call.ts";

/** Steps and money held for one call. Persons, services and built-in tools hold none. */
export interface Held {
  readonly reservationId: string;
  readonly delegationId: string;
  readonly steps: number;
  readonly micro: bigint;
  /** What the delegation has left after it. */
  readonly left: Charged["left"];
  /** `held`, unless the call was asked for before and is over. */
  readonly state: string;
  readonly endsAt: Date;
  /** What the delegation demands of the arguments. */
  readonly argumentSchemas: readonly unknown[];
}

/** A call whose step and money are reserved; of a person, a service or a built-in tool nothing is. */
export interface ReservedCall extends AuthorizedCall {
  readonly held: Held | undefined;
}

const headersOf = (parts: MembershipParts, correlationId: string) => asService(parts, ["membership.budget"], correlationId);

/** What is asked to be held for a call of a tool by whoever stands at the end of these hops. */
const heldFor = (hops: readonly Hop[], hop: Hop, tool: Tool) => ({
  user_id: hop.userId,
  agent_id: hop.agentId,
  ...(hops.length === 1 ? {} : { person_id: hops[0]?.userId }),
  tool_id: tool.name,
  steps: 1,
  usd: usdFromMicro(tool.rules.reserveMicro),
});

/** Whether a call would be held for now; nothing is held. Throws as `requireReservation`, but asks nobody why. */
export const requireCapacity = async (hops: readonly Hop[], tool: Tool, parts: MembershipParts, correlationId: string): Promise<void> => {
  const hop = hops.at(-1);
  if (hop === undefined || tool.isBuiltIn) return;
  try {
    const body = { ...heldFor(hops, hop, tool), call_id: correlationId, dry_run: true };
    await ask(parts.membership, reserve, { body, headers: await headersOf(parts, correlationId) });
  } catch (error) {
    throw isBudgetRefusal(error) ? error : new Problem("membership_unavailable", { cause: error });
  }
};

/** What membership refuses to hold for has the same words on our wire. */
const refusals: ReadonlySet<string> = new Set([...reserveRefusals, "ledger_inconsistent"]);

const isBudgetRefusal = (error: unknown): error is Problem => error instanceof Problem && refusals.has(error.code);

/**
 * Holds one step and the tool's price for this call, or nothing. Whatever was cached before, this is true now: after a revocation has
 * answered, nothing is held. What is refused here was permitted a moment ago, so the decision point is asked once more: its record then
 * says why. Throws one of `reserveRefusals`, `ledger_inconsistent`, or `membership_unavailable`.
 */
export const requireReservation = async (
  decided: AuthorizedCall,
  parts: MembershipParts & Pick<CallParts, "callTimeoutMs" | "pdpClient" | "publicOrigin" | "now" | "log" | "stopping">,
): Promise<Held | undefined> => {
  const { call, tool, hops, permit } = decided;
  const hop = hops.at(-1);
  if (hop === undefined || tool.isBuiltIn) return undefined;
  const body = {
    ...heldFor(hops, hop, tool),
    call_id: call.callId,
    ttl_s: Math.min(3600, Math.ceil(parts.callTimeoutMs / 1000) + 30),
  };
  const hold = async (): Promise<Reservation> =>
    ask(parts.membership, reserve, { body, headers: await headersOf(parts, call.correlationId) });
  let held: Reservation;
  try {
    held = await hold();
  } catch (error) {
    if (!isBudgetRefusal(error)) {
      // What was refused, or never sent, holds nothing.
      const mayHold = (!(error instanceof Problem) || error.status >= 500) && !wasNeverSent(error);
      if (mayHold) void settleSurely(() => releaseLost(hold, parts, call.correlationId), parts, call.callId);
      throw new Problem("membership_unavailable", { cause: error });
    }
    await requireStill(decided, parts);
    const { detail, headers = {} } = error.options;
    throw new Problem(error.code, { detail, members: { decision_id: permit.decisionId }, headers });
  }
  const { reservation_id: reservationId, delegation_id: delegationId, argument_schemas: argumentSchemas = [] } = held;
  const left = { steps: held.steps_left, usd: held.budget_left_usd };
  const { state } = held;
  const endsAt = new Date(held.ends_at);
  return { reservationId, delegationId, steps: 1, micro: tool.rules.reserveMicro, left, state, endsAt, argumentSchemas };
};

/** An answer was lost, and with it whether something is held: asked again for the same call it is the same, and is given back. */
const releaseLost = async (hold: () => Promise<Reservation>, parts: MembershipParts, correlationId: string): Promise<void> => {
  const held = await hold().catch((error: unknown) => {
    if (isBudgetRefusal(error)) return undefined;
    throw error;
  });
  if (held !== undefined) await releaseHeld({ reservationId: held.reservation_id }, parts, correlationId);
};

const argumentIssues = async (schemas: readonly unknown[], { call, given }: AuthorizedCall): Promise<readonly Issue[]> => {
  try {
    const schemaCaller = { tenant: call.caller.tenant, signal: call.signal };
    const found: Issue[] = [];
    for (const schema of schemas) found.push(...(await schemaIssues(prepareSchema(schema), given.value, schemaCaller)));
    return found;
  } catch (error) {
    if (error instanceof Problem) throw error;
    return [{ path: "", message: "cannot be compared with what the delegation demands" }];
  }
};

/**
 * The delegation that pays, or one above it, may demand more of the arguments than the tool does. A schema that cannot be read lets nothing
 * through. Throws `capability_missing`, `overloaded`.
 */
export const requireAllowed = async (held: Held | undefined, decided: AuthorizedCall): Promise<void> => {
  const issues = held === undefined ? [] : await argumentIssues(held.argumentSchemas, decided);
  if (issues.length > 0)
    throw new Problem("capability_missing", {
      detail: "The delegation does not cover these arguments.",
      members: { decision_id: decided.permit.decisionId },
      errors: issues.slice(0, 50),
    });
};

/** Nothing was sent: nothing is charged, also where the reservation ended by itself meanwhile and charged all of it. */
export const releaseHeld = async (
  { reservationId }: Pick<Held, "reservationId">,
  parts: MembershipParts,
  correlationId: string,
): Promise<void> => {
  try {
    await ask(parts.membership, release, { params: { id: reservationId }, headers: await headersOf(parts, correlationId) });
  } catch (error) {
    const hasLapsed = error instanceof Problem && error.code === "reservation_closed" && error.options.members?.["state"] === "lapsed";
    if (!hasLapsed) throw error;
    await settleHeld({ reservationId }, { micro: 0n, steps: 0, outcome: "failed" }, parts, correlationId);
  }
};

/** Charges what was used; at `unknown` all that was held. A repeat of the same charge changes nothing. */
export const settleHeld = async (
  held: Pick<Held, "reservationId">,
  actual: { readonly micro: bigint; readonly steps: number; readonly outcome: "ok" | "failed" | "unknown" },
  parts: MembershipParts,
  correlationId: string,
): Promise<Charged> => {
  const settled = await ask(parts.membership, settle, {
    params: { id: held.reservationId },
    body: { usd: usdFromMicro(actual.micro), steps: actual.steps, outcome: actual.outcome },
    headers: await headersOf(parts, correlationId),
  });
  return {
    steps: settled.charged_steps,
    usd: settled.charged_usd,
    left: { steps: settled.steps_left, usd: settled.budget_left_usd },
  };
};
