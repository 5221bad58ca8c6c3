import { createBreaker } from "#http/breaker.ts";
import type { Send } from "#http/trusting-fetch.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** What of an OpenID provider is asked. */
export type ProviderEndpoint = "discovery" | "jwks" | "par" | "token" | "revocation" | "introspection" | "other";

export interface ProviderRequestsParts {
  /** How the provider is reached. */
  readonly send: Send;
  /** The endpoint that is not asked while it does not answer. */
  readonly resting: ProviderEndpoint;
  /** What is thrown while it rests. */
  readonly refuse: (cause: Error) => Error;
  readonly isGood: (response: Response) => boolean;
  readonly metrics: Metrics;
}

/** Requests to an OpenID provider, each measured. */
export const createProviderRequests = (parts: ProviderRequestsParts) => {
  const breaker = createBreaker({
    name: `idp.${parts.resting}`,
    metrics: parts.metrics,
    isFailure: () => true,
    isFailedAnswer: (answer) => (answer as Response).status >= 500,
    refuse: () => parts.refuse(new Error("it rests after failures")),
  });
  return async (endpoint: ProviderEndpoint, url: string, init: RequestInit): Promise<Response> => {
    const started = performance.now();
    const done = (status: string): void => {
      parts.metrics.count("bff_idp_requests_total", { endpoint, status });
      parts.metrics.observe("bff_idp_latency_seconds", { endpoint }, (performance.now() - started) / 1000);
    };
    try {
      const send = () => parts.send(url, init);
      const response = endpoint === parts.resting ? await breaker.run(send) : await send();
      done(parts.isGood(response) ? "ok" : "error");
      return response;
    } catch (cause) {
      done((cause as Error).name === "TimeoutError" ? "timeout" : "error");
      throw cause;
    }
  };
};
