import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import { recordRefusal } from "./call-record.ts";
import type { Arguments } from "./steps/validate-arguments.ts";
import type { CallParts, ResolvedCall, ToolCall } from "#crud/tools/tool-call.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";

/** The problem of whatever was thrown, with what every refusal of a call carries. */
export const withCall = (error: unknown, call: ToolCall, decisionId?: string): Problem => {
  const problem = error instanceof UpstreamError ? error.problem : asProblem(error);
  const { members, ...options } = problem.options;
  return new Problem(problem.code, {
    ...options,
    members: { decision_id: decisionId, ...members, call_id: call.callId },
    cause: problem.options.cause ?? (error instanceof Problem || error instanceof UpstreamError ? undefined : error),
  });
};

/** Work before a call is opened: what stops there charged nothing and sent nothing, and has one entry in the audit log. Throws a `Problem`. */
export const recordingRefusal = async <T>(
  known: ResolvedCall & { readonly given?: Arguments },
  parts: Pick<CallParts, "recorder" | "log">,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const problem = withCall(error, known.call);
    await recordRefusal(known, known.given, problem, parts);
    throw problem;
  }
};
