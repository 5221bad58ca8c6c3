import { readFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import type { StoreLog } from "./database.ts";

export interface RedisOptions {
  /** `redis://` or `rediss://` (TLS), `[[user]:password@]host[:port][/db]`; never logged. */
  readonly url: string;
  /** PEM file of the authority that signed the server's certificate; the system's authorities unless given. */
  readonly caFile?: string | undefined;
  readonly log: StoreLog;
  /** Told of every operation, for metrics; `operation` is what the caller called it. */
  readonly observe?: (operation: string, status: "ok" | "error", seconds: number) => void;
  /** Longest wait for one answer; default 1 s. */
  readonly answerTimeoutMs?: number;
  /** How long the first connection may take before the start fails; default 5 s. */
  readonly openTimeoutMs?: number;
}

/** What a command may answer, as scripts and plain commands do. */
export type RedisReply = string | number | null | readonly RedisReply[];

/** A Lua script: all of it happens at once, in every process that shares the server. */
export interface RedisScript {
  /** Its name in metrics. */
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

export const redisScript = (name: string, text: string): RedisScript => ({
  name,
  text,
  sha: createHash("sha1").update(text).digest("hex"),
});

/** One connection for commands and one for what is published; both come back by themselves when they are lost. */
export interface Redis {
  /** Runs one command. Throws `RedisError`: what was sent may have happened. */
  run(operation: string, command: readonly string[]): Promise<RedisReply>;
  /** Runs a script; loads it where the server does not know it yet. */
  script(script: RedisScript, keys: readonly string[], values: readonly (string | number)[]): Promise<RedisReply>;
  /**
   * Hears what is published on a channel until the returned function is called. `regained` is told each time that the
   * connection was lost and is back: what was published in between was not heard.
   */
  subscribe(channel: string, received: (message: string) => void, regained?: () => void): Promise<() => Promise<void>>;
  /** Whether what is published is heard now; true before anybody listens. */
  isListening(): boolean;
  publish(channel: string, message: string): Promise<void>;
  /** Throws `RedisError` when the server does not answer. */
  ready(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Redis did not answer, or answered with a fault. Its text never holds the address with the password, a key or a value. */
export class RedisError extends Error {
  override readonly name = "RedisError";
}

/** Host and port of a Redis address, without user and password: for messages. */
const redisPlace = (url: string): string => new URL(url).host;

const ANSWER_MS = 1000;
const OPEN_MS = 5000;
const PING_MS = 1000;
const MAX_PAUSE_MS = 1000;

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/**
 * Connects to a Redis server. Throws `RedisError` when it does not let us in within the opening time. Afterwards a lost
 * connection fails what is under way at once, refuses commands while it is away, and is made again with a growing pause.
 */
export const openRedis = async (options: RedisOptions): Promise<Redis> => {
  const { url, log } = options;
  const place = redisPlace(url);
  const answerMs = options.answerTimeoutMs ?? ANSWER_MS;
  const authority = options.caFile === undefined ? {} : { ca: await readFile(options.caFile, "utf8") };
  const isTls = url.startsWith("rediss:");
  // Only an instance that has a Redis server waits for its library, which is as large as half of Sallyport.
  const { createClient } = await import("redis");

  const makeClient = (use: string) => {
    let isDown = false;
    const client = createClient({
      url,
      name: `sallyport ${use}`.replaceAll(" ", "-"),
      socket: {
        ...(isTls ? { tls: true as const, ...authority } : {}),
        connectTimeout: 2000,
        // A server that is there and silent is as good as gone: its connection is given up and made anew.
        socketTimeout: PING_MS + 2 * answerMs,
        reconnectStrategy: (retries: number) => Math.min(50 * 2 ** Math.min(retries, 5), MAX_PAUSE_MS),
      },
      pingInterval: PING_MS,
      // What cannot be sent now is refused now: the caller knows better than a queue what to do.
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: "disabled",
    });
    client.on("error", (cause: unknown) => {
      if (!isDown) log.warn("redis_lost", { server: place, use, cause: textOf(cause) });
      isDown = true;
    });
    client.on("ready", () => {
      if (isDown) log.info("redis_back", { server: place, use });
      isDown = false;
    });
    return client;
  };
  type Client = ReturnType<typeof makeClient>;

  const open = async (client: Client): Promise<void> => {
    let last: unknown;
    const note = (cause: unknown): void => void (last = cause);
    client.on("error", note);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(last ?? new Error("it does not answer")), options.openTimeoutMs ?? OPEN_MS);
    });
    try {
      await Promise.race([client.connect(), late]);
    } catch (cause) {
      client.destroy();
      throw new RedisError(`Redis at ${place} does not let us in: ${textOf(cause)}`);
    } finally {
      clearTimeout(timer);
      client.off("error", note);
    }
  };

  const client = makeClient("commands");
  let subscriber: Promise<Client> | undefined;
  let hearing: Client | undefined;
  let isClosed = false;

  /** A command once written cannot be taken back; its answer is waited for no longer than the answer time. */
  const send = (command: readonly string[]): Promise<RedisReply> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new RedisError(`Redis at ${place} did not answer in ${answerMs} ms`)), answerMs);
      client.sendCommand<RedisReply>([...command]).then(
        (reply) => (clearTimeout(timer), resolve(reply)),
        (cause: unknown) => (clearTimeout(timer), reject(new RedisError(textOf(cause)))),
      );
    });
  const measured = async (operation: string, work: () => Promise<RedisReply>): Promise<RedisReply> => {
    const started = performance.now();
    let status: "ok" | "error" = "error";
    try {
      const reply = await work();
      status = "ok";
      return reply;
    } finally {
      options.observe?.(operation, status, (performance.now() - started) / 1000);
    }
  };

  const regain = new Set<() => void>();
  const openListener = (): Promise<Client> => {
    subscriber ??= (async () => {
      const made = makeClient("changes");
      await open(made);
      made.on("ready", () => {
        for (const reported of regain) reported();
      });
      hearing = made;
      return made;
    })().catch((error: unknown) => {
      subscriber = undefined;
      throw error;
    });
    return subscriber;
  };

  await open(client);
  return {
    run: (operation, command) => measured(operation, () => send(command)),
    script: ({ name, text, sha }, keys, values) =>
      measured(name, async () => {
        const rest = [String(keys.length), ...keys, ...values.map(String)];
        try {
          return await send(["EVALSHA", sha, ...rest]);
        } catch (error) {
          if (!textOf(error).startsWith("NOSCRIPT")) throw error;
          return send(["EVAL", text, ...rest]);
        }
      }),
    subscribe: async (channel, received, regained) => {
      const listener = (message: string): void => received(message);
      const back = (): void => regained?.();
      const listening = await openListener();
      await listening.subscribe(channel, listener).catch((cause: unknown) => {
        throw new RedisError(textOf(cause));
      });
      regain.add(back);
      return async () => {
        regain.delete(back);
        if (!isClosed) await listening.unsubscribe(channel, listener).catch(() => undefined);
      };
    },
    isListening: () => hearing?.isReady ?? true,
    publish: async (channel, message) => void (await measured("publish", () => send(["PUBLISH", channel, message]))),
    ready: async () => void (await measured("ping", () => send(["PING"]))),
    [Symbol.asyncDispose]: async () => {
      if (isClosed) return;
      isClosed = true;
      client.destroy();
      (await subscriber?.catch(() => undefined))?.destroy();
    },
  };
};
