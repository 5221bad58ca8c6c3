import {
  BrokenCircuitError,
  BulkheadRejectedError,
  DelegateBackoff,
  bulkhead,
  circuitBreaker,
  handleWhen,
  retry,
  type BulkheadPolicy,
  type CircuitBreakerPolicy,
  type IRetryBackoffContext,
} from "cockatiel";
import { Problem } from "#contract/problem.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createFailureWindow, tellBreaker } from "#http/breaker.ts";
import { createLocalBuckets, type Rate } from "#http/token-buckets.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { CircuitRules, ConcurrencyRules, RateLimitRules, RetryRules } from "#crud/systems/system-limits.ts";

export interface ResilienceParts {
  /** e.g. `people.demo`. */
  readonly system: string;
  readonly concurrency: ConcurrencyRules;
  readonly circuit: CircuitRules;
  readonly rateLimit?: RateLimitRules | undefined;
  readonly metrics: Metrics;
  readonly now: () => Date;
}

export interface Run<T> {
  readonly tenant: string;
  readonly principal: string;
  /** Absent: the call is tried once. */
  readonly retry?: RetryRules | undefined;
  readonly signal: AbortSignal;
  readonly attempt: (signal: AbortSignal) => Promise<T>;
}

/** Runs attempts at an upstream: concurrency, rate limit, circuit, retry. Circuit and concurrency are per tenant. */
export type Resilience = <T>(run: Run<T>) => Promise<T>;

/** What tells that an upstream is unwell; a refusal of one request does not. */
const isTrouble = (error: unknown): boolean =>
  error instanceof UpstreamError && !error.isFinal && (error.status === undefined || error.status >= 500);

const notSent = (code: "overloaded" | "rate_limited" | "upstream_circuit_open", retryAfterMs: number, cause?: unknown): UpstreamError =>
  new UpstreamError(
    new Problem(code, { headers: { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }, cause }),
    "not_sent",
  );

const isRetried = (rules: RetryRules, error: unknown): boolean => {
  return error instanceof UpstreamError && !error.isFinal && rules.on.includes(error.status ?? "network");
};

const backoff = (rules: RetryRules) =>
  new DelegateBackoff<IRetryBackoffContext<unknown>>(({ attempt, result }) => {
    const error = "error" in result ? result.error : undefined;
    const asked = rules.honourRetryAfter && error instanceof UpstreamError ? (error.retryAfterMs ?? 0) : 0;
    const max = Math.min(rules.cap, rules.base * 2 ** (attempt - 1));
    return Math.min(rules.cap, Math.max(asked, Math.random() * max));
  });

const SECONDS = { second: 1, minute: 60, hour: 3600 } as const;
const rateOf = ({ rate, per, burst }: RateLimitRules): Rate => ({ perSecond: rate / SECONDS[per], burst });
const bucketOf = ({ key }: RateLimitRules, { tenant, principal }: Run<unknown>): string =>
  key === "principal" ? `${tenant} ${principal}` : key === "tenant" ? tenant : "";

export const createResilience = (parts: ResilienceParts): Resilience => {
  const perTenant = new Map<string, { breaker: CircuitBreakerPolicy; limit: BulkheadPolicy }>();
  const buckets = createLocalBuckets(() => parts.now().getTime());
  const name = `system:${parts.system}`;

  const policiesOf = (tenant: string) => {
    const held = perTenant.get(tenant);
    if (held !== undefined) return held;
    const breaker = circuitBreaker(handleWhen(isTrouble), {
      breaker: createFailureWindow(() => parts.now().getTime(), {
        windowMs: parts.circuit.window,
        opens: (_calls, failures) => failures >= parts.circuit.failures,
      }),
      halfOpenAfter: parts.circuit.open,
    });
    tellBreaker(breaker, { name, metrics: parts.metrics });
    const made = { breaker, limit: bulkhead(parts.concurrency.max, parts.concurrency.queue) };
    perTenant.set(tenant, made);
    return made;
  };

  /** Waits for a free place, at most `wait` and as long as the call lasts; what gave up waiting never starts. */
  const enter = <T>(limit: BulkheadPolicy, signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      let state: "waiting" | "in" | "gone" = "waiting";
      const giveUp = (error: UpstreamError): void => {
        if (state !== "waiting") return;
        state = "gone";
        reject(error);
      };
      const timer = setTimeout(() => giveUp(notSent("overloaded", parts.concurrency.wait)), parts.concurrency.wait);
      const end = (): void => giveUp(new UpstreamError(new Problem("upstream_timeout"), "not_sent", { isFinal: true }));
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
      limit
        .execute(async () => {
          if (state === "gone") return;
          state = "in";
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          await work().then(resolve, reject);
        })
        .catch((error: unknown) => {
          clearTimeout(timer);
          reject(error instanceof BulkheadRejectedError ? notSent("overloaded", parts.concurrency.wait, error) : error);
        });
    });

  return (run) => {
    const { breaker, limit } = policiesOf(run.tenant);
    return enter(limit, run.signal, async () => {
      const taken = parts.rateLimit === undefined ? undefined : buckets.take(bucketOf(parts.rateLimit, run), rateOf(parts.rateLimit));
      if (taken?.isAllowed === false) throw notSent("rate_limited", taken.retryAfterMs);
      const rules = run.retry;
      const tries =
        rules === undefined || rules.max === 0
          ? undefined
          : retry(
              handleWhen((error) => isRetried(rules, error)),
              { maxAttempts: rules.max, backoff: backoff(rules) },
            );
      try {
        return await breaker.execute(
          ({ signal }) => (tries === undefined ? run.attempt(signal) : tries.execute(() => run.attempt(signal), signal)),
          run.signal,
        );
      } catch (error) {
        throw error instanceof BrokenCircuitError ? notSent("upstream_circuit_open", parts.circuit.open, error) : error;
      }
    });
  };
};
