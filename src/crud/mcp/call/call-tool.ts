import { noTracing } from "#telemetry/tracing.ts";
import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import type { OpenAct } from "#events/audit/entry.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { Arguments } from "./arguments-door.ts";
import { closeCall, decideCall, invokeCall, openCall, reserveCall, timedBy, type DecidedCall, type Timed } from "./corridor.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import { claimKey, type KeyHold } from "./idempotency.ts";
import type { Invoked } from "./invoke-door.ts";
import { entryOf } from "./open-door.ts";
import { recordRefusal, refusalOutcome } from "./refusal.ts";
import { releaseHeld, type Held } from "./reserve-door.ts";
import { shapeOutput, type Shaped } from "./shape-door.ts";
import type { ToolCall, ToolReply } from "./tool-call.ts";
import { requireTool } from "./tool-door.ts";
import { UpstreamFault, type Effect } from "./upstream-fault.ts";

interface Ready {
  readonly decided: DecidedCall;
  readonly key: KeyHold | undefined;
  readonly held: Held | undefined;
  readonly act: OpenAct;
}

const replyOf = (
  call: ToolCall,
  decided: DecidedCall,
  kept: { value: unknown; media?: ToolReply["media"] | undefined },
  more: { isAuditPending: boolean; isReplay: boolean },
): ToolReply => ({
  callId: call.callId,
  decisionId: decided.permit.decisionId,
  value: kept.value,
  media: kept.media ?? [],
  ...(decided.tool.definition.outputSchema === undefined ? {} : { outputSchema: decided.tool.definition.outputSchema }),
  ...more,
});

/** Everything before the act: whatever stops here charged nothing and sent nothing, and what was held is given back. */
const prepareAct = async (
  call: ToolCall,
  tool: Tool,
  parts: CorridorParts,
  timed: Timed,
  told: (given: Arguments) => void,
): Promise<Ready | ToolReply> => {
  const decided = await decideCall(call, tool, parts, timed, told);
  const key =
    call.idempotencyKey === undefined
      ? undefined
      : await claimKey(
          { callId: call.callId, tool: tool.name, key: call.idempotencyKey, digest: decided.arguments.digest, caller: call.caller },
          parts,
        );
  if (key?.kept !== undefined) {
    const entry = entryOf(
      call,
      tool,
      { tool: tool.name, replayed: true, arguments_digest: decided.arguments.digest },
      { decisionId: decided.permit.decisionId },
    );
    await parts.recorder.one({ ...entry, outcome: "ok", actId: call.callId });
    return replyOf(call, decided, key.kept, { isAuditPending: false, isReplay: true });
  }
  let held: Held | undefined;
  try {
    held = await reserveCall(decided, parts, timed);
    return { decided, key, held, act: await openCall(decided, held, parts, timed) };
  } catch (error) {
    const given = held;
    // Given back at once; if that fails too, the reservation ends by itself.
    if (given !== undefined)
      await releaseHeld(given, parts, call.correlationId).catch((cause: unknown) =>
        parts.log.warn("tool_release_failed", { call_id: call.callId, cause }),
      );
    await key?.free().catch((cause: unknown) => parts.log.warn("tool_key_not_freed", { call_id: call.callId, cause }));
    throw error;
  }
};

const keepOutcome = async (
  key: KeyHold | undefined,
  effect: Effect | "ok",
  kept: { value: unknown; media: ToolReply["media"] },
  parts: CorridorParts,
  callId: string,
): Promise<void> => {
  if (key === undefined) return;
  try {
    if (effect === "ok") await key.done(kept);
    else if (effect === "unknown" || effect === "done") await key.unknown();
    else await key.free();
  } catch (cause) {
    parts.log.warn("tool_key_not_kept", { call_id: callId, cause });
  }
};

