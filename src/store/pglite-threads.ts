import { AsyncLocalStorage } from "node:async_hooks";
import { Worker } from "node:worker_threads";
import type { StoreLog } from "./database.ts";
import type { ServerReply, ServerRequest, ServerStart, WorkerReply } from "./pglite-protocol.ts";

/** The embedded database on some thread. */
interface Server {
  ask(request: ServerRequest): void;
  stop(): Promise<unknown>;
}
export interface ThreadClient {
  hear(reply: ServerReply): void;
  /** It ended unasked. */
  lose(cause: unknown): void;
}
/** It did not start, and says why. */
export class NotStarted extends Error {}

/** In a thread of its own: it would starve the event loop of whoever asks it. Throws `NotStarted`. */
export const inThread = async (start: ServerStart, requester: ThreadClient, log: StoreLog): Promise<Server> => {
  const worker = new Worker(new URL("./pglite-worker.ts", import.meta.url), { workerData: start, name: "pglite", execArgv: [] });
  await new Promise<void>((resolve, reject) => {
    const lose = (cause: unknown, reported = cause): void => {
      requester.lose(cause);
      reject(reported);
    };
    worker.on("message", (reply: WorkerReply) => {
      if ("ready" in reply) resolve();
      else if ("failed" in reply) reject(new NotStarted(reply.failed));
      else requester.hear(reply);
    });
    worker.on("error", (error) => {
      log.error("store_worker_failed", { cause: error });
      lose(error);
    });
    worker.on("exit", () =>
      lose(new Error("the embedded database has stopped"), new Error("the embedded database stopped while it was starting")),
    );
  }).catch(async (error: unknown) => {
    await worker.terminate();
    throw error;
  });
  return { ask: (request) => worker.postMessage(request), stop: () => worker.terminate() };
};

/** On the thread that calls this. */
export const onThisThread = async (start: ServerStart, requester: ThreadClient): Promise<Server> => {
  const { servePglite } = await import("./pglite-server.ts");
  // What is asked within somebody's transaction or span is served within none.
  const outside = AsyncLocalStorage.snapshot();
  const serve = await servePglite(start, (reply) => requester.hear(reply));
  // Between two questions others have their turn, as they have beside a thread.
  return { ask: (request) => outside(() => void setImmediate(serve, request)), stop: async () => {} };
};
