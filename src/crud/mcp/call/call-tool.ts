import type { Problem } from "#contract/problem.ts";
import { noTracing } from "#telemetry/tracing.ts";
import { recordReplay, refusalOutcome } from "./call-record.ts";
import { decideCall } from "./decide-call.ts";
import { claimKey, type KeyHold } from "./steps/idempotency.ts";
import { invokeCall, type Ending } from "./invoke-call.ts";
import { openCall, type DirectCall } from "./open-call.ts";
import { recordingRefusal, withCall } from "./refused-call.ts";
import { reserveCall } from "./reserve-call.ts";
import type { AuthorizedCall } from "./steps/check-chain.ts";
import { closeCall } from "./close-call.ts";
import { shapeKept, shapeMark, type Shaped } from "./steps/filter-output.ts";
import { requireTool } from "./steps/resolve-tool.ts";
import { timedStep } from "./timed-step.ts";
import type { CallParts, ResolvedCall, ToolCall, ToolReply } from "#crud/tools/tool-call.ts";
import { FailedCall } from "#crud/model/upstream-error.ts";

/**
 * The pipeline of one direct call, read downwards; each step is a file of its own, and what it gives is what the next one takes. Throws a
 * `Problem` whose members name the call and, where there is one, the decision.
 */
export const callTool = async (call: ToolCall, parts: CallParts): Promise<ToolReply> => {
  let known: ResolvedCall;
  try {
    known = requireTool(call);
  } catch (error) {
    counted(call, parts)("refused");
    throw withCall(error, call);
  }
  return callResolved(known, parts);
};

const counted =
  ({ dialect }: ToolCall, { metrics }: CallParts) =>
  (outcome: string): void =>
    metrics.count("mcp_calls_total", { dialect, outcome });

/** As `callTool`, of a tool that need not be in the catalogue. */
export const callResolved = async (known: ResolvedCall, parts: CallParts): Promise<ToolReply> => {
  const { call } = known;
  const count = counted(call, parts);
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
  let opened: DirectCall;
  let key: KeyHold | undefined;
  try {
    const decided = await decideCall(known, parts);
    key = await recordingRefusal(decided, parts, () => claimKey(decided, parts));
    if (key?.kept !== undefined) {
      const reply = await replayOf(decided, key.kept, parts);
      count("ok");
      return reply;
    }
    opened = await openDirect(decided, key, parts);
  } catch (error) {
    // Refusals are problems here, and recorded.
    count(refusalOutcome(error as Problem));
    throw error;
  }

  // What was opened is closed and settled, whatever happens in between.
  using claim = parts.answerShares(known.call.caller.tenant);
  const ending = await invokeCall(opened, claim, parts);
  await keepOutcome(opened, key, ending, parts);
  const closed = await timedStep(parts)("close", () => closeCall(opened, ending, parts));
  if (ending.effect !== "ok") {
    count(ending.effect === "unknown" ? "unknown" : "error");
    throw new FailedCall(withCall(ending.failure, opened.call, opened.permit.decisionId), ending.failure, closed);
  }
  count("ok");
  return replyOf(opened, { ...ending.shaped, media: ending.upstream.media }, { ...closed, isReplay: false });
};

const replayOf = (decided: AuthorizedCall, kept: NonNullable<KeyHold["kept"]>, parts: CallParts): Promise<ToolReply> =>
  recordingRefusal(decided, parts, async () => {
    const shown = await timedStep(parts)("shape", () => shapeKept(kept, decided));
    await recordReplay(decided, parts);
    return replyOf(decided, { ...shown, media: kept.upstream.media }, { isAuditPending: false, costMicro: 0n, isReplay: true });
  });

/** Money, then the record that the act begins; the key of a call that is not opened is free again. */
const openDirect = async (decided: AuthorizedCall, key: KeyHold | undefined, parts: CallParts): Promise<DirectCall> => {
  try {
    return await openCall(await reserveCall(decided, parts), parts);
  } catch (error) {
    await key?.free().catch((cause: unknown) => parts.log.warn("tool_key_not_freed", { call_id: decided.call.callId, cause }));
    throw error;
  }
};

const keepOutcome = async ({ call, tool }: DirectCall, key: KeyHold | undefined, ending: Ending, parts: CallParts): Promise<void> => {
  if (key === undefined) return;
  try {
    if (ending.effect === "ok") {
      const { value, media, isCut = false } = ending.upstream;
      await key.done({ upstream: { value, isCut, media }, mark: shapeMark(tool) });
    } else if (ending.effect === "unknown" || ending.effect === "done") await key.unknown();
    else await key.free();
  } catch (cause) {
    parts.log.warn("tool_key_not_kept", { call_id: call.callId, cause });
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
