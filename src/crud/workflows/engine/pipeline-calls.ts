import type { Caller } from "#authn/model/caller.ts";
import { closeEntry } from "#crud/mcp/call/close-call.ts";
import { decideCall } from "#crud/mcp/call/decide-call.ts";
import { invokeCall, type Ending } from "#crud/mcp/call/invoke-call.ts";
import { openEntry } from "#crud/mcp/call/open-call.ts";
import { withCall } from "#crud/mcp/call/refused-call.ts";
import { releaseCall, reserveCall } from "#crud/mcp/call/reserve-call.ts";
import { requireTool, requireView } from "#crud/mcp/call/steps/resolve-tool.ts";
import type { ValueSeals } from "#crud/model/sealed-values.ts";
import type { Snapshot } from "#crud/tools/catalogue.ts";
import type { CallParts, ToolCall } from "#crud/tools/tool-call.ts";
import type { RunRow } from "./run-rows.ts";
import type { CallEnding, StepCall, StepCalls } from "./step-calls.ts";

/** A call may take so long after its reservation was asked for. */
const MARGIN_MS = 5_000;

/** The view in which steps run: every tool of the tenant. */
const STEP_VIEW = "";

/** Who acts in a run: no token is stored, so what a step reaches is decided anew by the graph of now. */
const callerOf = (run: RunRow, agent: string | null, now: Date): Caller => ({
  sub: run.subject,
  tenant: run.tenant,
  scopes: new Set(run.scopes),
  ...(agent === null ? {} : { agent }),
  actors: agent === null ? [] : [agent],
  ...(run.client_id === null ? {} : { clientId: run.client_id }),
  ...(run.acr === null ? {} : { acr: run.acr }),
  ...(run.auth_time === null ? {} : { authTime: Date.parse(run.auth_time) / 1000 }),
  amr: [],
  issuer: "",
  isInternalService: false,
  isServiceCall: true,
  token: "",
  expiresAt: now.getTime() / 1000 + 60,
});

const endingOf = (ending: Ending, call: ToolCall): CallEnding =>
  ending.effect === "ok"
    ? { effect: "ok", value: ending.shaped.value }
    : { effect: ending.effect, problem: withCall(ending.failure, call), status: ending.upstreamStatus };

/** Steps of workflows over the five functions of a tool call. */
export const createPipelineCalls = (
  parts: CallParts & { readonly snapshot: () => Snapshot; readonly seals: Pick<ValueSeals, "open"> },
): StepCalls => {
  /** What is sealed in the arguments is opened for this call alone, and taken out of whatever comes back. */
  const callOf = async ({
    run,
    path,
    callId,
    tool,
    arguments: given,
    agent,
    signal,
    isSimulation = false,
  }: StepCall): Promise<ToolCall> => {
    const { value: args, texts } = await parts.seals.open(given, run.id);
    const snapshot = parts.snapshot();
    return {
      callId,
      correlationId: run.correlation_id,
      dialect: "workflow",
      method: "tools/call",
      name: tool,
      arguments: args,
      concealed: texts,
      idempotencyKey: undefined,
      step: { key: `${run.id}:${path}`, workflow: { name: run.name, version: run.version, run: run.id, step: path } },
      isSimulation,
      caller: callerOf(run, agent, parts.now()),
      view: requireView(snapshot, STEP_VIEW, run.tenant),
      snapshot,
      signal,
    };
  };
  return {
    decide: async (step) => {
      const call = await callOf(step);
      const decided = await decideCall(requireTool(call), parts);
      return {
        isRepeatable: decided.tool.rules.isReadOnly || decided.tool.rules.isRepeatable,
        decisionId: decided.permit.decisionId,
        reserve: async () => {
          const reserved = await reserveCall(decided, parts);
          const { held } = reserved;
          return {
            reservation: held === undefined ? undefined : { id: held.reservationId, micro: held.micro, steps: held.steps },
            isLapsed: held !== undefined && (held.state !== "held" || held.endsAt.getTime() < parts.now().getTime() + MARGIN_MS),
            entry: openEntry(reserved),
            release: () => releaseCall(reserved, parts),
            invoke: async () => {
              const opened = { ...reserved, openedAt: performance.now() };
              using claim = parts.answerShares(call.caller.tenant);
              const ending = await invokeCall(opened, claim, parts);
              const { entry, settlement } = closeEntry(opened, ending, parts);
              return { ending: endingOf(ending, call), close: { entry, charge: settlement } };
            },
          };
        },
      };
    },
    postCharge: (sql, charge) => parts.settlements.post(sql, charge),
    deliverCharge: (charge) => parts.settlements.deliverStored(charge),
  };
};
