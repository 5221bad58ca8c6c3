import { circuitBreaker, CircuitState, handleWhen, type CircuitBreakerPolicy, type IBreaker } from "cockatiel";
import type { Metrics } from "#telemetry/metrics.ts";

/** Stops asking who does not answer, and asks again after a while by one single call. */
export interface Breaker {
  /** Does the work, or throws what `refuse` makes while the breaker is open or its one trial is under way. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface BreakerParts {
  /** Label of its metrics: a service of the route table, `idp.token`, `idp.jwks`. */
  readonly name: string;
  readonly metrics: Metrics;
  /** Whether what was thrown says that nobody answers. An answer that one does not like is none of these. */
  readonly isFailure: (error: unknown) => boolean;
  /** The same of an answer, where there are such. */
  readonly isFailedAnswer?: (answer: unknown) => boolean;
  readonly refuse: () => Error;
  /** How long it stays open before one call is tried. */
  readonly restMs?: number;
}

const REST_MS = 5000;

/** When a breaker opens: by the calls of a time just past, and how many of them failed. */
export interface FailureRule {
  readonly windowMs: number;
  readonly opens: (calls: number, failures: number) => boolean;
}

/** Of at least 20 calls in the last 10 s, half or more have failed. */
const halfFailed: FailureRule = { windowMs: 10_000, opens: (calls, failures) => calls >= 20 && failures * 2 >= calls };

/** Counts calls by tenths of the window. The library's own sampling keeps counts of quiet times long past and asks for more than half. */
export const createFailureWindow = (now: () => number = () => performance.now(), rule: FailureRule = halfFailed): IBreaker => {
  let slices: { readonly from: number; calls: number; failures: number }[] = [];
  const add = (failures: number): void => {
    const at = now();
    const last = slices.at(-1);
    if (last !== undefined && at - last.from < rule.windowMs / 10) {
      last.calls += 1;
      last.failures += failures;
      return;
    }
    slices = slices.filter((slice) => at - slice.from < rule.windowMs);
    slices.push({ from: at, calls: 1, failures });
  };
  return {
    state: undefined,
    success: (state) => {
      if (state === CircuitState.HalfOpen) slices = [];
      add(0);
    },
    failure: (state) => {
      add(1);
      if (state !== CircuitState.Closed) return true;
      const at = now();
      let calls = 0;
      let failures = 0;
      for (const slice of slices) {
        if (at - slice.from >= rule.windowMs) continue;
        calls += slice.calls;
        failures += slice.failures;
      }
      return rule.opens(calls, failures);
    },
  };
};

/** Metrics tell what becomes of a breaker: 0 closed, 1 half-open, 2 open. */
export const tellBreaker = (policy: CircuitBreakerPolicy, { name: service, metrics }: Pick<BreakerParts, "name" | "metrics">): void => {
  policy.onStateChange((state) => {
    metrics.set("circuit_breaker_status", { service }, state === CircuitState.Closed ? 0 : state === CircuitState.HalfOpen ? 1 : 2);
  });
  policy.onBreak(() => metrics.count("circuit_breaks_total", { service }));
};

/** Metrics show its state from the start. */
export const createBreaker = (parts: BreakerParts): Breaker => {
  const handled = handleWhen((error) => parts.isFailure(error));
  const { isFailedAnswer } = parts;
  const policy = circuitBreaker(isFailedAnswer === undefined ? handled : handled.orWhenResult(isFailedAnswer), {
    halfOpenAfter: parts.restMs ?? REST_MS,
    breaker: createFailureWindow(),
  });
  parts.metrics.set("circuit_breaker_status", { service: parts.name }, 0);
  parts.metrics.count("circuit_breaks_total", { service: parts.name }, 0);
  tellBreaker(policy, parts);
  return {
    run: async (work) => {
      // The library lets the others wait for the trial, which may take as long as the time-out.
      if (policy.state === CircuitState.HalfOpen) throw parts.refuse();
      let hasBegun = false;
      try {
        return await policy.execute(() => {
          hasBegun = true;
          return work();
        });
      } catch (error) {
        throw hasBegun ? error : parts.refuse();
      }
    },
  };
};
