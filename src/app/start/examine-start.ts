import { folderHolder } from "#store/data-folder-lock.ts";
import type { Database } from "#store/database.ts";
import { issueLine } from "#contract/start-issues.ts";
import type { CommandLine } from "#app/model/command-line.ts";
import { readInstanceSettings } from "#app/model/settings.ts";
import type { Log } from "#telemetry/log.ts";
import { fault, thrownIssues, guarded, ok, warn, type Finding } from "./finding.ts";
import { lookAtConfig, lookAtParts } from "./look-at-config.ts";
import { lookAtKeys, lookAtTables, openDatabase } from "./look-at-database.ts";
import { lookAtDataFolder, lookAtProvider, lookAtKafka, lookAtRedis, lookAtTls, lookAtWebClient } from "./look-at-files.ts";
import { lookAtMounts, lookAtStores } from "./look-at-stores.ts";
import { lookAtPorts } from "./look-at-ports.ts";
import { planStart, type StartPlan } from "./start-plan.ts";

export interface ExamineOptions {
  readonly commandLine: CommandLine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths of the command line begin at. */
  readonly from: string;
  readonly nodeVersion: string;
  /** Where the database's lines go, and from then on those of the start. */
  readonly logOf: (plan: StartPlan) => Log;
  /** Told before something is waited for. */
  readonly say?: (line: string) => void;
}

/** A start before it is made: what stands in its way, and what it would go by. */
export interface Examined {
  /** Everything that was looked at. A start without any issue among them is made. */
  readonly findings: readonly Finding[];
  readonly plan: StartPlan;
  /** The database, where there is one already; open until this is disposed, or taken by the start. */
  readonly database: Database | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

const lookAtNode = (version: string): Finding => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > 24 || (major === 24 && minor >= 11);
  return isNew ? ok("node", version) : fault("node", `Node ${version} is too old; 24.11 or newer is needed`);
};

/** The program hides its own environment, and can do nothing about that of the programs above it. */
const lookAtLauncher = ({ settings }: StartPlan, launcher: string | undefined): readonly Finding[] => {
  if (settings.instance.environment !== "production" || launcher !== "start") return [];
  const why = "npm keeps all variables, secrets too, readable to programs of the same user. Start node src/main.ts without npm";
  return [warn("settings", `npm_lifecycle_event is start: ${why}.`)];
};

const lookAtDemo = ({ commandLine, settings }: StartPlan): readonly Finding[] =>
  commandLine.demo && settings.instance.environment === "production"
    ? [
        fault(
          "demo",
          "ENVIRONMENT is production, and the demo world (its people, passwords and systems) is for dev and test: start with --no-demo.",
        ),
      ]
    : [];

/** Gateway and decision point read one file, and both say what neither knows. */
const withoutRepeats = (findings: readonly Finding[]): readonly Finding[] =>
  new Map(findings.toReversed().map((one) => [`${one.status} ${one.text}`, one])).values().toArray().toReversed();

/**
 * Looks at everything that a start needs, and at all of it: settings, Node, data folder, ports, files of configuration,
 * policies, keys, servers and database. Makes nothing, changes nothing that is kept; a database that is there is opened
 * and read. `npm start` and `npm run doctor` both go by it.
 */
export const examineStart = async (options: ExamineOptions): Promise<Examined> => {
  const { settings, issues, unread } = readInstanceSettings(options.environment);
  const plan = planStart({ ...options, settings });
  const findings: Finding[] = [lookAtNode(options.nodeVersion), ...issues.map((one) => fault("settings", issueLine(one)))];
  if (issues.length === 0) findings.push(ok("settings", `ENVIRONMENT is ${settings.instance.environment}`));
  // Other programs go by it: who sets it means production.
  if (options.environment["NODE_ENV"] === "production" && settings.instance.environment !== "production") {
    const found = `NODE_ENV is production, by which Sallyport does not go: ENVIRONMENT is ${settings.instance.environment}, with sign-ins and defaults for development`;
    findings.push(warn("settings", `${found}. Set ENVIRONMENT=production.`));
  }
  const demo = lookAtDemo(plan);
  findings.push(...demo, ...lookAtLauncher(plan, options.environment["npm_lifecycle_event"]));

  const isEmbedded = settings.store.databaseUrl === undefined;
  // A server and its keys may be shared; a folder is one process's. A demo that may not be is kept away from every database.
  const maySee = demo.length === 0 && ["DATABASE_URL", "DATABASE_LISTEN_URL", "DATABASE_POOL_SIZE"].every((name) => !unread.has(name));
  const held = isEmbedded ? await folderHolder(plan.dataFolder).catch(() => undefined) : undefined;
  const folder = await lookAtDataFolder(plan.dataFolder, held);
  findings.push(...folder);
  let database: Database | undefined;
  const isUsable = folder.every(({ status }) => status !== "fault");
  let isSeen = maySee && (!isEmbedded || isUsable);
  if (isSeen) {
    try {
      database = await openDatabase(plan, options.logOf(plan), options.say ?? (() => undefined));
    } catch (error) {
      isSeen = false;
      findings.push(...thrownIssues("database", error));
    }
  }
  const looks = await Promise.all([
    lookAtPorts(plan, held?.pid),
    guarded("settings", () => lookAtMounts(plan)),
    guarded("settings", () => lookAtParts(plan)),
    lookAtConfig(plan, database),
    guarded("settings", () => lookAtTls(plan)),
    lookAtWebClient(plan),
    guarded("settings", () => lookAtProvider(plan)),
    guarded("settings", () => lookAtStores(plan, isUsable ? plan.secretsFile : settings.secrets.filePath)),
    demo.length === 0 ? guarded("redis", () => lookAtRedis(plan)) : [],
    guarded("settings", () => lookAtKafka(plan)),
    lookAtKeys(plan, database),
    isSeen ? lookAtTables(plan, database) : [],
  ]);
  return {
    findings: withoutRepeats([...findings, ...looks.flat()]),
    plan,
    database,
    [Symbol.asyncDispose]: async () => database?.[Symbol.asyncDispose](),
  };
};

/** The lines of a refused start: every issue, and the exit code, which is the issues' own where they have one in common. */
export const refusalOf = (findings: readonly Finding[]): { readonly exitCode: number; readonly lines: readonly string[] } | undefined => {
  const issues = findings.filter(({ status }) => status === "fault");
  const codes = new Set(issues.map(({ exitCode }) => exitCode));
  const [code = 78] = codes;
  if (issues.length === 0) return undefined;
  const lines = issues.map(({ text }) => text);
  return {
    exitCode: codes.size === 1 ? code : 78,
    lines: issues.length === 1 ? lines : [`${issues.length} issues; nothing was started:`, ...lines],
  };
};
