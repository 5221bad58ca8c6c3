import type { ServerResponse } from "node:http";
import type { ReadableStreamReadResult } from "node:stream/web";
import { bodiless, discard, isEventStream, linesOf, type Answer } from "#gateway/model/answer.ts";
import type { ReaderWatch } from "./reader-watch.ts";

const flatHeaders = (answer: Answer, skipped?: string): string[] => {
  const flat: string[] = [];
  const lines = linesOf(answer.headers);
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] as string;
    if (name !== "transfer-encoding" && name !== skipped) flat.push(name, lines[at + 1] as string);
  }
  return flat;
};

const ONE_WRITE_BYTES = 16_384;

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
  readonly readers: ReaderWatch;
}

/**
 * Writes an answer to the raw connection with back-pressure; event streams leave at once. When the source dies after the
 * head has left, the connection is destroyed: a cut body never looks complete. When the client leaves, the source is
 * cancelled. Never throws.
 */
export const writeResponse = async (answer: Answer, outgoing: ServerResponse, options: WriteOptions): Promise<void> => {
  const { body, status } = answer;
  const isBodiless = bodiless.has(status);
  if (body === null || options.isHead || isBodiless) {
    discard(answer);
    const length = options.isHead ? answer.headers.get("content-length") : isBodiless ? null : "0";
    writeHead(answer, outgoing, options, length ?? "none");
    outgoing.end();
    options.readers.ended(outgoing);
    return;
  }
  if (body instanceof Uint8Array) {
    writeHead(answer, outgoing, options, String(body.byteLength));
    // As a string it leaves in one write with its head.
    if (body.byteLength <= ONE_WRITE_BYTES)
      outgoing.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"), "latin1");
    else outgoing.end(body);
    options.readers.ended(outgoing);
    return;
  }
  const reader = body.getReader();
  const left = () => void reader.cancel("the client has left").catch(() => {});
  outgoing.on("close", left);
  try {
    if (isEventStream(answer)) {
      writeHead(answer, outgoing, options);
      outgoing.flushHeaders();
      await pump(reader, outgoing, options.readers, undefined);
      return;
    }
    const beginning = await readBeginning(reader);
    outgoing.strictContentLength = true;
    const isLengthMissing = beginning.isWhole && !answer.headers.has("content-length");
    writeHead(answer, outgoing, options, isLengthMissing ? String(beginning.chunk?.byteLength ?? 0) : undefined);
    if (beginning.chunk !== undefined && !outgoing.write(beginning.chunk)) await options.readers.drained(outgoing);
    await pump(reader, outgoing, options.readers, beginning.next);
  } catch {
    outgoing.destroy();
  } finally {
    outgoing.off("close", left);
  }
};

/** `length`: ours in place of the answer's own; `none` for neither. */
const writeHead = (answer: Answer, outgoing: ServerResponse, options: WriteOptions, length?: string): void => {
  const flat = flatHeaders(answer, length === undefined ? undefined : "content-length");
  if (length !== undefined && length !== "none") flat.push("content-length", length);
  if (options.close) flat.push("connection", "close");
  outgoing.writeHead(answer.status, flat);
};

const pump = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
  readers: ReaderWatch,
  pending: Promise<ReadableStreamReadResult<Uint8Array>> | undefined,
): Promise<void> => {
  let next = pending ?? reader.read();
  for (;;) {
    const { done, value } = await next;
    if (outgoing.destroyed) return;
    if (done) break;
    if (!outgoing.write(value)) await readers.drained(outgoing);
    next = reader.read();
  }
  outgoing.end();
  readers.ended(outgoing);
};
