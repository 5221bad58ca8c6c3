import assert from "node:assert/strict";
import { test } from "node:test";
import { EventSource } from "eventsource";
import { createSseParser } from "#http/sse.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { testEvents } from "#testing/events.ts";
import { openPostgres, testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

const server = testServer();
const EVENTS = 10_000;
/** How long the test waits for anything before it calls it lost: a machine with other work is slow, and no fault. */
const PATIENCE_MS = 100_000;

test("over a restart of the gateway, then of all behind it, a stream loses and doubles none of 10,000 events", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const { environment } = ground;
  const port = await findFreePorts();
  const running = new Map<string, TestInstance>();
  cleanUp(t, async () => {
    for (const instance of running.values()) await instance.kill();
  });
  const behind = "issuer,membership,pdp,secrets,crud";
  const start = async (serve: string): Promise<void> => void running.set(serve, await startTestInstance({ port, serve, environment }));
  await start(behind);
  await start("gateway");
  const origin = `http://localhost:${port}`;
  const { cookie } = await signInPerson(origin, "ada");

  const database = await openPostgres(ground.databaseUrl);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { change } = await testEvents(t, database, { kek: ground.kek });
  let sent = 0;
  const emit = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 100) {
      const events = Array.from({ length: Math.min(100, left) }, () => {
        sent += 1;
        return {
          type: "budget.changed",
          tenant: "tenant:acme",
          stream: "config" as const,
          kind: "budget",
          key: "k",
          data: { number: sent },
        };
      });
      await change(async () => ({ result: undefined, events }));
    }
  };

  // As the web client does: reconnecting is the EventSource's own work; one that gave up is made anew from the last id.
  const received: number[] = [];
  const byes: string[] = [];
  const issues: string[] = [];
  const resyncs: string[] = [];
  let hellos = 0;
  let lastId = "";
  let isOver = false;
  let source: EventSource | undefined;
  const open = (): void => {
    if (isOver) return;
    const from = lastId === "" ? "" : `&last_event_id=${lastId}`;
    const opened = new EventSource(`${origin}/api/v1/events/config?kind=budget${from}`, {
      fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, cookie } }),
    });
    source = opened;
    opened.addEventListener("budget", (event) => received.push((JSON.parse(event.data as string) as { number: number }).number));
    for (const name of ["hello", "budget", "bookmark", "bye"])
      opened.addEventListener(name, (event) => {
        if (event.lastEventId !== "") lastId = event.lastEventId;
      });
    opened.addEventListener("hello", () => (hellos += 1));
    opened.addEventListener("resync", (event) => resyncs.push(event.data as string));
    opened.addEventListener("bye", (event) => byes.push((JSON.parse(event.data as string) as { reason: string }).reason));
    opened.addEventListener("error", (event) => {
      issues.push(`${event.code ?? ""} ${event.message ?? ""}`);
      if (opened.readyState === opened.CLOSED) setTimeout(open, 500);
    });
  };
  const seen = () => ({ received: received.length, last: received.at(-1), byes, issues: issues.slice(-5) });
  cleanUp(t, () => {
    isOver = true;
    source?.close();
  });
  const reaches = async (number: number): Promise<void> => {
    await until(seen, ({ last }) => last === number, PATIENCE_MS);
  };
  await emit(1);
  open();
  // From here on nothing may be lost: the stream has said where it begins.
  await until(
    () => ({ hellos, ...seen() }),
    (now) => now.hellos > 0,
    PATIENCE_MS,
  );
  await emit(2000);
  await until(seen, (now) => now.received >= 1000, PATIENCE_MS);

  const emitting = emit(EVENTS / 2 - 2001);
  assert.equal(await running.get("gateway")?.stop(), 0);
  await emitting;
  await start("gateway");
  await reaches(EVENTS / 2);

  const more = emit(EVENTS / 2 - 1000);
  assert.equal(await running.get(behind)?.stop(), 0);
  await more;
  await start(behind);
  await emit(999);
  await reaches(EVENTS - 1);
  // Whatever came twice would have come before the last one.
  await emit(1);
  await reaches(EVENTS);
  assert.deepEqual(resyncs, [], "no window was lost");
  assert.ok(byes.length > 0 && byes.every((reason) => ["drain", "upstream", "slow"].includes(reason)), byes.join());
  assert.deepEqual(
    received,
    Array.from({ length: EVENTS - 1 }, (_, index) => index + 2),
  );
});

/** Reads a stream as whoever holds the cookie, from another's place or one's own, until an event with this number is told. */
const readUntil = async (origin: string, cookie: string, from: string, last: number, opened?: () => Promise<void>) => {
  const leave = new AbortController();
  const response = await fetch(`${origin}/api/v1/events/config?kind=budget`, {
    headers: { cookie, "last-event-id": from },
    signal: leave.signal,
  });
  assert.equal(response.status, 200, from);
  await opened?.();
  const parser = createSseParser();
  const received: { readonly event: string; readonly id: string; readonly number: number | undefined }[] = [];
  for await (const chunk of response.body ?? []) {
    for (const part of parser.push(chunk))
      if (part.kind === "message")
        received.push({ event: part.event, id: part.lastEventId, number: (JSON.parse(part.data) as { number?: number }).number });
    if (received.some(({ number }) => number === last)) break;
  }
  leave.abort();
  return received;
};

test("whoever comes with another person's place in a stream gets what is theirs, and nothing of the other's", async (t) => {
  const ground = await requirePostgresGround(t, server);
  if (ground === undefined) return;
  const instance = await startTestInstance({ environment: ground.environment });
  cleanUp(t, async () => {
    await instance.kill();
    await instance.stop();
  });
  const database = await openPostgres(ground.databaseUrl);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { change } = await testEvents(t, database, { kek: ground.kek });
  const tell = (tenant: string, number: number, visibleTo?: string) =>
    change(async () => ({
      result: undefined,
      events: [
        {
          type: "budget.changed",
          tenant,
          stream: "config" as const,
          kind: "budget",
          key: "k",
          data: { number },
          ...(visibleTo === undefined ? {} : { visibleTo: [visibleTo] }),
        },
      ],
    }));
  const [ben, cleo, eve] = [
    await signInPerson(instance.origin, "ben"),
    await signInPerson(instance.origin, "cleo"),
    await signInPerson(instance.origin, "eve"),
  ];
  await tell("tenant:acme", 1, "person:ben");
  await tell("tenant:acme", 2, "person:ben");
  await tell("tenant:acme", 3, "person:cleo");
  await tell("tenant:acme", 4);
  const own = await readUntil(instance.origin, ben.cookie, "0", 4);
  assert.deepEqual(
    own.flatMap(({ number }) => number ?? []),
    [1, 2, 4],
  );
  const place = own.find(({ number }) => number === 1)?.id ?? "";
  assert.deepEqual(
    (await readUntil(instance.origin, cleo.cookie, place, 4)).flatMap(({ number }) => number ?? []),
    [3, 4],
    "of one's own tenant: what is addressed to others is passed over",
  );
  // Another tenant's stream has numbers of its own.
  for (let number = 101; number <= 104; number++) await tell("tenant:globex", number);
  const foreign = await readUntil(instance.origin, eve.cookie, "0", 104);
  assert.deepEqual(
    foreign.flatMap(({ number }) => number ?? []),
    [101, 102, 103, 104],
  );
  const ahead = await readUntil(instance.origin, eve.cookie, "999999", 105, () => tell("tenant:globex", 105));
  assert.deepEqual(
    ahead.map(({ event, number }) => number ?? event),
    ["hello", "resync", 105],
    "a place that one's own stream does not have is said to be lost",
  );
});
