import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { randomUUID } from "node:crypto";
import type { Problem } from "#contract/problem.ts";
import { problemBody } from "./problem-body.ts";

/** Time for a client to take the answer. One that keeps its end open would hold the connection for ever. */
const LINGER_MS = 2000;

/**
 * Refuses on the bare connection, where the parser made no request of what arrived, and ends it, whatever the client does.
 * The rest of what was sent is thrown away.
 */
export const refuseConnection = (socket: Duplex, problem: Problem): void => {
  // A connection that the parser gave up has no other listener; a reset must not end the process.
  socket.on("error", () => socket.destroy());
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const end = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.on("close", () => clearTimeout(end));
  socket.resume();
  const correlationId = randomUUID();
  const body = JSON.stringify(problemBody(problem, correlationId));
  const headers = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ""}`,
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    "Content-Security-Policy: default-src 'none'; sandbox; frame-ancestors 'none'",
    "Referrer-Policy: no-referrer",
    "Cross-Origin-Resource-Policy: same-origin",
    `X-Correlation-ID: ${correlationId}`,
    ...("encrypted" in socket ? ["Strict-Transport-Security: max-age=31536000"] : []),
    ...Object.entries(problem.options.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n${body}`);
};
