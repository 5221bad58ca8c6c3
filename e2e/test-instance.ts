import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migratedModules } from "#app/store/store.ts";
import { layDatabase } from "#testing/database.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startCommand } from "./run-script.ts";

/** The real program as a child process on a free block of ports with a fresh data folder. */
export interface TestInstance {
  readonly port: number;
  readonly origin: string;
  readonly data: string;
  readonly process: ChildProcess;
  /** All that it printed so far, both streams. */
  readonly output: () => string;
  /** Ends it as Ctrl-C does; resolves to its exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

export interface TestInstanceOptions {
  readonly port?: number;
  /** Kept when given, so that an instance can be started again on it; otherwise a fresh one, removed at the end. */
  readonly data?: string;
  readonly serve?: string;
  /** `undefined`: not set at all. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly arguments?: readonly string[];
}

/** Kafka is configured and not there: what is told to it waits in the outbox. */
export const awayKafka = { KAFKA_BROKERS: "127.0.0.1:1", KAFKA_TLS: "false" } as const;

const waitUntilReady = async (child: ChildProcess, port: number, output: () => string): Promise<void> => {
  const deadline = performance.now() + 120_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`Sallyport ended with ${child.exitCode}:\n${output()}`);
    if (output().includes("Sallyport is ready")) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Sallyport on port ${port} was not ready in time:\n${output()}`);
};

/** As a first start leaves a data folder, but for what no migration makes. Tests of the first start itself name a folder of their own, which stays empty. */
export const makeDataFolder = async (environment?: TestInstanceOptions["environment"]): Promise<string> => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-test-"));
  if (environment?.["DATABASE_URL"] === undefined) await layDatabase(data, migratedModules);
  return data;
};

export const startTestInstance = async (options: TestInstanceOptions = {}): Promise<TestInstance> => {
  const port = options.port ?? (await findFreePorts());
  const data = options.data ?? (await makeDataFolder(options.environment));
  const serve = options.serve === undefined ? [] : ["--serve", options.serve];
  const [file, ...args] = startCommand(["--port", String(port), "--data", data, ...serve, ...(options.arguments ?? [])]);
  const child = spawn(file, args, {
    env: {
      ...process.env,
      ENVIRONMENT: "test",
      LOG_LEVEL: "info",
      // One client asks more in a test than a person does in an hour.
      RATE_LIMITS: "login=1000/s,anonymous=10000/s,session=10000/s,bearer=10000/s",
      NODE_TEST_CONTEXT: undefined,
      ...options.environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const chunks: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => chunks.push(text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => chunks.push(text));
  const output = (): string => chunks.join("");
  try {
    await waitUntilReady(child, port, output);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  const removeData = async (): Promise<void> => {
    if (options.data === undefined) await rm(data, { recursive: true, force: true });
  };
  return {
    port,
    origin: `http://localhost:${port}`,
    data,
    process: child,
    output,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      await removeData();
      return child.exitCode;
    },
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
    },
  };
};
