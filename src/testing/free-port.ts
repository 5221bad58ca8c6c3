import { createServer } from "node:net";

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });

const find = async (base: () => number, offsets: readonly number[]): Promise<number> => {
  for (let attempt = 0; attempt < 50; attempt++) {
    const first = base();
    const free = await Promise.all(offsets.map((offset) => isFree(first + offset)));
    if (free.every(Boolean)) return first;
  }
  throw new Error("no free ports were found");
};

/**
 * A port of the loopback address that nobody listens on now, for a server that must be told its port. It lies below the
 * range from which `listen(0)` and outgoing connections take theirs, so that none of them takes it before the server does.
 */
export const freePort = (): Promise<number> => find(() => 10_000 + Math.floor(Math.random() * 9_000), [0]);

/** The first port of a block whose every port that a house uses is free, below that range too. */
export const findFreePorts = (): Promise<number> => find(() => 20_000 + Math.floor(Math.random() * 600) * 20, [0, 1, 2, 3, 4, 5, 10]);
