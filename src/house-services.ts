import { join } from "node:path";
import { seedDemo } from "#demo/world.ts";
import type { GatewayService } from "#gateway/service.ts";
import { createMembership } from "#membership/service.ts";
import { createPdp } from "#pdp/service.ts";
import { resourceRefOf } from "#secrets/config.ts";
import { openCrud } from "./house-crud.ts";
import { openGateway } from "./house-gateway.ts";
import { openIssuer } from "./house-issuer.ts";
import { prepareOpening, type HouseServicesParts, type Opening } from "./house-opening.ts";
import { openSecrets } from "./house-secrets.ts";

export interface Served {
  readonly servesIssuer: boolean;
  readonly servesPeople: boolean;
  /** Takes up the changed route table, where this process serves the gateway. */
  readonly reloadRoutes?: GatewayService["reload"];
}

const openMembership = async (opening: Opening): Promise<void> => {
  const { common, settings } = opening;
  const membership = opening.stack.use(
    await createMembership({ ...common, ...opening.identityOf("membership"), config: settings.membership }),
  );
  if (opening.commandLine.demo) await seedDemo(common);
  await opening.listen("membership", membership);
};

const openPdp = async (opening: Opening): Promise<void> => {
  const { common, environment, settings } = opening;
  const resourceRef = resourceRefOf(settings.secrets);
  const config = {
    ...settings.pdp,
    publicUrl: environment["PDP_PUBLIC_URL"] ? settings.pdp.publicUrl : common.audiences.pdp,
    configFile: environment["PDP_CONFIG_FILE"] ? settings.pdp.configFile : join(opening.configFolder, "pdp.yaml"),
  };
  const parts = { ...common, ...opening.identityOf("pdp"), config, ...(resourceRef === undefined ? {} : { resourceRef }) };
  await opening.listen("pdp", opening.stack.use(await createPdp(parts)));
};

/**
 * Opens what this process serves, each after what it asks while it opens: the issuer, the graph, decisions, secrets, tools, and last the
 * door that lets anybody in.
 */
export const openHouseServices = async (parts: HouseServicesParts): Promise<Served> => {
  const { settings, say } = parts;
  const { serve, demo } = parts.commandLine;
  const opening = prepareOpening(parts);
  const servesIssuer = serve.has("issuer") && settings.authn.oidcIssuer === undefined && settings.house.environment !== "production";
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
