import { createIssuer } from "#authn/issuer/issuer.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import type { Opening } from "./house-opening.ts";

/** The embedded OpenID provider of dev and test. */
export const openIssuer = async (opening: Opening): Promise<void> => {
  const { addresses, callers, common, stack } = opening;
  const { environment, database, secrets, log, now } = common;
  const issuer = stack.use(
    await createIssuer({
      issuerUrl: addresses.issuer,
      environment,
      database,
      secrets,
      web: { ...opening.webClient, publicOrigins: addresses.publicOrigins },
      // Without the demo no person is known there: their password is no secret. A service client's is derived from the house's own.
      signIns: opening.commandLine.demo ? demoSignIns : { persons: [], agents: [], services: demoSignIns.services },
      audiences: opening.everyAudience,
      houseKeys: callers.houseKeys,
      log,
      now,
    }),
  );
  const listening = await issuer.listen({ port: addresses.ports.issuer, hosts: opening.hosts });
  stack.defer(() => listening.close());
};
