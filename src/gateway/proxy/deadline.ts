import { Problem } from "#contract/problem.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { Route } from "#gateway/routes/route-table.ts";

/** How long an upstream may take; `undefined` = as long as the client stays. */
export interface Budget {
  readonly headersMs: number;
  readonly idleMs: number | undefined;
  readonly totalMs: number | undefined;
  /** True: it is the caller who gives less time than the row. */
  readonly isHurried: boolean;
}

/** The row's timeouts; a bearer's own deadline may shorten them. A raw stream has no end that we would know. */
export const budgetOf = (route: Route, inbound: Inbound): Budget => {
  const { headers_ms: headersMs, idle_ms: idleMs, total_ms: totalMs } = route.row.timeouts;
  const given = route.row.auth === "bearer" ? inbound.headers.get("x-deadline-ms") : undefined;
  const own = given !== undefined && /^[1-9][0-9]{0,8}$/.test(given) ? Number(given) : undefined;
  const total = Math.min(totalMs, own ?? totalMs);
  if (route.row.streaming) return { headersMs: total, idleMs: undefined, totalMs: own, isHurried: total < totalMs };
  const forHeaders = Math.min(headersMs, total);
  return { headersMs: forHeaders, idleMs, totalMs: total, isHurried: own !== undefined && forHeaders === own };
};

/** A clock that runs while we wait for the upstream, and stands while we wait for the client. */
export interface Clock {
  pause(): void;
  resume(): void;
  stop(): void;
}

export const startClock = (milliseconds: number, onEnd: () => void): Clock => {
  let left = milliseconds;
  let since = performance.now();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(onEnd, left);
  const hold = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    pause: () => {
      if (timer === undefined) return;
      hold();
      left -= performance.now() - since;
    },
    resume: () => {
      if (timer !== undefined || isStopped) return;
      since = performance.now();
      timer = setTimeout(onEnd, Math.max(left, 1));
    },
    stop: () => {
      isStopped = true;
      hold();
    },
  };
};

/**
 * A body that ends with an error when nothing comes for too long, or when the whole takes too long; the upstream is
 * cancelled then.
 */
export const timedBody = (
  body: ReadableStream<Uint8Array>,
  limits: {
    readonly idleMs: number | undefined;
    readonly leftMs: number | undefined;
    /** Called when the rest is not wanted: an upstream of this process hears it by its request's signal. */
    readonly letGo?: () => void;
  },
): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  let total: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(total);
    clearTimeout(idle);
  };
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        if (limits.leftMs === undefined) return;
        total = setTimeout(() => fail(controller), Math.max(limits.leftMs, 1)).unref();
      },
      pull: async (controller) => {
        if (limits.idleMs !== undefined) idle = setTimeout(() => fail(controller), limits.idleMs).unref();
        try {
          const { done, value } = await reader.read();
          clearTimeout(idle);
          if (!done) {
            controller.enqueue(value);
            return;
          }
          stop();
          controller.close();
        } catch (error) {
          stop();
          throw error;
        }
      },
      cancel: (reason) => {
        stop();
        return letGo(reason);
      },
    },
    { highWaterMark: 0 },
  );

  function letGo(reason: unknown): Promise<void> {
    const gone = reader.cancel(reason);
    limits.letGo?.();
    return gone;
  }
  function fail(controller: ReadableStreamDefaultController<Uint8Array>): void {
    stop();
    const problem = new Problem("upstream_timeout");
    controller.error(problem);
    letGo(problem).catch(() => {});
  }
};
