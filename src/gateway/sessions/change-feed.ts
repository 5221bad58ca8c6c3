import { z } from "zod";
import type { Database } from "#store/database.ts";
import type { SessionChange, SessionFeed } from "./session-store.ts";

const CHANNEL = "sallyport_sessions";
const HEARTBEAT_MS = 1000;
const FRESH_MS = 3000;

const message = z.union([
  z.object({ beat: z.literal(true) }),
  z.object({ ref: z.string(), kind: z.enum(["ended", "changed"]), reason: z.string().optional() }),
]);

export interface ChangeFeed {
  tell(changes: readonly SessionChange[]): Promise<void>;
  changes(heard: (change: SessionChange) => void): Promise<SessionFeed>;
}

/**
 * Tells session changes to every process on the database. This process hears its own at once, and once more from the
 * database: hearing twice does no harm. On a database of several processes a heartbeat shows that the others are heard: without it for 3 s, no cache is trusted.
 */
export const createChangeFeed = (database: Database): ChangeFeed => {
  const listeners = new Set<(change: SessionChange) => void>();
  const spread = (change: SessionChange): void => {
    for (const listener of listeners) listener(change);
  };

  const tell: ChangeFeed["tell"] = async (changes) => {
    for (const change of changes) {
      spread(change);
      // The change is committed; a lost hint is made good by the age limit of the caches.
      await database.notify(CHANNEL, JSON.stringify(change)).catch(() => {});
    }
  };

  const changes: ChangeFeed["changes"] = async (heard) => {
    listeners.add(heard);
    let heardAt = performance.now();
    const stopListening = await database.listen(CHANNEL, (payload) => {
      heardAt = performance.now();
      const read = message.safeParse(parse(payload));
      if (!read.success || "beat" in read.data) return;
      heard(read.data as SessionChange);
    });
    const beat = (): void => {
      database.notify(CHANNEL, '{"beat":true}').catch(() => {});
    };
    // An embedded database has this process alone: there is nobody else to hear.
    const timer = database.kind === "postgres" ? setInterval(beat, HEARTBEAT_MS).unref() : undefined;
    return {
      isConnected: () => timer === undefined || performance.now() - heardAt < FRESH_MS,
      stop: async () => {
        clearInterval(timer);
        listeners.delete(heard);
        await stopListening();
      },
    };
  };

  return { tell, changes };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
