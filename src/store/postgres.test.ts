import assert from "node:assert/strict";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forPostgres } from "#testing/database.ts";
import { statement, type StoreLog, type Transaction } from "./database.ts";
import { createPostgres } from "./postgres.ts";
import { isTimedOut } from "./sql-error.ts";

const log: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };
const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.code === "store_unavailable" && error.status === 503;
const KILL = statement(
  "t.kill",
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()",
);

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + 10_000; !(await holds()); await sleep(10))
    assert.ok(Date.now() < deadline, "it did not happen in time");
};

/** How often these bytes, which are whole messages, wait for the server: Sync, or a query of the simple protocol. */
const syncs = (bytes: Buffer): number => {
  let count = 0;
  for (let at = 0; at + 5 <= bytes.length; at += 1 + bytes.readUInt32BE(at + 1))
    if ("SQ".includes(String.fromCharCode(bytes[at]!))) count++;
  return count;
};

/** A port that leads to the server until it is cut, or nothing comes through any more; what was held back is not lost. */
const relayTo = async (
  t: TestContext,
  url: string,
): Promise<{ readonly url: string; cut(): void; hush(): void; restore(): void; sent(): number }> => {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let sent = 0;
  let isCut = false;
  let isHushed = false;
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const end of [socket, upstream]) {
      sockets.add(end);
      end
        .on("error", () => undefined)
        .on("close", () => {
          sockets.delete(end);
          socket.destroy();
          upstream.destroy();
        });
    }
    socket.on("data", (bytes: Buffer) => {
      sent += syncs(bytes);
    });
    socket.pipe(upstream).pipe(socket);
    if (isHushed) for (const end of [socket, upstream]) end.pause();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  const relayed = new URL(url);
  relayed.port = String((server.address() as AddressInfo).port);
  return {
    url: relayed.href,
    sent: () => sent,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    hush: () => {
      isHushed = true;
      for (const socket of sockets) socket.pause();
    },
    restore: () => {
      isCut = false;
      isHushed = false;
      for (const socket of sockets) socket.resume();
    },
  };
};

forPostgres("a server that cannot be reached is store_unavailable", [], async () => {
  await assert.rejects(createPostgres({ url: "postgres://nobody:x@127.0.0.1:1/none", poolSize: 2, log }), isUnavailable);
});

