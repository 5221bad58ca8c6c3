import pg from "pg";
import type { StoreLog } from "./database.ts";
import { storeUnavailable } from "./sql-fault.ts";

/** LISTEN on a connection of its own, because a pooled one would take its channels along when it is handed back. */
export interface PostgresEar {
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const SHORTEST_MS = 200;
const LONGEST_MS = 5_000;

/**
 * Connects with the first channel and again, after 0.2 to 5 s, whenever the connection is lost. What is notified in
 * between is not heard: a notification is a hint, and whoever needs the truth reads it from its table.
 */
export const createPostgresEar = (options: { readonly url: string; readonly log: StoreLog }): PostgresEar => {
  const hearers = new Map<string, Set<(payload: string) => void>>();
  let connected: Promise<pg.Client> | undefined;
  /** The client whose loss matters; one that never came up is dealt with by whoever asked for it. */
  let live: pg.Client | undefined;
  let pause = SHORTEST_MS;
  let again: NodeJS.Timeout | undefined;
  let closed = false;

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: options.url,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      application_name: "sallyport listen",
    });
    client.on("notification", ({ channel, payload }) => {
      for (const hear of hearers.get(channel) ?? []) hear(payload ?? "");
    });
    client.on("error", (error) => options.log.warn("store_listen_lost", { cause: error }));
    client.on("end", () => {
      if (live !== client) return;
      live = undefined;
      connected = undefined;
      if (!closed) reconnect();
    });
    try {
      await client.connect();
      for (const channel of hearers.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    live = client;
    pause = SHORTEST_MS;
    return client;
  };

  const reconnect = (): void => {
    if (again !== undefined || hearers.size === 0) return;
    again = setTimeout(() => {
      again = undefined;
      ensure().catch(() => {
        if (!closed) reconnect();
      });
    }, pause);
    pause = Math.min(pause * 2, LONGEST_MS);
  };

  const ensure = (): Promise<pg.Client> => {
    if (connected !== undefined) return connected;
    const connecting = connect();
    connected = connecting;
    connecting.catch(() => {
      if (connected === connecting) connected = undefined;
    });
    return connecting;
  };

  const unlisten = async (channel: string): Promise<void> => {
    hearers.delete(channel);
    const client = await connected?.catch(() => undefined);
    await client?.query(`unlisten ${pg.escapeIdentifier(channel)}`).catch(() => undefined);
  };

  return {
    listen: async (channel, heard) => {
      const known = hearers.get(channel);
      const hearersOf = known ?? new Set();
      hearers.set(channel, hearersOf);
      const hearer = (payload: string): void => heard(payload);
      hearersOf.add(hearer);
      try {
        const client = await ensure();
        if (known === undefined) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      } catch (error) {
        hearersOf.delete(hearer);
        if (hearersOf.size === 0) hearers.delete(channel);
        throw storeUnavailable(error);
      }
      return async () => {
        hearersOf.delete(hearer);
        if (hearersOf.size === 0) await unlisten(channel);
      };
    },
    close: async () => {
      closed = true;
      clearTimeout(again);
      hearers.clear();
      const client = await connected?.catch(() => undefined);
      await client?.end().catch(() => undefined);
    },
  };
};
