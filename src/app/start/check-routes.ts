import { isBuiltInPath } from "#gateway/steps/built-in-path.ts";
import { insideIds } from "#gateway/routes/internal-rows.ts";
import { loadRoutes } from "#gateway/routes/load-routes.ts";
import { routeVariables } from "#gateway/active-routes/open-table.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import { schemaActions } from "#pdp/bundle/schema-actions.ts";
import type { Issue } from "#contract/problem.ts";
import type { StartPlan } from "./start-plan.ts";

/**
 * Reads the route table as a start would, without starting. Throws `StartIssues` with every issue of the table and of the
 * decision point's mappings.
 */
export const checkRoutes = async (plan: StartPlan): Promise<{ readonly table: RouteTable; readonly warnings: readonly Issue[] }> => {
  const { settings, addresses } = plan;
  const { services } = addresses;
  return loadRoutes({
    routesFile: plan.routesFile,
    pdpConfigFile: plan.pdp.configFile,
    variables: routeVariables({ serviceUrls: services, audiences: services }),
    internalAudiences: plan.internalAudiences,
    publicHosts: new Set(addresses.publicOrigins.map((origin) => new URL(origin).host)),
    requiresTls: settings.instance.environment === "production",
    handlers: insideIds,
    isBuiltIn: isBuiltInPath,
    schemaActions,
  });
};
