import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Issue } from "#contract/problem.ts";
import { isBuiltInPath } from "#gateway/steps/built-in-path.ts";
import type { PublicOrigins } from "#gateway/model/public-origins.ts";
import { openUpstreams, type Upstreams } from "#gateway/proxy/open-upstreams.ts";
import { loadRoutes } from "#gateway/routes/load-routes.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { insideIds } from "#gateway/routes/internal-rows.ts";

/** A table and the connections to where its rows lead. */
export interface OpenedTable {
  readonly table: RouteTable;
  readonly upstreams: Upstreams;
  readonly warnings: readonly Issue[];
  /** Equal for two tables whose services are reached in the same way. */
  readonly servicesKey: string;
}

/** Names that the route table may use as `${NAME}`. */
export const routeVariables = (parts: Pick<GatewayParts, "serviceUrls" | "audiences">): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (["pdp", "crud", "membership", "secrets"] as const).flatMap((name) => [
      [`${name.toUpperCase()}_SERVICE_URL`, parts.serviceUrls[name]],
      [`${name.toUpperCase()}_AUDIENCE`, parts.audiences[name]],
    ]),
  );

/** A renewed certificate under its old name is another way to reach a service, and so is another connect time of a row. */
const servicesKeyOf = async (table: RouteTable): Promise<string> => {
  const digest = createHash("sha256");
  for (const service of table.services.values()) {
    digest.update(JSON.stringify(service));
    for (const file of [service.caFile, service.clientCertFile, service.clientKeyFile])
      digest.update(file === undefined ? "-" : await readFile(file));
  }
  const times = table.routes.flatMap(({ row, target }) =>
    target.kind === "service" ? [[target.service.name, row.timeouts.connect_ms]] : [],
  );
  return digest.update(JSON.stringify([...new Set(times.map(String))].toSorted())).digest("hex");
};

/**
 * Reads the rows and opens where they lead. Throws `StartIssues` before anything is opened. Services that are reached as
 * before keep their connections, and what was learnt of their health.
 */
export const openTable = async (parts: GatewayParts, origins: PublicOrigins, previous?: OpenedTable): Promise<OpenedTable> => {
  const { table, warnings } = await loadRoutes({
    routesFile: parts.routesFile,
    pdpConfigFile: parts.pdpConfigFile,
    variables: routeVariables(parts),
    internalAudiences: parts.internalAudiences,
    publicHosts: origins.hosts,
    requiresTls: parts.environment === "production",
    handlers: insideIds,
    isBuiltIn: isBuiltInPath,
    schemaActions: parts.schemaActions,
  });
  const servicesKey = await servicesKeyOf(table);
  const isSame = previous?.servicesKey === servicesKey;
  return { table, warnings, servicesKey, upstreams: isSame ? previous.upstreams : await openUpstreams(table, parts) };
};
