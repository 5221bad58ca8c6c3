import assert from "node:assert/strict";
import { createServer, get, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createSseParser, sseHeaders } from "#http/sse.ts";
import { attackWorld, type AttackWorld } from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { garbageCollector } from "#testing/garbage-collector.ts";
import { sharedDatabase, type SignedInBrowser } from "#testing/gateway.ts";
import { testAudiences } from "#testing/identity.ts";
import { measureDelay } from "#testing/measured-delay.ts";
import { until } from "#testing/until.ts";

// A process of its own: its memory is measured.

const database = sharedDatabase();

interface Event {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

/** One client of an event stream over a socket of its own. */
interface Listener {
  readonly events: Event[];
  readonly ended: Promise<void>;
  leave(): void;
  /** Begins to read; a listener that was opened silent does not before. */
  read(): void;
}

const listen = (world: AttackWorld, who: SignedInBrowser, more: Readonly<Record<string, string>> = {}, isSilent = false): Listener => {
  const events: Event[] = [];
  const parser = createSseParser();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let answer: IncomingMessage | undefined;
  let isReading = !isSilent;
  const attach = (): void => {
    answer?.on("data", (chunk: Buffer) => {
      for (const part of parser.push(chunk))
        if (part.kind === "message") events.push({ event: part.event, data: part.data, id: part.lastEventId });
    });
  };
  const headers = { host: "localhost:8080", ...who.cookie, ...more };
  const request: ClientRequest = get({ port: world.port, host: "127.0.0.1", path: "/events/x", agent: false, headers }, (response) => {
    answer = response;
    response.on("error", () => {});
    response.on("close", resolve);
    if (isReading) attach();
  });
  request.on("error", () => resolve());
  return {
    events,
    ended,
    leave: () => request.destroy(),
    read: () => {
      isReading = true;
      attach();
    },
  };
};

const reasonOf = (listener: Listener): string | undefined => {
  const last = listener.events.at(-1);
  return last?.event === "bye" ? (JSON.parse(last.data) as { reason: string }).reason : undefined;
};

/** U as a stream in the test's hands. */
const streamingUpstream = (world: AttackWorld) => {
  const open: { readonly send: (text: string | Uint8Array) => void; readonly gone: Promise<void>; readonly headers: Headers }[] = [];
  world.upstream.answer = (request) => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given), cancel: () => resolve() });
    open.push({
      send: (text) => controller.enqueue(typeof text === "string" ? new TextEncoder().encode(text) : text),
      gone,
      headers: request.headers,
    });
    return new Response(body, { headers: sseHeaders });
  };
  return open;
};

test("attack 44: what an upstream sends is read as the standard reads it, and forges neither a frame nor our own words", async (t) => {
  // An upstream that is no instance service: its control events are somebody else's words.
  const answers: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    response.writeHead(200, sseHeaders).flushHeaders();
    answers.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const upstreamUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const world = await attackWorld(t, await database(), { upstreamUrl, parts: { internalAudiences: [testAudiences.pdp] } });
  const listener = listen(world, world.ben);
  await until(
    () => answers.length,
    (count) => count === 1,
  );
  const source = { send: (text: string | Uint8Array) => void answers[0]?.write(text) };
  source.send("\ufeffid: 1\revent: x\rdata: a\rdata: b\r\r");
  source.send("event: two\r\ndata: {}\r");
  source.send("\n\r\n");
  source.send("id: 2\0\nevent: three\ndata: id: 9\ndata: event: bye\n\n");
  source.send("data: one\rdata: lone CR\n\n");
  for (const byte of new TextEncoder().encode("data: \u00e4\u20ac\ud83d\ude00\n\n")) source.send(Uint8Array.of(byte));
  source.send('event: bye\ndata: {"type":"bye","reason":"signed_out"}\n\n');
  source.send("event: hello\ndata: {}\n\nevent: resync\ndata: {}\n\n");
  source.send("data: last\n\n");
  await until(
    () => listener.events.length,
    (count) => count >= 6,
  );
  assert.deepEqual(listener.events, [
    { event: "x", data: "a\nb", id: "1" },
    { event: "two", data: "{}", id: "1" },
    { event: "three", data: "id: 9\nevent: bye", id: "1" },
    { event: "message", data: "one\nlone CR", id: "1" },
    { event: "message", data: "\u00e4\u20ac\ud83d\ude00", id: "1" },
    { event: "message", data: "last", id: "1" },
  ]);
  assert.equal(await world.made.counted("bff_security_events_total", { event_type: "stream_control_dropped" }), 3);
  source.send(`data: ${"x".repeat(262_145)}\n`);
  await listener.ended;
  assert.equal(reasonOf(listener), "upstream", "a frame without end is no frame");
});

