import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { faultLine } from "#contract/start-faults.ts";
import type { Fault } from "#contract/problem.ts";
import { degradedLines } from "#crud/documents/degraded-lines.ts";
import { loadToolsDocument } from "#crud/documents/tools-document.ts";
import { loadUiDocument } from "#crud/documents/ui-document.ts";
import { loadSystems } from "#crud/systems/load-systems.ts";
import { partNames, type CommandLine } from "#house/command-line.ts";
import { addressesOf, type HouseAddresses } from "#house/house-addresses.ts";
import { readHouseSettings, type HouseSettings } from "#house/settings.ts";
import { readPdpConfiguration } from "#pdp/configuration-file.ts";
import { parseVault } from "#secrets/providers/yaml/vault-document.ts";
import { readVaultFile } from "#secrets/providers/yaml/vault-file.ts";
import { DataFolderLocked } from "#store/data-folder-lock.ts";
import { isAlive } from "#store/is-alive.ts";
import { folderObstacle } from "#store/make-folder.ts";
import { createPostgres } from "#store/postgres.ts";
import { postgresRefusal } from "#store/postgres-refusal.ts";
import { silentLog } from "#telemetry/log.ts";
import { checkRoutes } from "./check-routes.ts";

/** One thing that was looked at. A note is worth knowing and stops no start; with a warning a start goes without what it names. */
export interface Finding {
  readonly area: string;
  readonly status: "ok" | "note" | "warn" | "fault";
  readonly text: string;
}

export interface ExamineOptions {
  readonly commandLine: CommandLine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths of the command line begin at. */
  readonly from: string;
  /** Where `config/` of this installation lies. */
  readonly root: string;
  readonly nodeVersion: string;
}

const ok = (area: string, text: string): Finding => ({ area, status: "ok", text });
const note = (area: string, text: string): Finding => ({ area, status: "note", text });
const warn = (area: string, text: string): Finding => ({ area, status: "warn", text });
const fault = (area: string, text: string): Finding => ({ area, status: "fault", text });

const examineNode = (version: string): Finding => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > 24 || (major === 24 && minor >= 11);
  return isNew ? ok("node", version) : fault("node", `${version} is too old; 24.11 or newer is needed`);
};

const faultsOf = (area: string, error: unknown): Finding[] => {
  const { faults } = error as { faults?: readonly Fault[] };
  return faults === undefined ? [fault(area, String(error))] : faults.map((one) => fault(area, faultLine(one)));
};

/** Who works on the data folder now, if anybody lives. */
const holderOf = async (folder: string): Promise<number | undefined> => {
  try {
    const { pid } = JSON.parse(await readFile(join(folder, "lock"), "utf8")) as { pid?: unknown };
    return typeof pid === "number" && isAlive(pid) ? pid : undefined;
  } catch {
    return undefined;
  }
};

