import { randomBytes } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgresServer } from "#testing/postgres-server.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { freePort, waitForPort } from "../kit/ports.ts";
import { startNode, startProgram, type Program } from "../kit/programs.ts";
import { say } from "../kit/progress.ts";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export const root = join(import.meta.dirname, "../../..");
const cerbosProgram = join(root, "node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64");
const run = promisify(execFile);

export interface Candidate {
  readonly port: number;
  readonly program: Program;
  readonly token: string;
  stop(): Promise<void>;
}

/** A folder and a PostgreSQL for everything that a run starts. */
export const openBench = async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const postgres = await startPostgresServer();
  stack.defer(() => postgres.stop());
  await writeFile(join(folder, "kek"), randomBytes(32).toString("base64"), { mode: 0o600 });
  const kept = stack.move();
  let instances = 0;

  /** Sallyport as `npm start` runs it, on a database of its own, pinned to the measured core. */
  const startInstance = async (
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Candidate & { readonly base: number; readonly data: string }> => {
    const name = `bench_${(instances += 1)}`;
    const { createPostgres } = await import("#store/postgres.ts");
    const { silentLog } = await import("#telemetry/log.ts");
    const { statement } = await import("#store/database.ts");
    {
      await using admin = await createPostgres({ url: postgres.url, poolSize: 1, log: silentLog });
      await admin.run(statement(`bench.create.${name}`, `create database ${name}`));
    }
    const url = new URL(postgres.url);
    url.pathname = `/${name}`;
    const base = await findFreePorts();
    const data = join(folder, name);
    const log = openSync(join(folder, `${name}.log`), "w");
    say(`starting ${args.join(" ")} ...`);
    const program = await startNode(join(root, "src/main.ts"), [...args, "--port", String(base), "--data", data], {
      core: "measured",
      ready: "Sallyport is ready",
      output: log,
      environment: {
        ENVIRONMENT: "test",
        LOG_LEVEL: "warn",
        DATABASE_URL: url.href,
        AUDIT_KEK_FILE: join(folder, "kek"),
        PDP_CALLS_PER_SECOND: "1000000",
        RATE_LIMITS: "login=1000/s,anonymous=100000/s",
        ...environment,
      },
    });
    const { stdout } = await run(process.execPath, [
      "--disable-warning=ExperimentalWarning",
      join(root, "scripts/token.ts"),
      "--client",
      "service:pep",
      "--port",
      String(base),
      "--data",
      data,
    ]);
    return {
      base,
      data,
      port: base + 2,
      program,
      token: stdout.trim(),
      stop: async () => {
        await program.stop();
        closeSync(log);
      },
    };
  };

  /** With `decisions` it keeps a log of them, as Sallyport always does. */
  const startCerbos = async (policies: string, keeping: "nothing" | "decisions" = "nothing"): Promise<Candidate> => {
    const [http, grpc] = [await freePort(), await freePort()];
    const audit = {
      enabled: true,
      accessLogsEnabled: false,
      decisionLogsEnabled: true,
      backend: "file",
      file: { path: join(folder, `cerbos-${http}.log`) },
    };
    const config = join(folder, `cerbos-${http}.yaml`);
    await writeFile(
      config,
      JSON.stringify({
        server: { httpListenAddr: `127.0.0.1:${http}`, grpcListenAddr: `127.0.0.1:${grpc}` },
        storage: { driver: "disk", disk: { directory: policies, watchForChanges: false } },
        telemetry: { disabled: true },
        ...(keeping === "decisions" ? { audit } : {}),
      }),
    );
    const program = await startProgram(cerbosProgram, ["server", "--config", config, "--log-level", "error"], {
      core: "measured",
      environment: { GOMAXPROCS: "1" },
    });
    await waitForPort(http);
    return { port: http, program, token: "none", stop: () => program.stop() };
  };
  return { folder, startInstance, startCerbos, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

export type Bench = Awaited<ReturnType<typeof openBench>>;
