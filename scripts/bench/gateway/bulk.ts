import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { residentBytes } from "../kit/process-cpu.ts";
import { pageHeaders, type GatewayWorld } from "./world.ts";

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const chunk = Buffer.alloc(65_536, "b");

/** Sends so many bytes with back-pressure, reads all of the answer; its size. */
const move = async (world: GatewayWorld, path: string, up: number): Promise<number> => {
  const [session] = world.sessions;
  if (session === undefined) throw new Error("no session");
  const outgoing = request({
    port: world.port,
    host: "127.0.0.1",
    method: up > 0 ? "POST" : "GET",
    path,
    headers: {
      ...pageHeaders(world, session),
      ...(up > 0 ? { "Content-Type": "application/octet-stream", "Content-Length": String(up) } : {}),
    },
  });
  const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
  for (let left = up; left > 0; left -= chunk.length) if (!outgoing.write(chunk)) await once(outgoing, "drain");
  outgoing.end();
  const [response] = await answered;
  let size = 0;
  for await (const part of response) size += (part as Buffer).length;
  if (response.statusCode !== 200) throw new Error(`${path} was answered ${response.statusCode}`);
  return size;
};

/** The most resident memory while work is under way. */
const highWater = async (pid: number, work: () => Promise<unknown>): Promise<number> => {
  let max = residentBytes(pid);
  const timer = setInterval(() => (max = Math.max(max, residentBytes(pid))), 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(max, residentBytes(pid));
};

/** 1 GiB through the gateway in each direction: nothing of it may stay, and little may be under way. */
export const measureBulk = async (world: GatewayWorld): Promise<readonly Figure[]> => {
  await move(world, "/api/bulk/down/1048576", 0);
  await world.gateway.memory();
  const idle = residentBytes(world.gateway.pid);
  const figure = async (what: string, work: () => Promise<unknown>): Promise<Figure> => {
    const started = performance.now();
    const max = await highWater(world.gateway.pid, work);
    const seconds = (performance.now() - started) / 1000;
    const growth = (max - idle) / MIB;
    say(`bulk: ${what}, ${growth.toFixed(0)} MiB more, ${(1024 / seconds).toFixed(0)} MiB/s`);
    return {
      what: `${what}: most resident memory beside the idle gateway`,
      own: `${(max / MIB).toFixed(0)} MiB (at ${(1024 / seconds).toFixed(0)} MiB/s)`,
      reference: `${(idle / MIB).toFixed(0)} MiB`,
      ratio: `+${growth.toFixed(0)} MiB`,
      target: "<= 64 MiB",
      isMet: growth <= 64,
    };
  };
  return [
    await figure("1 GiB up", () => move(world, "/api/bulk/up", GIB)),
    await figure("1 GiB down", () => move(world, `/api/bulk/down/${GIB}`, 0)),
  ];
};
