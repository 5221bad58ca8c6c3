import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createSseParser, type SsePart } from "#http/sse.ts";
import type { Database } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { Problem } from "#contract/problem.ts";
import { forEachDatabase } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import type { Change } from "#events/changes/change.ts";
import { createConfigWatch, rightKinds } from "./config-watch.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import type { LiveBus } from "./live-bus.ts";
import { streamResponse, type StreamOptions } from "./stream.ts";

const tell = (change: Change, n: number, more: Partial<EventDraft> = {}): Promise<void> =>
  change(async () => ({
    result: undefined,
    events: [
      {
        type: "thing.changed",
        tenant: "tenant:acme",
        stream: "config",
        kind: "graph",
        key: "k",
        data: { n },
        correlationId: `c-${n}`,
        ...more,
      },
    ],
  }));

type Message = Extract<SsePart, { kind: "message" }>;
interface Reader {
  readonly response: Response;
  readonly parts: SsePart[];
  messages(): readonly { event: string; id: string; data: Record<string, unknown> }[];
  stop(): Promise<void>;
  readonly done: Promise<void>;
}

const open = async (bus: LiveBus, options: Partial<StreamOptions> = {}): Promise<Reader> => {
  const response = await streamResponse({
    bus,
    stream: "config",
    tenant: "tenant:acme",
    subject: "person:ben",
    seesAll: false,
    lastEventId: undefined,
    now: () => new Date("2026-11-21T04:00:00Z"),
    ...options,
  });
  const parts: SsePart[] = [];
  const parser = createSseParser();
  const reader = response.body!.getReader();
  const done = (async () => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) parts.push(...parser.push(step.value));
  })();
  return {
    response,
    parts,
    messages: () =>
      parts
        .filter((part): part is Message => part.kind === "message")
        .map(({ event, lastEventId: id, data }) => ({ event, id, data: JSON.parse(data) as Record<string, unknown> })),
    stop: async () => {
      await reader.cancel();
      await done;
    },
    done,
  };
};

const until = async (holds: () => boolean): Promise<void> => {
  for (const deadline = Date.now() + 10_000; !holds(); await sleep(5)) assert.ok(Date.now() < deadline, "it did not happen in time");
};
const last = (reader: Reader) => reader.messages().at(-1);

forEachDatabase(
  "a stream begins with hello, tells each event in its envelope and moves its resume point by bookmarks",
  ["events"],
  async (t, database) => {
    const { bus, change } = await testEvents(t, database);
    const reader = await open(bus, { bookmarkMs: 50 });
    assert.equal(reader.response.status, 200);
    const headers = Object.fromEntries(reader.response.headers);
    assert.equal(headers["content-type"], "text/event-stream");
    assert.equal(headers["cache-control"], "no-cache, no-transform");
    assert.equal(headers["x-accel-buffering"], "no");
    await until(() => reader.messages().length > 0);
    const [retry] = reader.parts;
    assert.ok(retry?.kind === "retry" && retry.milliseconds >= 2_000 && retry.milliseconds <= 5_000);
    assert.deepEqual(reader.messages()[0], {
      event: "hello",
      id: "0",
      data: { type: "hello", seq: 0, at: "2026-11-21T04:00:00.000Z", stream: "config", replaying: false },
    });
    await tell(change, 1);
    await until(() => reader.messages().some((message) => message.event === "graph"));
    const graph = reader.messages().find((message) => message.event === "graph")!;
    assert.match(String(graph.data["id"]), /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.match(String(graph.data["at"]), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const { id: _id, at: _at, ...rest } = graph.data;
    assert.deepEqual(
      { ...graph, data: rest },
      { event: "graph", id: "1", data: { n: 1, type: "thing.changed", seq: 1, correlation_id: "c-1" } },
    );

    // Not for this reader: only the bookmark tells that there was something.
    await tell(change, 2, { visibleTo: ["person:cleo"] });
    await until(() => last(reader)?.id === "2");
    assert.equal(last(reader)?.event, "bookmark");
    assert.equal(last(reader)?.data["seq"], 2);
    assert.ok(!reader.messages().some((message) => message.data["n"] === 2));
    await reader.stop();
  },
);

forEachDatabase("a reader that is cut at random and comes back by its last id gets each event once", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  const seen: number[] = [];
  let lastEventId: string | undefined = "0";
  const writing = (async () => {
    for (let n = 1; n <= 400; n++) await tell(change, n);
  })();
  while (seen.length < 400) {
    const response = await streamResponse({ bus, stream: "config", tenant: "tenant:acme", subject: "x", seesAll: true, lastEventId });
    const parser = createSseParser();
    const reader = response.body!.getReader();
    for (let left = 1 + Math.random() * 6; left > 0 && seen.length < 400; left--) {
      const { value } = await reader.read();
      // The connection breaks in the middle of what was sent.
      const bytes = left <= 1 ? value!.subarray(0, Math.floor(Math.random() * value!.length)) : value!;
      for (const part of parser.push(bytes))
        if (part.kind === "message" && part.event === "graph") seen.push((JSON.parse(part.data) as { n: number }).n);
    }
    // A browser keeps the id of the last frame it was given whole.
    if (parser.lastEventId !== "") lastEventId = parser.lastEventId;
    await reader.cancel();
  }
  await writing;
  assert.deepEqual(
    seen,
    Array.from({ length: 400 }, (_, n) => n + 1),
  );
});

forEachDatabase(
  "a reader that is cut before its first event comes back to where it began, and misses nothing",
  ["events"],
  async (t, database) => {
    const { bus, change } = await testEvents(t, database);
    await tell(change, 0);
    const seen: number[] = [];
    let lastEventId: string | undefined;
    let isCut = false;
    while (seen.length < 600) {
      const reader = await open(bus, lastEventId === undefined ? {} : { lastEventId });
      await until(() => reader.messages().length > 0);
      if (!isCut) {
        isCut = true;
        await reader.stop();
        // One commit, more than a hub reads or lets a reader lag behind at once.
        await change(async () => ({
          result: undefined,
          events: Array.from({ length: 600 }, (_, n) => ({
            type: "thing.changed",
            tenant: "tenant:acme",
            stream: "config",
            kind: "graph",
            key: "k",
            data: { n: n + 1 },
          })),
        }));
      } else await until(() => reader.messages().some(({ data }) => data["n"] === 600) || last(reader)?.event === "bye");
      for (const { event, id, data } of reader.messages()) {
        if (id !== "") lastEventId = id;
        if (event === "graph") seen.push(data["n"] as number);
      }
      await reader.stop();
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 600 }, (_, n) => n + 1),
    );
  },
);

