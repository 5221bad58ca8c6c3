import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import type { PipelineStep } from "#telemetry/pipeline-step.ts";
import { noTracing } from "#telemetry/tracing.ts";
import { parseArguments, type Arguments } from "./steps/validate-arguments.ts";
import { openRecord, recordRefusal, recordReplay, refusalOutcome } from "./call-record.ts";
import { requireReach, type AuthorizedCall } from "./steps/check-chain.ts";
import { closeCall, type OpenedCall } from "./steps/close.ts";
import { requireCall } from "./steps/authorize.ts";
import { parseHops } from "./steps/check-delegation.ts";
import { claimKey, type KeptReply, type KeyHold } from "./idempotency.ts";
import { invokeUpstream, type Invoked } from "./steps/invoke.ts";
import { releaseHeld, requireAllowed, requireReservation, type Held } from "./steps/reserve-budget.ts";
import { shapeKept, shapeMark, shapeOutput, type Shaped } from "./steps/filter-output.ts";
import { settleSurely } from "./settle-surely.ts";
import { requireServing } from "./steps/check-state.ts";
import type { CallParts, ResolvedCall, ToolCall, ToolReply } from "./tool-call.ts";
import { requireTool } from "./steps/resolve-tool.ts";
import { toolCallSteps, type ToolCallStep } from "./tool-call-steps.ts";
import { FailedCall, UpstreamError, type Effect } from "./upstream-error.ts";

/**
 * The pipeline of one call, read downwards; each step is a file of its own, and what it gives is what the next one takes. Throws a
 * `Problem` whose members name the call and, where there is one, the decision.
 */
export const callTool = async (call: ToolCall, parts: CallParts): Promise<ToolReply> => {
  const count = (outcome: string): void => parts.metrics.count("mcp_calls_total", { dialect: call.dialect, outcome });
  let known: ResolvedCall;
  try {
    known = requireTool(call);
  } catch (error) {
    count("refused");
    throw withCall(error, call);
  }
  const { tracing = noTracing } = parts;
  const what = { caller: call.caller, view: call.view, tool: known.tool };
  return parts.kills.guard(what, (killed) => {
    const guarded = { ...known, call: { ...call, signal: AbortSignal.any([call.signal, killed]) } };
    return tracing.span(`tools/call ${known.tool.name}`, { facts: { "mcp.dialect": call.dialect } }, () =>
      callKnown(guarded, parts, count),
    );
  });
};

const callKnown = async (known: ResolvedCall, parts: CallParts, count: (outcome: string) => void): Promise<ToolReply> => {
  const { call, tool } = known;
  const timed = timedBy(parts);
  let given: Arguments | undefined;
  let opened: OpenedCall;
  let key: KeyHold | undefined;

  // Whatever stops here charged nothing and sent nothing.
  try {
    await timed("state", async () => {
      if (!tool.isBuiltIn) await parts.kills.requireKnown();
      requireServing({ caller: call.caller, view: call.view, tool }, parts.kills);
    });
    const fitting = await timed("arguments", () => parseArguments(known, parts));
    ({ given } = fitting);
    const hops = tool.isBuiltIn ? [] : await timed("delegation", () => parseHops(call.caller, parts.maxDelegationDepth));
    const permitted = await timed("decide", () => requireCall(fitting, parts));
    const decided = await timed("chain", () => requireReach(permitted, hops, parts));
    key = await claimKey(decided, parts);
    const kept = key?.kept;
    if (kept !== undefined) {
      const shown = await timed("shape", () => shapeKept(kept, decided));
      await recordReplay(decided, parts);
      count("ok");
      return replyOf(decided, { ...shown, media: kept.upstream.media }, { isAuditPending: false, costMicro: 0n, isReplay: true });
    }
    opened = await openCall(decided, key, parts, timed);
  } catch (error) {
    const problem = withCall(error, call);
    await recordRefusal(known, given, problem, parts);
    count(refusalOutcome(problem));
    throw problem;
  }

  // What was opened is closed and settled, whatever happens in between.
  let invoked: Invoked | undefined;
  let shaped: Shaped;
  try {
    const { upstream } = (invoked = await timed("invoke", () => invokeUpstream(opened, opened.held, parts)));
    shaped = await timed("shape", () => shapeOutput(upstream, opened));
  } catch (error) {
    const failure = error instanceof UpstreamError ? error : new UpstreamError(asProblem(error), "done");
    const { effect, problem } = failure;
    await keepOutcome(key, effect, parts, call.callId);
    const closed = await timed("close", () =>
      closeCall(
        opened,
        {
          effect,
          code: problem.code,
          upstreamStatus: failure.status ?? (effect === "failed" ? undefined : invoked?.upstream.status),
          costMicro: invoked?.upstream.costMicro,
          secrets: failure.secrets ?? invoked?.secrets,
        },
        parts,
      ),
    );
    count(effect === "unknown" ? "unknown" : "error");
    throw new FailedCall(withCall(failure, call, opened.permit.decisionId), failure, closed);
  }
  const { upstream, secrets } = invoked;
  const { value, media, status, costMicro, isCut = false } = upstream;
  await keepOutcome(key, { upstream: { value, isCut, media }, mark: shapeMark(tool) }, parts, call.callId);
  const closed = await timed("close", () => closeCall(opened, { effect: "ok", shaped, upstreamStatus: status, costMicro, secrets }, parts));
  count("ok");
  return replyOf(opened, { ...shaped, media }, { ...closed, isReplay: false });
};

