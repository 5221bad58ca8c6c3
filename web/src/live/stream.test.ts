import assert from "node:assert/strict";
import { test } from "node:test";
import { createStream, type EventSourceLike, type StreamEvent, type StreamState } from "./stream.ts";

class FakeSource implements EventSourceLike {
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  closed = false;
  readonly url: string;
  readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();
  constructor(url: string) {
    this.url = url;
  }
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(type, listener);
  }
  close(): void {
    this.closed = true;
  }
  say(kind: string, data: unknown): void {
    this.listeners.get(kind)?.({ data: typeof data === "string" ? data : JSON.stringify(data) } as MessageEvent<string>);
  }
}

const setUp = (path = "/s") => {
  const sources: FakeSource[] = [];
  const events: StreamEvent[] = [];
  const states: StreamState["phase"][] = [];
  const calls: string[] = [];
  const timers: { run: () => void; at: number; cancelled: boolean }[] = [];
  let clock = 0;
  const stream = createStream({
    path,
    kinds: ["budget", "delegation"],
    open: (url) => {
      const source = new FakeSource(url);
      sources.push(source);
      return source;
    },
    now: () => new Date(clock),
    random: () => 1,
    setTimer: (run, milliseconds) => {
      const timer = { run, at: clock + milliseconds, cancelled: false };
      timers.push(timer);
      return () => {
        timer.cancelled = true;
      };
    },
    onEvent: (event) => void events.push(event),
    onGap: () => void calls.push("gap"),
    onSessionDoubt: () => void calls.push("doubt"),
    onState: (state) => void states.push(state.phase),
  });
  /** Lets time pass; timers run in order at their own moment. */
  const pass = (milliseconds: number): void => {
    const end = clock + milliseconds;
    for (;;) {
      const next = timers.filter((timer) => !timer.cancelled && timer.at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      next.cancelled = true;
      clock = next.at;
      next.run();
    }
    clock = end;
  };
  const source = (index: number): FakeSource => {
    const found = sources.at(index);
    assert.ok(found !== undefined, `source ${index} was opened`);
    return found;
  };
  const last = (): FakeSource => source(-1);
  return { stream, sources, source, events, states, calls, pass, last };
};

test("an event that is not newer than the last changes nothing", () => {
  const { stream, last, events } = setUp();
  stream.start();
  last().onopen?.({} as Event);
  last().say("budget", { type: "budget.changed", seq: 4, steps_left: 3 });
  last().say("budget", { type: "budget.changed", seq: 4, steps_left: 9 });
  last().say("budget", { type: "budget.changed", seq: 3, steps_left: 9 });
  last().say("delegation", { type: "delegation.revoked", seq: 5 });
  assert.deepEqual(
    events.map((event) => [event.kind, event.seq]),
    [
      ["budget", 4],
      ["delegation", 5],
    ],
  );
});

test("what cannot be read as an event is dropped", () => {
  const { stream, last, events } = setUp();
  stream.start();
  for (const bad of ["", "nonsense", "[1]", "null", '{"seq":"7"}', '{"type":"x"}']) last().say("budget", bad);
  assert.equal(events.length, 0);
});

test("after an issue the source is closed and a new one opened from the last event seen", () => {
  const { stream, sources, source, last, pass, states } = setUp();
  stream.start();
  assert.equal(last().url, "/s");
  last().onopen?.({} as Event);
  last().say("budget", { type: "b", seq: 7 });
  last().onerror?.({} as Event);
  assert.equal(source(0).closed, true);
  assert.equal(sources.length, 1);
  pass(3_000);
  assert.equal(last().url, "/s?last_event_id=7");
  last().onopen?.({} as Event);
  assert.deepEqual(states, ["connecting", "live", "down", "live"]);
});

test("a bookmark moves the point from which the stream is resumed", () => {
  const { stream, last, pass } = setUp();
  stream.start();
  last().onopen?.({} as Event);
  last().say("bookmark", { type: "bookmark", seq: 40 });
  last().onerror?.({} as Event);
  pass(3_000);
  assert.equal(last().url, "/s?last_event_id=40");
});

test("controls of the workflow stream come as default messages; an address with a query is resumed too", () => {
  const { stream, last, pass, events, calls } = setUp("/s?run_id=run_1");
  stream.start();
  last().onopen?.({} as Event);
  last().say("message", { type: "hello", seq: 3 });
  last().say("message", { type: "bookmark", seq: 40 });
  last().say("message", { type: "step.started", seq: 41 });
  last().say("message", { type: "resync", seq: 42 });
  assert.deepEqual([events.length, calls], [0, ["gap"]]);
  last().onerror?.({} as Event);
  pass(3_000);
  assert.equal(last().url, "/s?run_id=run_1&last_event_id=42");
});

test("the waits grow while the stream does not open, and each time the session is looked at", () => {
  const { stream, sources, last, pass, calls } = setUp();
  stream.start();
  last().onerror?.({} as Event);
  pass(3_000);
  assert.equal(sources.length, 2);
  last().onerror?.({} as Event);
  pass(5_999);
  assert.equal(sources.length, 2);
  pass(1);
  assert.equal(sources.length, 3);
  assert.deepEqual(calls, ["doubt", "doubt"]);
});

test("45 seconds without a word count as an issue", () => {
  const { stream, source, last, pass } = setUp();
  stream.start();
  last().onopen?.({} as Event);
  pass(44_000);
  last().say("bookmark", { type: "bookmark", seq: 1 });
  pass(44_999);
  assert.equal(source(0).closed, false);
  pass(1);
  assert.equal(source(0).closed, true);
});

test("a resync and a minute away ask for everything on screen to be read again", () => {
  const { stream, last, pass, calls } = setUp();
  stream.start();
  last().onopen?.({} as Event);
  last().say("resync", { type: "resync", seq: 90, reason: "too_old" });
  assert.deepEqual(calls, ["gap"]);
  last().onerror?.({} as Event);
  for (let attempt = 0; attempt < 6; attempt += 1) {
    pass(60_000);
    if (attempt < 5) last().onerror?.({} as Event);
  }
  last().onopen?.({} as Event);
  assert.equal(calls.filter((call) => call === "gap").length, 2);
});

test("after a sign-out the stream stays closed", () => {
  const { stream, sources, last, pass, calls, states } = setUp();
  stream.start();
  last().onopen?.({} as Event);
  last().say("bye", { type: "bye", seq: 1, reason: "signed_out" });
  pass(600_000);
  assert.equal(sources.length, 1);
  assert.deepEqual(calls, ["doubt"]);
  assert.equal(states.at(-1), "stopped");
});

test("after any other goodbye it comes back when the server says, and the session is looked at where it may be over", () => {
  for (const [reason, doubts] of [
    ["drain", []],
    ["upstream", []],
    ["revoked", ["doubt"]],
    ["expired", ["doubt"]],
  ] as const) {
    const { stream, sources, last, pass, calls } = setUp();
    stream.start();
    last().onopen?.({} as Event);
    last().say("bye", { type: "bye", seq: 1, reason, retry_ms: 700 });
    pass(699);
    assert.equal(sources.length, 1);
    pass(1);
    assert.equal(sources.length, 2, reason);
    assert.deepEqual(calls, doubts);
  }
});

test("a source that was closed is no longer listened to", () => {
  const { stream, sources, source, last, pass, events } = setUp();
  stream.start();
  last().onerror?.({} as Event);
  pass(3_000);
  source(0).say("budget", { type: "b", seq: 3 });
  source(0).onerror?.({} as Event);
  assert.equal(events.length, 0);
  assert.equal(sources.length, 2);
  stream.stop();
  assert.equal(last().closed, true);
  pass(600_000);
  assert.equal(sources.length, 2);
});
