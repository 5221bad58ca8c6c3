import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import type { forEachDatabase } from "#testing/database.ts";
import { statement, type Database, type SqlValue, type Transaction } from "./database.ts";
import { SqlError } from "./sql-error.ts";

const one = async <T>(database: Database, text: string, values: readonly SqlValue[] = []): Promise<T> => {
  const [row] = await database.run<{ value: T }>(statement(`t.${text}`.slice(0, 63), text), values);
  return row!.value;
};

const INSERT = statement("t.insert", "insert into thing (id, count) values ($1, $2)");
const COUNT = statement<{ count: number }>("t.count", "select count from thing where id = $1");
const ALL = statement<{ n: bigint }>("t.all", "select count(*) as n from thing");

const withThings = async (database: Database): Promise<void> => {
  await database.script(
    "create table thing (id text primary key, count int not null check (count >= 0)); insert into thing values ('a', 0), ('b', 0)",
  );
};

/** What goes in under which type, and what comes out. */
const values: readonly (readonly [type: string, sent: SqlValue, read: unknown])[] = [
  ["int8", 9_007_199_254_740_993n, 9_007_199_254_740_993n],
  ["int8", -1, -1n],
  ["int4", 42, 42],
  ["int2", 7, 7],
  ["float8", 0.1, 0.1],
  ["float8", Number.NaN, Number.NaN],
  ["numeric", "12345678901234567890.000001", "12345678901234567890.000001"],
  ["bool", true, true],
  ["bool", false, false],
  ["text", "", ""],
  ["text", "ü \u{1f600} ' \" \\ \n", "ü \u{1f600} ' \" \\ \n"],
  ["text", null, null],
  ["uuid", "0192f0c1-2d3e-7a4b-8c5d-6e7f80910203", "0192f0c1-2d3e-7a4b-8c5d-6e7f80910203"],
  ["bytea", Uint8Array.of(0, 1, 254, 255), Uint8Array.of(0, 1, 254, 255)],
  ["bytea", new Uint8Array(0), new Uint8Array(0)],
  ["timestamptz", new Date("2026-11-21T04:05:06.789Z"), "2026-11-21T04:05:06.789Z"],
  ["timestamptz", "2026-11-21T06:05:06+02:00", "2026-11-21T04:05:06.000Z"],
  ["timestamptz", "2026-11-21T04:05:06.123987Z", "2026-11-21T04:05:06.123Z"],
  ["timestamptz", "infinity", "infinity"],
  ["date", "2026-11-21", "2026-11-21"],
  ["json", '{"b":1,  "a":[null]}', { b: 1, a: [null] }],
  ["jsonb", '{"b":1,"a":"x"}', { a: "x", b: 1 }],
  ["jsonb", "null", null],
  [
    "text[]",
    ["a", 'q"uo"te', "back\\slash", "{brace},comma", "", "NULL", null],
    ["a", 'q"uo"te', "back\\slash", "{brace},comma", "", "NULL", null],
  ],
  // What JSON would escape otherwise than an array, with and without what both do.
  ...[
    "\n",
    "\t\r\b\f",
    "\u0001\u001f",
    "\u007f\u0080\u2028\u2029",
    "\u{1f600}",
    '\u{1f600} "\\" \n',
    "</script>",
    "\\n",
    "\\u0041",
    "ü",
  ].map((text) => ["text[]", [text, "b"], [text, "b"]] as const),
  ["text[]", [], []],
  ["int8[]", [1n, 2, null], [1n, 2n, null]],
  ["int4[]", [1, 2], [1, 2]],
  ["bool[]", [true, false], [true, false]],
  ["uuid[]", ["0192f0c1-2d3e-7a4b-8c5d-6e7f80910203"], ["0192f0c1-2d3e-7a4b-8c5d-6e7f80910203"]],
];

