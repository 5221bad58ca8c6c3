import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { EventSource } from "eventsource";
import { cleanUp } from "#testing/clean-up.ts";
import { testEvents } from "#testing/events.ts";
import { freshDatabase, openPostgres, testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./person.ts";
import { findFreePorts, startTestHouse, type TestHouse } from "./test-house.ts";

const server = testServer();
const EVENTS = 10_000;
/** How long the test waits for anything before it calls it lost: a machine with other work is slow, and no fault. */
const PATIENCE_MS = 100_000;

test("over a restart of the gateway, then of all behind it, a stream loses and doubles none of 10,000 events", async (t) => {
  const base = await server.url();
  if (base === undefined) {
    assert.notEqual(process.env["REQUIRE_REAL"], "1", server.why());
    t.skip(`NO POSTGRESQL: ${server.why()}`);
    return;
  }
  const url = await freshDatabase(t, base, []);
  const port = await findFreePorts();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-streams-"));
  cleanUp(t, () => rm(folder, { recursive: true }));
  const kek = join(folder, "audit-kek");
  await writeFile(kek, randomBytes(32).toString("base64"), { mode: 0o600 });
  const environment = { DATABASE_URL: url, SESSION_SECRETS: randomBytes(32).toString("base64"), AUDIT_KEK_FILE: kek };
  const running = new Map<string, TestHouse>();
  cleanUp(t, async () => {
    for (const house of running.values()) await house.kill();
  });
  const behind = "issuer,membership,pdp,secrets,crud";
  const start = async (serve: string): Promise<void> => void running.set(serve, await startTestHouse({ port, serve, environment }));
  await start(behind);
  await start("gateway");
  const origin = `http://localhost:${port}`;
  const { cookie } = await signInPerson(origin, "ada");

  const database = await openPostgres(url);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const { change } = await testEvents(t, database);
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
  const heard: number[] = [];
  const byes: string[] = [];
  const faults: string[] = [];
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
    opened.addEventListener("budget", (event) => heard.push((JSON.parse(event.data as string) as { number: number }).number));
    for (const name of ["hello", "budget", "bookmark", "bye"])
      opened.addEventListener(name, (event) => {
        if (event.lastEventId !== "") lastId = event.lastEventId;
      });
    opened.addEventListener("hello", () => (hellos += 1));
    opened.addEventListener("resync", (event) => resyncs.push(event.data as string));
    opened.addEventListener("bye", (event) => byes.push((JSON.parse(event.data as string) as { reason: string }).reason));
    opened.addEventListener("error", (event) => {
      faults.push(`${event.code ?? ""} ${event.message ?? ""}`);
      if (opened.readyState === opened.CLOSED) setTimeout(open, 500);
    });
  };
  const seen = () => ({ heard: heard.length, last: heard.at(-1), byes, faults: faults.slice(-5) });
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
  await until(seen, (now) => now.heard >= 1000, PATIENCE_MS);

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
    heard,
    Array.from({ length: EVENTS - 1 }, (_, index) => index + 2),
  );
});
