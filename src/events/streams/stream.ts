import type { UnderlyingDefaultSource } from "node:stream/web";
import { Problem } from "#contract/problem.ts";
import { sseFrame, sseHeaders } from "#http/sse.ts";
import type { ConfigWatch } from "./config-watch.ts";
import type { BusFrame, LiveBus, StreamEvent } from "./live-bus.ts";
import { startRecheck } from "./recheck.ts";

export interface StreamOptions {
  readonly bus: LiveBus;
  readonly stream: string;
  readonly tenant: string;
  /** Subject ids of the reader; see `LiveBus.subscribe`. */
  readonly subject: string | readonly string[];
  /** True: also events addressed to others. */
  readonly seesAll: boolean;
  /** `Last-Event-ID` as it came, or `?last_event_id=`. */
  readonly lastEventId: string | undefined;
  /** Only these kinds; undefined = all. */
  readonly kinds?: ReadonlySet<string> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** May the reader still read? Asked each 60 s and after `rightChanges`; false ends the stream. */
  readonly recheck?: (() => Promise<boolean>) | undefined;
  /** Called once when the stream is over, whoever ended it; not where none began. */
  readonly ended?: (() => void) | undefined;
  /** REST paths that hold what a lost window would have told. */
  readonly reload?: readonly string[] | undefined;
  /** Last touch on what is shown of an event, e.g. names of persons. */
  readonly present?: ((event: StreamEvent) => Promise<Readonly<Record<string, unknown>>>) | undefined;
  /** Which events are shown at all, beyond `kinds` and who they are addressed to. */
  readonly only?: ((event: StreamEvent) => boolean | Promise<boolean>) | undefined;
  /** Makes it list-and-watch: what there is, then what becomes of it. */
  readonly watch?: Watched | undefined;
  readonly now?: (() => Date) | undefined;
  /** Milliseconds between bookmarks; default 15 s. For tests. */
  readonly bookmarkMs?: number | undefined;
  /** When policies, the graph, delegations or sessions of the tenant change: `recheck` is then asked, at most once a second. */
  readonly rightChanges?: Pick<ConfigWatch, "watch"> | undefined;
  readonly recheckMs?: number | undefined;
  /** Milliseconds after which it ends as `expired`: with the token that it was opened with. */
  readonly endsInMs?: number | undefined;
}

