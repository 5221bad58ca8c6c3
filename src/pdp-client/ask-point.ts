import { setTimeout as wait } from "node:timers/promises";
import { readProblem, type Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { MAX_ANSWER_BYTES } from "./bounded-decision-point.ts";
import type { PointBreaker } from "./point-breaker.ts";
import type { ReadAnswer } from "./point-answers.ts";
import { gatherBytes } from "#http/read-bytes.ts";

/** What came of a call to the decision point; `headers` are those worth passing on. */
export interface PointAnswer<T> {
  readonly value: T;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PointCall<T> {
  /** Of Sallyport's own decision point, or the whole address of another. */
  readonly path: `/access/v1/${string}` | URL;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** `undefined`: it wants no credential. */
  readonly authorization: string | undefined;
  readonly correlationId: string;
  readonly requestId: string | undefined;
  readonly read: ReadAnswer<T>;
  /** Statuses of refusals that are the client's own to hear. None of them says that the decision point fails; none unless given. */
  readonly passes?: ReadonlySet<number>;
  readonly signal: AbortSignal;
}

export type AskPoint = <T>(call: PointCall<T>) => Promise<PointAnswer<T>>;

/** Where the client's own question is put: what is wrong with it, how much of it there may be, and what is not served at all. */
export const questionRefusals: ReadonlySet<number> = new Set([400, 403, 413, 415, 501]);

/** Where the client's own name is on it too: that it asks too often is between it and the decision point. */
export const callerRefusals: ReadonlySet<number> = new Set([...questionRefusals, 429]);

const unavailable = (cause: unknown): Problem => new Problem("pdp_unavailable", { cause, headers: { "retry-after": "1" } });
const badAnswer = (cause: unknown): Problem => new Problem("pdp_bad_answer", { cause });

const readText = async (response: Response): Promise<string> => {
  const bytes = response.body === null ? undefined : await gatherBytes(response.body, MAX_ANSWER_BYTES, () => badAnswer("too large"));
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
};

/** What whoever asked is to be told beside the answer: its id, and that everything is permitted while it is tried out. */
const toldHeaders = ["x-decision-id", "x-authorization-disabled"] as const;

const isPassed = (call: PointCall<unknown>, { status }: Response): boolean => call.passes?.has(status) === true;

const readAnswer = async <T>(call: PointCall<T>, response: Response): Promise<PointAnswer<T>> => {
  if (isPassed(call, response)) {
    const problem = await readProblem(response);
    throw problem.code === "upstream_bad_response" ? badAnswer({ status: response.status }) : problem;
  }
  if (response.status !== 200) throw badAnswer({ status: response.status });
  if (!/^application\/json *(?:;|$)/i.test(response.headers.get("content-type") ?? "")) throw badAnswer("content-type");
  let value: unknown;
  try {
    value = JSON.parse(await readText(response));
  } catch (cause) {
    throw cause instanceof Problem ? cause : badAnswer(cause);
  }
  const read = call.read(value);
  if (read === undefined) throw badAnswer("shape");
  const reported = toldHeaders.flatMap((name) => {
    const text = response.headers.get(name);
    return text === null ? [] : [[name, text] as const];
  });
  return { value: read, headers: Object.fromEntries(reported) };
};

/**
 * Asks the decision point and believes nothing unchecked. Throws `pdp_unavailable` (503) when it does not answer in time,
 * at all, or says 429 or 5xx, or lately did so too often; what the call passes is thrown as it was said; `pdp_bad_answer` (502) for any answer of another form than was
 * asked for. Asked once more, after 20-60 ms, only where nothing was decided: no connection, or 503.
 */
export const createPointClient = (parts: { readonly pdp: Peer; readonly timeoutMs: number; readonly breaker: PointBreaker }): AskPoint => {
  const { breaker } = parts;
  const once = async <T>(call: PointCall<T>): Promise<{ readonly answer: PointAnswer<T> } | { readonly again: Problem }> => {
    breaker.guard();
    // A client that goes away says nothing of the decision point: then neither is noted.
    let answered: boolean | undefined;
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
        ...(call.authorization === undefined ? {} : { authorization: call.authorization }),
        "x-correlation-id": call.correlationId,
        ...(call.requestId === undefined ? {} : { "x-request-id": call.requestId }),
      };
      const sent = parts.pdp(
        new Request(new URL(call.path, "http://pdp.internal"), { method: "POST", headers, body: call.body, redirect: "manual", signal }),
      );
      let response: Response;
      try {
        response = await Promise.race([sent, ended]);
      } catch (cause) {
        if (signal.aborted) throw cause;
        answered = false;
        return { again: unavailable(cause) };
      }
      answered = isPassed(call, response) || (response.status !== 429 && response.status < 500);
      if (response.status === 503) return { again: unavailable({ status: 503 }) };
      if (!answered) throw unavailable({ status: response.status });
      return { answer: await Promise.race([readAnswer(call, response), ended]) };
    } finally {
      clearTimeout(clock);
      if (timer.signal.aborted) answered = false;
      if (answered === undefined) breaker.release();
      else breaker.note(answered);
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
