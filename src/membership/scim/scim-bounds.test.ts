import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Database, Sql } from "#store/database.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, group, made, patch, user } from "#testing/scim-directory.ts";
import { hostileScim } from "#testing/scim-hostile.ts";

/** What the database is asked: statements, and rows that come back; of transactions apart. */
const counting = (database: Database) => {
  const all = { statements: 0, rows: 0, values: 0 };
  const inside = { ...all, transactions: 0, maxStatements: 0, maxValues: 0 };
  const counted =
    (sql: Sql, count: typeof all): Sql["run"] =>
    async (statement, values) => {
      const rows = await sql.run(statement, values);
      count.statements += 1;
      count.rows += rows.length;
      count.values += (values ?? []).reduce<number>((sum, one) => sum + (Array.isArray(one) ? one.length : 1), 0);
      return rows;
    };
  const wrapped: Database = new Proxy(database, {
    get: (target, name) => {
      if (name === "run") return counted(target, all);
      if (name === "transaction")
        return ((work, options) => {
          inside.transactions += 1;
          return target.transaction(async (tx) => {
            const own = { statements: 0, rows: 0, values: 0 };
            const within: Sql["run"] = counted({ ...tx, run: counted(tx, own) }, inside);
            const done = await work(new Proxy(tx, { get: (one, key) => (key === "run" ? within : Reflect.get(one, key, one)) }));
            inside.maxStatements = Math.max(inside.maxStatements, own.statements);
            inside.maxValues = Math.max(inside.maxValues, own.rows + own.values);
            return done;
          }, options);
        }) satisfies Database["transaction"];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const reset = (): void => {
    Object.assign(all, { statements: 0, rows: 0, values: 0 });
    Object.assign(inside, { statements: 0, rows: 0, values: 0, transactions: 0, maxStatements: 0, maxValues: 0 });
  };
  return { database: wrapped, all, inside, reset };
};

const MEMBERS = 3_000;
const nameOf = (n: number): string =>
  String(n)
    .replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")
    .padStart(26, "a");
/** Laid into the tables: the directory would take minutes. */
const openLarge = async (t: TestContext) => {
  const count = counting(await testDatabase(t, graphModules));
  const world = await servedWorld(t, count.database);
  const scim = await directoryOf(world);
  const id = "lpad(translate(n::text, '0123456789', 'abcdefghij'), 26, 'a')";
  for (const [kind, props] of [
    ["Person", "'{}'"],
    ["Account", "jsonb_build_object('login', 'n' || n, 'system', 'scim')"],
  ] as const)
    await world.sql(`insert into membership.node (id, kind, tenant_id, name, system, state, props, fold)
      select '${kind.toLowerCase()}:scim:' || ${id}, '${kind}', 'tenant:acme', 'n' || n, 'scim', 'active', ${props}, ''
      from generate_series(1, ${MEMBERS}) n`);
  await world.sql(`insert into membership.scim_resource (id, tenant_id, type, document)
    select 'person:scim:' || ${id}, 'tenant:acme', 'User', jsonb_build_object('userName', 'n' || n, 'active', true) from generate_series(1, ${MEMBERS}) n`);
  const ids = Array.from({ length: MEMBERS }, (_none, n) => nameOf(n + 1));
  return { ...count, world, scim, ids };
};

test(
  "a group of thousands: one member is one member's work, and a page holds no more members than it may",
  { timeout: 240_000 },
  async (t) => {
    const { world, scim, ids, all, inside, reset } = await openLarge(t);
    const id = await made(scim, "/Groups", group("Large"));
    const whole = await scim("PUT", `/Groups/${id}`, group("Large", ids));
    assert.deepEqual([whole.status, whole.body.members.length], [200, MEMBERS]);
    const rows: readonly (readonly [what: string, operation: object])[] = [
      ["one removed by a filter", { op: "remove", path: `members[value eq "${ids[7]}"]` }],
      ["one removed by its value", { op: "remove", path: "members", value: [{ value: ids[8] }] }],
      ["one added", { op: "add", path: "members", value: [{ value: ids[7] }] }],
      ["one added again", { op: "add", path: "members", value: [{ value: ids[7] }] }],
      ["renamed", { op: "replace", path: "displayName", value: "Larger" }],
    ];
    for (const [what, operation] of rows) {
      reset();
      assert.equal((await scim("PATCH", `/Groups/${id}`, patch(operation))).status, 204, what);
      assert.ok(inside.rows < 40 && inside.values < 150, `${what}: ${JSON.stringify(inside)}`);
      assert.ok(all.rows < 1_100, `${what}: ${JSON.stringify(all)}`);
      assert.equal(inside.transactions, 1, what);
    }
    const members = (await scim("GET", `/Groups/${id}`)).body.members as readonly { value: string }[];
    assert.deepEqual(members.map(({ value }) => value).toSorted(), ids.filter((_id, n) => n !== 8).toSorted());
    reset();
    const filter = encodeURIComponent(`id eq "${id}" and members eq "${ids[3]}"`);
    const asked = await scim("GET", `/Groups?filter=${filter}&attributes=displayName`);
    assert.deepEqual([asked.body.totalResults, asked.body.Resources[0].displayName], [1, "Larger"]);
    assert.ok(all.rows < 10, JSON.stringify(all));

    const copy = "'group:scim:' || lpad(chr(96 + n), 26, 'z')";
    await world.sql(`insert into membership.node (id, kind, tenant_id, name, system, state, props, fold)
    select ${copy}, 'Group', 'tenant:acme', 'Copy ' || n, 'scim', 'active', '{}', '' from generate_series(1, 7) n`);
    await world.sql(`insert into membership.scim_resource (id, tenant_id, type, document)
    select ${copy}, 'tenant:acme', 'Group', jsonb_build_object('displayName', 'Copy ' || n) from generate_series(1, 7) n`);
    await world.sql(`insert into membership.edge (id, kind, src, dst, tenant_id, props, rev)
    select 'edge:' || n || e.src, e.kind, e.src, ${copy}, e.tenant_id, '{}', 1
    from membership.edge e, generate_series(1, 7) n where e.kind = 'MEMBER_OF' and e.dst = 'group:scim:${id}'`);
    const seen = new Set<string>();
    for (let start = 1; seen.size < 8;) {
      const { totalResults, itemsPerPage, Resources } = (await scim("GET", `/Groups?startIndex=${start}&count=200`)).body;
      assert.equal(totalResults, 8);
      assert.ok(itemsPerPage >= 1 && itemsPerPage < 8 && itemsPerPage === Resources.length, String(itemsPerPage));
      for (const one of Resources) {
        assert.ok(one.members.length >= MEMBERS - 1, "whole, or on the next page");
        seen.add(one.id);
      }
      start += itemsPerPage;
    }
  },
);

test(
  "who is in a large group changes by short transactions, and two who say who all of it are do not mix",
  { timeout: 240_000 },
  async (t) => {
    const { world, scim, ids, inside, reset } = await openLarge(t);
    const members = async (id: string): Promise<readonly string[]> => {
      const rows = await world.sql<{ src: string }>(
        `select src from membership.edge where dst = 'group:scim:${id}' and kind = 'MEMBER_OF' order by 1`,
      );
      return rows.map(({ src }) => src.slice("account:scim:".length));
    };
    const id = await made(scim, "/Groups", group("Large"));
    const half = ids.slice(0, MEMBERS / 2);
    for (const [what, method, body, status, after] of [
      ["all come", "PUT", group("Large", ids), 200, ids],
      ["half go", "PUT", group("Large", half), 200, half],
      ["a cycle", "PUT", group("Large", [...ids, id]), 400, half],
      ["somebody who is not there", "PUT", group("Large", [...ids.slice(0, 2_000), "z".repeat(26)]), 400, half],
      ["a name that is none", "PUT", group("", ids), 400, half],
      ["others come, and all go", "PATCH", patch({ op: "replace", path: "members", value: null }), 200, []],
      ["all come by PATCH", "PATCH", patch({ op: "add", path: "members", value: ids.map((value) => ({ value })) }), 204, ids],
    ] as const) {
      reset();
      const reply = await scim(method, `/Groups/${id}`, body);
      assert.deepEqual([what, reply.status], [what, status], String(JSON.stringify(reply.body)).slice(0, 300));
      assert.ok(inside.maxStatements < 30 && inside.maxValues < 3_000, `${what}: ${JSON.stringify(inside)}`);
      assert.deepEqual(await members(id), after, what);
    }
    const tag = (await scim("GET", `/Groups/${id}`)).headers.get("etag") ?? "";
    assert.equal((await scim("PUT", `/Groups/${id}`, group("Large"), { "if-match": 'W/"0"' })).status, 412);
    assert.deepEqual((await members(id)).length, MEMBERS);
    assert.equal((await scim("PUT", `/Groups/${id}`, group("Large", half), { "if-match": tag })).status, 200);
    const other = ids.slice(MEMBERS / 2);
    const replies = await Promise.all([half, other].map((some) => scim("PUT", `/Groups/${id}`, group("Large", [...some]))));
    const done = [half, other].filter((_some, n) => replies[n]?.status === 200);
    assert.ok(done.length > 0 && replies.every(({ status }) => status === 200 || status === 409));
    const left = await members(id);
    assert.ok(
      done.some((some) => some.length === left.length && some.every((one, n) => one === left[n])),
      `${left.length} are left`,
    );
    reset();
    const copy = await scim("POST", "/Groups", group("Copy", ids));
    assert.deepEqual([copy.status, copy.body.members?.length], [201, MEMBERS]);
    for (const one of [id, String(copy.body.id)]) {
      assert.equal((await scim("DELETE", `/Groups/${one}`)).status, 204);
      assert.deepEqual(await members(one), []);
    }
    assert.ok(inside.maxStatements < 30 && inside.maxValues < 3_000, JSON.stringify(inside));
  },
);

test(
  "the largest messages cost one short transaction and linear work, or are refused before there is any",
  { timeout: 240_000 },
  async (t) => {
    const count = counting(await testDatabase(t, graphModules));
    const world = await servedWorld(t, count.database);
    const scim = await directoryOf(world);
    const full = Array.from({ length: 100 }, (_none, n) => ({ value: `${n}@acme.example` }));
    for (const { what, method, body, status } of hostileScim) {
      const id = await made(scim, "/Users", user(`u ${what}`, { emails: full }));
      count.reset();
      const { stringify } = JSON;
      let written = 0;
      JSON.stringify = ((...args: Parameters<typeof stringify>) => {
        written += 1;
        return stringify(...args);
      }) as typeof stringify;
      try {
        const sent = stringify(body);
        const reply = await scim(method, `/Users/${id}`, sent);
        assert.deepEqual([what, reply.status], [what, status], stringify(reply.body));
      } finally {
        JSON.stringify = stringify;
      }
      assert.ok(count.inside.statements < 25, `${what}: ${JSON.stringify(count.inside)}`);
      assert.equal(count.inside.transactions, status === 200 ? 1 : 0, what);
      // Each value is looked at once by each operation, beside the hundred that are there.
      assert.ok(written <= 100 * (100 + 100) + 1_000, `${what}: ${written}`);
    }
  },
);

test("two who change one user at once lose nothing", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scim = await directoryOf(world);
  const id = await made(scim, "/Users", user("one"));
  const types = Array.from({ length: 6 }, (_none, n) => `t${n}`);
  const replies = await Promise.all(
    types.map((type) =>
      scim("PATCH", `/Users/${id}`, patch({ op: "add", path: "emails", value: [{ type, value: `${type}@acme.example` }] })),
    ),
  );
  assert.deepEqual(
    replies.map(({ status }) => status),
    types.map(() => 200),
  );
  const { emails } = (await scim("GET", `/Users/${id}`)).body;
  assert.deepEqual(emails.map(({ type }: { type: string }) => type).toSorted(), types);
});

test("the work of filters is bounded by the text that they compare, and ends where its client is gone", { timeout: 240_000 }, async (t) => {
  const { world, scim, all, reset } = await openLarge(t);
  const search = (filter: string, signal?: AbortSignal) =>
    scim("GET", `/Users?count=1&attributes=userName&filter=${encodeURIComponent(filter)}`, undefined, {}, signal);
  const times = (count: number): string => Array.from({ length: count }, (_none, n) => `addresses.formatted co "xy${n}"`).join(" or ");
  assert.equal((await search(`${times(20)} or userName sw "n"`)).body.totalResults, MEMBERS, "many comparisons of small ones");
  await world.sql(`update membership.scim_resource set document = document || jsonb_build_object('addresses',
    (select jsonb_agg(jsonb_build_object('type', k, 'formatted', repeat('x', 560))) from generate_series(1, 90) k)) where id < 'person:scim:${nameOf(101)}'`);
  for (const [what, filter, status, scimType] of [
    ["one comparison", 'addresses.formatted co "xy" and id pr', 200, undefined],
    ["ten, which are too many in all", times(10), 400, "tooMany"],
    ["twenty-two, which are too many of one", times(22), 400, "tooMany"],
    ["nothing but comparisons", `userName eq "n2000" and (${times(22)})`, 200, undefined],
  ] as const) {
    const { status: answered, body } = await search(filter);
    assert.deepEqual([what, answered, body.scimType], [what, status, scimType], JSON.stringify(body).slice(0, 300));
  }
  const [fat] = await world.sql<{ id: string }>(`select id from membership.scim_resource where document ? 'addresses' limit 1`);
  const id = fat?.id.slice("person:scim:".length);
  const operation = { op: "replace", path: `addresses[${times(22).replaceAll("addresses.", "")}].country`, value: "DE" };
  const patched = await scim("PATCH", `/Users/${id}`, patch(operation, { op: "replace", path: "active", value: false }));
  assert.deepEqual([patched.status, patched.body.scimType], [400, "tooMany"]);
  assert.equal((await scim("GET", `/Users/${id}`)).body.active, false);

  const gone = new AbortController();
  reset();
  const asked = search('title co "x"', gone.signal);
  gone.abort();
  await asked.catch(() => undefined);
  assert.ok(all.rows <= 300, `${all.rows} of ${MEMBERS}`);
});
