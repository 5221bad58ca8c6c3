import type { ServerResponse } from "node:http";
import type { ReadableStreamReadResult } from "node:stream/web";

/** These answers never have a body, whatever the upstream says. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

const headerList = (response: Response): [string, string][] => {
  const list: [string, string][] = [];
  for (const [name, value] of response.headers) if (name !== "set-cookie" && name !== "transfer-encoding") list.push([name, value]);
  for (const cookie of response.headers.getSetCookie()) list.push(["set-cookie", cookie]);
  return list;
};

/** A reader that takes nothing for so long keeps nobody else's place. */
const STALL_MS = 60_000;

const drained = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const stalled = setTimeout(() => outgoing.destroy(), STALL_MS);
    const done = () => {
      clearTimeout(stalled);
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });

const nextTurn = (): Promise<"later"> => new Promise((resolve) => setImmediate(() => resolve("later")));

/**
 * The first bytes, and whether they are all: an answer that lies ready as a whole is sent with its length. Nothing that
 * still flows waits for more than one turn of the event loop.
 */
const readBeginning = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
  const first = await reader.read();
  if (first.done) return { chunk: undefined, isWhole: true, next: undefined };
  const next = reader.read();
  // Whoever takes `next` later sees a failure; here it must not count as unhandled meanwhile.
  next.catch(() => {});
  const seen = await Promise.race([next, nextTurn()]).catch(() => "later" as const);
  return { chunk: first.value, isWhole: seen !== "later" && seen.done, next };
};

export interface WriteOptions {
  readonly isHead: boolean;
  /** The connection ends with this answer. */
  readonly close: boolean;
}

/**
 * Writes an answer to the raw connection with back-pressure; event streams leave at once. When the source dies after the
 * head has left, the connection is destroyed: a cut body never looks complete. When the client leaves, the source is
 * cancelled. Never throws.
 */
export const writeResponse = async (response: Response, outgoing: ServerResponse, options: WriteOptions): Promise<void> => {
  const headers = headerList(response);
  if (options.close) headers.push(["connection", "close"]);
  const hasBody = response.body !== null && !options.isHead && !bodiless.has(response.status);
  if (!hasBody) {
    void response.body?.cancel().catch(() => {});
    const length = options.isHead ? response.headers.get("content-length") : bodiless.has(response.status) ? null : "0";
    const kept = headers.filter(([name]) => name !== "content-length");
    if (length !== null) kept.push(["content-length", length]);
    outgoing.writeHead(response.status, kept.flat());
    outgoing.end();
    return;
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const left = () => void reader.cancel("the client has left").catch(() => {});
  outgoing.on("close", left);
  try {
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    if (isStream) {
      outgoing.writeHead(response.status, headers.flat());
      outgoing.flushHeaders();
      await pump(reader, outgoing, undefined);
      return;
    }
    const beginning = await readBeginning(reader);
    if (beginning.isWhole && !response.headers.has("content-length"))
      headers.push(["content-length", String(beginning.chunk?.byteLength ?? 0)]);
    outgoing.strictContentLength = true;
    outgoing.writeHead(response.status, headers.flat());
    if (beginning.chunk !== undefined && !outgoing.write(beginning.chunk)) await drained(outgoing);
    await pump(reader, outgoing, beginning.next);
  } catch {
    outgoing.destroy();
  } finally {
    outgoing.off("close", left);
  }
};

const pump = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
  pending: Promise<ReadableStreamReadResult<Uint8Array>> | undefined,
): Promise<void> => {
  let next = pending ?? reader.read();
  for (;;) {
    const { done, value } = await next;
    if (outgoing.destroyed) return;
    if (done) break;
    if (!outgoing.write(value)) await drained(outgoing);
    next = reader.read();
  }
  outgoing.end();
};
