import { Problem } from "#contract/problem.ts";
import { noTracing } from "#telemetry/tracing.ts";
import type { OpenAct } from "#events/audit/entry.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import { parseArguments, type Arguments } from "./arguments-door.ts";
import { requireChain } from "./chain-door.ts";
import { closeAct, type Ending } from "./close-door.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import { gatherLifted, requireCall, requirePermit, type DecideInput, type Permit } from "./decide-door.ts";
import { gatherDelegation, type Delegated } from "./delegation-door.ts";
import { invokeUpstream, type Invoked } from "./invoke-door.ts";
import { openAudit } from "./open-door.ts";
import { isBudgetRefusal, requireReservation, type Held } from "./reserve-door.ts";
import { gatherRowScope, type RowScope } from "./row-scope.ts";
import { requireServing } from "./state-door.ts";
import type { ToolCall } from "./tool-call.ts";

/**
 * The corridor of one call as five functions, run in a row: decide, reserve, open, invoke, close. Each takes what the one
 * before gave.
 */

/** A call that may be made. */
export interface DecidedCall {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly arguments: Arguments;
  readonly delegated: Delegated;
  readonly permit: Permit;
  readonly audience: string | undefined;
  readonly scope: RowScope | undefined;
  /** Actions whose permit lifts a mask of the file. */
  readonly lifted: ReadonlySet<string>;
}

export type Timed = <T>(door: string, work: () => Promise<T> | T) => Promise<T>;

/** What a door is called in a trace. */
const spanNames: Readonly<Record<string, string>> = {
  state: "mcp.state",
  arguments: "mcp.arguments",
  delegation: "delegation.check",
  decide: "pdp.decide",
  chain: "chain.check",
  reserve: "budget.reserve",
  audit: "audit.open",
  invoke: "upstream.invoke",
  shape: "result.shape",
};

/** Times and traces each door. */
export const timedBy =
  ({ metrics, tracing = noTracing }: Pick<CorridorParts, "metrics" | "tracing">): Timed =>
  async (door, work) => {
    const started = performance.now();
    const name = spanNames[door];
    try {
      // The last door has two spans of its own: the money's and the record's.
      if (name === undefined) return await work();
      return await tracing.span(name, { kind: door === "invoke" ? "client" : "internal" }, async () => work());
    } finally {
      metrics.observe("mcp_door_duration_seconds", { door }, (performance.now() - started) / 1000);
    }
  };

const nobody: Delegated = { hops: [], capabilities: undefined };

const decideInput = (decided: Pick<DecidedCall, "call" | "tool" | "arguments" | "delegated">): DecideInput => ({
  caller: decided.call.caller,
  tool: decided.tool,
  arguments: decided.arguments,
  delegated: decided.delegated,
  viewName: decided.call.view.name,
  correlationId: decided.call.correlationId,
});

/**
 * State, arguments, delegation, decision, chain, rows. Nothing is charged or sent. Throws the refusal of the first door
 * that does not open; the refusal of a decision names it.
 */
export const decideCall = async (
  call: ToolCall,
  tool: Tool,
  parts: CorridorParts,
  timed: Timed,
  told: (given: Arguments) => void,
): Promise<DecidedCall> => {
  const { caller, correlationId } = call;
  await timed("state", () => requireServing(tool));
  const given = await timed("arguments", () => parseArguments(tool, call.arguments, parts.digestKey));
  told(given);
  const delegated = tool.isBuiltIn ? nobody : await timed("delegation", () => gatherDelegation(caller, parts, correlationId));
  const input = decideInput({ call, tool, arguments: given, delegated });
  const permit = await timed("decide", () => requireCall(input, parts));
  const [audience, scope, lifted] = await timed("chain", () =>
    Promise.all([
      requireChain(tool, delegated, permit.decisionId, parts, correlationId),
      gatherRowScope(tool.rules.rows, caller, permit.scopes, parts, correlationId),
      gatherLifted(input, permit, parts.decider),
    ]),
  );
  return { call, tool, arguments: given, delegated, permit, audience, scope, lifted };
};

/**
 * Holds steps and money. What is refused here was permitted a moment ago, so the decision point is asked once more: its
 * record then says why. Throws `steps_exhausted`, `budget_exhausted`, `delegation_inactive`, `capability_missing`.
 */
export const reserveCall = async (decided: DecidedCall, parts: CorridorParts, timed: Timed): Promise<Held | undefined> => {
  const { call, tool, delegated, permit } = decided;
  try {
    return await timed("reserve", () => requireReservation(call, tool, delegated, parts));
  } catch (error) {
    if (!isBudgetRefusal(error)) throw error;
    await requirePermit(decideInput(decided), parts);
    throw new Problem(error.code, { members: { decision_id: permit.decisionId }, headers: error.options.headers ?? {} });
  }
};

/** Commits the record that the act begins. Throws `audit_unavailable`, and then it must not begin. */
export const openCall = (decided: DecidedCall, held: Held | undefined, parts: CorridorParts, timed: Timed): Promise<OpenAct> =>
  timed("audit", () => openAudit(decided.call, decided.tool, decided.arguments, decided.permit, held, parts));

/** Sends it. Throws `UpstreamFault`, which says what it did. */
export const invokeCall = (decided: DecidedCall, held: Held | undefined, parts: CorridorParts, timed: Timed): Promise<Invoked> =>
  timed("invoke", () =>
    invokeUpstream(
      {
        call: decided.call,
        tool: decided.tool,
        arguments: decided.arguments,
        decisionId: decided.permit.decisionId,
        delegationId: held?.delegationId,
        scope: decided.scope,
      },
      parts,
    ),
  );

/** Settles and closes; never refuses. */
export const closeCall = (
  decided: DecidedCall,
  act: OpenAct,
  held: Held | undefined,
  ending: Ending,
  parts: CorridorParts,
  timed: Timed,
): Promise<"closed" | "pending"> => timed("close", () => closeAct(act, held, ending, parts, decided.call.correlationId));
