import * as openid from "openid-client";
import { Problem } from "#contract/problem.ts";
import type { Send } from "#http/trusting-fetch.ts";
import { wasNeverSent } from "#http/was-never-sent.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createProviderRequests, type ProviderEndpoint } from "./provider-requests.ts";

export interface ProviderConnectionParts {
  readonly issuer: string;
  /** As whom we ask: the confidential client of sign-in. */
  readonly clientId: string;
  readonly clientSecret: string;
  readonly now: () => Date;
  readonly metrics: Metrics;
  readonly fetch?: Send;
}

export interface ProviderConnection {
  /** The provider's metadata, read when first needed and again each hour. Throws `identity_provider_unavailable`. */
  configuration(): Promise<openid.Configuration>;
  /** Asks now, whatever is kept. */
  probe(): Promise<void>;
  /** Whether an issue is the provider's absence rather than its answer. */
  isOutage(issue: unknown): boolean;
  /** Whether what was to be sent surely had no effect there: it was never sent, or it was plainly refused. */
  isUntaken(issue: unknown): boolean;
}

/** The provider is not there: nobody's issue who asks. */
export const providerAway = (cause: unknown): Problem =>
  new Problem("identity_provider_unavailable", {
    detail: "The identity provider does not answer.",
    cause,
    headers: { "retry-after": "5" },
  });

const KEPT_MS = 3_600_000;
const TIMEOUT_SECONDS = 10;

/** Connection to an OpenID provider that may start later than we do, or be away for a while. */
export const createProviderConnection = (parts: ProviderConnectionParts): ProviderConnection => {
  let kept: { readonly config: Promise<openid.Configuration>; readonly at: number } | undefined;
  let metadata: Readonly<openid.ServerMetadata> | undefined;

  const nameOf = (url: string): ProviderEndpoint => {
    if (url.includes("/.well-known/")) return "discovery";
    if (url === metadata?.jwks_uri) return "jwks";
    if (url === metadata?.token_endpoint) return "token";
    if (url === metadata?.pushed_authorization_request_endpoint) return "par";
    if (url === metadata?.introspection_endpoint) return "introspection";
    return url === metadata?.revocation_endpoint ? "revocation" : "other";
  };
  const request = createProviderRequests({
    send: parts.fetch ?? ((url, init) => fetch(url, init)),
    resting: "token",
    refuse: providerAway,
    isGood: (response) => response.status < 500,
    metrics: parts.metrics,
  });

  const discover = async (): Promise<openid.Configuration> => {
    const url = new URL(parts.issuer);
    const config = await openid.discovery(
      url,
      parts.clientId,
      { client_secret: parts.clientSecret },
      openid.ClientSecretBasic(parts.clientSecret),
      {
        [openid.customFetch]: (url, init) => request(nameOf(url), url, init as RequestInit),
        timeout: TIMEOUT_SECONDS,
        // Which issuers may be reached without TLS is settled where the settings are read.
        execute: [openid.enableNonRepudiationChecks, ...(url.protocol === "http:" ? [openid.allowInsecureRequests] : [])],
      },
    );
    metadata = config.serverMetadata();
    return config;
  };

  const configuration = (): Promise<openid.Configuration> => {
    if (kept !== undefined && parts.now().getTime() - kept.at < KEPT_MS) return kept.config;
    const asked = {
      at: parts.now().getTime(),
      config: discover().catch((cause: unknown) => {
        if (kept === asked) kept = undefined;
        throw providerAway(cause);
      }),
    };
    kept = asked;
    return asked.config;
  };

  return {
    configuration,
    probe: async () => {
      await discover().catch((cause: unknown) => {
        throw providerAway(cause);
      });
    },
    isUntaken: (issue) => {
      // Without its metadata, or with its breaker open, nothing is sent.
      if (issue instanceof Problem || (issue instanceof Error && issue.cause instanceof Problem)) return true;
      if (issue instanceof openid.ResponseBodyError || issue instanceof openid.WWWAuthenticateChallengeError) return issue.status < 500;
      return wasNeverSent(issue);
    },
    isOutage: (issue) => {
      // What our own `fetch` of the provider throws arrives wrapped.
      const inner = issue instanceof Error ? issue.cause : undefined;
      if (inner instanceof Problem) return inner.code === "identity_provider_unavailable";
      if (inner instanceof Response) return inner.status >= 500;
      if (issue instanceof openid.ResponseBodyError) return issue.status >= 500;
      if (issue instanceof openid.AuthorizationResponseError)
        return issue.error === "temporarily_unavailable" || issue.error === "server_error";
      const code = (issue as { code?: unknown }).code;
      if (issue instanceof openid.ClientError) return code === "OAUTH_TIMEOUT" || code === "OAUTH_ABORT";
      return issue instanceof TypeError && (issue.message === "fetch failed" || issue.message === "terminated");
    },
  };
};
