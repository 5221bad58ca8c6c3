import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

const program = fileURLToPath(new URL("../../node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64", import.meta.url));
/** Rules of the demo world's pages, widgets and tools. */
const cerbosPolicies = fileURLToPath(new URL("./cerbos-policies/", import.meta.url));
/** Rules of the AuthZEN interop scenarios todo and API gateway, equal to those of `config/interop`. */
export const cerbosInteropPolicies = fileURLToPath(new URL("./cerbos-interop/", import.meta.url));

/** A decision point of another make, that speaks AuthZEN by itself. */
export interface Cerbos {
  /** Its `policy_decision_point`. */
  readonly identifier: string;
  readonly process: ChildProcess;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on its ports. */
  start(): Promise<void>;
}

/** The program comes with npm on Linux x64; elsewhere the test is skipped by name, unless REQUIRE_REAL=1. */
export const requireCerbos = (t: Pick<TestContext, "skip">): boolean => {
  if (existsSync(program)) return true;
  const line = "cerbos is not installed (npm package @cerbos/cerbos-linux-x64)";
  if (process.env["REQUIRE_REAL"] === "1") throw new Error(line);
  t.skip(line);
  return false;
};

/** Starts a real Cerbos over a folder of policies on free loopback ports; killed and removed when the test ends. */
export const startCerbos = async (
  t: Pick<TestContext, "after">,
  policies: string = cerbosPolicies,
  environment: Readonly<Record<string, string>> = {},
): Promise<Cerbos> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-cerbos-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const [http, grpc] = [await freePort(), await freePort()];
  const config = join(folder, "cerbos.yaml");
  await writeFile(
    config,
    JSON.stringify({
      server: { httpListenAddr: `127.0.0.1:${http}`, grpcListenAddr: `127.0.0.1:${grpc}` },
      storage: { driver: "disk", disk: { directory: policies, watchForChanges: false } },
      telemetry: { disabled: true },
    }),
  );
  const identifier = `http://127.0.0.1:${http}`;
  const answers = (): Promise<boolean> =>
    fetch(`${identifier}/_cerbos/health`).then(
      (response) => response.ok,
      () => false,
    );
  const launch = async (): Promise<ChildProcess> => {
    const child = spawn(program, ["server", "--config", config, "--log-level", "error"], {
      stdio: "ignore",
      env: { ...process.env, ...environment },
    });
    cleanUp(t, () => kill(child));
    await until(answers);
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  let child = await launch();
  return {
    identifier,
    get process() {
      return child;
    },
    kill: () => kill(child),
    start: async () => {
      child = await launch();
    },
  };
};
