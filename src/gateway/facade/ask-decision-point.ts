import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import { decisionContext, type EvaluationReply } from "#contract/authzen.ts";
import { readProblem, type Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";

/** What came of a call to the decision point; `headers` are those worth passing on. */
export interface PointAnswer {
  readonly items: readonly EvaluationReply[];
  readonly headers: Readonly<Record<string, string>>;
}

export interface PointCall {
  readonly path: "/access/v1/evaluation" | "/access/v1/evaluations";
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly authorization: string;
  readonly correlationId: string;
  readonly requestId: string | undefined;
  /** How many decisions are wanted, and whether fewer are an answer. */
  readonly wanted: { readonly count: number; readonly mayBeFewer: boolean };
  /** True: the question is the client's own, so what is wrong with it is theirs to hear. */
  readonly passRefusals?: boolean;
  readonly signal: AbortSignal;
}

const MAX_ANSWER_BYTES = 4 * 1_048_576;

const replyShape = z.looseObject({ decision: z.boolean(), context: decisionContext.optional() });
const oneShape = replyShape;
const manyShape = z.looseObject({ evaluations: z.array(replyShape) });

const unavailable = (cause: unknown): Problem => new Problem("pdp_unavailable", { cause, headers: { "retry-after": "1" } });
const badAnswer = (cause: unknown): Problem => new Problem("pdp_bad_answer", { cause });

const readText = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw badAnswer("too large");
    chunks.push(chunk);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
};

const readAnswer = async (call: PointCall, response: Response): Promise<PointAnswer> => {
  if (call.passRefusals === true && [400, 403, 413, 415].includes(response.status)) throw await readProblem(response);
  if (response.status !== 200) throw badAnswer({ status: response.status });
  if (!/^application\/json *(?:;|$)/i.test(response.headers.get("content-type") ?? "")) throw badAnswer("content-type");
  let value: unknown;
  try {
    value = JSON.parse(await readText(response));
  } catch (cause) {
    throw cause instanceof Problem ? cause : badAnswer(cause);
  }
  const { count, mayBeFewer } = call.wanted;
  const read =
    call.path === "/access/v1/evaluation"
      ? oneShape.transform((one) => [one]).safeParse(value)
      : manyShape.transform((many) => many.evaluations).safeParse(value);
  if (!read.success) throw badAnswer(read.error);
  if (read.data.length > count || read.data.length === 0 || (read.data.length < count && !mayBeFewer)) throw badAnswer("length");
  const decisionId = response.headers.get("x-decision-id");
  return { items: read.data as readonly EvaluationReply[], headers: decisionId === null ? {} : { "x-decision-id": decisionId } };
};

/**
 * Asks the decision point and believes nothing unchecked. Throws `pdp_unavailable` (503) when it does not answer in time,
 * at all, or says 429 or 5xx; `pdp_bad_answer` (502) for any other answer than strictly boolean decisions of the number
 * asked. Asked once more, after 20-60 ms, only where nothing was decided: no connection, or 503.
 */
export const createPointAsker = (parts: {
  readonly pdp: Peer;
  readonly timeoutMs: number;
}): ((call: PointCall) => Promise<PointAnswer>) => {
  const once = async (call: PointCall): Promise<{ readonly answer: PointAnswer } | { readonly again: Problem }> => {
    const timer = new AbortController();
    const signal = AbortSignal.any([call.signal, timer.signal]);
    const clock = setTimeout(() => timer.abort(unavailable("timeout")), parts.timeoutMs);
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(timer.signal.aborted ? unavailable("timeout") : signal.reason), { once: true });
    });
    ended.catch(() => {});
    try {
      const headers: Record<string, string> = {
        "content-type": "application/json",
        authorization: call.authorization,
        "x-correlation-id": call.correlationId,
        ...(call.requestId === undefined ? {} : { "x-request-id": call.requestId }),
      };
      const sent = parts.pdp(new Request(`http://pdp.internal${call.path}`, { method: "POST", headers, body: call.body, signal }));
      let response: Response;
      try {
        response = await Promise.race([sent, ended]);
      } catch (cause) {
        if (signal.aborted) throw cause;
        return { again: unavailable(cause) };
      }
      if (response.status === 503) return { again: unavailable({ status: 503 }) };
      if (response.status === 429 || response.status >= 500) throw unavailable({ status: response.status });
      return { answer: await Promise.race([readAnswer(call, response), ended]) };
    } finally {
      clearTimeout(clock);
    }
  };
  return async (call) => {
    const first = await once(call);
    if ("answer" in first) return first.answer;
    await wait(20 + Math.random() * 40);
    const second = await once(call);
    if ("answer" in second) return second.answer;
    throw second.again;
  };
};