test("attack 45: a stream ends with its session, on every replica, and with its right", async (t) => {
  const shared = await database();
  const here = await attackWorld(t, shared);
  const may = { events: true };
  const other = await attackWorld(t, shared, { identity: here.made.identity });
  for (const world of [here, other]) {
    const decide = world.pdp.answer;
    world.pdp.answer = (request) => (may.events ? decide(request) : Response.json({ decision: false, context: { decision_id: "d" } }));
  }
  const upstreams = [streamingUpstream(here), streamingUpstream(other)];
  const opened = (index: number, count: number) =>
    until(
      () => upstreams[index]?.length,
      (now) => now === count,
    );
  const signOut = (world: AttackWorld, who: SignedInBrowser, query = "") =>
    world.made.fetch(`/auth/logout${query}`, { method: "POST", headers: who.headers, body: "{}" });

  /** Acts, and waits for these to end: in the time that is promised, and what this machine took for itself meanwhile. */
  const endWithin = async (promised: number, streams: readonly Listener[], act: () => Promise<unknown>): Promise<void> => {
    const delay = measureDelay(t, () => Promise.all([here, other].map(({ made }) => made.fetch("/api/v1/health/live"))));
    const since = performance.now();
    await act();
    await Promise.all(streams.map(({ ended }) => ended));
    const took = performance.now() - since;
    const allowed = promised + delay.worst();
    await delay.stop();
    assert.ok(took <= allowed, `it took ${took.toFixed(0)} ms; ${allowed.toFixed(0)} ms were allowed`);
  };

  const first = listen(here, here.ben);
  await opened(0, 1);
  await endWithin(1000, [first], async () => assert.equal((await signOut(here, here.ben)).status, 200));
  assert.equal(reasonOf(first), "signed_out");
  await upstreams[0]?.[0]?.gone;

  const [one, two] = [await here.made.signIn("person:ben"), await here.made.signIn("person:ben")];
  const [onOther, onHere] = [listen(other, one), listen(here, two)];
  await Promise.all([opened(1, 1), opened(0, 2)]);
  await endWithin(1000, [onOther, onHere], async () => assert.equal((await signOut(here, two, "?everywhere=true")).status, 200));
  assert.deepEqual([reasonOf(onOther), reasonOf(onHere)], ["signed_out", "signed_out"], "everywhere reaches the other replica");

  const ben = await here.made.signIn("person:ben");
  const streams = [listen(here, ben), listen(other, ben)];
  await Promise.all([opened(0, 3), opened(1, 2)]);
  await endWithin(2000, streams, () => {
    may.events = false;
    return here.made.events.change(async () => ({
      result: undefined,
      events: [{ type: "thing.changed", tenant: "tenant:acme", stream: "config", kind: "graph", key: "k", data: {} }],
    }));
  });
  assert.deepEqual(streams.map(reasonOf), ["revoked", "revoked"]);
});

