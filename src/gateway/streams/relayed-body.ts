import { createSseParser, sseFrame, type SsePart } from "#http/sse.ts";
import type { ByeReason, OpenStream } from "./stream-registry.ts";

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

const CONTROL: ReadonlySet<string> = new Set(["hello", "bookmark", "resync", "bye"]);
const MAX_FRAME_BYTES = 262_144;
const QUEUE_BYTES = 262_144;
/** A frame counts for at least this much, so that the queue also holds at most 256 of them. */
const LEAST_FRAME_BYTES = 1024;
const HEARTBEAT_MS = 15_000;
const AGE_MS = 3_600_000;
const RETRY_MS = 3000;

const oneLine = (text: string): string => text.replace(/[\r\n\0]/g, "");

const frameOf = (part: SsePart & { readonly kind: "message" }): string =>
  sseFrame({
    event: part.event === "message" ? undefined : oneLine(part.event),
    id: part.lastEventId === "" ? undefined : oneLine(part.lastEventId),
    data: part.data,
  });

/** Between 2 and 5 s, so that clients cut at once do not come back at once. */
const comeBackMs = (): number => 2000 + Math.round(Math.random() * 3000);

/**
 * An event stream read and written anew, frame by frame: nothing that the upstream sends can end a frame early or pass for
 * our own words. Ends with `bye` and its reason: the upstream ended or fell silent, the reader is too slow, the hour is
 * over, or somebody says so.
 */
export const relayBody = (options: RelayOptions): { readonly body: ReadableStream<Uint8Array>; readonly stream: OpenStream } => {
  const parser = createSseParser(MAX_FRAME_BYTES);
  const bytes = new TextEncoder();
  const reader = options.upstream.getReader();
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let isOpen = true;
  let silence: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;

  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    for (const timer of [silence, heartbeat, age]) clearTimeout(timer);
    void reader.cancel("the stream has ended").catch(() => {});
    options.onClosed();
  };
  const write = (text: string): void => {
    if (!isOpen) return;
    heartbeat?.refresh();
    controller.enqueue(bytes.encode(text));
    if ((controller.desiredSize ?? 0) <= 0) bye("slow");
  };
  const bye = (reason: ByeReason): void => {
    if (!isOpen) return;
    const data = JSON.stringify({ type: "bye", at: options.now().toISOString(), reason, retry_ms: comeBackMs() });
    controller.enqueue(bytes.encode(sseFrame({ event: "bye", data })));
    close();
    controller.close();
  };
  const age = setTimeout(() => bye("limit"), AGE_MS).unref();

  const take = (part: SsePart): void => {
    if (part.kind !== "message") return;
    if (CONTROL.has(part.event) && !options.trustsControl) {
      options.onDropped();
      return;
    }
    write(frameOf(part));
    // The upstream has said its own last word.
    if (part.event !== "bye" || !isOpen) return;
    close();
    controller.close();
  };

  const pump = async (): Promise<void> => {
    while (isOpen) {
      const { done, value } = await reader.read();
      if (done) return bye("upstream");
      silence?.refresh();
      for (const part of parser.push(value)) take(part);
    }
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
        silence = setTimeout(() => bye("upstream"), options.silenceSeconds * 1000).unref();
        heartbeat = setInterval(() => write(sseFrame({ comment: "hb" })), HEARTBEAT_MS).unref();
        write(sseFrame({ retry: RETRY_MS }));
        pump().catch(() => bye("upstream"));
      },
      cancel: () => close(),
    },
    { highWaterMark: QUEUE_BYTES, size: (chunk) => Math.max(chunk.byteLength, LEAST_FRAME_BYTES) },
  );
  return { body, stream: { bye } };
};
