import type { Claim } from "#http/shares.ts";
import { asProblem } from "#http/problem-body.ts";
import type { UpstreamAnswer } from "#crud/tools/tool.ts";
import { invokeUpstream, type Invoked } from "./steps/invoke.ts";
import { shapeOutput, type Shaped } from "./steps/filter-output.ts";
import type { OpenedCall } from "./open-call.ts";
import { timedStep } from "./timed-step.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import { UpstreamError, type Effect } from "#crud/model/upstream-error.ts";

interface EndingBase {
  readonly upstreamStatus: number | undefined;
  readonly costMicro: bigint | undefined;
  readonly secrets: UpstreamError["secrets"];
}

/** How a call that was opened ended. */
export type Ending =
  | (EndingBase & { readonly effect: "ok"; readonly shaped: Shaped; readonly upstream: UpstreamAnswer })
  | (EndingBase & { readonly effect: Effect; readonly failure: UpstreamError });

/** Fourth function of a call: invokes and shapes; the answer takes of `claim`, which the caller disposes of after closing. Never throws: how it ended is what it answers. */
export const invokeCall = async (opened: OpenedCall, claim: Claim, parts: CallParts): Promise<Ending> => {
  const timed = timedStep(parts);
  let invoked: Invoked | undefined;
  try {
    const { upstream, secrets } = (invoked = await timed("invoke", () => invokeUpstream(opened, claim, parts)));
    const shaped = await timed("shape", () => shapeOutput(upstream, opened));
    return { effect: "ok", shaped, upstream, upstreamStatus: upstream.status, costMicro: upstream.costMicro, secrets };
  } catch (error) {
    const failure = error instanceof UpstreamError ? error : new UpstreamError(asProblem(error), "done");
    const { effect } = failure;
    return {
      effect,
      failure,
      upstreamStatus: failure.status ?? (effect === "failed" ? undefined : invoked?.upstream.status),
      costMicro: invoked?.upstream.costMicro,
      secrets: failure.secrets ?? invoked?.secrets,
    };
  }
};