/** What both adapters of the database port must do alike. */
export const databaseContract = (declare: typeof forEachDatabase): void => {
  declare("values come out as the port says", [], async (_t, database) => {
    for (const [type, sent, read] of values)
      assert.deepEqual(await one(database, `select $1::${type} as value`, [sent]), read, `${type} of ${String(sent)}`);
    assert.deepEqual(await one(database, "select array[[1,2],[3,4]] as value"), [
      [1, 2],
      [3, 4],
    ]);
    assert.equal(await one(database, "select '0001-02-03 00:00:00+00'::timestamptz as value"), "0001-02-03T00:00:00.000Z");
    assert.equal(await one(database, "select current_setting('TimeZone') as value"), "UTC");
  });

  declare("what cannot be a parameter is refused before it is sent", [], async (_t, database) => {
    for (const wrong of [undefined, {}, () => 1])
      await assert.rejects(one(database, "select $1::text as value", [wrong as never]), TypeError);
  });

  declare("large results and large parameters pass", [], async (_t, database) => {
    const text = "x".repeat(3_000_000);
    assert.equal(await one(database, "select length($1::text) as value", [text]), text.length);
    const rows = await database.run<{ n: number }>(statement("t.many", "select n::int from generate_series(1, 20000) as n"));
    assert.equal(rows.length, 20_000);
    assert.equal(rows.at(-1)?.n, 20_000);
  });

  declare("a fault of a statement says what and where, and quotes no value", [], async (_t, database) => {
    await withThings(database);
    await assert.rejects(database.run(INSERT, ["a", 1]), (error: unknown) => {
      assert.ok(error instanceof SqlError);
      assert.equal(error.code, "23505");
      assert.equal(error.constraint, "thing_pkey");
      assert.equal(error.table, "thing");
      assert.equal(error.statement, "t.insert");
      return true;
    });
    await assert.rejects(database.run(INSERT, ["secret-id", -1]), (error: unknown) => {
      assert.ok(error instanceof SqlError && error.code === "23514");
      assert.ok(!`${error.message} ${JSON.stringify(error)}`.includes("secret-id"));
      return true;
    });
    await assert.rejects(database.run(statement("t.bad", "selec 1")), { code: "42601" });
    assert.equal((await database.run(ALL))[0]?.n, 2n, "the connection works on");
  });

  declare("one name may not stay bound to an old shape of a table", [], async (_t, database) => {
    await withThings(database);
    const star = statement<Record<string, unknown>>("t.star", "select * from thing where id = 'a'");
    assert.deepEqual(await database.run(star), [{ id: "a", count: 0 }]);
    await database.script("alter table thing add column note text default 'n'");
    assert.deepEqual(await database.run(star), [{ id: "a", count: 0, note: "n" }]);
  });

  declare("a transaction commits as a whole or not at all", [], async (_t, database) => {
    await withThings(database);
    const result = await database.transaction(async (sql) => {
      await sql.run(INSERT, ["c", 1]);
      return (await sql.run(ALL))[0]?.n;
    });
    assert.equal(result, 3n);
    const boom = new Error("boom");
    await assert.rejects(
      database.transaction(async (sql) => {
        await sql.run(INSERT, ["d", 1]);
        await sql.script("insert into thing values ('e', 1); insert into thing values ('f', 1)");
        throw boom;
      }),
      (error) => error === boom,
    );
    assert.equal((await database.run(ALL))[0]?.n, 3n);
  });

  declare("a fault that the work swallowed is not committed in silence", [], async (_t, database) => {
    await withThings(database);
    await assert.rejects(
      database.transaction(async (sql) => {
        await sql.run(INSERT, ["c", 1]);
        await sql.run(INSERT, ["a", 1]).catch(() => undefined);
      }),
      { code: "25P02" },
    );
    assert.equal((await database.run(ALL))[0]?.n, 2n);
  });

  declare("what is posted goes in order, before the next statement and before the commit", [], async (_t, database) => {
    await withThings(database);
    const twice = statement("t.twice", "update thing set count = count * 2 where id = 'c'");
    const seen = await database.transaction(async (sql) => {
      sql.post(INSERT, ["c", 1]);
      sql.post(twice);
      sql.post(twice);
      const [row] = await sql.run(COUNT, ["c"]);
      sql.post(twice);
      return row?.count;
    });
    assert.equal(seen, 4);
    assert.equal((await database.run(COUNT, ["c"]))[0]?.count, 8);
    await database.transaction(async (sql) => {
      sql.post(INSERT, ["d", 1]);
      await sql.script("update thing set count = 7 where id = 'd'");
    });
    assert.equal((await database.run(COUNT, ["d"]))[0]?.count, 7);
    assert.equal(await database.transaction(async () => "nothing was asked"), "nothing was asked");
  });

  declare("of what is posted the first that fails is what is said, and nothing is kept", [], async (_t, database) => {
    await withThings(database);
    const isFirst = (error: unknown): boolean => {
      assert.ok(error instanceof SqlError, String(error));
      assert.deepEqual([error.code, error.constraint, error.statement], ["23505", "thing_pkey", "t.insert"]);
      return true;
    };
    const never = statement("t.never", "select 1 / (count - count) from thing");
    const works: readonly ((sql: Transaction) => Promise<unknown>)[] = [
      async (sql) => {
        sql.post(INSERT, ["c", 1]);
        sql.post(INSERT, ["a", 1]);
        sql.post(never);
      },
      async (sql) => {
        sql.post(INSERT, ["c", 1]);
        sql.post(INSERT, ["a", 1]);
        await sql.run(never);
      },
      async (sql) => {
        sql.post(INSERT, ["a", 1]);
        await sql.script("insert into thing values ('c', 1)");
      },
      async (sql) => {
        await sql.run(INSERT, ["c", 1]);
        sql.post(INSERT, ["a", 1]);
        sql.post(INSERT, ["d", 1]);
      },
    ];
    for (const [index, work] of works.entries()) {
      await assert.rejects(database.transaction(work), isFirst, `work ${index}`);
      assert.equal((await database.run(ALL))[0]?.n, 2n, `work ${index}`);
    }
    // Swallowed, it is not committed in silence either.
    const swallowed = async (sql: Transaction): Promise<void> => {
      sql.post(INSERT, ["a", 1]);
      await sql.run(ALL).catch(() => undefined);
      sql.post(INSERT, ["c", 1]);
    };
    await assert.rejects(database.transaction(swallowed), { code: "25P02" });
    // What the work itself throws comes before what it posted.
    const boom = new Error("boom");
    const throwing = async (sql: Transaction): Promise<void> => {
      sql.post(INSERT, ["a", 1]);
      throw boom;
    };
    await assert.rejects(database.transaction(throwing), (error) => error === boom);
    await assert.rejects(
      database.transaction(async (sql) => sql.post(INSERT, [{} as never, 1])),
      TypeError,
    );
    assert.equal((await database.run(ALL))[0]?.n, 2n);
  });

  declare("a transaction that has ended takes nothing more", [], async (_t, database) => {
    await withThings(database);
    let leaked: Transaction | undefined;
    await database.transaction(async (sql) => {
      leaked = sql;
      await sql.run(INSERT, ["c", 1]);
    });
    assert.throws(() => leaked?.post(INSERT, ["d", 1]), /has ended/);
    await assert.rejects(async () => leaked?.run(INSERT, ["d", 1]), /has ended/);
    await assert.rejects(async () => leaked?.script("delete from thing"), /has ended/);
    assert.equal((await database.run(ALL))[0]?.n, 3n);
  });

  declare("statements that were asked at once in a transaction are all done in it", [], async (_t, database) => {
    await withThings(database);
    const boom = new Error("boom");
    const all = (sql: Transaction) => Promise.all(["c", "d", "e"].map((id) => sql.run(INSERT, [id, 1])));
    await assert.rejects(
      database.transaction(async (sql) => {
        await all(sql);
        throw boom;
      }),
      (error) => error === boom,
    );
    assert.equal((await database.run(ALL))[0]?.n, 2n);
    await database.transaction(all);
    assert.equal((await database.run(ALL))[0]?.n, 5n);
  });

  declare("others see nothing of an open transaction", [], async (_t, database) => {
    await withThings(database);
    const written = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const changing = database.transaction(async (sql) => {
      await sql.run(statement("t.set", "update thing set count = 5 where id = 'a'"));
      written.resolve();
      await goOn.promise;
    });
    await written.promise;
    const seen = database.run(COUNT, ["a"]);
    // The embedded database lets it wait for the transaction; PostgreSQL shows the state before it.
    if (database.kind === "postgres") assert.equal((await seen)[0]?.count, 0);
    goOn.resolve();
    if (database.kind === "pglite") assert.equal((await seen)[0]?.count, 5);
    await changing;
    assert.equal((await database.run(COUNT, ["a"]))[0]?.count, 5);
  });

  declare("transactions and single statements at once lose no update", [], async (_t, database) => {
    await withThings(database);
    const lock = statement<{ count: number }>("t.lock", "select count from thing where id = $1 for update");
    const set = statement("t.set_to", "update thing set count = $2 where id = $1");
    const raise = async (id: string): Promise<void> => {
      await database.transaction(async (sql) => {
        const [row] = await sql.run(lock, [id]);
        await sleep(Math.random() * 2);
        await sql.run(set, [id, row!.count + 1]);
      });
    };
    const single = statement("t.plus", "update thing set count = count + 1 where id = $1");
    await Promise.all(Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? database.run(single, ["a"]) : raise(n % 2 === 0 ? "a" : "b"))));
    const [a, b] = await Promise.all([database.run(COUNT, ["a"]), database.run(COUNT, ["b"])]);
    assert.equal(a[0]!.count + b[0]!.count, 60);
  });

  declare("work is tried again after a serialization failure, at most three times", [], async (_t, database) => {
    let attempts = 0;
    const fail = "do $$ begin raise exception 'try again' using errcode = '40001'; end $$";
    const result = await database.transaction(async (sql) => {
      if (++attempts < 3) await sql.script(fail);
      return "done";
    });
    assert.deepEqual([result, attempts], ["done", 3]);
    attempts = 0;
    await assert.rejects(
      database.transaction(async (sql) => {
        attempts++;
        await sql.script(fail);
      }),
      { code: "40001" },
    );
    assert.equal(attempts, 4);
  });

  declare("a read-only transaction writes nothing", [], async (_t, database) => {
    await withThings(database);
    await assert.rejects(database.transaction((sql) => sql.run(INSERT, ["c", 1]), { readOnly: true, isolation: "repeatable read" }));
    assert.equal((await database.run(ALL))[0]?.n, 2n);
  });

  declare("inside a transaction the database itself is refused at once", [], async (_t, database) => {
    await database.transaction(async (sql) => {
      await assert.rejects(database.run(statement("t.nested", "select 1")), /inside a transaction/);
      assert.throws(() => database.transaction(async () => 1), /inside a transaction/);
      await sql.run(statement("t.own", "select 1"));
    });
    await database.run(statement("t.after", "select 1"));
  });

  declare("hints reach all who listen, in order, until they stop", [], async (t, database) => {
    const first: string[] = [];
    const second: string[] = [];
    const stop = await database.listen('odd "channel"', (payload) => first.push(payload));
    const stopSecond = await database.listen('odd "channel"', (payload) => second.push(payload));
    await database.notify('odd "channel"', "1");
    await database.transaction((sql) => sql.run(statement("t.notify", "select pg_notify($1, '2')"), ['odd "channel"']));
    await database
      .transaction(async (sql) => {
        await sql.run(statement("t.notify", "select pg_notify($1, '2')"), ['odd "channel"']);
        throw new Error("rolled back");
      })
      .catch(() => undefined);
    await database.notify('odd "channel"', "3 ü");
    const deadline = AbortSignal.timeout(5_000);
    while ((first.length < 3 || second.length < 3) && !deadline.aborted && !t.signal.aborted) await sleep(5);
    assert.deepEqual(first, ["1", "2", "3 ü"]);
    assert.deepEqual(second, first);
    await stop();
    await database.notify('odd "channel"', "4");
    while (second.length < 4 && !deadline.aborted) await sleep(5);
    assert.equal(first.length, 3);
    assert.equal(second.length, 4);
    await stopSecond();
  });

  declare("a closed database says that it is not available", [], async (_t, database) => {
    await database.ready();
    await database[Symbol.asyncDispose]();
    const closed = (error: unknown): boolean => error instanceof Problem && error.code === "store_unavailable";
    await assert.rejects(database.run(ALL), closed);
    await assert.rejects(database.ready(), closed);
    await assert.rejects(
      database.transaction(async () => 1),
      closed,
    );
    await database[Symbol.asyncDispose]();
  });
};
