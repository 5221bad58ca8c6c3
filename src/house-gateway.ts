import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentClient } from "#authn/agent-clients.ts";
import { deriveClientSecret, secretDigest } from "#authn/client-secret.ts";
import { identityMappingOf } from "#authn/config.ts";
import { createTokenExchange } from "#authn/exchange.ts";
import { remoteIssuer } from "#authn/issuer-keys.ts";
import { createLogoutTokenCheck } from "#authn/logout-token.ts";
import { createOidcClient } from "#authn/oidc.ts";
import type { HouseSecrets } from "#authn/seal.ts";
import { createUsedAssertions } from "#authn/used-assertions.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import { createGateway, type GatewayService } from "#gateway/service.ts";
import type { ServiceKey } from "./house-callers.ts";
import type { Opening } from "./house-opening.ts";
import type { HouseSettings } from "./settings.ts";

/** The demo's agents as clients of the token exchange; their secrets are derived, nowhere kept. */
const demoAgentClients = (secrets: HouseSecrets): readonly AgentClient[] =>
  demoSignIns.agents.map(({ clientId, agent }) => ({ clientId, agent, secretSha256: secretDigest(deriveClientSecret(secrets, clientId)) }));

const readTls = async (settings: HouseSettings) => {
  const { tlsCertFile, tlsKeyFile } = settings.gateway;
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return {};
  return { tls: { cert: await readFile(tlsCertFile, "utf8"), key: await readFile(tlsKeyFile, "utf8") } };
};

/** The one door for browsers and agents: sign-in client, token exchange, route table, raw front door. */
export const openGateway = async (opening: Opening): Promise<GatewayService> => {
  const { addresses, askIssuer, callers, commandLine, firstPartyClients, settings, store, webClient } = opening;
  const common = { ...opening.common, ...opening.identityOf("gateway") };
  const { audiences, environment, log, metrics, now, peers, secrets } = common;
  const { publicOrigin, ports } = addresses;
  const gateway = opening.stack.use(
    await createGateway({
      ...common,
      ...(store.redis === undefined ? {} : { redis: store.redis }),
      config: settings.gateway,
      publicOrigins: addresses.publicOrigins,
      routesFile: settings.gateway.routesFile ?? join(opening.configFolder, "routes.yaml"),
      pdpConfigFile: opening.environment["PDP_CONFIG_FILE"] ? settings.pdp.configFile : join(opening.configFolder, "pdp.yaml"),
      webFolder: settings.gateway.webFolder ?? join(import.meta.dirname, "../web/dist"),
      verifierFor: callers.verifierForGateway,
      jwks: () => callers.houseKeys.jwks(),
      oidc: createOidcClient({
        issuer: addresses.issuer,
        ...webClient,
        scopes: settings.authn.oidcScopes,
        mapping: identityMappingOf(settings.authn),
        now,
        metrics,
        fetch: askIssuer,
      }),
      checkLogoutToken: createLogoutTokenCheck({
        issuer: remoteIssuer({ issuer: addresses.issuer, metrics, fetch: askIssuer }),
        clientId: webClient.clientId,
        now,
        metrics,
      }),
      tokenExchange: createTokenExchange({
        clients: [...settings.authn.agentClients, ...(commandLine.demo && environment !== "production" ? demoAgentClients(secrets) : [])],
        check: callers.checkToken,
        houseKeys: callers.houseKeys,
        audiences: opening.everyAudience,
        endpoint: `${publicOrigin}/oauth/token`,
        isFirstUse: createUsedAssertions(store.database, now),
        now,
        metrics,
        log,
      }),
      firstPartyClients,
      // The gateway streams to services that run elsewhere with its own client; only those of this process are peers.
      peers: Object.fromEntries(Object.entries(peers).filter(([service]) => commandLine.serve.has(service as ServiceKey))),
      serviceUrls: audiences,
      ...(settings.authn.houseAudiences.length === 0 ? {} : { houseAudiences: settings.authn.houseAudiences }),
      ...(await readTls(settings)),
    }),
  );
  opening.add("gateway", gateway);
  await gateway.listen({ port: ports.gateway, hosts: opening.hosts });
  return gateway;
};
