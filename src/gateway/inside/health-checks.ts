/** State of one part, as health answers it. */
export interface CheckState {
  readonly status: "up" | "down" | "not_configured";
  readonly latency_ms: number;
  /** Since when it is so, RFC 3339. */
  readonly since: string;
  /** What the part says that it lacks; only where it is down and says so. */
  readonly reasons?: string[];
}

/** Thrown by a check whose part answers, and says that it cannot do its work. */
export class Unready extends Error {
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[]) {
    super(`not ready: ${reasons.join(", ")}`);
    this.reasons = reasons;
  }
}

export interface HealthChecks {
  /** All parts; each is asked at most once in the time that answers are kept. */
  all(): Promise<Readonly<Record<string, CheckState>>>;
}

const KEPT_MS = 3000;
const TIMEOUT_MS = 2000;

/** Asks a part whether it answers. The signal says that nobody waits any more: what was asked is let go then. */
export type HealthCheck = (signal: AbortSignal) => Promise<void>;

/** Asks parts whether they answer. Whoever calls often gets the last answer: a health page is no way to load the parts. */
export const createHealthChecks = (checks: Readonly<Record<string, HealthCheck>>, now: () => Date): HealthChecks => {
  const last = new Map<string, CheckState>();
  let kept: { readonly at: number; readonly states: Promise<Readonly<Record<string, CheckState>>> } | undefined;

  const ask = async (name: string, check: HealthCheck): Promise<CheckState> => {
    const started = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const over = new AbortController();
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const reason = new Error("it does not answer");
        reject(reason);
        over.abort(reason);
      }, TIMEOUT_MS);
    });
    const { status, reasons } = await Promise.race([check(over.signal), late]).then(
      () => ({ status: "up" as const, reasons: [] }),
      (cause: unknown) => ({ status: "down" as const, reasons: cause instanceof Unready ? cause.reasons : [] }),
    );
    clearTimeout(timer);
    const before = last.get(name);
    const state: CheckState = {
      status,
      latency_ms: Math.round((performance.now() - started) * 10) / 10,
      since: before?.status === status ? before.since : now().toISOString(),
      ...(reasons.length === 0 ? {} : { reasons: [...reasons] }),
    };
    last.set(name, state);
    return state;
  };

  return {
    all: () => {
      if (kept !== undefined && performance.now() - kept.at < KEPT_MS) return kept.states;
      const states = Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await ask(name, check)] as const)).then(
        (rows) => Object.fromEntries(rows),
      );
      kept = { at: performance.now(), states };
      return states;
    },
  };
};
