import { parentPort, workerData } from "node:worker_threads";
import type { ServerRequest, ServerStart, WorkerReply } from "./pglite-protocol.ts";
import { servePglite } from "./pglite-server.ts";

/** The embedded database in a thread of its own: it would starve the event loop of whoever asks it. */

const port = parentPort;
if (port === null) throw new Error("pglite-worker.ts runs as a worker");
const reply = (message: WorkerReply): void => port.postMessage(message);
const serve = await servePglite(workerData as ServerStart, reply).catch((error: unknown) => {
  reply({ failed: error instanceof Error ? error.message : String(error) });
  process.exit(1);
});
port.on("message", (request: ServerRequest) => serve(request));
reply({ ready: true });
