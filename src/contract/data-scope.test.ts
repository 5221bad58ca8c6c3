import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { PGlite } from "@electric-sql/pglite";
import { applyMask, isFilterColumn, keepsRow, mergeMasks, parseRowFilter, writeRowFilter, type RowFilter } from "./data-scope.ts";

const ids = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,40}$/);
const columns = fc.stringMatching(/^[a-z_][a-z0-9_]{0,20}$/).filter(isFilterColumn);
const filters: fc.Arbitrary<RowFilter> = fc
  .tuple(columns, fc.array(ids, { minLength: 1, maxLength: 6 }), fc.option(fc.tuple(columns, ids)))
  .map(([column, values, own]) => ({ kind: "in", column, values, ...(own === null ? {} : { own: { column: own[0], value: own[1] } }) }));

describe("row filters", () => {
  it("reads back exactly what was written, for every filter", () => {
    fc.assert(
      fc.property(filters, (filter) => assert.deepEqual(parseRowFilter(writeRowFilter(filter)), filter)),
      { numRuns: 2000 },
    );
  });

  it("writes 1=0 for any value or column that could change the sentence, and says which", () => {
    const hostile = ["a'b", "a\\b", "", "a b", "a\u0000b", "x' OR '1'='1", "a;--", "ä", "-lead", "a/b", "x".repeat(201)];
    for (const value of hostile) {
      const reported: string[] = [];
      assert.equal(
        writeRowFilter({ kind: "in", column: "tenant_id", values: ["tenant:acme", value] }, (why) => reported.push(why)),
        "1=0",
      );
      assert.equal(
        writeRowFilter({ kind: "in", column: "tenant_id", values: ["a"], own: { column: "sub", value } }, (why) => reported.push(why)),
        "1=0",
      );
      assert.deepEqual(reported, ["value", "value"]);
    }
    for (const column of ["select", "Tenant", "a-b", "1a", "", "user", "a".repeat(64), 'a"b', "table"]) {
      const reported: string[] = [];
      assert.equal(
        writeRowFilter({ kind: "in", column, values: ["a"] }, (why) => reported.push(why)),
        "1=0",
      );
      assert.deepEqual(reported, ["column"]);
    }
  });

  it("is 1=0 without any tenant", () => {
    assert.equal(writeRowFilter({ kind: "in", column: "tenant_id", values: [] }), "1=0");
    assert.equal(writeRowFilter({ kind: "none" }), "1=0");
    assert.deepEqual(parseRowFilter("1=0"), { kind: "none" });
  });

  it("refuses to read anything but the three forms", () => {
    const refused = [
      "",
      "1=1",
      "1 = 0",
      "tenant_id IN ()",
      "tenant_id in ('a')",
      "tenant_id IN ('a','b')",
      "tenant_id IN ('a') ",
      " tenant_id IN ('a')",
      "tenant_id IN ('a') OR 1=1",
      "tenant_id IN ('a') AND own = 'b' AND x = 'c'",
      "tenant_id IN ('a') AND own <> 'b'",
      "tenant_id IN ('a'') OR (''b')",
      "tenant_id IN ('a', 'b c')",
      "user IN ('a')",
      "tenant_id IN ('a') AND select = 'b'",
      "tenant_id IN ('a')\n",
      "tenant_id IN ('a'); drop table x",
      "tenant_id IN (SELECT 1)",
      'tenant_id IN ("a")',
      "tenant_id NOT IN ('a')",
    ];
    for (const text of refused) assert.equal(parseRowFilter(text), undefined, text);
  });

  it("never reads random text as more than it says: what parses is written back the same", () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[a-z_]{1,8} IN \('[a-z' ,()=]{0,20}'\)( AND [a-z]{1,4} = '.{0,8}')?$/));
    fc.assert(
      fc.property(text, (sentence) => {
        const read = parseRowFilter(sentence);
        if (read !== undefined) assert.equal(writeRowFilter(read), sentence);
      }),
      { numRuns: 5000 },
    );
  });

  it("keeps the rows that PostgreSQL keeps", async () => {
    const database = await PGlite.create();
    try {
      const keywords = await database.query<{ word: string }>("select word from pg_get_keywords() where catcode <> 'U'");
      assert.ok(keywords.rows.length > 100);
      for (const { word } of keywords.rows) assert.equal(isFilterColumn(word), false, `${word} is a keyword`);

      await database.exec('create table t (n int, tenant_id text collate "C", own_id text collate "C")');
      const rows: { n: number; tenant_id: string | null; own_id: string | null }[] = [];
      const cells = ["tenant:acme", "tenant:globex", "TENANT:acme", null, "person:ben"];
      for (const tenant_id of cells) for (const own_id of cells) rows.push({ n: rows.length, tenant_id, own_id });
      for (const row of rows) await database.query("insert into t values ($1, $2, $3)", [row.n, row.tenant_id, row.own_id]);
      const some = fc.constantFrom("tenant:acme", "tenant:globex", "person:ben", "x");
      await fc.assert(
        fc.asyncProperty(fc.array(some, { minLength: 1, maxLength: 3 }), fc.option(some, { nil: undefined }), async (values, own) => {
          const filter: RowFilter = {
            kind: "in",
            column: "tenant_id",
            values,
            ...(own === undefined ? {} : { own: { column: "own_id", value: own } }),
          };
          const kept = await database.query<{ n: number }>(`select n from t where ${writeRowFilter(filter)} order by n`);
          const read = parseRowFilter(writeRowFilter(filter));
          assert.ok(read !== undefined);
          assert.deepEqual(
            rows.filter((row) => keepsRow(read, row)).map((row) => row.n),
            kept.rows.map((row) => row.n),
          );
        }),
        { numRuns: 100 },
      );
    } finally {
      await database.close();
    }
  });

  it("does not keep a row that lacks the column, holds something else in it, or has it from its prototype", () => {
    const filter: RowFilter = { kind: "in", column: "tenant_id", values: ["a"] };
    for (const row of [{}, { tenant_id: null }, { tenant_id: ["a"] }, { tenant_id: 1 }, Object.create({ tenant_id: "a" }) as object])
      assert.equal(keepsRow(filter, row as Record<string, unknown>), false);
    assert.equal(keepsRow(filter, { tenant_id: "a" }), true);
  });
});

