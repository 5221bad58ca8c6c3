import { createIssuer } from "#issuer/issuer.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import type { Opening } from "./opening.ts";

/** The embedded OpenID provider of dev and test. */
export const openIssuer = async (opening: Opening): Promise<void> => {
  const { callers, common, plan, provider, stack } = opening;
  const { addresses, commandLine } = plan;
  const { environment, database, secrets, log, metrics, now } = common;
  const issuer = stack.use(
    await createIssuer({
      issuerUrl: provider.issuer,
      environment,
      database,
      secrets,
      web: { ...provider.client, publicOrigins: addresses.publicOrigins },
      // Without the demo no person is known there: their password is no secret. A service client's is derived from Sallyport's own.
      signIns: commandLine.demo ? demoSignIns : { persons: [], agents: [], services: demoSignIns.services },
      audiences: opening.everyAudience,
      findClient: callers.findClient,
      serviceKeys: callers.serviceKeys,
      metrics,
      isScraperListed: common.isScraperListed,
      log,
      now,
    }),
  );
  const listening = await issuer.listen({ port: addresses.ports.issuer, ...opening.listener });
  stack.defer(() => listening.close());
};