forPostgres("a connection that breaks in the middle is store_unavailable, and the next call works", [], async (t, url) => {
  const relay = await relayTo(t, url);
  const database = await createPostgres({ url: relay.url, poolSize: 2, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const sleeping = statement("t.sleep", "select pg_sleep(30)");
  const hanging = Promise.allSettled([database.run(sleeping), database.transaction((sql) => sql.run(sleeping))]);
  await sleep(100);
  relay.cut();
  for (const result of await hanging) assert.ok(result.status === "rejected" && isUnavailable(result.reason));
  await assert.rejects(database.ready(), isUnavailable);
  relay.restore();
  await database.ready();
});

const PAUSE = statement("t.pause", "select pg_sleep(0.05)");
const LENT = statement<{ lent: bigint }>(
  "t.lent",
  "select count(*) as lent from pg_stat_activity where datname = current_database() and application_name = 'sallyport'",
);

forPostgres("a server that says nothing is refused in the time that was given, and holds no connection", [], async (t, url) => {
  const relay = await relayTo(t, url);
  const poolSize = 3;
  const database = await createPostgres({ url: relay.url, poolSize, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const one = statement<{ n: number }>("t.hushed", "select 1 as n", { withinMs: 700 });
  await database.script("create table kept (n int)");
  await Promise.all(Array.from({ length: poolSize }, () => database.run(PAUSE)));
  relay.hush();
  // Those that had a connection, and then, again and again, those that cannot have one: nobody waits for the server.
  for (let round = 0; round < 3; round++) {
    const asked = Array.from({ length: 3 * poolSize }, () => database.run(one));
    const changed = database.transaction((sql) => sql.run(statement("t.keep", "insert into kept values (1)")), { withinMs: 700 });
    for (const result of await Promise.allSettled([...asked, changed]))
      assert.ok(result.status === "rejected" && isUnavailable(result.reason));
  }
  relay.restore();
  await until(async () => {
    const answers = await Promise.allSettled(Array.from({ length: 2 * poolSize }, () => database.run(one)));
    return answers.every(({ status }) => status === "fulfilled");
  });
  await until(async () => Number((await database.run(LENT))[0]?.lent) <= poolSize);
  await Promise.all(Array.from({ length: poolSize }, () => database.transaction((sql) => sql.run(PAUSE))));
});

forPostgres("a transaction that meets silence in the middle is undone and its connection is not lent again", [], async (t, url) => {
  const relay = await relayTo(t, url);
  const database = await createPostgres({ url: relay.url, poolSize: 1, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int)");
  const keep = statement("t.keep", "insert into kept values (1)");
  await assert.rejects(
    database.transaction(
      async (sql) => {
        await sql.run(keep);
        relay.hush();
        await sql.run(keep).catch(() => {
          throw new Error("what the work makes of it");
        });
      },
      { withinMs: 2000 },
    ),
    /what the work makes of it/,
  );
  relay.restore();
  const kept = statement<{ n: bigint }>("t.kept", "select count(*) as n from kept");
  await until(async () => (await database.run(kept).catch(() => [{ n: -1n }]))[0]?.n === 0n);
});

forPostgres("listening notices a server that says nothing, and hears again when it is back", [], async (t, url) => {
  const relay = await relayTo(t, url);
  const database = await createPostgres({ url: relay.url, poolSize: 2, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const received: string[] = [];
  let regained = 0;
  await database.listen(
    "hints",
    (payload) => received.push(payload),
    () => (regained += 1),
  );
  relay.hush();
  await until(() => !database.isListening());
  relay.restore();
  await until(() => database.isListening() && regained === 1);
  await database.notify("hints", "after");
  await until(() => received.includes("after"));
});

forPostgres("a statement and a pause in a transaction may not take for ever", [], async (t, url) => {
  const database = await createPostgres({ url, poolSize: 2, log, statementTimeoutMs: 100, idleInTransactionMs: 100 });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await assert.rejects(database.run(statement("t.sleep", "select pg_sleep(5)")), isUnavailable);
  await assert.rejects(
    database.transaction(async (sql) => {
      await sql.run(statement("t.one", "select 1"));
      await sleep(400);
      await sql.run(statement("t.one", "select 1"));
    }),
    isUnavailable,
  );
  await database.ready();
});

forPostgres("a statement may have a time of its own, and whoever comes next on the connection has theirs", [], async (t, url) => {
  const database = await createPostgres({ url, poolSize: 1, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const slow = statement("t.slow", "select pg_sleep(20)", { timeoutMs: 50 });
  const time = "select current_setting('statement_timeout') as time";
  const [own] = await database.run(statement<{ time: string }>("t.own_time", time, { timeoutMs: 2000 }));
  const [others] = await database.run(statement<{ time: string }>("t.time", time));
  assert.deepEqual([own?.time, others?.time], ["2s", "30s"]);
  await assert.rejects(database.run(slow), isTimedOut);
  await assert.rejects(
    database.transaction(async (sql) => sql.run(slow)),
    isTimedOut,
  );
  assert.deepEqual(await database.run(statement<{ time: string }>("t.time", time)), [others]);
});

forPostgres("listening survives the loss of its connection", [], async (t, url) => {
  const database = await createPostgres({ url, poolSize: 2, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const received: string[] = [];
  await database.listen("hints", (payload) => received.push(payload));
  await database.notify("hints", "before");
  await until(() => received.length === 1);
  await database.run(KILL, ["sallyport listen"]);
  await until(async () => {
    await database.notify("hints", "after");
    return received.includes("after");
  });
});

forPostgres("what is asked together is one round trip, and stops at the first fault", [], async (t, url) => {
  const relay = await relayTo(t, url);
  const database = await createPostgres({ url: relay.url, poolSize: 1, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int primary key)");
  const keep = statement("t.keep", "insert into kept values ($1)");
  const kept = statement<{ n: bigint }>("t.kept", "select count(*) as n from kept");
  const before = relay.sent();
  const seen = await database.transaction(async (sql) => {
    for (let n = 0; n < 20; n++) sql.post(keep, [n]);
    return (await sql.run(kept))[0]?.n;
  });
  assert.equal(seen, 20n);
  assert.equal(relay.sent() - before, 2, "all of it with its begin, and the commit");
  // The second of five fails; the others are prepared anew where they are needed next, also on this one connection.
  const fresh = (name: string) => statement(`t.fresh_${name}`, "insert into kept values ($1)");
  const clash = database.transaction(async (sql) => {
    for (const [index, name] of ["a", "b", "c", "c"].entries()) sql.post(fresh(name), [index === 0 ? 100 : 0]);
  });
  await assert.rejects(clash, { code: "23505", statement: "t.fresh_b" });
  for (const [index, name] of ["a", "b", "c", "c", "b"].entries()) await database.run(fresh(name), [200 + index]);
  assert.equal((await database.run(kept))[0]?.n, 25n);
  await assert.rejects(database.run(statement("t.keep", "select 1")), /two statements have the name t.keep/);
  await assert.rejects(database.run(statement("t.copy", "copy kept from stdin")));
  assert.deepEqual(await database.run(statement("t.empty", "")), []);
  assert.equal((await database.run(kept))[0]?.n, 25n);
});

forPostgres("nothing runs outside its transaction where that cannot begin", [], async (t, url) => {
  const relay = await relayTo(t, url);
  const database = await createPostgres({ url: relay.url, poolSize: 1, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table kept (n int)");
  const keep = statement("t.keep", "insert into kept values (1)");
  const work = (sql: Transaction) => Promise.allSettled([sql.run(keep), sql.run(keep), sql.script("insert into kept values (1)")]);
  // The server takes no such isolation; what is asked with it must not be taken as three statements of their own.
  await assert.rejects(database.transaction(work, { isolation: "none" as never }));
  const single = async (sql: Transaction): Promise<void> => {
    sql.post(keep);
    await sql.run(keep);
  };
  await assert.rejects(database.transaction(single, { isolation: "none" as never }), { code: "42601" });
  assert.equal((await database.run(statement<{ n: bigint }>("t.kept", "select count(*) as n from kept")))[0]?.n, 0n);
  await database.transaction(work);
  assert.equal((await database.run(statement<{ n: bigint }>("t.kept", "select count(*) as n from kept")))[0]?.n, 3n);
});

forPostgres("two transactions that clash are both done in the end", [], async (t, url) => {
  const database = await createPostgres({ url, poolSize: 4, log });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  await database.script("create table account (id int primary key, amount int); insert into account values (1, 0), (2, 0)");
  const read = statement<{ total: bigint }>("t.total", "select sum(amount) as total from account");
  const add = statement("t.add", "update account set amount = amount + $2 where id = $1");
  let attempts = 0;
  /** The first attempts wait for one another where their clash is certain; later ones go on alone. */
  const meeting = (): (() => Promise<void>) => {
    let arrived = 0;
    const both = Promise.withResolvers<void>();
    return async () => {
      if (++arrived === 2) both.resolve();
      await both.promise;
    };
  };
  const met = meeting();
  const crossing = (first: number, second: number) =>
    database.transaction(async (sql) => {
      attempts++;
      await sql.run(add, [first, 1]);
      await met();
      await sql.run(add, [second, 1]);
    });
  await Promise.all([crossing(1, 2), crossing(2, 1)]);
  // The server looks for deadlocks in each that waits: where both look in the same moment, both are victims.
  assert.ok(attempts >= 3, "who was the victim of the deadlock was tried again");
  assert.equal((await database.run(read))[0]?.total, 4n, "each was done once");

  attempts = 0;
  const seen = meeting();
  const reading = () =>
    database.transaction(
      async (sql) => {
        attempts++;
        await sql.run(read);
        await seen();
        await sql.run(add, [1, 1]);
      },
      { isolation: "serializable" },
    );
  await Promise.all([reading(), reading()]);
  assert.ok(attempts > 2, "one saw what the other changed");
  assert.equal((await database.run(read))[0]?.total, 6n);
});
