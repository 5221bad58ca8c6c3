import { join, resolve } from "node:path";
import { openIssuerFetch } from "#authn/issuer-fetch.ts";
import { Problem } from "#contract/problem.ts";
import { demoPassword, demoTotpSecret } from "#demo/sign-ins.ts";
import { readPdpConfiguration } from "#pdp/configuration-file.ts";
import { faultLine } from "#contract/start-faults.ts";
import { DataFolderLocked } from "#store/data-folder-lock.ts";
import { makeFolder } from "#store/make-folder.ts";
import { createLog } from "#telemetry/log.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import { openTelemetry } from "#telemetry/telemetry.ts";
import { bannerLines } from "./banner.ts";
import { partNames, type CommandLine, type PartName } from "./command-line.ts";
import { addressesOf } from "./house-addresses.ts";
import { createHouseCallers } from "./house-callers.ts";
import { tellOfProvider } from "./house-provider.ts";
import { openHouseServices, type Served } from "./house-services.ts";
import { openHouseStore } from "./house-store.ts";
import { requireHouseSettings, type HouseSettings } from "./settings.ts";
import { StartRefused } from "./start-refused.ts";

/** A running house: it stops accepting, finishes what is under way and closes everything, last opened first. */
export interface House {
  /** Takes up the changed route table and says what became of it; a faulty one changes nothing. Never throws. */
  reload(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StartOptions {
  readonly commandLine: CommandLine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A line for the person who starts it. */
  readonly say: (line: string) => void;
}

/** Parts that need no other one when the decision point has its facts from a file: nobody else has a share in their database. */
const selfContained: ReadonlySet<PartName> = new Set(["pdp", "issuer", "gateway"]);

const standsAlone = async (commandLine: CommandLine, pdpConfigFile: string): Promise<boolean> => {
  if (![...commandLine.serve].every((part) => selfContained.has(part)) || !commandLine.serve.has("pdp")) return false;
  return (await readPdpConfiguration(pdpConfigFile)).facts.kind === "file";
};

const requireOneDatabase = async (commandLine: CommandLine, settings: HouseSettings, pdpConfigFile: string): Promise<void> => {
  if (commandLine.serve.size === partNames.length || settings.store.databaseUrl !== undefined) return;
  if (await standsAlone(commandLine, pdpConfigFile)) return;
  throw new StartRefused(78, [
    `--serve ${[...commandLine.serve].join(",")}: services that run apart share one PostgreSQL, and DATABASE_URL is not set.`,
    "Set DATABASE_URL, or serve everything in one process.",
  ]);
};

const reasonOf = (cause: unknown): string => (cause instanceof Error && cause.message !== "" ? cause.message : "no reason was given");

/** Faults that a person can mend, in one form: what to say and the exit code. Anything else stays what it is. */
const asRefusal = (error: unknown): unknown => {
  if (error instanceof StartRefused) return error;
  if (error instanceof DataFolderLocked) return new StartRefused(73, [error.message]);
  const { exitCode, message, code, port } = error as { exitCode?: unknown; message?: unknown; code?: unknown; port?: unknown };
  if (code === "EADDRINUSE")
    return new StartRefused(69, [`Port ${String(port)} is in use by another program. Stop it, or choose other ports with --port.`]);
  if (error instanceof Problem && error.code === "store_unavailable")
    return new StartRefused(69, [`The database stopped answering while the house started: ${reasonOf(error.options.cause)}. Start again.`]);
  if (typeof exitCode === "number" && typeof message === "string") return new StartRefused(exitCode, message.split("\n"));
  return error;
};

const reloadRoutes = async (reload: Served["reloadRoutes"], say: (line: string) => void): Promise<void> => {
  if (reload === undefined) {
    say("This process serves no gateway: there is no route table to reload.");
    return;
  }
  try {
    const { revision, previous, added, changed, removed } = await reload();
    say(`Route table ${previous} -> ${revision}: ${added.length} rows added, ${changed.length} changed, ${removed.length} removed.`);
  } catch (error) {
    const faults = error instanceof Problem ? (error.options.errors ?? []) : [];
    say(`The route table was not reloaded; the one in force stays. ${faults.length === 0 ? String(error) : ""}`.trimEnd());
    for (const fault of faults) say(faultLine(fault));
  }
};

/**
 * Starts the house, or the part of it that the command line names. Order: settings, data folder, database, tables, keys,
 * services from the ones that ask nobody to the ones that ask all, demo world, what dead processes left open, listeners.
 * A start that fails half-way closes what it opened.
 */
export const startHouse = async ({ commandLine, environment, say }: StartOptions): Promise<House> => {
  const started = performance.now();
  await using stack = new AsyncDisposableStack();
  try {
    const settings = requireHouseSettings(environment);
    const { environment: kind, logLevel, version } = settings.house;
    const service = commandLine.serve.has("gateway") ? "bff-service" : `${[...commandLine.serve].join("+")}-service`;
    const log = createLog({ level: logLevel, service, version, environment: kind });
    const telemetry = stack.use(
      await openTelemetry({
        endpoint: settings.telemetry.telemetryEnabled ? settings.telemetry.otlpEndpoint : undefined,
        service,
        version,
        environment: kind,
        sampleRatio: settings.telemetry.traceSampleRatio ?? (kind === "production" ? 0.1 : 1),
        log,
        onDropped: (signal, count) => metrics.count("telemetry_dropped_total", { signal }, count),
      }),
    );
    const { tracing } = telemetry;
    const metrics: Metrics = createMetrics(telemetry.mirror);
    const now = (): Date => new Date();
    const invokedFrom = environment["SALLYPORT_INVOKED_FROM"] ?? process.cwd();
    const dataFolder = resolve(invokedFrom, commandLine.data);
    const configFolder =
      commandLine.config === "config" ? join(import.meta.dirname, "../config") : resolve(invokedFrom, commandLine.config);
    const pdpConfigFile = environment["PDP_CONFIG_FILE"] ? settings.pdp.configFile : join(configFolder, "pdp.yaml");
    await requireOneDatabase(commandLine, settings, pdpConfigFile);
    await makeFolder(dataFolder);

    const addresses = addressesOf(commandLine.port, settings);
    const { send: askIssuer } = stack.use(await openIssuerFetch(settings.authn.oidcCaFile));
    const store = await openHouseStore({
      settings,
      dataFolder,
      publicOrigin: addresses.publicOrigin,
      service,
      servesGateway: commandLine.serve.has("gateway"),
      log,
      metrics,
      now,
      say,
      stack,
    });
    const callers = createHouseCallers({ settings, store, addresses, askIssuer, metrics, now });
    const served = await openHouseServices({
      commandLine,
      settings,
      store,
      callers,
      addresses,
      askIssuer,
      configFolder,
      dataFolder,
      environment,
      log,
      metrics,
      tracing,
      now,
      say,
      stack,
    });
    log.info("service_started", { serve: [...commandLine.serve], port: commandLine.port, database: store.database.kind });
    const seconds = (performance.now() - started) / 1000;
    for (const line of bannerLines({
      commandLine,
      addresses,
      ...served,
      seconds,
      demoPassword,
      demoTotpSecret,
      isDevelopment: kind !== "production",
      isTls: settings.gateway.tlsCertFile !== undefined,
    }))
      say(line);
    if (commandLine.serve.has("gateway") && !served.servesIssuer) {
      const ended = new AbortController();
      stack.defer(() => ended.abort());
      void tellOfProvider({ issuer: addresses.issuer, askIssuer, log, say, signal: ended.signal });
    }
    const opened = stack.move();
    return { reload: () => reloadRoutes(served.reloadRoutes, say), [Symbol.asyncDispose]: () => opened.disposeAsync() };
  } catch (error) {
    throw asRefusal(error);
  }
};
