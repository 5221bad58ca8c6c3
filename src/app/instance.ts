import { Problem } from "#contract/problem.ts";
import { demoPassword, demoTotpSecret } from "#demo/sign-ins.ts";
import { issueLine } from "#contract/start-issues.ts";
import { DataFolderLocked } from "#store/data-folder-lock.ts";
import { readTls } from "#http/tls-files.ts";
import { makeFolder } from "#store/make-folder.ts";
import { createLog, silentLog, type Log } from "#telemetry/log.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics.ts";
import { openTelemetry } from "#telemetry/open-telemetry.ts";
import { bannerLines } from "./banner.ts";
import type { CommandLine } from "./model/command-line.ts";
import { createServiceCallers } from "./callers/callers.ts";
import { openProvider } from "./callers/provider.ts";
import { openServices, type Served } from "./services/open-services.ts";
import { openStore } from "./store/store.ts";
import { examineStart, refusalOf } from "./start/examine-start.ts";
import type { StartPlan } from "./start/start-plan.ts";
import { StartRefused } from "./model/start-refused.ts";
import { tellOfProvider } from "./callers/report-provider.ts";
import type { StartParts } from "./model/start-parts.ts";

/** A running instance: it stops accepting, finishes what is under way and closes everything, last opened first. */
export interface Instance {
  /** Takes up the changed route table and says what became of it; a faulty one changes nothing. Never throws. */
  reload(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StartOptions {
  readonly commandLine: CommandLine;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A line for the person who starts it. */
  readonly say: (line: string) => void;
  /** Done once nothing stands in the way of the start, before anything is made. */
  readonly prepare?: (() => Promise<unknown>) | undefined;
}

/** How this process names itself: by its parts. */
const serviceOf = ({ commandLine }: StartPlan): string =>
  commandLine.serve.has("gateway") ? "bff-service" : `${[...commandLine.serve].join("+")}-service`;

const openLog = (plan: StartPlan): Log => {
  const { environment, logLevel: level, version } = plan.settings.instance;
  return createLog({ level, service: serviceOf(plan), version, environment });
};

const reasonOf = (cause: unknown): string => (cause instanceof Error && cause.message !== "" ? cause.message : "no reason was given");

/** Issues that a person can mend, in one form: what to say and the exit code. Anything else stays what it is. */
const asRefusal = (error: unknown): unknown => {
  if (error instanceof StartRefused) return error;
  if (error instanceof DataFolderLocked) return new StartRefused(73, [error.message]);
  const { exitCode, message, code, port } = error as { exitCode?: unknown; message?: unknown; code?: unknown; port?: unknown };
  if (code === "EADDRINUSE")
    return new StartRefused(69, [`Port ${String(port)} is in use by another program. Stop it, or choose other ports with --port.`]);
  if (error instanceof Problem && error.code === "store_unavailable")
    return new StartRefused(69, [`The database stopped answering while Sallyport started: ${reasonOf(error.options.cause)}. Start again.`]);
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
    const issues = error instanceof Problem ? (error.options.errors ?? []) : [];
    say(`The route table was not reloaded; the one in force stays. ${issues.length === 0 ? String(error) : ""}`.trimEnd());
    for (const issue of issues) say(issueLine(issue));
  }
};

/**
 * Starts Sallyport, or the part of it that the command line names. First it looks at all that the start needs and refuses
 * with everything that stands in its way (see `examineStart`). Then, in order: data folder, database, tables, keys,
 * services from the ones that ask nobody to the ones that ask all, demo world, what dead processes left open, listeners.
 * A start that fails half-way closes what it opened.
 */
export const startInstance = async ({ commandLine, environment, say, prepare }: StartOptions): Promise<Instance> => {
  const started = performance.now();
  await using stack = new AsyncDisposableStack();
  try {
    const invokedFrom = environment["SALLYPORT_INVOKED_FROM"] ?? process.cwd();
    let log: Log = silentLog;
    const examined = stack.use(
      await examineStart({
        commandLine,
        environment,
        from: invokedFrom,
        nodeVersion: process.versions.node,
        logOf: (plan) => (log = openLog(plan)),
        say,
      }),
    );
    const refusal = refusalOf(examined.findings);
    if (refusal !== undefined) throw new StartRefused(refusal.exitCode, refusal.lines);
    for (const { status, text } of examined.findings) if (status === "warn") say(text);
    await prepare?.();
    const { plan } = examined;
    const { settings, addresses, dataFolder } = plan;
    const { environment: kind, version } = settings.instance;
    const service = serviceOf(plan);
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
    const shared: StartParts = { log, metrics, tracing, now, say, stack };
    await makeFolder(dataFolder);

    const tls = await readTls(settings.http);
    const store = await openStore({
      database: examined.database,
      settings,
      dataFolder,
      publicOrigin: addresses.publicOrigin,
      service,
      servesGateway: commandLine.serve.has("gateway"),
      ...shared,
    });
    const provider = stack.use(await openProvider(plan, { tls, secrets: store.secrets, metrics }));
    const callers = createServiceCallers({ settings, store, addresses, provider, metrics, now });
    await callers.serviceKeys.prepare("gateway");
    const served = await openServices({ plan, store, provider, callers, tls, ...shared });
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
      isTls: tls.own !== undefined,
    }))
      say(line);
    if (commandLine.serve.has("gateway") && !served.servesIssuer) {
      const ended = new AbortController();
      stack.defer(() => ended.abort());
      void tellOfProvider({ provider, log, say, signal: ended.signal });
    }
    const opened = stack.move();
    return { reload: () => reloadRoutes(served.reloadRoutes, say), [Symbol.asyncDispose]: () => opened.disposeAsync() };
  } catch (error) {
    throw asRefusal(error);
  }
};
