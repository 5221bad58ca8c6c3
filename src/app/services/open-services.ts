import type { GatewayService } from "#gateway/service.ts";
import { openCrud } from "./open-crud.ts";
import { openGateway } from "./open-gateway.ts";
import { openIssuer } from "./open-issuer.ts";
import { openMembership } from "./open-membership.ts";
import { openPdp } from "./open-pdp.ts";
import { prepareOpening, type ServicesParts } from "./opening.ts";
import { openSecrets } from "./open-secrets.ts";

export interface Served {
  readonly servesIssuer: boolean;
  readonly servesPeople: boolean;
  /** Takes up the changed route table, where this process serves the gateway. */
  readonly reloadRoutes?: GatewayService["reload"];
}

/**
 * Opens what this process serves, each after what it asks while it opens: the issuer, the graph, decisions, secrets, tools, and last the
 * gateway, which lets callers in.
 */
export const openServices = async (parts: ServicesParts): Promise<Served> => {
  const { say, plan } = parts;
  const { servesIssuer } = plan;
  const { serve, demo } = plan.commandLine;
  const opening = prepareOpening(parts);
  if (servesIssuer) {
    say("Starting the embedded OpenID provider ...");
    await openIssuer(opening);
  }
  if (serve.has("membership")) {
    say("Opening the identity graph ...");
    await openMembership(opening);
  }
  if (serve.has("pdp")) {
    say("Loading policies ...");
    await openPdp(opening);
  }
  if (serve.has("secrets")) await openSecrets(opening);
  if (serve.has("crud")) {
    say("Compiling the tools ...");
    await openCrud(opening);
  }
  const served = { servesIssuer, servesPeople: demo && serve.has("secrets") };
  if (!serve.has("gateway")) return served;
  say("Opening the gate ...");
  const gateway = await openGateway(opening);
  return { ...served, reloadRoutes: () => gateway.reload() };
};
