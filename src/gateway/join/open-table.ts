import type { Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { isBuiltInPath } from "#gateway/built-in-list.ts";
import type { PublicOrigins } from "#gateway/front-door/public-origins.ts";
import { openUpstreams, type Upstreams } from "#gateway/proxy/open-upstreams.ts";
import { loadRoutes } from "#gateway/routes/load-routes.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import type { GatewayParts } from "#gateway/service.ts";
import { faultLine } from "#gateway/start-faults.ts";
import { insideIds } from "./inside-handlers.ts";

export interface OpenedTable {
  readonly table: RouteTable;
  readonly upstreams: Upstreams;
  /** A service for the gateway's own questions. */
  peerOf(name: "crud" | "pdp"): Peer;
}

/** Names that the route table may use as `${NAME}`. */
const variablesOf = (parts: GatewayParts): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (["pdp", "crud", "membership", "secrets"] as const).flatMap((name) => [
      [`${name.toUpperCase()}_SERVICE_URL`, parts.serviceUrls[name]],
      [`${name.toUpperCase()}_AUDIENCE`, parts.audiences[name]],
    ]),
  );

/** The rows and where they lead. Throws `StartFaults` before anything is opened. */
export const openTable = async (parts: GatewayParts, origins: PublicOrigins): Promise<OpenedTable> => {
  const { table, warnings } = await loadRoutes({
    routesFile: parts.routesFile,
    pdpConfigFile: parts.pdpConfigFile,
    variables: variablesOf(parts),
    houseAudiences: parts.houseAudiences ?? Object.values(parts.audiences),
    publicHosts: origins.hosts,
    handlers: insideIds,
    isBuiltIn: isBuiltInPath,
  });
  for (const warning of warnings) parts.log.warn("route_table_warning", { fault: faultLine(warning) });
  const upstreams = await openUpstreams(table, parts.peers);
  return {
    table,
    upstreams,
    peerOf: (name) => upstreams.peer(name) ?? (async () => Promise.reject(new Problem("upstream_unavailable"))),
  };
};
