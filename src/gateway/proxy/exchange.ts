import type { Dispatcher, Pool } from "undici";
import { Problem } from "#contract/problem.ts";
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

/** These answers have no body, whatever the upstream says. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Bytes of header lines as they came, each a character of Latin-1. */
const latin = (raw: Buffer | string): string => (typeof raw === "string" ? raw : raw.toString("latin1"));

const headersOf = (raw: Dispatcher.DispatchController["rawHeaders"]): Headers => {
  const headers = new Headers();
  if (!Array.isArray(raw)) return headers;
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(latin(raw[at] ?? ""), latin(raw[at + 1] ?? ""));
  return headers;
};

/**
 * One request and its answer over a pool of connections, with back-pressure in both directions. Resolves at the answer's
 * head; its body fails when the upstream dies, and ends the exchange when it is cancelled. `over` is called once, when the
 * connection is free again or gone. Throws `ExchangeFailure`, or why the call's signal was aborted.
 */
export const exchange = (pool: Pool, path: string, call: UpstreamCall, over: () => void): Promise<Response> =>
  new Promise((resolve, reject) => {
    const { signal } = call;
    let control: Dispatcher.DispatchController | undefined;
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

    const answer = (controller: Dispatcher.DispatchController, status: number): Response => {
      if (status > 599) throw new Problem("upstream_bad_response");
      const headers = headersOf(controller.rawHeaders);
      if (call.method === "HEAD" || bodiless.has(status)) return new Response(null, { status, headers });
      const content = new ReadableStream<Uint8Array>(
        {
          start: (target) => {
            body = target;
          },
          pull: () => controller.resume(),
          cancel,
        },
        { highWaterMark: 0 },
      );
      return new Response(content, { status, headers });
    };

    pool.dispatch(
      {
        method: call.method as Dispatcher.HttpMethod,
        path,
        headers: [...call.headers].flat(),
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
          if (status >= 200) resolve(answer(controller, status));
        },
        onResponseData: (controller, chunk) => {
          if (body === undefined) {
            controller.abort(new Error("a body where there is none"));
            return;
          }
          // A parser that is told to go on with nothing there reports no bytes.
          if (chunk.byteLength === 0) return;
          body.enqueue(chunk);
          if ((body.desiredSize ?? 0) <= 0) controller.pause();
        },
        onResponseEnd: () => {
          if (finish()) body?.close();
        },
        onResponseError: (_controller, error) =>
          fail(signal.aborted ? signal.reason : new ExchangeFailure(error, { wasSent: control !== undefined, wasAnswered })),
      },
    );
  });
