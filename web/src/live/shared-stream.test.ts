import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSharedStream } from "./shared-stream.ts";
import { browser, type EventSourceLike } from "./stream.ts";

/** A browser: its sources as they were opened, and tabs that share a stream. Locks and channels are Node's own. */
const open = (t: TestContext) => {
  const path = `/s/${randomUUID()}`;
  const sources: (EventSourceLike & { readonly url: string; isClosed: boolean; say(kind: string, data: unknown): void })[] = [];
  const tab = () => {
    const seen: string[] = [];
    const stream = createSharedStream({
      ...browser,
      path,
      kinds: ["workflow"],
      open: (url) => {
        const listeners = new Map<string, (event: MessageEvent<string>) => void>();
        const source = {
          url,
          isClosed: false,
          onopen: null,
          onerror: null,
          addEventListener: (kind: string, listener: (event: MessageEvent<string>) => void) => void listeners.set(kind, listener),
          close: () => void (source.isClosed = true),
          say: (kind: string, data: unknown) => listeners.get(kind)?.({ data: JSON.stringify(data) } as MessageEvent<string>),
        };
        sources.push(source);
        return source;
      },
      onEvent: ({ seq }) => void seen.push(String(seq)),
      onGap: () => void seen.push("gap"),
      onSessionDoubt: () => void seen.push("doubt"),
      onState: () => undefined,
    });
    t.after(stream.close);
    return { stream, seen };
  };
  return { tab, sources, path, live: () => sources.filter(({ isClosed }) => !isClosed) };
};
/** What tabs tell one another has come by then. */
const settle = () => sleep(50);

test("eight tabs hold one stream, and each receives each event once", async (t) => {
  const { tab, sources, live } = open(t);
  const tabs = Array.from({ length: 8 }, tab);
  for (const { stream } of tabs) stream.start();
  await settle();
  assert.equal(sources.length, 1);
  for (const seq of [1, 2, 2]) live()[0]?.say("workflow", { seq, type: "run.running" });
  live()[0]?.say("message", { type: "bye", reason: "revoked", retry_ms: 60_000 });
  await settle();
  for (const { seen } of tabs) assert.deepEqual(seen, ["1", "2", "doubt"]);
});

test("another tab takes the stream up after the last event; one that nobody looked at reads anew", async (t) => {
  const { tab, sources, path, live } = open(t);
  const [first, second, third] = [tab(), tab(), tab()];
  for (const { stream } of [first, second, third]) {
    stream.start();
    await settle();
  }
  third.stream.stop();
  live()[0]?.say("workflow", { seq: 7, type: "run.running" });
  await settle();
  first.stream.close();
  await settle();
  assert.deepEqual(
    sources.map(({ url, isClosed }) => [url, isClosed]),
    [
      [path, true],
      [`${path}?last_event_id=7`, false],
    ],
  );
  live()[0]?.say("workflow", { seq: 8, type: "run.completed" });
  await settle();
  assert.deepEqual([first.seen, second.seen, third.seen], [["7"], ["7", "8"], []]);
  third.stream.start();
  await settle();
  assert.deepEqual([third.seen, live().length], [["gap"], 1]);
  live()[0]?.say("workflow", { seq: 9, type: "run.running" });
  await settle();
  assert.deepEqual(
    [second.seen, third.seen],
    [
      ["7", "8", "9"],
      ["gap", "9"],
    ],
  );
});

test("a tab that takes a stream up of which nothing ever came reads anew", async (t) => {
  const { tab, live } = open(t);
  const [first, second] = [tab(), tab()];
  first.stream.start();
  await settle();
  second.stream.start();
  await settle();
  first.stream.close();
  await settle();
  assert.deepEqual([live().length, second.seen], [1, ["gap"]]);
});
