import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { freePort } from "../kit/ports.ts";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { latencyOf, microsecondHistogram, type Latency } from "../kit/statistics.ts";
import { residentBytes } from "../kit/process-cpu.ts";
import type { BrowserSession } from "./sessions.ts";
import { relayConfig, startNginx } from "./nginx.ts";
import { pageHeaders, type GatewayWorld } from "./world.ts";

const CLIENTS = 1000;
const SLOW = 0.2;
/** A slow client takes what lies in its socket once in so long. */
const SLOW_READ_MS = 2000;
/** Clients that connect at once. */
const TOGETHER = 50;
const FRAMES_PER_SECOND = 10;

interface Clients {
  /** Microseconds from the source's write to the client's read, fast clients alone; and it begins anew. */
  take(): Latency & { readonly frames: number };
  readonly open: () => number;
  close(): void;
}

/** Many event-stream clients on raw sockets; frames say when they were written. */
const openClients = async (world: GatewayWorld, port: number, path: string): Promise<Clients> => {
  let histogram = microsecondHistogram();
  let open = 0;
  const timers: NodeJS.Timeout[] = [];
  const take = (chunk: string): void => {
    const now = Number(process.hrtime.bigint() / 1000n);
    for (let at = chunk.indexOf('"at":'); at !== -1; at = chunk.indexOf('"at":', at + 5)) {
      const written = Number.parseInt(chunk.slice(at + 5, at + 25), 10);
      if (written > 0) histogram.record(Math.max(1, now - written));
    }
  };
  const sockets: Socket[] = [];
  const enter = async (session: BrowserSession, index: number): Promise<void> => {
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    const lines = Object.entries({ ...pageHeaders(world, session), Accept: "text/event-stream" });
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    if (!head.toString("latin1").startsWith("HTTP/1.1 200")) throw new Error(`client ${index}: ${head.toString("latin1").slice(0, 400)}`);
    open += 1;
    socket.on("close", () => (open -= 1));
    socket.on("error", () => {});
    if (index < CLIENTS * SLOW) {
      socket.on("data", () => socket.pause());
      socket.pause();
      timers.push(setInterval(() => socket.resume(), SLOW_READ_MS));
    } else socket.setEncoding("latin1").on("data", (chunk) => take(String(chunk)));
  };
  const sessions = world.sessions.slice(0, CLIENTS);
  for (let from = 0; from < sessions.length; from += TOGETHER)
    await Promise.all(sessions.slice(from, from + TOGETHER).map((session, index) => enter(session, from + index)));
  return {
    take: () => {
      const taken = { ...latencyOf(histogram), frames: histogram.count };
      histogram = microsecondHistogram();
      return taken;
    },
    open: () => open,
    close: () => {
      for (const timer of timers) clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
};

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const heapOf = ({ heapUsed, external }: NodeJS.MemoryUsage): number => heapUsed + external;

/** 1,000 event streams through the gateway, then through nginx: delay of a frame, and the gateway's own heap. */
export const measureStreams = async (world: GatewayWorld, effort: { readonly minutes: number }): Promise<readonly Figure[]> => {
  const total = effort.minutes * 60_000;
  const settle = Math.min(60_000, total / 3);

  const idle = heapOf(await world.gateway.memory());
  const residentIdle = residentBytes(world.gateway.pid);
  const own = await openClients(world, world.port, "/api/shop/events");
  await wait(settle);
  const early = heapOf(await world.gateway.memory());
  own.take();
  await wait(total - settle);
  const delay = own.take();
  const still = own.open();
  const late = heapOf(await world.gateway.memory());
  const resident = residentBytes(world.gateway.pid);
  own.close();
  say(`streams: gateway p50 ${delay.p50} us, p99 ${delay.p99} us, ${delay.frames} frames, ${still} of ${CLIENTS} open`);

  const port = await freePort();
  const nginx = await startNginx({
    name: "relay",
    folder: world.folder,
    core: "measured",
    port,
    http: relayConfig({ port, source: world.sourcePort, log: join(world.folder, "relay.log") }),
  });
  try {
    const theirs = await openClients(world, port, "/api/shop/events");
    await wait(settle);
    theirs.take();
    await wait(total - settle);
    const reference = theirs.take();
    theirs.close();
    say(`streams: nginx p50 ${reference.p50} us, p99 ${reference.p99} us, ${reference.frames} frames`);
    const growth = late / early - 1;
    const perClient = (late - idle) / CLIENTS / 1024;
    const ms = (micros: number) => `${(micros / 1000).toFixed(1)} ms`;
    return [
      {
        what: `${CLIENTS} event streams, ${FRAMES_PER_SECOND} frames of 1 KB/s each, ${effort.minutes} min, ${SLOW * 100} % slow: p99 delay, beside nginx relaying them`,
        own: ms(delay.p99),
        reference: ms(reference.p99),
        ratio: (delay.p99 / reference.p99).toFixed(2),
        target: "<= 3",
        isMet: delay.p99 <= 3 * reference.p99,
      },
      {
        what: "the same, p50 delay",
        own: ms(delay.p50),
        reference: ms(reference.p50),
        ratio: (delay.p50 / reference.p50).toFixed(2),
        target: "",
      },
      {
        what: `the same, streams still open; heap at the end beside heap after ${(settle / 1000).toFixed(0)} s`,
        own: `${still}; ${(late / 2 ** 20).toFixed(1)} MiB`,
        reference: `${(early / 2 ** 20).toFixed(1)} MiB`,
        ratio: (late / early).toFixed(2),
        target: "growth <= 5 %",
        isMet: growth <= 0.05,
      },
      {
        what: "the same, heap and buffers a client over the idle gateway; resident memory a client",
        own: `${perClient.toFixed(0)} KiB; ${((resident - residentIdle) / CLIENTS / 1024).toFixed(0)} KiB`,
        reference: "",
        ratio: "",
        target: "<= 64 KiB",
        isMet: perClient <= 64,
      },
    ];
  } finally {
    await nginx.stop();
  }
};
