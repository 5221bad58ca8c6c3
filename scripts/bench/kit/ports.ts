import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";

/** A port of the loopback address that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
};

/** Waits until something accepts on the port. */
export const waitForPort = async (port: number, timeoutMs = 30_000): Promise<void> => {
  for (const deadline = performance.now() + timeoutMs; ;) {
    const socket = connect({ port, host: "127.0.0.1" });
    const isOpen = await new Promise((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)));
    socket.destroy();
    if (isOpen) return;
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
