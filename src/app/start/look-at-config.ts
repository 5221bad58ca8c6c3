import { stat } from "node:fs/promises";
import { join } from "node:path";
import { issueLine } from "#contract/start-issues.ts";
import { degradedLines } from "#crud/documents/degraded-lines.ts";
import { loadToolsDocument } from "#crud/documents/tools-document.ts";
import { loadUiDocument } from "#crud/documents/ui-document.ts";
import { ceilingOf } from "#crud/config.ts";
import { openServers } from "#crud/servers/open-servers.ts";
import { checkSystems } from "#crud/connectors/check-systems.ts";
import { profileIssues } from "#gateway/service.ts";
import { readPdpConfiguration } from "#pdp/model/configuration-file.ts";
import { loadGroupsDocument } from "#membership/sign-ins/groups-document.ts";
import { checkPdpStart } from "#pdp/bootstrap/check-start.ts";
import type { Sql } from "#store/database.ts";
import { checkRoutes } from "./check-routes.ts";
import { fault, guarded, note, ok, warn, type Finding } from "./finding.ts";
import { guardedStore } from "./look-at-database.ts";
import type { StartPlan } from "./start-plan.ts";

const lookAtFolder = async ({ configFolder, commandLine }: StartPlan): Promise<readonly Finding[]> => {
  const stats = await stat(configFolder).catch(() => undefined);
  if (stats?.isDirectory() === true) return [];
  return [
    fault(
      "config",
      `--config ${commandLine.config}: ${configFolder} is ${stats === undefined ? "not there" : "no folder"}. ` +
        "It must hold routes.yaml and pdp.yaml, and may hold systems/, servers.yaml, tools.yaml, ui.yaml and groups.yaml; without --config those of this installation are read.",
    ),
  ];
};

const lookAtRoutes = async (plan: StartPlan): Promise<readonly Finding[]> => {
  const { table, warnings } = await checkRoutes(plan);
  return [ok("config", `${plan.routesFile}: ${table.routes.length} routes`), ...warnings.map((one) => note("config", issueLine(one)))];
};

const lookAtOrigins = async ({ addresses, settings }: StartPlan): Promise<readonly Finding[]> => {
  const { environment, listenHosts } = settings.instance;
  // Production says it of the setting alone.
  if (environment === "production") return [];
  return profileIssues({ publicOrigins: addresses.publicOrigins, environment }, listenHosts).map((one) =>
    fault("settings", issueLine(one)),
  );
};

const lookAtSystems = async (plan: StartPlan): Promise<readonly Finding[]> => {
  const { settings, addresses, commandLine, configFolders } = plan;
  const { servers, issues, warnings } = await openServers({
    ...plan,
    config: settings.crud,
    environment: settings.instance.environment,
  });
  const { loaded, degraded, tools } = await checkSystems({
    folders: configFolders.map((folder) => join(folder, "systems")),
    settings: {
      servers,
      ceiling: ceilingOf(settings.crud, settings.instance.environment),
      placeholders: { DEMO_UPSTREAM_URL: commandLine.demo ? addresses.people : undefined },
      internalPorts: addresses.internalPorts,
      withLoopback: !settings.crud.loopbackOnlyHealth,
      requiresTls: settings.instance.environment === "production",
    },
  });
  const ceiling = ceilingOf(settings.crud, settings.instance.environment).networks.map(({ address, bits }) => `${address}/${bits}`);
  const open = ceiling.filter((network) => network.endsWith("/0"));
  const wide = `TOOLS_NETWORK_CEILING has ${open.join(", ")}: systems of every tenant may dial each address that this machine reaches`;
  // Each process that serves crud goes by its own.
  const limits = `systems dial private networks within ${ceiling.join(", ") || "none"}; MCP_STDIO_SANDBOX is ${settings.crud.stdioSandbox ?? "unset"}`;
  // Health is one of them.
  const { maxTools = tools + 1 } = settings.crud;
  const cut = `MCP_MAX_TOOLS is ${maxTools}, and the systems here have ${tools} tools, those of external servers not counted: a tenant that sees more of them cannot call the last by name`;
  return [
    ...issues.map((one) => fault("config", issueLine(one))),
    ...warnings.map((line) => warn("config", line)),
    ok("config", limits),
    ...(open.length > 0 ? [warn("config", wide)] : []),
    ...loaded.map((file) => ok("config", file)),
    ...degraded.flatMap(degradedLines).map((line) => warn("config", line)),
    ...(tools >= maxTools ? [warn("config", cut)] : []),
  ];
};

const lookAtPolicies = async ({ pdp, settings }: StartPlan, database: Sql | undefined): Promise<readonly Finding[]> => {
  const { issues, draftIssues } = await checkPdpStart({ config: pdp, environment: settings.instance.environment, database });
  if (issues.length > 0) return issues.map((one) => fault("policies", issueLine(one)));
  return [
    ok("policies", pdp.configFile),
    ...draftIssues.map((one) => warn("policies", `${issueLine(one)}; the policies that decided before go on deciding`)),
  ];
};

/** Every file of configuration that the served parts read. `database`: what an earlier start kept, for the policies. */
export const lookAtConfig = async (plan: StartPlan, database: Sql | undefined): Promise<readonly Finding[]> => {
  const folder = await lookAtFolder(plan);
  if (folder.length > 0) return folder;
  const { serve } = plan.commandLine;
  const looks: Promise<readonly Finding[]>[] = [];
  if (serve.has("gateway"))
    looks.push(
      guarded("config", () => lookAtRoutes(plan)),
      guarded("settings", () => lookAtOrigins(plan)),
    );
  if (serve.has("membership")) looks.push(guarded("config", async () => (await loadGroupsDocument(plan.configFolders), [])));
  if (serve.has("pdp")) looks.push(guardedStore(plan, "policies", () => lookAtPolicies(plan, database)));
  if (serve.has("crud"))
    looks.push(
      guarded("config", () => lookAtSystems(plan)),
      guarded("config", async () => (await loadToolsDocument(plan.configFolders), [])),
      guarded("config", async () => (await loadUiDocument(plan.configFolders), [])),
    );
  return (await Promise.all(looks)).flat();
};

/** Parts that need no other one when the decision point has its facts from a file: nobody else has a share in their database. */
const selfContained: ReadonlySet<string> = new Set(["pdp", "issuer", "gateway"]);

/** Services that run apart meet in one PostgreSQL. */
export const lookAtParts = async ({ commandLine, settings, isWhole, pdp }: StartPlan): Promise<readonly Finding[]> => {
  const { serve } = commandLine;
  if (isWhole || settings.store.databaseUrl !== undefined) return [];
  const mayStandAlone = serve.has("pdp") && [...serve].every((part) => selfContained.has(part));
  // A file that cannot be read is told of where it is looked at.
  const facts = mayStandAlone ? await readPdpConfiguration(pdp.configFile).catch(() => undefined) : undefined;
  if (facts?.facts.kind === "file") return [];
  return [
    fault(
      "settings",
      `--serve ${[...serve].join(",")}: services that run apart share one PostgreSQL, and DATABASE_URL is not set. Set DATABASE_URL, or serve everything in one process.`,
    ),
  ];
};
