import { createStream, type Stream, type StreamEvent, type StreamParts, type StreamState } from "./stream.ts";

type Message =
  | { readonly type: "event"; readonly event: StreamEvent }
  | { readonly type: "gap" }
  | { readonly type: "doubt" }
  | { readonly type: "ask" }
  | { readonly type: "state"; readonly state: StreamState };

/**
 * A stream that all tabs of a browser share: the tab that has the lock of its path holds it, and passes on what comes. When that tab goes
 * away another one takes the stream up after the last event. A tab that nobody looks at holds nothing after `stop`, and reads anew
 * what it missed meanwhile.
 */
export const createSharedStream = (parts: StreamParts): Stream & { readonly close: () => void } => {
  const name = `sallyport-stream ${parts.path}`;
  const channel = new BroadcastChannel(name);
  const tell = (message: Message): void => channel.postMessage(message);
  let isLeading = false;
  let isStopped = true;
  let hasMissed = false;
  let hasFollowed = false;
  let leave: (() => void) | undefined;
  let state: StreamState = { phase: "stopped" };

  const own = createStream({
    ...parts,
    onEvent: (event) => {
      tell({ type: "event", event });
      parts.onEvent(event);
    },
    onGap: () => {
      tell({ type: "gap" });
      parts.onGap();
    },
    onSessionDoubt: () => {
      tell({ type: "doubt" });
      parts.onSessionDoubt();
    },
    onState: (next) => {
      state = next;
      if (isLeading) tell({ type: "state", state });
      parts.onState(next);
    },
  });
  /** What came is not read while nobody looks: only that something was missed. */
  const unlessStopped = (take: () => void): void => {
    if (isStopped) hasMissed = true;
    else take();
  };
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.type === "ask") {
      if (isLeading) tell({ type: "state", state });
    } else if (isLeading) return;
    else if (data.type === "event") {
      own.passed(data.event.seq);
      unlessStopped(() => parts.onEvent(data.event));
    } else if (data.type === "gap") unlessStopped(parts.onGap);
    else if (data.type === "doubt") parts.onSessionDoubt();
    else {
      hasFollowed = true;
      if (!isStopped) parts.onState(data.state);
    }
  });

  const lead = async (left: AbortSignal): Promise<void> => {
    if (left.aborted) return;
    isLeading = true;
    // Another tab had it before, and nothing came by which to go on: what came between the two is not known.
    if (hasFollowed && own.place === 0) parts.onGap();
    own.start();
    await new Promise((resolve) => left.addEventListener("abort", resolve, { once: true }));
    isLeading = false;
    own.stop();
  };

  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    leave?.();
    leave = undefined;
    parts.onState({ phase: "stopped" });
  };

  return {
    start: () => {
      if (!isStopped) return;
      isStopped = false;
      const left = new AbortController();
      leave = () => left.abort();
      if (hasMissed) parts.onGap();
      hasMissed = false;
      tell({ type: "ask" });
      // A page without locks (plain http) holds a stream of its own.
      if (navigator.locks === undefined) void lead(left.signal);
      else void navigator.locks.request(name, { signal: left.signal }, () => lead(left.signal)).catch(() => undefined);
    },
    stop,
    retryNow: () => {
      if (isLeading) own.retryNow();
    },
    get place() {
      return own.place;
    },
    passed: own.passed,
    close: () => {
      stop();
      channel.close();
    },
  };
};
