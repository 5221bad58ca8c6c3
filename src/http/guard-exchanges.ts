import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Problem } from "#contract/problem.ts";
import { hasBody, watchBody } from "./body-clock.ts";
import { listenerProblem, problemOfParser } from "./create-server.ts";
import type { ListenerLimits } from "./listener-limits.ts";
import { refuseConnection } from "./refuse-connection.ts";

/** Ends connections whose reader takes nothing of what waits for it: Node's own clock of a socket runs anew with every byte that is taken. */
const endStalledReaders = (server: Server, stallMs: number): void => {
  const sockets = new Set<Duplex & { setTimeout(ms: number): unknown }>();
  const watched = new WeakSet<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const look = setInterval(() => {
    for (const socket of sockets) {
      const waits = socket.writableLength > 0;
      if (waits && !watched.has(socket)) {
        watched.add(socket);
        socket.setTimeout(stallMs);
      } else if (!waits && watched.delete(socket)) socket.setTimeout(0);
    }
  }, stallMs / 4).unref();
  server.on("close", () => clearInterval(look));
};

/**
 * Makes a server of plain request listeners hold its clients to the limits that the gateway's ingress holds them to: lines of a head,
 * the speed of a body, what is left of one that nobody read, and readers that do not read. What it refuses is a problem, and the
 * connection ends with it.
 */
export const guardExchanges = (
  server: Server,
  limits: ListenerLimits,
  listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): void => {
  const answers = new WeakMap<Duplex, ServerResponse>();
  const refuse = (socket: Duplex, problem: Problem): void => {
    if (answers.get(socket)?.headersSent === true) socket.destroy();
    else refuseConnection(socket, problem);
  };
  server.on("request", (incoming, outgoing) => {
    const { socket } = incoming;
    answers.set(socket, outgoing);
    let endWatch: (() => void) | undefined;
    outgoing.once("close", () => {
      answers.delete(socket);
      endWatch?.();
    });
    if (incoming.rawHeaders.length / 2 > limits.maxHeaderLines) {
      refuse(socket, listenerProblem("headers_too_large", { detail: `More than ${limits.maxHeaderLines} header lines.` }));
      return;
    }
    if (hasBody(incoming)) {
      // Made where it is needed: a problem knows where it arose, and that costs more than the whole of watching.
      const tooSlow = () => refuse(socket, listenerProblem("request_timeout", { detail: "The body arrives too slowly." }));
      endWatch = watchBody(incoming, limits, tooSlow);
      outgoing.once("finish", () => {
        if (!incoming.complete) setTimeout(() => void (incoming.complete || socket.destroy()), limits.lingerMs).unref();
      });
    }
    listener(incoming, outgoing);
  });
  server.on("clientError", (error, socket) => {
    const problem = problemOfParser(error);
    if (problem === undefined || !socket.writable) socket.destroy();
    else refuse(socket, problem);
  });
  endStalledReaders(server, limits.stallMs);
};
