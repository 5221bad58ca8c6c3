import type { Dispatcher, Pool } from "undici";
import { Problem } from "#contract/problem.ts";
import { bodiless, HeaderLines, type Answer } from "#gateway/model/answer.ts";
import { lowerName } from "#gateway/model/header-name.ts";
import type { UpstreamCall } from "./upstream.ts";

/** Why there was no answer, and how far it came. */
export class ExchangeFailure extends Error {
  /** Something may have reached the other end. */
  readonly wasSent: boolean;
  /** A byte of an answer came back. */
  readonly wasAnswered: boolean;

  constructor(cause: unknown, how: { readonly wasSent: boolean; readonly wasAnswered: boolean }) {
    super("the exchange failed", { cause });
    this.wasSent = how.wasSent;
    this.wasAnswered = how.wasAnswered;
  }
}

/** Bytes of header lines as they came, each a character of Latin-1. */
const latin = (raw: Buffer | string): string => (typeof raw === "string" ? raw : raw.toString("latin1"));

const headersOf = (raw: Dispatcher.DispatchController["rawHeaders"]): HeaderLines => {
  const headers = new HeaderLines();
  if (!Array.isArray(raw)) return headers;
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(lowerName(latin(raw[at] ?? "")), latin(raw[at + 1] ?? ""));
  return headers;
};

const oneOf = (chunks: readonly Buffer<ArrayBuffer>[]): Buffer<ArrayBuffer> => {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
};

/**
 * One request and its answer over a pool of connections, with back-pressure in both directions. Resolves at the answer's
 * head, or with all of it where all came at once; its body fails when the upstream dies, and ends the exchange when it is cancelled. `over` is called once, when the
 * connection is free again or gone. Throws `ExchangeFailure`, or why the call's signal was aborted.
 */
export const exchange = (pool: Pool, path: string, call: UpstreamCall, over: () => void): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { signal } = call;
    let control: Dispatcher.DispatchController | undefined;
    let head: Pick<Answer, "status" | "headers"> | undefined;
    let hasBody = false;
    const begun: Buffer<ArrayBuffer>[] = [];
    let body: ReadableStreamDefaultController<Uint8Array> | undefined;
    let wasAnswered = false;
    let isOver = false;

    const finish = (): boolean => {
      if (isOver) return false;
      isOver = true;
      signal.removeEventListener("abort", abort);
      over();
      return true;
    };
    const fail = (error: unknown): void => {
      if (!finish()) return;
      if (body === undefined) reject(error as Error);
      else body.error(error);
    };
    const cancel = (reason: unknown): void => control?.abort(reason instanceof Error ? reason : new Error("cancelled", { cause: reason }));
    function abort(): void {
      // Its place is free only when the connection is: where there is one, the pool says so.
      if (control === undefined) fail(signal.reason);
      else cancel(signal.reason);
    }
    if (signal.aborted) {
      fail(signal.reason);
      return;
    }
    signal.addEventListener("abort", abort, { once: true });

    const begin = (controller: Dispatcher.DispatchController, status: number): void => {
      if (status > 599) throw new Problem("upstream_bad_response");
      head = { status, headers: headersOf(controller.rawHeaders) };
      hasBody = call.method !== "HEAD" && !bodiless.has(status);
      // What came in one packet is read in one go: then the end of a short answer is here before the next microtask.
      if (hasBody) queueMicrotask(flow);
    };
    /** The answer goes on; what comes from now on is passed on as it is asked for. */
    function flow(): void {
      if (isOver || head === undefined) return;
      const content = new ReadableStream<Uint8Array>(
        {
          start: (target) => {
            body = target;
            control?.pause();
            for (const chunk of begun) target.enqueue(chunk);
          },
          pull: () => control?.resume(),
          cancel,
        },
        { highWaterMark: 0 },
      );
      resolve({ ...head, body: content });
    }
    const end = (): void => {
      if (!finish()) return;
      if (body !== undefined) body.close();
      else if (head !== undefined) resolve({ ...head, body: hasBody ? oneOf(begun) : null });
    };

    pool.dispatch(
      {
        method: call.method as Dispatcher.HttpMethod,
        path,
        headers: call.headers.flat,
        body: (call.body ?? null) as Dispatcher.DispatchOptions["body"],
      },
      {
        onRequestStart: (controller) => {
          control = controller;
          if (isOver) cancel(signal.reason);
        },
        onResponseStarted: () => {
          wasAnswered = true;
        },
        onResponseStart: (controller, status) => {
          if (status >= 200) begin(controller, status);
        },
        onResponseData: (controller, chunk) => {
          if (head === undefined || !hasBody) {
            controller.abort(new Error("a body where there is none"));
            return;
          }
          // A parser that is told to go on with nothing there reports no bytes.
          if (chunk.byteLength === 0) return;
          if (body === undefined) {
            begun.push(chunk as Buffer<ArrayBuffer>);
            return;
          }
          // Until the reader asks again, which it may do inside `enqueue`.
          controller.pause();
          body.enqueue(chunk);
        },
        onResponseEnd: end,
        onResponseError: (_controller, error) =>
          fail(signal.aborted ? signal.reason : new ExchangeFailure(error, { wasSent: control !== undefined, wasAnswered })),
      },
    );
  });
