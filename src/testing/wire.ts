import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/** A wire to a server that a test can cut or freeze, for everybody who goes through here. */
export interface Wire {
  readonly port: number;
  /** What is behind it is gone at once. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Nothing comes through any more, and nobody is told: as of a server or a network that stands still. */
  freeze(): void;
  /** What was held back goes on its way. */
  thaw(): void;
}

/** Opens a free port on loopback that leads to the target. */
export const openWire = async (t: Pick<TestContext, "after">, target: { readonly host: string; readonly port: number }): Promise<Wire> => {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isFrozen = false;
  const join = ([from, to]: readonly [Socket, Socket]): void => {
    from.pipe(to);
    to.pipe(from);
  };
  const part = ([from, to]: readonly [Socket, Socket]): void => {
    from.unpipe(to).pause();
    to.unpipe(from).pause();
  };
  const server: Server = createServer((from) => {
    const pair = [from, connect(target)] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    if (!isFrozen) join(pair);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    await once(server, "close");
  };
  cleanUp(t, cut);
  return {
    port,
    cut,
    mend: async () => void (await once(server.listen(port, "127.0.0.1"), "listening")),
    freeze: () => {
      isFrozen = true;
      for (const pair of pairs) part(pair);
    },
    thaw: () => {
      // Joined twice it would say everything twice.
      if (!isFrozen) return;
      isFrozen = false;
      for (const pair of pairs) join(pair);
    },
  };
};
