import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type CryptoKey,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
  type RemoteJWKSet,
} from "jose";
import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { createBreaker } from "#http/breaker.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** An issuer whose access tokens are accepted, and where its keys come from. */
export interface TrustedIssuer {
  readonly issuer: string;
  keys(header?: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey>;
}

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

const metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
const TIMEOUT_MS = 5000;

const unavailable = (cause: unknown): Problem =>
  new Problem("identity_provider_unavailable", { detail: "The keys of the identity provider cannot be had.", cause });

/**
 * Keys of an OpenID provider, found through its discovery document when the first token arrives, so that the provider may
 * start later than we do. The key set is kept 10 minutes; an unknown key makes it be read again at most each 30 seconds.
 * A provider that does not answer is `identity_provider_unavailable` (503), never a bad token.
 */
export const remoteIssuer = (parts: { readonly issuer: string; readonly metrics: Metrics; readonly fetch?: Fetch }): TrustedIssuer => {
  const send = parts.fetch ?? ((url, init) => fetch(url, init));
  const keysBreaker = createBreaker({
    name: "idp.jwks",
    metrics: parts.metrics,
    isFailure: () => true,
    isFailedAnswer: (answer) => (answer as Response).status >= 500,
    refuse: () => unavailable(new Error("it rests after failures")),
  });
  const measured = async (endpoint: "discovery" | "jwks", url: string, init: RequestInit): Promise<Response> => {
    const started = performance.now();
    const done = (status: string) => {
      parts.metrics.count("bff_idp_requests_total", { endpoint, status });
      parts.metrics.observe("bff_idp_latency_seconds", { endpoint }, (performance.now() - started) / 1000);
    };
    try {
      const response = endpoint === "jwks" ? await keysBreaker.run(() => send(url, init)) : await send(url, init);
      done(response.ok ? "ok" : "error");
      return response;
    } catch (cause) {
      done((cause as Error).name === "TimeoutError" ? "timeout" : "error");
      throw cause;
    }
  };

  const discover = async (): Promise<RemoteJWKSet> => {
    const url = `${parts.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const response = await measured("discovery", url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new TypeError(`discovery answered ${response.status}`);
    const found = metadata.parse(await response.json());
    if (found.issuer !== parts.issuer) throw new TypeError("discovery names another issuer");
    return createRemoteJWKSet(new URL(found.jwks_uri), {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: 30_000,
      cacheMaxAge: 600_000,
      [customFetch]: (keysUrl, init) => measured("jwks", keysUrl, init),
    });
  };

  let found: Promise<RemoteJWKSet> | undefined;
  const keySet = (): Promise<RemoteJWKSet> => {
    const asked = found ?? discover();
    found = asked;
    asked.catch(() => {
      if (found === asked) found = undefined;
    });
    return asked;
  };

  return {
    issuer: parts.issuer,
    keys: async (header, token) => {
      const keys = await keySet().catch((cause: unknown) => {
        throw unavailable(cause);
      });
      try {
        return await keys(header, token);
      } catch (cause) {
        if (
          cause instanceof errors.JWKSNoMatchingKey ||
          cause instanceof errors.JWKSMultipleMatchingKeys ||
          cause instanceof errors.JOSENotSupported
        )
          throw cause;
        throw unavailable(cause);
      }
    },
  };
};