forEachDatabase(
  "a thousand events committed at once reach a reader that keeps up over one connection, each once",
  ["events"],
  async (t, database) => {
    const { bus, change } = await testEvents(t, database);
    const reader = await open(bus);
    await until(() => reader.messages().length > 0);
    const numbers = Array.from({ length: 1_000 }, (_, n) => n + 1);
    await change(async () => ({
      result: undefined,
      events: numbers.map((n) => ({
        type: "thing.changed",
        tenant: "tenant:acme",
        stream: "config",
        kind: "graph",
        key: "k",
        data: { n },
      })),
    }));
    await until(() => reader.messages().some(({ event, data }) => data["n"] === 1_000 || event === "bye"));
    assert.deepEqual(
      reader.messages().flatMap(({ event, data }) => (event === "graph" ? [data["n"]] : event === "bookmark" ? [] : [event])),
      ["hello", ...numbers],
    );
    await reader.stop();
  },
);

forEachDatabase("a lost window is said once, with what to read again", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  await tell(change, 1);
  const reader = await open(bus, { lastEventId: "77", reload: ["/api/membership/delegations"] });
  await until(() => reader.messages().length === 2);
  const [, resync] = reader.messages();
  assert.equal(resync!.event, "resync");
  assert.equal(resync!.id, "1");
  assert.deepEqual(resync!.data["reason"], "ahead");
  assert.deepEqual(resync!.data["reload"], ["/api/membership/delegations"]);
  await tell(change, 2);
  await until(() => last(reader)?.id === "2");
  await reader.stop();
});

forEachDatabase("only the kinds asked for are told, and a replay ends with a bookmark", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  await tell(change, 1);
  await tell(change, 2, { kind: "delegation", type: "delegation.changed" });
  await tell(change, 3, { kind: "budget", type: "budget.changed" });
  const reader = await open(bus, { lastEventId: "0", kinds: new Set(["delegation"]) });
  await until(() => reader.messages().length === 3);
  assert.deepEqual(
    reader.messages().map(({ event, id }) => [event, id]),
    [
      ["hello", "0"],
      ["delegation", "2"],
      ["bookmark", "3"],
    ],
  );
  await reader.stop();
});

forEachDatabase("control frames of the workflow stream are its default messages", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  const reader = await open(bus, { stream: "workflow" });
  await tell(change, 1, { stream: "workflow", kind: "workflow", type: "run.started" });
  await until(() => reader.messages().length === 2);
  assert.deepEqual(
    reader.messages().map(({ event, data }) => [event, data["type"]]),
    [
      ["message", "hello"],
      ["workflow", "run.started"],
    ],
  );
  await reader.stop();
});