/** The act itself and its end. What was opened is closed and settled, whatever happens in between. */
const act = async (call: ToolCall, ready: Ready, parts: CorridorParts, timed: Timed): Promise<ToolReply> => {
  const { decided, held } = ready;
  const startedAt = performance.now();
  const nothing = { value: null, media: [] };
  let invoked: Invoked | undefined;
  let shaped: Shaped;
  try {
    invoked = await invokeCall(decided, held, parts, timed);
    const { upstream } = invoked;
    shaped = await timed("shape", () => shapeOutput(upstream, decided.tool, decided.arguments.value, decided.scope, decided.lifted));
  } catch (error) {
    const fault = error instanceof UpstreamFault ? error : new UpstreamFault(asProblem(error), "done");
    await keepOutcome(ready.key, fault.effect, nothing, parts, call.callId);
    await closeCall(
      decided,
      ready.act,
      held,
      {
        effect: fault.effect,
        code: fault.problem.code,
        upstreamStatus: fault.status ?? invoked?.upstream.status,
        costMicro: invoked?.upstream.costMicro,
        ...(invoked === undefined ? {} : { secrets: invoked.secrets }),
        audience: decided.audience,
        startedAt,
      },
      parts,
      timed,
    );
    throw fault;
  }
  const kept = { value: shaped.value, media: invoked.upstream.media ?? [] };
  await keepOutcome(ready.key, "ok", kept, parts, call.callId);
  const closed = await closeCall(
    decided,
    ready.act,
    held,
    {
      effect: "ok",
      shaped,
      upstreamStatus: invoked.upstream.status,
      costMicro: invoked.upstream.costMicro,
      secrets: invoked.secrets,
      audience: decided.audience,
      startedAt,
    },
    parts,
    timed,
  );
  return replyOf(call, decided, kept, { isAuditPending: closed === "pending", isReplay: false });
};

/** The problem of whatever was thrown, with what every refusal of a call carries. */
const withCall = (error: unknown, call: ToolCall, decisionId?: string): Problem => {
  const problem = error instanceof UpstreamFault ? error.problem : asProblem(error);
  const { members, ...options } = problem.options;
  return new Problem(problem.code, {
    ...options,
    members: { ...(decisionId === undefined ? {} : { decision_id: decisionId }), ...members, call_id: call.callId },
    cause: problem.options.cause ?? (error instanceof Problem || error instanceof UpstreamFault ? undefined : error),
  });
};

const callKnown = async (
  call: ToolCall,
  tool: Tool,
  parts: CorridorParts,
  timed: Timed,
  count: (outcome: string) => void,
): Promise<ToolReply> => {
  let digest: string | undefined;
  let ready: Ready | ToolReply;
  try {
    ready = await prepareAct(call, tool, parts, timed, (given) => {
      digest = given.digest;
    });
  } catch (error) {
    const problem = withCall(error, call);
    await recordRefusal(call, tool, problem, digest, parts);
    count(refusalOutcome(problem));
    throw problem;
  }
  if (!("decided" in ready)) {
    count("ok");
    return ready;
  }
  try {
    const reply = await act(call, ready, parts, timed);
    count("ok");
    return reply;
  } catch (error) {
    count(error instanceof UpstreamFault && error.effect === "unknown" ? "unknown" : "error");
    throw withCall(error, call, ready.decided.permit.decisionId);
  }
};

/** The corridor of one call, whole. Throws a `Problem` whose members name the call and, where there is one, the decision. */
export const callTool = async (call: ToolCall, parts: CorridorParts): Promise<ToolReply> => {
  const timed = timedBy(parts);
  const count = (outcome: string): void => parts.metrics.count("mcp_calls_total", { dialect: call.dialect, outcome });
  let tool: Tool;
  try {
    tool = requireTool(call.snapshot, call.view, call.name, call.caller.tenant);
  } catch (error) {
    count("refused");
    throw withCall(error, call);
  }
  return (parts.tracing ?? noTracing).span(`tools/call ${tool.name}`, { facts: { "mcp.dialect": call.dialect } }, () =>
    callKnown(call, tool, parts, timed, count),
  );
};
