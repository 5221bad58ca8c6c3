import { requireReach, type AuthorizedCall } from "./steps/check-chain.ts";
import { requireCall } from "./steps/authorize.ts";
import { parseHops } from "./steps/check-delegation.ts";
import { requireServing } from "./steps/check-state.ts";
import { parseArguments } from "./steps/validate-arguments.ts";
import { recordingRefusal } from "./refused-call.ts";
import { timedStep } from "./timed-step.ts";
import type { CallParts, ResolvedCall } from "#crud/tools/tool-call.ts";

/**
 * First of the five functions of a call: state, arguments, delegation, decision, chain. Nothing is reserved, written or sent. Throws a
 * `Problem`; the refusal is recorded.
 */
export const decideCall = async (known: ResolvedCall, parts: CallParts): Promise<AuthorizedCall> => {
  const { call, tool } = known;
  const timed = timedStep(parts);
  const validated = await recordingRefusal(known, parts, async () => {
    await timed("state", async () => {
      if (!tool.isBuiltIn) await parts.kills.requireKnown();
      requireServing({ caller: call.caller, view: call.view, tool }, parts.kills);
    });
    return timed("arguments", () => parseArguments(known, parts));
  });
  return recordingRefusal(validated, parts, async () => {
    const hops = tool.isBuiltIn ? [] : await timed("delegation", () => parseHops(call.caller, parts.maxDelegationDepth));
    const permitted = await timed("decide", () => requireCall(validated, parts));
    return timed("chain", () => requireReach(permitted, hops, parts));
  });
};