/** Money, then the record that the act begins: what was held for a call that is not opened is given back. */
const openCall = async (decided: AuthorizedCall, key: KeyHold | undefined, parts: CallParts, timed: Timed): Promise<OpenedCall> => {
  let held: Held | undefined;
  try {
    held = await timed("reserve", () => requireReservation(decided, parts));
    await requireAllowed(held, decided);
    const act = await timed("audit", () => openRecord(decided, held, parts));
    return { ...decided, held, act, openedAt: performance.now() };
  } catch (error) {
    const { callId, correlationId } = decided.call;
    const unused = held;
    if (unused !== undefined) await settleSurely(() => releaseHeld(unused, parts, correlationId), parts, callId);
    await key?.free().catch((cause: unknown) => parts.log.warn("tool_key_not_freed", { call_id: callId, cause }));
    throw error;
  }
};

const keepOutcome = async (key: KeyHold | undefined, effect: Effect | KeptReply, parts: CallParts, callId: string): Promise<void> => {
  if (key === undefined) return;
  try {
    if (typeof effect === "object") await key.done(effect);
    else if (effect === "unknown" || effect === "done") await key.unknown();
    else await key.free();
  } catch (cause) {
    parts.log.warn("tool_key_not_kept", { call_id: callId, cause });
  }
};

const replyOf = (
  { call, tool, permit }: AuthorizedCall,
  shown: Pick<Shaped, "value" | "masked"> & { readonly media: ToolReply["media"] | undefined },
  more: Pick<ToolReply, "isAuditPending" | "costMicro" | "isReplay">,
): ToolReply => ({
  callId: call.callId,
  decisionId: permit.decisionId,
  value: shown.value,
  masked: shown.masked,
  media: shown.media ?? [],
  outputSchema: tool.definition.outputSchema,
  ...more,
});

/** The problem of whatever was thrown, with what every refusal of a call carries. */
const withCall = (error: unknown, call: ToolCall, decisionId?: string): Problem => {
  const problem = error instanceof UpstreamError ? error.problem : asProblem(error);
  const { members, ...options } = problem.options;
  return new Problem(problem.code, {
    ...options,
    members: { decision_id: decisionId, ...members, call_id: call.callId },
    cause: problem.options.cause ?? (error instanceof Problem || error instanceof UpstreamError ? undefined : error),
  });
};

type Timed = <T>(step: ToolCallStep, work: () => Promise<T> | T) => Promise<T>;

/** Times and traces each step. */
const timedBy =
  ({ metrics, tracing = noTracing }: Pick<CallParts, "metrics" | "tracing">): Timed =>
  async (step, work) => {
    const started = performance.now();
    const { span: name }: PipelineStep = toolCallSteps[step];
    try {
      // The last step has two spans of its own: the money's and the record's.
      if (name === undefined) return await work();
      return await tracing.span(name, { kind: step === "invoke" ? "client" : "internal" }, async () => work());
    } finally {
      metrics.observe("mcp_step_duration_seconds", { step: step }, (performance.now() - started) / 1000);
    }
  };
