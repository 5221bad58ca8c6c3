import { createSseParser, sseFrame, type SsePart } from "#http/sse.ts";
import type { ByeReason } from "#events/streams/stream.ts";
import type { OpenStream } from "./stream-registry.ts";
import { comeBackMs, RETRY_MS, STREAM_AGE_MS } from "./stream-times.ts";

export interface RelayOptions {
  readonly upstream: ReadableStream<Uint8Array>;
  /** Seconds without a byte from the upstream after which the stream ends. */
  readonly silenceSeconds: number;
  /** False: control events from this upstream are somebody else's words and are dropped. */
  readonly trustsControl: boolean;
  readonly onDropped: () => void;
  readonly onClosed: () => void;
  readonly now: () => Date;
}

/** A frame that the reader has not asked for yet. */
interface Waiting {
  readonly bytes: Uint8Array;
  /** The resume point of a reader that has it. */
  readonly id: string | undefined;
}

const CONTROL: ReadonlySet<string> = new Set(["hello", "bookmark", "resync", "bye"]);
const MAX_FRAME_BYTES = 262_144;
/** What waits for a reader at most; one that is further behind comes back by its last id. */
const MAX_FRAMES = 256;
const MAX_BYTES = 262_144;
/** Frames that wait are handed on together, but never so many that the connection's own buffer becomes a second queue. */
const CHUNK_BYTES = 65_536;
/** A reader that takes nothing for so long while its frames are at the limit is too slow; a burst is only waited out. */
const SLOW_MS = 2000;
const HEARTBEAT_MS = 15_000;

const oneLine = (text: string): string => text.replace(/[\r\n\0]/g, "");

const frameOf = (part: SsePart & { readonly kind: "message" }): string =>
  sseFrame({
    event: part.event === "message" ? undefined : oneLine(part.event),
    id: part.lastEventId === "" ? undefined : oneLine(part.lastEventId),
    data: part.data,
  });

/** The first word of a stream of Sallyport; on the workflow stream control events are default messages. */
const isHello = (part: SsePart & { readonly kind: "message" }): boolean =>
  part.event === "hello" || (part.event === "message" && part.data.startsWith('{"type":"hello",'));

/**
 * An event stream read and written anew, frame by frame: nothing that the upstream sends can end a frame early or pass for
 * our own words. Ends with `bye` and its reason: the upstream ended or fell silent, the reader is too slow, the hour is
 * over, or somebody says so.
 */
export const relayBody = (options: RelayOptions): { readonly body: ReadableStream<Uint8Array>; readonly stream: OpenStream } => {
  const parser = createSseParser(MAX_FRAME_BYTES);
  const bytes = new TextEncoder();
  const reader = options.upstream.getReader();
  const waiting: Waiting[] = [];
  let waitingBytes = 0;
  /** Where a reader comes back to that gets nothing more of what waits. */
  let resumeId: string | undefined;
  let wake: (() => void) | undefined;
  let taken: (() => void) | undefined;
  let isOpen = true;
  let silence: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;

  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    for (const timer of [silence, heartbeat, age]) clearTimeout(timer);
    taken?.();
    void reader.cancel("the stream has ended").catch(() => {});
    options.onClosed();
  };
  const enqueue = (text: string, id?: string): void => {
    const frame = bytes.encode(text);
    waiting.push({ bytes: frame, id });
    waitingBytes += frame.byteLength;
    wake?.();
  };
  const bye = (reason: ByeReason): void => {
    if (!isOpen) return;
    if (reason === "slow") {
      // What it has not read it asks for again; so the last word is the next one it hears.
      waiting.length = 0;
      waitingBytes = 0;
    }
    const data = JSON.stringify({ type: "bye", at: options.now().toISOString(), reason, retry_ms: comeBackMs() });
    close();
    enqueue(sseFrame({ event: "bye", data, id: reason === "slow" ? resumeId : undefined }));
  };
  const write = (text: string, id?: string): void => {
    if (!isOpen) return;
    heartbeat?.refresh();
    enqueue(text, id);
  };
  /** Waits until the reader has made room. The upstream is not read meanwhile; it has limits of its own. */
  const waitForCapacity = async (): Promise<void> => {
    if (waiting.length < MAX_FRAMES && waitingBytes < MAX_BYTES) return;
    const slow = setTimeout(() => bye("slow"), SLOW_MS);
    await new Promise<void>((resolve) => {
      taken = resolve;
    });
    clearTimeout(slow);
  };
  const age = setTimeout(() => bye("limit"), STREAM_AGE_MS).unref();

  const take = (part: SsePart): void => {
    if (part.kind !== "message") return;
    if (CONTROL.has(part.event) && !options.trustsControl) {
      options.onDropped();
      return;
    }
    const id = part.lastEventId === "" ? undefined : oneLine(part.lastEventId);
    // A reader that has read nothing yet comes back to where the stream began for it.
    if (options.trustsControl && isHello(part)) resumeId ??= id;
    write(frameOf(part), id);
    // The upstream has said its own last word.
    if (part.event !== "bye" || !isOpen) return;
    close();
    wake?.();
  };

  const pump = async (): Promise<void> => {
    while (isOpen) {
      const { done, value } = await reader.read();
      if (done) return bye("upstream");
      silence?.refresh();
      for (const part of parser.push(value)) {
        await waitForCapacity();
        take(part);
      }
    }
  };

  /** The frames that wait, up to a chunk; at least one. */
  const takeChunk = (): Uint8Array => {
    let size = 0;
    let count = 0;
    for (const { bytes: next, id } of waiting) {
      if (count > 0 && size + next.byteLength > CHUNK_BYTES) break;
      size += next.byteLength;
      count += 1;
      resumeId = id ?? resumeId;
    }
    waitingBytes -= size;
    taken?.();
    const frames = waiting.splice(0, count).map((frame) => frame.bytes);
    const [only] = frames;
    return only !== undefined && frames.length === 1 ? only : Buffer.concat(frames, size);
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start: () => {
        silence = setTimeout(() => bye("upstream"), options.silenceSeconds * 1000).unref();
        heartbeat = setInterval(() => waiting.length === 0 && write(sseFrame({ comment: "hb" })), HEARTBEAT_MS).unref();
        write(sseFrame({ retry: RETRY_MS }));
        pump().catch(() => bye("upstream"));
      },
      pull: async (controller) => {
        if (waiting.length === 0 && isOpen) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = undefined;
        }
        if (waiting.length > 0) controller.enqueue(takeChunk());
        if (waiting.length === 0 && !isOpen) controller.close();
      },
      cancel: () => {
        close();
        wake?.();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, stream: { bye } };
};
