import { AsyncLocalStorage } from "node:async_hooks";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { StreamHead } from "#events/model/emit.ts";

const CHANNEL = "sallyport_live";
const MERGE_MS = 20;
/** A notification holds less than 8000 bytes. */
const MAX_HEADS = 40;

const parse = (payload: string): readonly StreamHead[] => {
  try {
    const items = JSON.parse(payload) as readonly { t: unknown; s: unknown; v: unknown }[];
    return items.map(({ t, s, v }) => ({ tenant: String(t), stream: String(s), version: BigInt(v as number) }));
  } catch {
    return [];
  }
};

/**
 * Tells other processes that streams moved, and hears it from them. Hints only: they may come late, twice or not at all. After a
 * commit the hint goes out at once; what comes within the next 20 ms is merged. Never inside a transaction: PostgreSQL makes commits
 * that notify wait for one another.
 */
export const createHeadHints = async (parts: {
  readonly database: Database;
  readonly log: Log;
  readonly received: (heads: readonly StreamHead[]) => void;
}) => {
  const { database, log } = parts;
  const waiting = new Map<string, StreamHead>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  let closed = false;
  const apart = AsyncLocalStorage.snapshot();
  const stop = await database.listen(CHANNEL, (payload) => parts.received(parse(payload)));

  const flush = async (): Promise<void> => {
    const heads = [...waiting.values()];
    waiting.clear();
    for (let at = 0; at < heads.length; at += MAX_HEADS) {
      const part = heads.slice(at, at + MAX_HEADS).map(({ tenant, stream, version }) => ({ t: tenant, s: stream, v: Number(version) }));
      await database.notify(CHANNEL, JSON.stringify(part));
    }
  };
  const sendNow = (): void => {
    sending = apart(flush).catch((error: unknown) => log.warn("bus_hint_failed", { cause: error }));
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting.size > 0) sendNow();
    }, MERGE_MS);
  };

  return {
    send: (heads: readonly StreamHead[]): void => {
      // The embedded database has no other process to tell.
      if (closed || database.kind === "pglite") return;
      for (const head of heads) waiting.set(`${head.tenant}\u0000${head.stream}`, head);
      if (timer === undefined && waiting.size > 0) sendNow();
    },
    close: async (): Promise<void> => {
      closed = true;
      clearTimeout(timer);
      await sending;
      if (waiting.size > 0) await flush().catch(() => undefined);
      await stop().catch(() => undefined);
    },
  };
};
