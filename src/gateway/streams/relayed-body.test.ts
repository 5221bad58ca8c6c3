import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createSseParser, type SsePart } from "#http/sse.ts";
import { relayBody } from "./relayed-body.ts";

type Message = SsePart & { readonly kind: "message" };

/** A relay whose clock stands until the test moves it. */
const relay = (t: TestContext, more: { readonly trustsControl?: boolean } = {}) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  let upstream: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isCancelled = false;
  let closed = 0;
  const { body, stream } = relayBody({
    upstream: new ReadableStream({ start: (given) => void (upstream = given), cancel: () => void (isCancelled = true) }),
    silenceSeconds: 86_400,
    trustsControl: more.trustsControl ?? true,
    onDropped: () => {},
    onClosed: () => (closed += 1),
    now: () => new Date("2026-03-01T08:00:00Z"),
  });
  const parser = createSseParser();
  const parts: SsePart[] = [];
  const reader = body.getReader();
  const readOn = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (value !== undefined) parts.push(...parser.push(value));
    return !done;
  };
  return {
    stream,
    parts,
    send: (text: string) => upstream?.enqueue(new TextEncoder().encode(text)),
    readOn,
    readAll: async () => {
      while (await readOn());
      return parts.filter((part): part is Message => part.kind === "message");
    },
    /** Lets what was started go as far as it can without the clock. */
    settle: () => new Promise((resolve) => setImmediate(resolve)),
    state: () => ({ isCancelled, closed }),
  };
};

const HOUR_MS = 3_600_000;

test("a stream ends after an hour however busy it is, and is kept alive until then", async (t) => {
  const made = relay(t);
  await made.readOn();
  for (let at = 0; at < HOUR_MS - 15_000; at += 15_000) {
    t.mock.timers.tick(15_000);
    await made.readOn();
  }
  assert.equal(made.parts.filter((part) => part.kind === "comment").length, 239, "a sign of life each 15 s");
  t.mock.timers.tick(14_999);
  await made.settle();
  assert.deepEqual(made.state(), { isCancelled: false, closed: 0 });
  t.mock.timers.tick(1);
  const said = await made.readAll();
  assert.deepEqual(
    said.map(({ event, data }) => [event, (JSON.parse(data) as { reason: string }).reason]),
    [["bye", "limit"]],
  );
  await made.settle();
  assert.deepEqual(made.state(), { isCancelled: true, closed: 1 });
  made.stream.bye("drain");
  t.mock.timers.tick(HOUR_MS);
  assert.equal(made.state().closed, 1, "it ends once");
});

for (const [name, hello, resume] of [
  ["its first event", "id: 41\nevent: hello\ndata: {}\n\n", "41"],
  ["its first workflow event", 'id: 41\ndata: {"type":"hello","seq":41}\n\n', "41"],
  ["anything a stranger said", "id: 41\ndata: news\n\n", ""],
] as const)
  test(`a reader that is cut before ${name} is told where to come back to, and never past what it did not get`, async (t) => {
    const made = relay(t, { trustsControl: resume !== "" });
    await made.settle();
    made.send(hello);
    for (let id = 42; id < 442; id++) made.send(`id: ${id}\nevent: tools\ndata: ${"x".repeat(1000)}\n\n`);
    for (let round = 0; round < 600; round++) await made.settle();
    t.mock.timers.tick(2000);
    const said = await made.readAll();
    assert.deepEqual(
      said.map(({ event, lastEventId }) => [event, lastEventId]),
      [["bye", resume]],
    );
  });
