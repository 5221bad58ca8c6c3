import { issueOfJson } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import type { EvaluationQuery } from "#pdp-client/pdp-client.ts";
import type { AskMapping } from "#crud/model/mapped-call.ts";

const MAX_RESULT_BYTES = 16_384;
const MAX_ID = 1024;

export const mappingIssue = (detail: string, cause?: unknown): Problem => new Problem("mapping_error", { detail, cause });

const isId = (id: string): boolean => id !== "" && id.length <= MAX_ID && id.isWellFormed() && !/\p{Cc}/u.test(id);

/**
 * What a mapping makes of a call, in whichever form it is written: questions that can be asked. All that goes wrong on the way
 * is `mapping_error`: an expression that fails, an id that names nothing, a result over 16 KiB; or `expression_limit`.
 */
export const guardMapping =
  (make: AskMapping["asks"]): AskMapping["asks"] =>
  (call) => {
    let asks: readonly EvaluationQuery[];
    try {
      asks = make(call);
    } catch (cause) {
      throw cause instanceof Problem && (cause.code === "mapping_error" || cause.code === "expression_limit")
        ? cause
        : mappingIssue("An expression failed.", cause);
    }
    if (asks.some(({ id }) => id !== undefined && !isId(id))) throw mappingIssue("The id of the resource names nothing.");
    const unfit = issueOfJson(asks);
    if (unfit !== undefined) throw mappingIssue(`What the mapping gives ${unfit}.`);
    if (Buffer.byteLength(JSON.stringify(asks)) > MAX_RESULT_BYTES) throw mappingIssue("What the mapping gives is too large.");
    return asks;
  };
