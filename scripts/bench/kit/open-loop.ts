import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { latencyOf, microsecondHistogram, type Latency } from "./statistics.ts";

export interface OpenLoopOptions {
  readonly port: number;
  /** Whole requests as they lie on the wire, sent in turn. Answers must have a Content-Length. */
  readonly requests: readonly Buffer[];
  /** Requests a second, evenly spaced. */
  readonly rate: number;
  readonly seconds: number;
  /** Requests that find all of them busy wait, and their waiting counts. */
  readonly connections: number;
}

export interface OpenLoopResult extends Latency {
  readonly answered: number;
}

/** A server that rested while another one was measured reads and compiles anew at first: that second goes before, and does not count. */
const LEAD_SECONDS = 1;

const HEAD_END = Buffer.from("\r\n\r\n");

interface Lane {
  readonly socket: Socket;
  due: number;
  rest: Buffer;
}

/** Bytes of the first whole answer in what arrived, 0 while it is not whole. */
const answerLength = (bytes: Buffer): number => {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return 0;
  const head = bytes.toString("latin1", 0, end);
  if (!head.startsWith("HTTP/1.1 2")) throw new Error(`the answer was ${head}`);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length >= end + 4 + length ? end + 4 + length : 0;
};

/**
 * Sends at a fixed rate whether or not answers come, and measures each from the moment it was due: a server that stalls
 * cannot hide it by holding up the load. Spins between requests, so it wants a core of its own.
 */
export const runOpenLoop = async (options: OpenLoopOptions): Promise<OpenLoopResult> => {
  const histogram = microsecondHistogram();
  const idle: Lane[] = [];
  const waiting: number[] = [];
  let sent = 0;
  let answered = 0;
  let failure: unknown;
  let countedFrom = 0;

  const send = (lane: Lane, due: number): void => {
    lane.due = due;
    lane.socket.write(options.requests[sent++ % options.requests.length] as Buffer);
  };
  const take = (lane: Lane, chunk: Buffer): void => {
    lane.rest = lane.rest.length === 0 ? chunk : Buffer.concat([lane.rest, chunk]);
    const length = answerLength(lane.rest);
    if (length === 0) return;
    lane.rest = lane.rest.subarray(length);
    answered += 1;
    if (lane.due >= countedFrom) histogram.record(Math.max(1, Math.round((performance.now() - lane.due) * 1000)));
    const next = waiting.shift();
    if (next === undefined) idle.push(lane);
    else send(lane, next);
  };
  const lanes = await Promise.all(
    Array.from({ length: options.connections }, async () => {
      const socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true });
      await once(socket, "connect");
      const lane: Lane = { socket, due: 0, rest: Buffer.alloc(0) };
      socket.on("error", (error) => (failure = error));
      socket.on("data", (chunk: Buffer) => {
        try {
          take(lane, chunk);
        } catch (error) {
          failure = error;
        }
      });
      idle.push(lane);
      return lane;
    }),
  );

  const total = Math.round(options.rate * (options.seconds + LEAD_SECONDS));
  const started = performance.now();
  countedFrom = started + LEAD_SECONDS * 1000;
  const gap = 1000 / options.rate;
  let due = 0;
  await new Promise<void>((resolve) => {
    const turn = (): void => {
      const now = performance.now();
      while (due < total && started + due * gap <= now) {
        const at = started + due++ * gap;
        const lane = idle.pop();
        if (lane === undefined) waiting.push(at);
        else send(lane, at);
      }
      const isLost = now - countedFrom > options.seconds * 1000 + 10_000;
      if (failure !== undefined || isLost || answered === total) resolve();
      else setImmediate(turn);
    };
    turn();
  });
  for (const { socket } of lanes) socket.destroy();
  if (failure !== undefined) throw new Error("the open loop broke", { cause: failure });
  if (answered < total) throw new Error(`${total - answered} of ${total} requests were not answered`);
  return { answered, ...latencyOf(histogram) };
};

/** A request as it lies on the wire. */
export const wireRequest = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: string): Buffer => {
  const lines = Object.entries(body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) });
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body ?? ""}`);
};
