import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { cleanUp } from "./clean-up.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

/** A real OpenBao of a test file's own, with the KVv2 mounts `kv-a` and `kv-b`. */
export interface OpenBao {
  readonly url: string;
  /** May do everything. */
  readonly rootToken: string;
  /** Any call of its API, as root unless another token is given; `path` without `/v1/`. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ): Promise<{ readonly status: number; readonly data: Record<string, unknown> }>;
  /** A role of AppRole that may do everything in `kv-a` and `kv-b`, and how to make secret ids for it. */
  role(name: string, settings?: Readonly<Record<string, unknown>>): Promise<{ readonly roleId: string; secretId(): Promise<string> }>;
  kill(): Promise<void>;
  /** Starts it again on its port; with data on disk it is unsealed then. */
  start(): Promise<void>;
  unseal(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): void;
}

export interface OpenBaoOptions {
  /** `memory`: dev mode, ready in under a second; `disk`: what was written survives `kill` and `start`. */
  readonly storage: "memory" | "disk";
  /** PEM texts; the server then speaks TLS alone (with `disk`). */
  readonly tls?: { readonly cert: string; readonly key: string };
}

const MOUNTS = ["kv-a", "kv-b"];
const POLICY = MOUNTS.map((mount) => `path "${mount}/*" { capabilities = ["read", "create", "update", "delete", "list", "patch"] }`).join(
  "\n",
);

/** A call that follows nothing and trusts whatever certificate: the test's own side of the server. */
const call = (
  url: string,
  method: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<{ status: number; text: string }> =>
  url.startsWith("http://")
    ? fetch(url, { method, headers, ...(body === undefined ? {} : { body }) }).then(async (response) => ({
        status: response.status,
        text: await response.text(),
      }))
    : new Promise((resolve, reject) => {
        const asked = request(url, { method, headers, rejectUnauthorized: false }, (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        });
        asked.on("error", reject);
        asked.end(body);
      });

/** Starts one on a free loopback port; `program` is what `requireProgram(t, "bao")` answered. Killed and removed when the test ends. */
export const startOpenBao = async (t: { after(end: () => unknown): void }, program: string, options: OpenBaoOptions): Promise<OpenBao> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-openbao-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const [port, clusterPort] = [await freePort(), await freePort()];
  const url = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const isDisk = options.storage === "disk";
  let rootToken: string = randomUUID();
  let unsealKey: string | undefined;
  let child: ChildProcess | undefined;

  const ask: OpenBao["ask"] = async (method, path, body, token = rootToken) => {
    const { status, text } = await call(
      `${url}/v1/${path}`,
      method,
      { "x-vault-token": token },
      body === undefined ? undefined : JSON.stringify(body),
    );
    return { status, data: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
  };
  const statusIs = (wanted: (status: number) => boolean) =>
    until(() => {
      if (child?.exitCode !== null && child?.exitCode !== undefined) throw new Error(`bao ended with ${child.exitCode}: ${said}`);
      return ask("GET", "sys/health?standbyok=false").then(
        ({ status }) => status,
        () => 0,
      );
    }, wanted);
  const need = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.data)}`);
    return answer.data;
  };

  if (isDisk) {
    const tls =
      options.tls === undefined ? "tls_disable = true" : `tls_cert_file = "${folder}/cert.pem"\n  tls_key_file = "${folder}/key.pem"`;
    if (options.tls !== undefined) {
      await writeFile(join(folder, "cert.pem"), options.tls.cert);
      await writeFile(join(folder, "key.pem"), options.tls.key);
    }
    const storage = `storage "raft" {\n  path = "${folder}"\n  node_id = "one"\n  performance_multiplier = 1\n}\n`;
    const listener = `listener "tcp" {\n  address = "127.0.0.1:${port}"\n  cluster_address = "127.0.0.1:${clusterPort}"\n  ${tls}\n}\n`;
    await writeFile(
      join(folder, "bao.hcl"),
      `${storage}${listener}api_addr = "${url}"\ncluster_addr = "http://127.0.0.1:${clusterPort}"\n`,
    );
  }
  let said = "";
  const args = isDisk
    ? ["server", `-config=${join(folder, "bao.hcl")}`]
    : ["server", "-dev", "-dev-no-store-token", `-dev-root-token-id=${rootToken}`, `-dev-listen-address=127.0.0.1:${port}`];

  const unseal = async (): Promise<void> => {
    if (unsealKey !== undefined) await need("PUT", "sys/unseal", { key: unsealKey });
    await statusIs((status) => status === 200);
  };
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  };
  const start = async (): Promise<void> => {
    child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { PATH: process.env["PATH"], HOME: folder } });
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (said = `${said}${String(chunk)}`.slice(-4000)));
    await statusIs((status) => status !== 0);
    if (isDisk && unsealKey === undefined) {
      const made = await need("PUT", "sys/init", { secret_shares: 1, secret_threshold: 1 });
      unsealKey = (made["keys"] as string[])[0];
      rootToken = made["root_token"] as string;
    }
    await unseal();
  };
  cleanUp(t, kill);
  await start();
  for (const mount of MOUNTS) {
    await need("POST", `sys/mounts/${mount}`, { type: "kv", options: { version: "2" } });
    await until(
      () => ask("GET", `${mount}/config`),
      ({ status }) => status === 200,
    );
  }
  await need("POST", "sys/auth/approle", { type: "approle" });
  await need("POST", "sys/policies/acl/kv", { policy: POLICY });
  return {
    url,
    get rootToken() {
      return rootToken;
    },
    ask,
    role: async (name, settings = {}) => {
      await need("POST", `auth/approle/role/${name}`, { token_policies: "kv", ...settings });
      const { data } = await need("GET", `auth/approle/role/${name}/role-id`);
      return {
        roleId: (data as { role_id: string }).role_id,
        secretId: async () => ((await need("POST", `auth/approle/role/${name}/secret-id`))["data"] as { secret_id: string }).secret_id,
      };
    },
    kill,
    start,
    unseal,
    freeze: async () => {
      child?.kill("SIGSTOP");
      // On a busy machine it answers on until its turn comes to hear of it.
      await until(async () => (await promisify(execFile)("ps", ["-o", "state=", "-p", String(child?.pid)])).stdout.startsWith("T"));
    },
    thaw: () => void child?.kill("SIGCONT"),
  };
};
