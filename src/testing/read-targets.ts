import { connect } from "node:net";
import type { PathReading, PathServer } from "./path-servers.ts";

const nextAnswer = (
  text: string,
): { readonly status: number; readonly headers: string; readonly body: string; readonly end: number } | undefined => {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const headers = text.slice(0, head);
  const status = Number(headers.slice(9, 12));
  const from = head + 4;
  const length = status === 204 || status === 304 ? 0 : Number(/^content-length: *(\d+)/im.exec(headers)?.[1] ?? 0);
  if (/^transfer-encoding: *chunked/im.test(headers)) {
    const end = text.indexOf("0\r\n\r\n", from);
    return end === -1 ? undefined : { status, headers, body: "", end: end + 5 };
  }
  return text.length < from + length ? undefined : { status, headers, body: text.slice(from, from + length), end: from + length };
};

const BATCH = 100;

/** Sends a batch down one connection and reads as many answers as come before the server closes it. */
const batch = (
  server: PathServer,
  targets: readonly string[],
  host: string,
  take: (status: number, headers: string, body: string) => void,
): Promise<void> =>
  new Promise((resolve, reject) => {
    let text = "";
    let taken = 0;
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    const drain = (): void => {
      for (let answer = nextAnswer(text); answer !== undefined && taken < targets.length; answer = nextAnswer(text)) {
        text = text.slice(answer.end);
        taken += 1;
        take(answer.status, answer.headers, answer.body);
      }
      if (taken === targets.length) socket.destroy();
    };
    socket.setTimeout(20_000, () => socket.destroy(new Error(`${server.name} does not answer`)));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      drain();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => (["ECONNRESET", "EPIPE"].includes(error.code ?? "") ? resolve() : reject(error)));
    socket.on("close", () => resolve());
    socket.write(Buffer.from(targets.map((target) => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join(""), "latin1"));
  });

/** What a server makes of each target, in their order; `undefined` where it refused. Keep-alive, pipelined, two at a time. */
export const readTargets = async (
  server: PathServer,
  targets: readonly string[],
  host = "localhost",
): Promise<readonly (PathReading | undefined)[]> => {
  const readings: (PathReading | undefined)[] = Array.from({ length: targets.length });
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < targets.length) {
      const [from, end] = [next, Math.min(next + BATCH, targets.length)];
      next = end;
      // A server that refuses closes; what it had not answered is asked again.
      for (let at = from; at < end;) {
        const before = at;
        await batch(server, targets.slice(at, end), host, (...answer) => (readings[at++] = server.read(...answer)));
        if (at === before) throw new Error(`${server.name} answers nothing to ${JSON.stringify(targets[at])}`);
      }
    }
  };
  await Promise.all([work(), work()]);
  return readings;
};
