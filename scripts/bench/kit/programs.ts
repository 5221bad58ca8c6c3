import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";

/** What a program holds after a full collection, in bytes. */
export interface Held extends NodeJS.MemoryUsage {
  /** Memory of its WebAssembly programs. */
  readonly webAssembly: number;
}

/** A program under measurement, or one that it needs. */
export interface Program {
  readonly process: ChildProcess;
  readonly pid: number;
  /** All that it printed on standard error. */
  readonly said: () => string;
  /** Heap and buffers after a full collection, where the program was started with `startNode`. */
  memory(): Promise<Held>;
  stop(): Promise<void>;
}

/** `measured`: the core of what is measured. `others`: load, upstreams, databases. */
export type Core = "measured" | "others";

const canPin = availableParallelism() >= 2 && spawnSync("taskset", ["-V"]).status === 0;
const cores: Readonly<Record<Core, string>> = { measured: "0", others: `1-${availableParallelism() - 1}` };

/** How processes lie on the machine's cores, for the head of a report. */
export const pinning = canPin
  ? `measured processes on core 0, load, upstreams and PostgreSQL on core ${cores.others}`
  : "one core, or no taskset: nothing is pinned and everything shares it";

/** Puts this process, and what it starts without a word of its own, on the other cores. */
export const pinSelf = (): void => {
  if (canPin) spawnSync("taskset", ["-a", "-cp", cores.others, String(process.pid)]);
};

export interface StartOptions {
  readonly core: Core;
  readonly environment?: Readonly<Record<string, string>>;
  /** Resolves the start when standard error or output holds it. */
  readonly ready?: string;
  /** A file that takes standard output, as a log collector would; thrown away unless given. */
  readonly output?: number;
}

const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

// A bench that is stopped stops what it started: `exit` comes with a signal only if somebody heeds the signal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

/** Starts a program on its core. Whatever happens to this process, the program ends with it. */
export const startProgram = async (command: string, args: readonly string[], options: StartOptions): Promise<Program> => {
  const [file, ...rest] = canPin ? ["taskset", "-c", cores[options.core], command, ...args] : [command, ...args];
  const isNode = command === process.execPath;
  const child = spawn(file as string, rest, {
    env: { ...process.env, NODE_OPTIONS: "", ...options.environment },
    stdio: ["ignore", options.output ?? "ignore", "pipe", ...(isNode ? (["ipc"] as const) : [])],
  });
  living.add(child);
  let said = "";
  const isReady = new Promise<void>((resolve, reject) => {
    if (options.ready === undefined) resolve();
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
      if (options.ready !== undefined && said.includes(options.ready)) resolve();
    });
    child.once("error", reject);
    child.once("exit", (code) => {
      living.delete(child);
      reject(new Error(`${command} ended with ${code}:\n${said}`));
    });
  });
  await isReady;
  return {
    process: child,
    pid: child.pid as number,
    said: () => said,
    memory: async () => {
      child.send("memory");
      const [usage] = (await once(child, "message")) as [Held];
      return usage;
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 5000);
      await gone;
      clearTimeout(late);
    },
  };
};

/** A Node program of ours, with the probe that answers for its memory. */
export const startNode = (file: string, args: readonly string[], options: StartOptions): Promise<Program> =>
  startProgram(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      "--expose-gc",
      "--import",
      new URL("../programs/probe.ts", import.meta.url).href,
      file,
      ...args,
    ],
    options,
  );
