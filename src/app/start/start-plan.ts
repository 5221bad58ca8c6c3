import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { partNames, type CommandLine } from "#app/model/command-line.ts";
import { addressesOf, type ServiceAddresses } from "#app/model/addresses.ts";
import type { InstanceSettings } from "#app/model/settings.ts";
import { demoAllowedMounts } from "#demo/secret.ts";
import type { PdpConfig } from "#pdp/config.ts";
import { anonymousTenantOf } from "#secrets/config.ts";

/** Everything that a start goes by, before anything is opened: the command line and the settings, brought to places. */
export interface StartPlan {
  readonly commandLine: CommandLine;
  readonly settings: InstanceSettings;
  readonly addresses: ServiceAddresses;
  readonly dataFolder: string;
  readonly configFolder: string;
  /** The configuration folder, and with the demo its `demo/`. */
  readonly configFolders: readonly string[];
  readonly routesFile: string;
  /** The decision point's settings, with the addresses and files of this start. */
  readonly pdp: PdpConfig;
  readonly secretsFile: string;
  /** TENANT_ALLOWED_MOUNTS as set, or the demo's where nothing is. */
  readonly allowedMounts: string | undefined;
  /** Audiences of Sallyport's own services; who else names one of them is taken for one. */
  readonly internalAudiences: readonly string[];
  /** The OpenID provider is Sallyport's own, wherever it is served. */
  readonly isProviderEmbedded: boolean;
  /** Whether the embedded OpenID provider is served here. */
  readonly servesIssuer: boolean;
  /** Every part is served here: nobody else needs the database. */
  readonly isWhole: boolean;
}

export const planStart = (parts: {
  readonly commandLine: CommandLine;
  readonly settings: InstanceSettings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths of the command line begin at. */
  readonly from: string;
}): StartPlan => {
  const { commandLine, settings, environment, from } = parts;
  const addresses = addressesOf(commandLine.port, settings);
  const dataFolder = resolve(from, commandLine.data);
  const configFolder = commandLine.config === "config" ? join(import.meta.dirname, "../../../config") : resolve(from, commandLine.config);
  const demoPolicies = [join(configFolder, "demo/policies")].find((folder) => existsSync(folder));
  const isProviderEmbedded = settings.authn.oidcIssuer === undefined;
  return {
    commandLine,
    settings,
    addresses,
    dataFolder,
    configFolder,
    configFolders: [configFolder, ...(commandLine.demo ? [join(configFolder, "demo")] : [])],
    routesFile: settings.gateway.routesFile ?? join(configFolder, "routes.yaml"),
    pdp: {
      ...settings.pdp,
      publicUrl: environment["PDP_PUBLIC_URL"] ? settings.pdp.publicUrl : addresses.services.pdp,
      configFile: environment["PDP_CONFIG_FILE"] ? settings.pdp.configFile : join(configFolder, "pdp.yaml"),
      morePolicies: settings.pdp.morePolicies ?? (commandLine.demo ? demoPolicies : undefined),
      anonymousTenant: anonymousTenantOf(settings.secrets, settings.instance.environment),
    },
    allowedMounts:
      settings.secrets.allowedMounts ?? (commandLine.demo && settings.secrets.tenantId === undefined ? demoAllowedMounts : undefined),
    secretsFile: settings.secrets.filePath ?? join(dataFolder, "secrets.yaml"),
    internalAudiences: settings.authn.internalAudiences.length > 0 ? settings.authn.internalAudiences : Object.values(addresses.services),
    isProviderEmbedded,
    servesIssuer: commandLine.serve.has("issuer") && isProviderEmbedded && settings.instance.environment !== "production",
    isWhole: commandLine.serve.size === partNames.length,
  };
};