describe("column masks", () => {
  const cases: [kind: string, value: unknown, expected: unknown][] = [
    ["null", "x", null],
    ["null", 0, null],
    ["null", null, null],
    ["year", "1984-05-06", "1984"],
    ["year", "1984-05-06T10:00:00Z", "1984"],
    ["year", "1984", null],
    ["year", "1984-13-01", null],
    ["year", 19_840_506, null],
    ["year", { y: 1984 }, null],
    ["year", null, null],
    ["last4", "DE89370400440532013000", "****3000"],
    ["last4", "12345678", "****"],
    ["last4", "123456789", "****6789"],
    ["last4", 1234567890, "****7890"],
    ["last4", "aaaaaaaa😀😁😂🤣", "****😀😁😂🤣"],
    ["last4", "😀😁😂🤣😀😁😂🤣", "****"],
    ["last4", "a😀😁😂🤣😀b😁😂🤣", "****b😁😂🤣"],
    ["last4", ["a"], null],
    ["last4", null, null],
    ["hash", "x", "H(x)"],
    ["hash", null, null],
  ];
  for (const [kind, value, expected] of cases) {
    it(`${kind} of ${JSON.stringify(value)} is ${JSON.stringify(expected)}`, () => {
      const { row } = applyMask({ a: value, b: 1 }, { a: kind }, { hash: (held) => `H(${String(held)})` });
      assert.deepEqual(row, { a: expected, b: 1 });
    });
  }
  it("last4 of a long text costs as much as that of a short one", () => {
    const text = "x".repeat(33_554_432);
    const { user } = process.threadCpuUsage();
    assert.equal(applyMask({ a: text }, { a: "last4" }).row["a"], "****xxxx");
    assert.ok(process.threadCpuUsage().user - user < 100_000, "less than a tenth of a second");
  });

  it("drop takes the member away, and an unknown kind is drop", () => {
    assert.deepEqual(applyMask({ a: 1, b: 2 }, { a: "drop" }).row, { b: 2 });
    assert.deepEqual(applyMask({ a: 1, b: 2 }, { a: "blur" }).row, { b: 2 });
    assert.deepEqual(applyMask({ a: 1 }, { a: "toString" }).row, {});
  });

  it("hash without a key hides as null does", () => assert.deepEqual(applyMask({ a: "x" }, { a: "hash" }).row, { a: null }));

  it("names the columns that held something, and leaves the given row alone", () => {
    const given = { salary: 1, birth_date: null, name: "n" };
    const result = applyMask(given, { salary: "null", birth_date: "year", absent: "drop" });
    assert.deepEqual(result, { row: { salary: null, birth_date: null, name: "n" }, columns: ["salary"] });
    assert.equal(given.salary, 1);
  });

  it("cannot be talked out of a mask by names of Object.prototype", () => {
    assert.deepEqual(applyMask({ constructor: "c", __proto__: null, a: 1 }, {}).row, { constructor: "c", a: 1 });
    assert.deepEqual(
      applyMask(JSON.parse('{"__proto__": 5, "a": 1}') as Record<string, unknown>, { __proto__: "x" } as never).row,
      JSON.parse('{"__proto__": 5, "a": 1}'),
    );
    assert.deepEqual(applyMask({ hasOwnProperty: "secret" }, { hasOwnProperty: "null" }).row, { hasOwnProperty: null });
  });

  it("merges to the stricter kind, whatever the order", () => {
    const kinds = ["drop", "null", "hash", "last4", "year", "unknown"];
    const rank = (kind: string): number => (kind === "unknown" ? 0 : kinds.indexOf(kind));
    for (const one of kinds)
      for (const other of kinds) {
        const expected = rank(one) < rank(other) ? one : other;
        assert.deepEqual(mergeMasks({ a: one }, { a: other }), { a: expected === "unknown" ? "drop" : expected });
      }
    assert.deepEqual(mergeMasks({ a: "year" }, { b: "null" }), { a: "year", b: "null" });
  });
});
