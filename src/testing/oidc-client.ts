import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createOidcClient, type OidcClientParts } from "#authn/provider/oidc.ts";
import type { OidcClient } from "#authn/provider/oidc-client.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { TestIssuer } from "./issuer.ts";

/** Sallyport as a client of the embedded issuer. */
export const testOidcClient = (
  { url, clientId, clientSecret }: Pick<TestIssuer, "url" | "clientId" | "clientSecret">,
  more: Partial<OidcClientParts> = {},
): OidcClient =>
  createOidcClient({
    issuer: url,
    clientId,
    clientSecret,
    scopes: ["openid", "profile", "offline_access"],
    sendsResources: true,
    mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
    now: () => new Date(),
    metrics: createMetrics(),
    ...more,
  });
