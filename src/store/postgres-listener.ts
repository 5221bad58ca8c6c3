import pg from "pg";
import type { StoreLog } from "./database.ts";
import { isLateAnswer, storeUnavailable } from "./sql-error.ts";

interface Hearer {
  readonly received: (payload: string) => void;
  readonly regained: (() => void) | undefined;
}

/** Whether the other end is still there shows only when it is asked: it has nothing to say of itself. */
const CHECK_MS = 2_000;
const ANSWER_MS = 2_000;
const SHORTEST_MS = 200;
const MAX_MS = 5_000;

/** As the driver takes it; its types leave the time out. */
const timed = (text: string): pg.QueryConfig & { readonly query_timeout: number } => ({ text, query_timeout: ANSWER_MS });

/** Ends a connection, and waits for its end no longer than for an answer: who is silent does not say goodbye either. */
const endClient = async (client: pg.Client): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS);
  });
  await Promise.race([client.end().catch(() => undefined), late]);
  clearTimeout(timer);
};

/** Asks now and then whether the other end is there; where nothing is answered the connection is broken off. */
const watch = (client: pg.Client, log: StoreLog): void => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const askAgain = (): void => {
    if (isOver) return;
    timer = setTimeout(() => {
      client.query(timed("select 1")).then(askAgain, (cause: unknown) => {
        // What was lost otherwise says so by itself.
        if (!isLateAnswer(cause)) {
          askAgain();
          return;
        }
        log.warn("store_listen_lost", { cause });
        void client.end().catch(() => undefined);
      });
    }, CHECK_MS).unref();
  };
  client.once("end", () => {
    isOver = true;
    clearTimeout(timer);
  });
  askAgain();
};

/**
 * LISTEN on a connection of its own, because a pooled one would take its channels along when it is handed back. Connects with the
 * first channel and again, after 0.2 to 5 s, whenever the connection is lost. What is notified in between is not heard: a notification
 * is a hint, and whoever needs the truth reads it from its table.
 */
export const createPostgresListener = (options: { readonly url: string; readonly log: StoreLog }) => {
  const hearers = new Map<string, Set<Hearer>>();
  let connected: Promise<pg.Client> | undefined;
  /** The client whose loss matters; one that never came up is dealt with by whoever asked for it. */
  let live: pg.Client | undefined;
  let wasConnected = false;
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
      for (const { received } of hearers.get(channel) ?? []) received(payload ?? "");
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
      for (const channel of hearers.keys()) await client.query(timed(`listen ${pg.escapeIdentifier(channel)}`));
    } catch (error) {
      await endClient(client);
      throw error;
    }
    live = client;
    watch(client, options.log);
    pause = SHORTEST_MS;
    if (wasConnected) for (const hearer of [...hearers.values()].flatMap((set) => [...set])) hearer.regained?.();
    wasConnected = true;
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
    pause = Math.min(pause * 2, MAX_MS);
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
    await client?.query(timed(`unlisten ${pg.escapeIdentifier(channel)}`)).catch(() => undefined);
  };

  return {
    /** Whether there is a connection now. */
    isConnected: (): boolean => live !== undefined,
    /** `regained` is told each time that the connection was lost and is back. */
    listen: async (channel: string, received: (payload: string) => void, regained?: () => void): Promise<() => Promise<void>> => {
      const known = hearers.get(channel);
      const hearersOf = known ?? new Set<Hearer>();
      hearers.set(channel, hearersOf);
      const hearer: Hearer = { received, regained };
      hearersOf.add(hearer);
      try {
        const client = await ensure();
        if (known === undefined) await client.query(timed(`listen ${pg.escapeIdentifier(channel)}`));
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
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(again);
      hearers.clear();
      const client = await connected?.catch(() => undefined);
      if (client !== undefined) await endClient(client);
    },
  };
};