/** A frame of what a list-and-watch stream is of. */
export interface Reported {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Of a list-and-watch stream. */
export interface Watched {
  /** All that there is, told to a reader that names no place and to one whose window is lost; `synced` with their number follows. One frame is made at a time. */
  list(): Promise<readonly (() => Reported)[]>;
  /** What became of the object that an event is about: told instead of the event. */
  now(event: StreamEvent): Promise<Reported>;
}

export type ByeReason = "signed_out" | "expired" | "revoked" | "step_up" | "drain" | "slow" | "limit" | "upstream";

const BOOKMARK_MS = 15_000;
/** What a reader that stopped reading costs, beside its socket. */
const HELD_BYTES = 65_536;
const RECHECK_MS = 60_000;

/** Between 2 and 5 s, so that a thousand clients cut at once do not come back at once. */
const retryMs = (): number => 2_000 + Math.round(Math.random() * 3_000);

const eventText = (event: StreamEvent, shown: Readonly<Record<string, unknown>>): string =>
  sseFrame({
    event: event.kind ?? event.type,
    id: String(event.seq),
    data: JSON.stringify({
      ...shown,
      id: event.id,
      type: event.type,
      seq: Number(event.seq),
      at: shown["at"] ?? event.at,
      correlation_id: event.correlationId,
    }),
  });

/**
 * A live stream as server-sent events. First `hello` with the place where it begins, then what was missed, then what
 * happens; `bookmark` each 15 s moves the resume point, `resync` says that events are lost and what to read again, `bye` says why the server ends it.
 * Throws `store_unavailable` rather than answering with a stream that cannot begin.
 */
export const streamResponse = async (options: StreamOptions): Promise<Response> => {
  const { bus, stream, kinds, only, watch } = options;
  const now = options.now ?? (() => new Date());
  const leave = new AbortController();
  const signal = options.signal === undefined ? leave.signal : AbortSignal.any([options.signal, leave.signal]);
  const bytes = new TextEncoder();
  let wake: () => void = () => undefined;
  let finish: (reason: ByeReason) => void = () => leave.abort();

  const subscription = bus.subscribe({ ...options, after: options.lastEventId, signal, onSlow: () => finish("slow") });
  const frames = subscription[Symbol.asyncIterator]();
  const first = await frames.next();
  if (first.done === true) throw new Problem("stopping");

  // On the workflow stream the control frames are the default messages of the contract: without an `event:` line.
  const control = (type: string, members: Readonly<Record<string, unknown>>, seq: bigint, withId: boolean): string =>
    sseFrame({
      event: stream === "workflow" ? undefined : type,
      id: withId && seq >= 0n ? String(seq) : undefined,
      data: JSON.stringify({ type, seq: Number(seq), at: now().toISOString(), ...members }),
    });

  const reportedText = ({ event, data }: Reported, id?: bigint): string =>
    sseFrame({ event, id: id === undefined ? undefined : String(id), data: JSON.stringify(data) });
  /** Without ids: a reader that is cut in the middle of the list begins it anew. */
  const listTexts = async function* ({ list }: Watched, seq: bigint): AsyncGenerator<string> {
    const objects = await list();
    for (const object of objects) yield reportedText(object());
    yield control("synced", { count: objects.length }, seq, true);
  };

  const textsOf = async function* (frame: BusFrame): AsyncGenerator<string> {
    switch (frame.kind) {
      case "start": {
        const isListed = watch !== undefined && options.lastEventId === undefined;
        // With its place: a reader that is cut before its first event comes back to here, not to whatever is newest then.
        yield sseFrame({ retry: retryMs() }) + control("hello", { stream, replaying: frame.replaying }, frame.seq, !isListed);
        if (isListed) yield* listTexts(watch, frame.seq);
        return;
      }
      case "event": {
        const { event } = frame;
        if (kinds?.has(event.kind ?? "") === false || (await only?.(event)) === false) return;
        if (watch !== undefined) yield reportedText(await watch.now(event), event.seq);
        else yield eventText(event, options.present === undefined ? event.data : await options.present(event));
        return;
      }
      case "caught_up":
        return yield control("bookmark", {}, frame.seq, true);
      case "resync":
        yield control("resync", { reason: frame.reason, reload: options.reload ?? [] }, frame.seq, watch === undefined);
        if (watch !== undefined) yield* listTexts(watch, frame.seq);
        return;
      case "bye":
        return yield control("bye", { reason: frame.reason, retry_ms: retryMs() }, subscription.position, false);
    }
  };

  let timers: readonly NodeJS.Timeout[] = [];
  const recheck = startRecheck(options.recheckMs ?? RECHECK_MS, () => {
    // Not decidable is not permitted: the client comes back and is refused or let in.
    options.recheck?.().then(
      (may) => (may ? undefined : finish("revoked")),
      () => finish("upstream"),
    );
  });
  const unwatch = options.recheck === undefined ? undefined : options.rightChanges?.watch(options.tenant, recheck.soon);
  let hasLeft = false;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start: (controller) => {
      let open = true;
      const write = (text: string): void => {
        if (open && text !== "") controller.enqueue(bytes.encode(text));
      };
      const close = (): void => {
        if (!open) return;
        open = false;
        timers.forEach(clearInterval);
        recheck.stop();
        unwatch?.();
        options.ended?.();
        signal.removeEventListener("abort", close);
        leave.abort();
        wake();
        // Ends the subscription also where it waits for somebody to take its next frame.
        void frames.return?.(undefined)?.catch(() => undefined);
        // A reader that left has closed it already; closing it again would throw where nobody catches.
        if (!hasLeft) controller.close();
      };
      finish = (reason) => {
        write(control("bye", { reason, retry_ms: retryMs() }, subscription.position, false));
        close();
      };
      timers = [
        setInterval(() => {
          if ((controller.desiredSize ?? 0) <= 0) return;
          // A bookmark vouches for what was shown; without a fresh bus only the connection is kept.
          write(bus.isFresh() ? control("bookmark", {}, subscription.position, true) : sseFrame({ comment: "waiting" }));
        }, options.bookmarkMs ?? BOOKMARK_MS),
        ...(options.endsInMs === undefined ? [] : [setTimeout(() => finish("expired"), options.endsInMs)]),
      ];
      signal.addEventListener("abort", close, { once: true });

      /** Until the reader takes more. */
      const capacity = async (): Promise<void> => {
        while (open && (controller.desiredSize ?? 0) <= 0) {
          const taken = Promise.withResolvers<void>();
          wake = taken.resolve;
          await taken.promise;
        }
      };
      const pump = async (): Promise<void> => {
        for (let step: IteratorResult<BusFrame> = first; open && step.done !== true; step = await frames.next()) {
          for await (const text of textsOf(step.value)) {
            write(text);
            await capacity();
          }
        }
        close();
      };
      pump().catch(() => finish("upstream"));
    },
    pull: () => wake(),
    cancel: () => {
      hasLeft = true;
      leave.abort();
    },
  };
  const body = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: HELD_BYTES }));
  return new Response(body, { headers: sseHeaders });
};
