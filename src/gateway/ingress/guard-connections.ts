import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { ConnectionLimit } from "#gateway/limits/connection-limit.ts";

/**
 * Lets a server see only connections that may be held. One that may not is reset before anybody makes a parser or a
 * handshake for it; what it has sent is not read.
 */
export const guardConnections = (server: Server, limit: ConnectionLimit): void => {
  const served = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    // Gone already: whoever serves it finds out.
    const leave = remoteAddress === undefined ? () => {} : limit.enter(remoteAddress);
    if (leave === undefined) {
      socket.on("error", () => {});
      socket.resetAndDestroy();
      return;
    }
    socket.once("close", leave);
    for (const serve of served) serve.call(server, socket);
  });
  server.on("drop", () => limit.dropped());
};
