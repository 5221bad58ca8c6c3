import { join } from "node:path";
import { freePort } from "../kit/ports.ts";
import { runOpenLoop, wireRequest, type OpenLoopResult } from "../kit/open-loop.ts";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { medianOf } from "../kit/statistics.ts";
import { runWrk, type WrkResult } from "../kit/wrk.ts";
import { authRequestConfig, startNginx } from "./nginx.ts";
import { measuredRequests, type GatewayWorld } from "./world.ts";

const CONNECTIONS = 32;

/** So many requests until V8 has compiled what it will: in seconds that differs with the machine's other work. */
const WARM_REQUESTS = 60_000;
const MAX_WARM_ROUNDS = 30;

/** Runs a candidate until it is as fast as it gets, and no longer than some rounds. */
export const warmUp = async (run: () => Promise<WrkResult>): Promise<void> => {
  let requests = 0;
  for (let round = 0; round < MAX_WARM_ROUNDS && requests < WARM_REQUESTS; round++) requests += (await run()).requests;
};

/** With the same checks, so that its latency is worth a row too. */
type Equal = "gateway" | "nginx" | "fastify";
/** What the runtime leaves to anybody: without a check there is no target in it. */
type Floor = "unchecked" | "bare";

interface Candidate {
  readonly name: Equal | Floor;
  readonly port: number;
  readonly pids: readonly number[];
}

export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
}

/** The proxied request: throughput a CPU-second under wrk, then latency of those with the same checks at one rate. */
export const measureProxied = async (world: GatewayWorld, effort: Effort): Promise<readonly Figure[]> => {
  const verifier = await world.startReference("verifier");
  const nginxPort = await freePort();
  const nginx = await startNginx({
    name: "auth-request",
    folder: world.folder,
    core: "measured",
    port: nginxPort,
    http: authRequestConfig({ port: nginxPort, verifier: verifier.port, upstream: world.upstream, log: join(world.folder, "nginx.log") }),
  });
  const upstream = { UPSTREAM: `http://127.0.0.1:${world.upstream}` };
  const fastify = await world.startReference("fastify-proxy", upstream);
  const unchecked = await world.startReference("unchecked-proxy", upstream);
  const bare = await world.startReference("bare");
  try {
    const equals: readonly (Candidate & { readonly name: Equal })[] = [
      { name: "gateway", port: world.port, pids: [world.gateway.pid] },
      { name: "nginx", port: nginxPort, pids: [nginx.pid, verifier.program.pid] },
      { name: "fastify", port: fastify.port, pids: [fastify.program.pid] },
    ];
    const candidates: readonly Candidate[] = [
      ...equals,
      { name: "unchecked", port: unchecked.port, pids: [unchecked.program.pid] },
      { name: "bare", port: bare.port, pids: [bare.program.pid] },
    ];
    const requests = measuredRequests(world);
    const load = (candidate: Candidate, seconds: number): Promise<WrkResult> =>
      runWrk({ ...candidate, requests, seconds, connections: CONNECTIONS, folder: world.folder });
    const results = new Map<Candidate["name"], WrkResult[]>(candidates.map(({ name }) => [name, []]));
    for (const candidate of candidates) await warmUp(() => load(candidate, effort.seconds));
    for (let round = 1; round <= effort.rounds; round++)
      for (const candidate of candidates) {
        const result = await load(candidate, effort.seconds);
        results.get(candidate.name)?.push(result);
        say(
          `proxied ${round}/${effort.rounds} ${candidate.name.padEnd(9)} ${result.perCpuSecond.toFixed(0)} per CPU-second, ` +
            `${result.perSecond.toFixed(0)}/s at ${(result.cpu * 100).toFixed(0)} % CPU, p50 ${result.p50} us, p99 ${result.p99} us`,
        );
      }
    const of = (name: Candidate["name"], value: (result: WrkResult) => number) => medianOf(results.get(name) ?? [], value);
    const perCpu = (name: Candidate["name"]) => of(name, (result) => result.perCpuSecond);

    // Half of what the slowest of them can do: nobody's queue grows.
    const rate = Math.round(Math.min(...equals.map(({ name }) => of(name, (result) => result.perSecond))) / 2);
    const wire = requests.map(({ method, path, headers, body }) => wireRequest(method, path, headers, body));
    const latencies = new Map<Equal, OpenLoopResult[]>(equals.map(({ name }) => [name, []]));
    for (let round = 1; round <= effort.rounds; round++)
      for (const { name, port } of equals)
        latencies.get(name)?.push(await runOpenLoop({ port, requests: wire, rate, seconds: effort.seconds, connections: CONNECTIONS }));
    const at = (name: Equal, part: "p50" | "p99") => medianOf(latencies.get(name) ?? [], (one) => one[part]);

    const throughput = (name: Exclude<Candidate["name"], "gateway">, title: string, target?: number): Figure => {
      const ratio = perCpu("gateway") / perCpu(name);
      return {
        what: `proxied request, a CPU-second, beside ${title}`,
        own: perCpu("gateway").toFixed(0),
        reference: perCpu(name).toFixed(0),
        ratio: ratio.toFixed(2),
        ...(target === undefined ? { target: "" } : { target: `>= ${target.toFixed(1)}`, isMet: ratio >= target }),
      };
    };
    const latency = (part: "p50" | "p99", name: "nginx" | "fastify", title: string): Figure => ({
      what: `the same, ${part} at ${rate}/s open loop, beside ${title}`,
      own: `${(at("gateway", part) / 1000).toFixed(2)} ms`,
      reference: `${(at(name, part) / 1000).toFixed(2)} ms`,
      ratio: (at("gateway", part) / at(name, part)).toFixed(2),
      target: "",
    });
    return [
      throughput("nginx", "nginx + auth_request", 1),
      throughput("fastify", "@fastify/http-proxy", 2.5),
      throughput("unchecked", "an unchecked proxy (node:http, undici)"),
      throughput("bare", "a bare node:http 200"),
      latency("p50", "nginx", "nginx + auth_request"),
      latency("p99", "nginx", "nginx + auth_request"),
      latency("p50", "fastify", "@fastify/http-proxy"),
      latency("p99", "fastify", "@fastify/http-proxy"),
    ];
  } finally {
    await Promise.all([nginx, verifier.program, fastify.program, unchecked.program, bare.program].map((one) => one.stop()));
  }
};
