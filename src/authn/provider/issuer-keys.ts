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
import type { Send } from "#http/trusting-fetch.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createProviderRequests } from "./provider-requests.ts";

/** An issuer whose access tokens are accepted, and where its keys come from. */
export interface TrustedIssuer {
  readonly issuer: string;
  keys(header?: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey>;
}

const metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
const TIMEOUT_MS = 5000;

const unavailable = (cause: unknown): Problem =>
  new Problem("identity_provider_unavailable", { detail: "The keys of the identity provider cannot be had.", cause });

/**
 * Keys of an OpenID provider, found through its discovery document when the first token arrives, so that the provider may
 * start later than we do. The key set is kept 10 minutes; an unknown key makes it be read again at most each 30 seconds.
 * A provider that does not answer is `identity_provider_unavailable` (503), never a bad token.
 */
export const remoteIssuer = (parts: { readonly issuer: string; readonly metrics: Metrics; readonly fetch?: Send }): TrustedIssuer => {
  const request = createProviderRequests({
    send: parts.fetch ?? ((url, init) => fetch(url, init)),
    resting: "jwks",
    refuse: unavailable,
    isGood: (response) => response.ok,
    metrics: parts.metrics,
  });

  const discover = async (): Promise<RemoteJWKSet> => {
    const url = `${parts.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const response = await request("discovery", url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new TypeError(`discovery answered ${response.status}`);
    const found = metadata.parse(await response.json());
    if (found.issuer !== parts.issuer) throw new TypeError("discovery names another issuer");
    return createRemoteJWKSet(new URL(found.jwks_uri), {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: 30_000,
      cacheMaxAge: 600_000,
      [customFetch]: (keysUrl, init) => request("jwks", keysUrl, init),
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
