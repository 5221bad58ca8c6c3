import { createServer, type Server } from "node:net";

const listen = (port: number): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });

const isFree = async (port: number): Promise<boolean> => {
  const server = await listen(port);
  if (server === undefined) return false;
  return new Promise((resolve) => void server.close(() => resolve(true)));
};

const MAX_TRIES = 50;
const noneFree = (): Error => new Error("no free ports were found");

/**
 * A port of the loopback address that nobody listens on now, for a server that must be told its port. It lies below the
 * range from which `listen(0)` and outgoing connections take theirs, so that none of them takes it before the server does.
 */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const port = 10_000 + Math.floor(Math.random() * 9_000);
    if (await isFree(port)) return port;
  }
  throw noneFree();
};

/** What an instance takes of a block of ports, counted from its first. */
const TAKEN = [0, 1, 2, 3, 4, 5, 10];
/** Held by who was given the block, until that process ends: an instance needs seconds to take the others. */
const CLAIM = 19;

/**
 * The first port of a block whose every port that an instance uses is free, below that range too. Nobody else who asks here is given the
 * block, or looks whether its ports are free, while this process lives.
 */
export const findFreePorts = async (): Promise<number> => {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const first = 20_000 + Math.floor(Math.random() * 600) * 20;
    const claim = await listen(first + CLAIM);
    const free = claim === undefined ? [false] : await Promise.all(TAKEN.map((offset) => isFree(first + offset)));
    if (free.every(Boolean)) {
      claim?.unref();
      return first;
    }
    claim?.close();
  }
  throw noneFree();
};
