import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";
import { freePort } from "./free-port.ts";

/** A Redis server of a test's own: what it was given survives `kill` and `start`. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on its port and its data. */
  start(): Promise<void>;
  /** SIGSTOP and SIGCONT: it is there and says nothing. */
  freeze(): void;
  thaw(): void;
}

export interface RedisServerOptions {
  readonly password?: string;
  /** PEM texts; the server then speaks TLS alone. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => (socket.destroy(), resolve(false)));
  });

/**
 * Starts a real server on a free loopback port with a folder of its own; it is killed and removed when the test ends.
 * `program` is what `requireProgram(t, "redis-server")` answered.
 */
export const startRedisServer = async (
  t: Pick<TestContext, "after">,
  program: string,
  options: RedisServerOptions = {},
): Promise<RedisServer> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-redis-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const port = await freePort();
  const { password, tls } = options;
  if (tls !== undefined) {
    await writeFile(join(folder, "cert.pem"), tls.cert);
    await writeFile(join(folder, "key.pem"), tls.key);
  }
  const files = ["--tls-cert-file", join(folder, "cert.pem"), "--tls-key-file", join(folder, "key.pem"), "--tls-auth-clients", "no"];
  const fixed = ["--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const args = [
    ...(tls === undefined ? ["--port", String(port)] : ["--port", "0", "--tls-port", String(port), ...files]),
    ...fixed,
    ...(password === undefined ? [] : ["--requirepass", password]),
  ];
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  };
  const start = async (): Promise<void> => {
    const started = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
    child = started;
    let said = "";
    started.stdout.on("data", (chunk) => (said += String(chunk)));
    for (let tries = 0; tries < 250; tries++) {
      if (started.exitCode !== null) throw new Error(`redis-server ended: ${said}`);
      // It accepts before it has read its data: only "Ready" says that it answers.
      if (said.includes("Ready to accept connections") && (await accepts(port))) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`redis-server did not start: ${said}`);
  };
  cleanUp(t, kill);
  await start();
  const scheme = tls === undefined ? "redis" : "rediss";
  const user = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
  return {
    url: `${scheme}://${user}127.0.0.1:${port}`,
    port,
    kill,
    start,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
  };
};