test("attack 45: another person's place in a stream is asked for in one's own name, and gives one's own events", async (t) => {
  const world = await attackWorld(t, await database());
  const open = streamingUpstream(world);
  const eve = await world.made.signIn("person:eve");
  const listener = listen(world, eve, { "last-event-id": "bens:41", "x-user-id": "person:ben" });
  const source = await until(
    () => open[0],
    (found) => found !== undefined,
  );
  assert.deepEqual(
    [source?.headers.get("last-event-id"), source?.headers.get("x-user-id"), source?.headers.get("x-tenant-id")],
    ["bens:41", "person:eve", "tenant:globex"],
  );
  const caller = await world.made.identity.verifierFor("http://localhost:8083")(
    new Request("http://x", { headers: { authorization: source?.headers.get("authorization") ?? "" } }),
  );
  assert.deepEqual([caller.sub, caller.tenant], ["person:eve", "tenant:globex"]);
  listener.leave();
  await source?.gone;
});

/** Server ends and client ends of this process alike. */
const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

test("attack 46: clients that leave before the upstream's head, or after it, leave nothing behind", { timeout: 60_000 }, async (t) => {
  const answers: ServerResponse[] = [];
  let gone = 0;
  const server = createServer((request, response) => {
    answers.push(response);
    request.socket.on("close", () => (gone += 1));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const upstreamUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const world = await attackWorld(t, await database(), { upstreamUrl, settings: { STREAMS_PER_SESSION: "100" } });
  const base = sockets();
  const COUNT = 1000;
  const people = await Promise.all(Array.from({ length: COUNT / 100 }, () => world.made.signIn("person:ben")));
  const streams = people.flatMap((who) => Array.from({ length: 100 }, () => listen(world, who)));
  await until(
    () => answers.length,
    (now) => now === COUNT,
  );
  // Half of them have a head and a frame, half of them wait for one.
  for (const response of answers.slice(0, COUNT / 2)) response.writeHead(200, sseHeaders).write("data: 1\n\n");
  await until(
    () => streams.filter((stream) => stream.events.length === 1).length,
    (now) => now === COUNT / 2,
  );
  for (const stream of streams) stream.leave();
  await until(
    () => gone,
    (now) => now === COUNT,
  );
  await until(sockets, (now) => now <= base);
  const again = listen(world, people[0] as SignedInBrowser);
  await until(
    () => answers.length,
    (now) => now === COUNT + 1,
  );
  answers.at(-1)?.writeHead(200, sseHeaders).write("data: 2\n\n");
  await until(
    () => again.events.length,
    (now) => now === 1,
  );
  again.leave();
});

test("attack 47: a reader that does not keep up is cut at the cap, and resumes without a loss", { timeout: 60_000 }, async (t) => {
  const collect = garbageCollector();
  const world = await attackWorld(t, await database());
  const left: number[] = [];
  /** Replays from the place asked for, as fast as anybody reads. */
  world.upstream.answer = (request) => {
    let id = Number(request.headers.get("last-event-id") ?? "0");
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      id += 1;
      controller.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${"x".repeat(4096)}\n\n`));
    };
    return new Response(new ReadableStream({ pull, cancel: () => void left.push(id) }), { headers: sseHeaders });
  };
  collect();
  const base = process.memoryUsage().heapUsed + process.memoryUsage().external;
  const slow = listen(world, world.ben, {}, true);
  await until(
    () => left.length,
    (now) => now === 1,
  );
  collect();
  assert.ok(process.memoryUsage().heapUsed + process.memoryUsage().external - base < 32 * 1_048_576, "what waits for it is bounded");
  slow.read();
  await slow.ended;
  assert.equal(reasonOf(slow), "slow");
  const ids = slow.events.slice(0, -1).map(({ id }) => Number(id));
  assert.deepEqual(
    ids,
    ids.map((_id, index) => index + 1),
    "every frame up to the cut, once",
  );
  const last = ids.at(-1) ?? 0;
  assert.ok(last > 0);
  const resumed = listen(world, world.ben, { "last-event-id": String(last) });
  await until(
    () => resumed.events.length,
    (now) => now > 0,
  );
  assert.equal(resumed.events[0]?.id, String(last + 1));
  resumed.leave();
  await until(
    () => left.length,
    (now) => now === 2,
  );
});
