import { join } from "node:path";
import type { AgentClient } from "#authn/exchange/agent-clients.ts";
import { deriveClientSecret, secretDigest } from "#authn/sealing/client-secret.ts";
import { identityMappingOf } from "#authn/config.ts";
import { createTokenExchange } from "#authn/exchange/exchange.ts";
import { createLogoutTokenCheck } from "#authn/provider/logout-token.ts";
import { createOidcClient } from "#authn/provider/oidc.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import { createUsedAssertions } from "#authn/exchange/used-assertions.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import { createGateway, type GatewayService } from "#gateway/service.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";
import { settlePersonBy } from "./settle-person-by.ts";
import type { Opening } from "./opening.ts";

/** The demo's agents as clients of the token exchange; their secrets are derived, nowhere kept. */
const demoAgentClients = (secrets: InstanceSecrets): readonly AgentClient[] =>
  demoSignIns.agents.map(({ clientId, agent }) => ({ clientId, agent, secretSha256: secretDigest(deriveClientSecret(secrets, clientId)) }));

/** The gateway for browsers and agents: sign-in client, token exchange, route table, raw ingress. */
export const openGateway = async (opening: Opening): Promise<GatewayService> => {
  const { callers, common, firstPartyClients, listener, plan, provider, store, tls } = opening;
  const { addresses, commandLine, settings } = plan;
  const { authn } = settings;
  const { audiences, environment, log, metrics, now, secrets } = common;
  const { publicOrigin, ports } = addresses;
  const gateway = opening.stack.use(
    await createGateway({
      ...common,
      identity: callers.identityFor("gateway"),
      redis: store.redis,
      backlog: store.backlog,
      config: settings.gateway,
      publicOrigins: addresses.publicOrigins,
      routesFile: plan.routesFile,
      pdpConfigFile: plan.pdp.configFile,
      webFolder: settings.gateway.webFolder ?? join(import.meta.dirname, "../../../web/dist"),
      schemaActions,
      verifierFor: callers.verifierForGateway,
      hasEnded: callers.hasEnded,
      jwks: () => callers.serviceKeys.jwks(),
      oidc: createOidcClient({
        issuer: provider.issuer,
        ...provider.client,
        scopes: authn.oidcScopes,
        sendsResources: authn.oidcResourceIndicators ?? provider.isEmbedded,
        mapping: identityMappingOf(authn),
        settle: settlePersonBy(opening),
        now,
        metrics,
        fetch: provider.ask,
      }),
      checkLogoutToken: createLogoutTokenCheck({ issuer: provider.keys, clientId: provider.client.clientId, now, metrics }),
      tokenExchange: createTokenExchange({
        clients: [...authn.agentClients, ...(commandLine.demo && environment !== "production" ? demoAgentClients(secrets) : [])],
        findClient: callers.findClient,
        check: callers.checkToken,
        serviceKeys: callers.serviceKeys,
        audiences: opening.everyAudience,
        endpoint: `${publicOrigin}/oauth/token`,
        isFirstUse: createUsedAssertions(store.database, now),
        now,
        metrics,
        log,
      }),
      firstPartyClients,
      // The gateway streams to services that run elsewhere with its own client; only those of this process are peers.
      peers: opening.ownPeers,
      serviceUrls: audiences,
      internalAudiences: plan.internalAudiences,
      tls: tls.own,
      internalCa: tls.ca,
    }),
  );
  opening.add("gateway", gateway);
  await gateway.listen({ port: ports.gateway, hosts: listener.hosts });
  return gateway;
};
