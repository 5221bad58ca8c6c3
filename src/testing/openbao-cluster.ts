import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanUp } from "./clean-up.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

/** Three real nodes of OpenBao on integrated storage, with the KVv2 mount `kv-a`, and a balancer that takes turns. */
export interface OpenBaoCluster {
  /** Of the balancer: each request goes to the next node. */
  readonly url: string;
  readonly rootToken: string;
  /** Addresses of the nodes. */
  readonly nodes: readonly string[];
  /** The one that writes. */
  active(): Promise<string>;
  kill(node: string): Promise<void>;
  /** Which node each request that came to the balancer went to, and what it answered: `GET /v1/... node status`. */
  readonly journal: readonly string[];
}

interface Node {
  readonly url: string;
  readonly child: ChildProcess;
}
type Json = Record<string, unknown>;

/** Sends each request to the next of these addresses, as it is; where that one takes no connection, to the one after it. Else 502. */
const startBalancer = async (t: { after(end: () => unknown): void }, urls: readonly string[], journal: string[]): Promise<string> => {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    const forward = (tries: number): void => {
      const node = new URL(urls[turn++ % urls.length] ?? "");
      const { method, url: path, headers } = incoming;
      const forwarded = send({ host: node.hostname, port: node.port, method, path, headers }, (answer) => {
        journal.push(`${method} ${path} ${node.port} ${answer.statusCode}`);
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED" && tries < urls.length) forward(tries + 1);
        else outgoing.writeHead(502).end();
      });
      forwarded.end(Buffer.concat(chunks));
    };
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => forward(1));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** Starts them on free loopback ports; `program` is what `requireProgram(t, "bao")` returned. Killed and removed when the test ends. */
export const startOpenBaoCluster = async (t: { after(end: () => unknown): void }, program: string): Promise<OpenBaoCluster> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-openbao-cluster-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const ports = await Promise.all(["one", "two", "three"].map(async (id) => ({ id, api: await freePort(), cluster: await freePort() })));
  let rootToken = "";
  const ask = async (url: string, method: string, path: string, body?: unknown): Promise<{ status: number; data: Json }> => {
    const response = await fetch(`${url}/v1/${path}`, {
      method,
      headers: { "x-vault-token": rootToken },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, data: text === "" ? {} : (JSON.parse(text) as Json) };
  };
  const healthOf = (url: string): Promise<number> =>
    ask(url, "GET", "sys/health").then(
      ({ status }) => status,
      () => 0,
    );

  const nodes: Node[] = [];
  for (const { id, api, cluster } of ports) {
    const url = `http://127.0.0.1:${api}`;
    await mkdir(join(folder, id));
    const joins = ports.filter((one) => one.id !== id).map((one) => `  retry_join { leader_api_addr = "http://127.0.0.1:${one.api}" }\n`);
    await writeFile(
      join(folder, `${id}.hcl`),
      `storage "raft" {\n  path = "${join(folder, id)}"\n  node_id = "${id}"\n  performance_multiplier = 1\n${joins.join("")}}\n` +
        `listener "tcp" {\n  address = "127.0.0.1:${api}"\n  cluster_address = "127.0.0.1:${cluster}"\n  tls_disable = true\n}\n` +
        `api_addr = "${url}"\ncluster_addr = "http://127.0.0.1:${cluster}"\n`,
    );
    const child = spawn(program, ["server", `-config=${join(folder, `${id}.hcl`)}`], { stdio: "ignore", env: { HOME: folder } });
    nodes.push({ url, child });
    cleanUp(t, () => void child.kill("SIGKILL"));
  }
  const urls = nodes.map(({ url }) => url);
  const [first = "", ...others] = urls;
  await until(
    () => healthOf(first),
    (status) => status === 501,
  );
  const made = (await ask(first, "PUT", "sys/init", { secret_shares: 1, secret_threshold: 1 })).data;
  rootToken = made["root_token"] as string;
  const [key] = made["keys"] as string[];
  await ask(first, "PUT", "sys/unseal", { key });
  await until(
    () => healthOf(first),
    (status) => status === 200,
  );
  for (const url of others)
    await until(
      async () => {
        await ask(url, "PUT", "sys/unseal", { key }).catch(() => undefined);
        return healthOf(url);
      },
      (status) => status === 429,
    );
  await ask(first, "POST", "sys/mounts/kv-a", { type: "kv", options: { version: "2" } });
  for (const url of urls)
    await until(
      () => ask(url, "GET", "kv-a/config"),
      ({ status }) => status === 200,
    );
  const journal: string[] = [];
  return {
    url: await startBalancer(t, urls, journal),
    rootToken,
    nodes: urls,
    active: async () => {
      const found = await until(
        async () => (await Promise.all(urls.map(healthOf))).indexOf(200),
        (at) => at >= 0,
      );
      return urls[found]!;
    },
    kill: async (node) => {
      // A node that has just joined may not vote yet: without it there is nobody who elects.
      await until(
        () => ask(first, "GET", "sys/storage/raft/configuration"),
        ({ data }) => {
          const config = (data["data"] as { config?: { servers?: readonly { voter: boolean }[] } } | undefined)?.config;
          return config?.servers?.length === urls.length && config.servers.every(({ voter }) => voter);
        },
        60_000,
      );
      const child = nodes.find(({ url }) => url === node)?.child;
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    journal,
  };
};
