import { join } from "node:path";
import type { Fault } from "#contract/problem.ts";
import { isBuiltInPath } from "#gateway/built-in-list.ts";
import { insideIds } from "#gateway/join/inside-handlers.ts";
import { loadRoutes } from "#gateway/routes/load-routes.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import type { HouseAddresses } from "#house/house-addresses.ts";
import type { HouseSettings } from "#house/settings.ts";

/**
 * Reads the route table as a start would, without starting. Throws `StartFaults` with every fault of the table and of the
 * decision point's mappings.
 */
export const checkRoutes = async (parts: {
  readonly folder: string;
  readonly settings: HouseSettings;
  readonly addresses: HouseAddresses;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): Promise<{ readonly file: string; readonly table: RouteTable; readonly warnings: readonly Fault[] }> => {
  const { folder, settings, addresses, environment } = parts;
  const file = settings.gateway.routesFile ?? join(folder, "routes.yaml");
  const { services } = addresses;
  const read = await loadRoutes({
    routesFile: file,
    pdpConfigFile: environment["PDP_CONFIG_FILE"] ? settings.pdp.configFile : join(folder, "pdp.yaml"),
    variables: Object.fromEntries(
      (["pdp", "crud", "membership", "secrets"] as const).flatMap((name) => [
        [`${name.toUpperCase()}_SERVICE_URL`, services[name]],
        [`${name.toUpperCase()}_AUDIENCE`, services[name]],
      ]),
    ),
    houseAudiences: settings.authn.houseAudiences.length > 0 ? settings.authn.houseAudiences : Object.values(services),
    publicHosts: new Set(addresses.publicOrigins.map((origin) => new URL(origin).host)),
    handlers: insideIds,
    isBuiltIn: isBuiltInPath,
  });
  return { file, ...read };
};
