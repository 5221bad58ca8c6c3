import { isObject } from "#contract/is-object.ts";
import { reconnectAfter } from "./backoff.ts";

/** The part of `EventSource` that is used; a test brings its own. */
export interface EventSourceLike {
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

export interface StreamEvent {
  readonly kind: string;
  readonly type: string;
  readonly seq: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export type StreamState =
  | { readonly phase: "connecting" }
  | { readonly phase: "live" }
  | { readonly phase: "down"; readonly since: Date }
  | { readonly phase: "stopped" };

export interface StreamParts {
  readonly path: string;
  /** Names of the events that carry data. */
  readonly kinds: readonly string[];
  readonly open: (url: string) => EventSourceLike;
  readonly now: () => Date;
  readonly random: () => number;
  readonly setTimer: (run: () => void, milliseconds: number) => () => void;
  readonly onEvent: (event: StreamEvent) => void;
  /** What was missed cannot be had from the stream: read again what is on screen. */
  readonly onGap: () => void;
  /** The server ended the stream for the session's sake, or did not open it: perhaps the session is over. */
  readonly onSessionDoubt: () => void;
  readonly onState: (state: StreamState) => void;
}

export interface Stream {
  start(): void;
  stop(): void;
  /** Opens at once, whatever the waiting time. */
  retryNow(): void;
  /** The last event that came, by whatever way; 0: none yet. */
  readonly place: number;
  /** Events up to this one came another way. */
  passed(seq: number): void;
}

const SILENCE_MS = 45_000;
const AWAY_MS = 60_000;
/** After these the session is looked at; only after `signed_out` is it certain that nothing will open again. */
const SESSION_ENDS = new Set(["signed_out", "revoked", "expired"]);
const controls = ["hello", "bookmark", "resync", "bye"] as const;
type Control = (typeof controls)[number];
const isControl = (type: string): type is Control => controls.some((one) => one === type);

const parse = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);

/** What a stream needs of a browser. */
export const browser: Pick<StreamParts, "open" | "now" | "random" | "setTimer"> = {
  open: (url) => new EventSource(url),
  now: () => new Date(),
  random: Math.random,
  setTimer: (run, milliseconds) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/**
 * One stream of events, held open. The browser's own reconnect is never used: on an issue the source is closed and a new
 * one opened after a while, from the last event seen. An event that is not newer than the last changes nothing.
 */
export const createStream = (parts: StreamParts): Stream => {
  let source: EventSourceLike | undefined;
  let lastSeq = 0;
  let failures = 0;
  let state: StreamState = { phase: "stopped" };
  let cancelWait = (): void => undefined;
  let cancelSilence = (): void => undefined;

  const become = (next: StreamState): void => {
    if (next.phase === "down" && state.phase === "down") return;
    state = next;
    parts.onState(next);
  };
  const received = (): void => {
    cancelSilence();
    cancelSilence = parts.setTimer(() => fail(undefined), SILENCE_MS);
  };
  const closeSource = (): void => {
    cancelSilence();
    source?.close();
    source = undefined;
  };
  const fail = (askedMs: number | undefined): void => {
    closeSource();
    cancelWait();
    become({ phase: "down", since: parts.now() });
    cancelWait = parts.setTimer(openSource, reconnectAfter(failures, askedMs, parts.random));
    failures += 1;
  };
  const live = (): void => {
    failures = 0;
    const wasAway = state.phase === "down" && parts.now().getTime() - state.since.getTime() >= AWAY_MS;
    become({ phase: "live" });
    if (wasAway) parts.onGap();
  };

  const onControl = (kind: Control, data: Readonly<Record<string, unknown>>): void => {
    const seq = number(data["seq"]);
    if (kind === "bye") {
      const reason = text(data["reason"]);
      if (reason === "signed_out") {
        closeSource();
        become({ phase: "stopped" });
      } else fail(number(data["retry_ms"]));
      if (SESSION_ENDS.has(reason)) parts.onSessionDoubt();
      return;
    }
    if (kind === "resync") {
      lastSeq = seq ?? lastSeq;
      parts.onGap();
      return;
    }
    // The very first hello names the point from which the stream is followed; later ones come before a replay.
    if (seq !== undefined && (kind === "hello" ? lastSeq === 0 : seq > lastSeq)) lastSeq = seq;
  };

  const onData = (kind: string, data: Readonly<Record<string, unknown>>): void => {
    const seq = number(data["seq"]);
    if (seq === undefined || seq <= lastSeq) return;
    lastSeq = seq;
    parts.onEvent({ kind, type: text(data["type"]), seq, data });
  };

  const openSource = (): void => {
    closeSource();
    if (state.phase !== "down") become({ phase: "connecting" });
    const joint = parts.path.includes("?") ? "&" : "?";
    const opened = parts.open(lastSeq === 0 ? parts.path : `${parts.path}${joint}last_event_id=${lastSeq}`);
    source = opened;
    let isOpen = false;
    const listen = (kind: string, handle: (data: Readonly<Record<string, unknown>>) => void): void =>
      opened.addEventListener(kind, (event) => {
        if (source !== opened) return;
        received();
        const data = parse(event.data);
        if (data !== undefined) handle(data);
      });
    opened.onopen = () => {
      if (source !== opened) return;
      isOpen = true;
      received();
      live();
    };
    opened.onerror = () => {
      if (source !== opened) return;
      if (!isOpen) parts.onSessionDoubt();
      fail(undefined);
    };
    for (const kind of parts.kinds) listen(kind, (data) => onData(kind, data));
    for (const kind of controls) listen(kind, (data) => onControl(kind, data));
    // The workflow stream has its control frames as default messages.
    listen("message", (data) => {
      const type = text(data["type"]);
      if (isControl(type)) onControl(type, data);
    });
    received();
  };

  return {
    start: () => {
      if (source === undefined) openSource();
    },
    stop: () => {
      cancelWait();
      closeSource();
      become({ phase: "stopped" });
    },
    retryNow: () => {
      cancelWait();
      openSource();
    },
    get place() {
      return lastSeq;
    },
    passed: (seq) => void (lastSeq = Math.max(lastSeq, seq)),
  };
};