const examineFolder = async (folder: string, holder: number | undefined): Promise<Finding> => {
  const obstacle = await folderObstacle(folder);
  if (obstacle !== undefined) return fault("data", `${folder} cannot be used: ${obstacle}`);
  const stats = await stat(folder).catch(() => undefined);
  if (stats === undefined) return ok("data", `${folder} will be made`);
  if (holder !== undefined) return fault("data", new DataFolderLocked(folder, holder).message);
  return (stats.mode & 0o077) === 0
    ? ok("data", folder)
    : note("data", `${folder} can be entered by other users; chmod 700 keeps it private`);
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((answer) => {
    const server = createServer();
    server.once("error", () => answer(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => answer(true)));
  });

const examinePorts = async (commandLine: CommandLine, addresses: HouseAddresses, holder: number | undefined): Promise<Finding[]> => {
  const wanted: (keyof HouseAddresses["ports"])[] = [
    ...partNames.filter((part) => commandLine.serve.has(part)),
    ...(commandLine.demo && commandLine.serve.has("secrets") ? (["people"] as const) : []),
  ];
  return Promise.all(
    wanted.map(async (part) => {
      const port = addresses.ports[part];
      if (await isFree(port)) return ok("port", `${port} for ${part}`);
      if (holder !== undefined) return note("port", `${port} for ${part} is taken, and a house is running on this data folder`);
      return fault("port", `${port} for ${part} is taken by another program; choose other ports with --port`);
    }),
  );
};

const examineRoutes = async (
  folder: string,
  settings: HouseSettings,
  addresses: HouseAddresses,
  environment: ExamineOptions["environment"],
): Promise<Finding[]> => {
  const { file, table, warnings } = await checkRoutes({ folder, settings, addresses, environment });
  return [ok("config", `${file}: ${table.routes.length} routes`), ...warnings.map((one) => note("config", faultLine(one)))];
};

const examineSystems = async (folder: string): Promise<Finding[]> => {
  const { files, degraded } = await loadSystems(join(folder, "systems"));
  return [
    ...files.map((file) => ok("config", `systems/${file.name}.yaml`)),
    ...degraded.flatMap((one) => degradedLines({ kind: "system", ...one }).map((line) => warn("config", line))),
  ];
};

const examineDocuments = async (folder: string): Promise<Finding[]> => {
  const [tools, ui] = await Promise.all([loadToolsDocument(join(folder, "tools.yaml")), loadUiDocument(join(folder, "ui.yaml"))]);
  return [
    { kind: "tools", name: "tools", faults: tools.faults },
    { kind: "ui", name: "ui", faults: ui.faults },
  ].flatMap((one) => degradedLines(one).map((line) => warn("config", line)));
};

/** Looks at the file as a start would, and changes nothing of it. */
const examineSecrets = async (path: string, isOpen: boolean): Promise<Finding> => {
  const bytes = await readVaultFile({ path, mayTighten: false, warn: () => undefined });
  if (bytes === undefined)
    return isOpen ? ok("secrets", `${path} will be made`) : fault("secrets", `YAML_VAULT_PATH: ${path} is not there`);
  parseVault(bytes.text);
  return ok("secrets", path);
};

const examineDatabase = async (url: string | undefined): Promise<Finding> => {
  if (url === undefined) return ok("database", "embedded, in the data folder");
  try {
    await using database = await createPostgres({ url, poolSize: 1, log: silentLog });
    await database.ready();
    return ok("database", "PostgreSQL answers");
  } catch (error) {
    const refusal = postgresRefusal("DATABASE_URL", url, error);
    if (refusal === undefined) throw error;
    return fault("database", refusal.message);
  }
};

/** Gateway and decision point read one file, and both say what neither knows. */
const withoutRepeats = (findings: readonly Finding[]): Finding[] => [
  ...new Map(findings.map((one) => [`${one.status} ${one.area} ${one.text}`, one])).values(),
];

const guarded = async (area: string, look: () => Promise<Finding | Finding[]>): Promise<Finding[]> => {
  try {
    return [await look()].flat();
  } catch (error) {
    return faultsOf(area, error);
  }
};

/** Looks at everything a start needs, and at all of it: settings, Node, data folder, ports, configuration files, database. */
export const examine = async (options: ExamineOptions): Promise<readonly Finding[]> => {
  const { commandLine, environment } = options;
  const { settings, faults } = readHouseSettings(environment);
  const findings = [examineNode(options.nodeVersion), ...faults.map((one) => fault("settings", faultLine(one)))];
  if (faults.length === 0) findings.push(ok("settings", `ENVIRONMENT is ${settings.house.environment}`));
  const folder = resolve(options.from, commandLine.data);
  const holder = await holderOf(folder);
  findings.push(await examineFolder(folder, holder));
  // The rest is about values that must be readable first.
  if (faults.length > 0) return findings;
  const addresses = addressesOf(commandLine.port, settings);
  const config = commandLine.config === "config" ? join(options.root, "config") : resolve(options.from, commandLine.config);
  const secretsFile = settings.secrets.filePath ?? join(folder, "secrets.yaml");
  const looks = await Promise.all([
    examinePorts(commandLine, addresses, holder),
    guarded("config", () => examineRoutes(config, settings, addresses, environment)),
    guarded("config", async () => {
      await readPdpConfiguration(join(config, "pdp.yaml"));
      return ok("config", "pdp.yaml");
    }),
    guarded("config", () => examineSystems(config)),
    guarded("config", () => examineDocuments(config)),
    guarded("secrets", () => examineSecrets(secretsFile, settings.house.environment !== "production")),
    guarded("database", () => examineDatabase(settings.store.databaseUrl)),
  ]);
  return [...findings, ...withoutRepeats(looks.flat())];
};
