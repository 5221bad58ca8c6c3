import { webClientOf } from "#authn/sealing/client-secret.ts";
import { openIssuerFetch } from "#authn/provider/issuer-fetch.ts";
import { remoteIssuer } from "#authn/provider/issuer-keys.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import type { ServiceTls } from "#http/tls-files.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { StartPlan } from "#app/start/start-plan.ts";

export type ProviderConnection = Awaited<ReturnType<typeof openProvider>>;

/**
 * The OpenID provider at which people sign in: chosen here, for everybody who asks it anything. Throws `StartIssues` when OIDC_CA_FILE
 * cannot be used. Asks nothing yet: the provider may start later.
 */
export const openProvider = async (
  { addresses: { issuer }, settings: { authn }, isProviderEmbedded: isEmbedded }: StartPlan,
  parts: { readonly tls: ServiceTls; readonly secrets: InstanceSecrets; readonly metrics: Metrics },
) => {
  // Of the embedded provider Sallyport is told what it is told of its other services.
  const opened = await openIssuerFetch(authn.oidcCaFile, isEmbedded ? parts.tls.ca : undefined);
  const ask = opened.send;
  return {
    issuer,
    /** Sallyport's own, served in this process or in another one of Sallyport. */
    isEmbedded,
    /** How it is reached. */
    ask,
    /** Who this deployment is there. */
    client: webClientOf(authn, parts.secrets),
    /** Its keys, for whatever it signed. */
    keys: remoteIssuer({ issuer, metrics: parts.metrics, fetch: ask }),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
};