forEachDatabase(
  "a reader who may no longer read is told and let go: in time, and within a second of a change of rights",
  ["events"],
  async (t, database) => {
    const { bus, change } = await testEvents(t, database);
    let may: boolean | Error = true;
    const recheck = async (): Promise<boolean> => {
      if (may instanceof Error) throw may;
      return may;
    };
    const byTime = await open(bus, { recheck, recheckMs: 50 });
    const rightChanges = createConfigWatch({ bus, kinds: rightKinds, log: silentLog });
    may = false;
    // Whatever it reads: rights change on the stream of configuration. Each reader is of a tenant of its own.
    const byEvent = [...rightKinds].map(async (kind, n) => {
      const tenant = `tenant:t${n}`;
      const asked = Promise.withResolvers<void>();
      let mayStill = true;
      const ask = async (): Promise<boolean> => {
        asked.resolve();
        return mayStill;
      };
      const reader = await open(bus, { recheck: ask, rightChanges, stream: "secret", tenant });
      await asked.promise;
      mayStill = false;
      await tell(change, n, { kind, type: `${kind}.moved`, tenant });
      await reader.done;
      return reader;
    });
    const readers = [byTime, ...(await Promise.all(byEvent))];
    await byTime.done;
    for (const reader of readers) {
      assert.equal(last(reader)?.event, "bye");
      assert.equal(last(reader)?.data["reason"], "revoked");
      assert.ok(Number(last(reader)?.data["retry_ms"]) >= 2_000);
    }
    may = new Error("the decision point is away");
    const undecided = await open(bus, { recheck, recheckMs: 50 });
    await undecided.done;
    assert.equal(last(undecided)?.data["reason"], "upstream");
  },
);

forEachDatabase("a reader that stops reading is given up, costs little, and the others hear on", ["events"], async (t, database) => {
  const { bus, change } = await testEvents(t, database);
  const stalled = await streamResponse({
    bus,
    stream: "config",
    tenant: "tenant:acme",
    subject: "x",
    seesAll: true,
    lastEventId: undefined,
  });
  const quick = await open(bus, { seesAll: true });
  await until(() => quick.messages().length === 1);
  for (let n = 1; n <= 400; n++) await tell(change, n, { data: { n, text: "x".repeat(2_000) } });
  await until(() => last(quick)?.id === "400");
  // What was held for it and the goodbye, not the 400 events.
  const text = await stalled.text();
  assert.ok(text.length < 200_000, `${text.length} characters were held`);
  const parts = createSseParser().push(new TextEncoder().encode(text));
  const goodbye = parts.findLast((part) => part.kind === "message")!;
  assert.equal(goodbye.event, "bye");
  assert.equal((JSON.parse(goodbye.data) as { reason: string }).reason, "slow");
  await quick.stop();
});

forEachDatabase("a stream ends with the request, and says drain when Sallyport stops", ["events"], async (t, database) => {
  const { bus } = await testEvents(t, database);
  const request = new AbortController();
  const left = await open(bus, { signal: request.signal });
  const drained = await open(bus);
  await until(() => left.messages().length === 1 && drained.messages().length === 1);
  request.abort();
  await left.done;
  assert.equal(left.messages().length, 1);
  await bus[Symbol.asyncDispose]();
  await drained.done;
  assert.deepEqual(last(drained)?.data["reason"], "drain");
});

forEachDatabase(
  "while nothing can be confirmed the connection is kept but no bookmark vouches for what is shown",
  ["events"],
  async (t, database) => {
    const { bus } = await testEvents(t, database);
    const stale: LiveBus = { ...bus, isFresh: () => false };
    const reader = await open(stale, { bookmarkMs: 20 });
    await until(() => reader.parts.filter((part) => part.kind === "comment").length >= 3);
    assert.equal(reader.messages().length, 1);
    await reader.stop();
  },
);

forEachDatabase("a stream that cannot begin is refused, not empty", ["events"], async (t, database) => {
  const { bus } = await testEvents(t, database);
  const broken = await brokenBus(t, database);
  await assert.rejects(open(broken), (error: unknown) => error instanceof Problem && error.code === "store_unavailable");
  await (await open(bus)).stop();
});

/** A bus whose database goes away after it has started. */
const brokenBus = async (t: Parameters<typeof testEvents>[0], database: Database): Promise<LiveBus> => {
  let gone = false;
  const flaky: Database = {
    ...database,
    run: (text, values) => (gone ? Promise.reject(new Problem("store_unavailable")) : database.run(text, values)),
  };
  const { bus } = await testEvents(t, { ...flaky });
  gone = true;
  return bus;
};
