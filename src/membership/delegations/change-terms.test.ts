import assert from "node:assert/strict";
import { test } from "node:test";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { graphModules, servedWorld, type Rule, type ServedWorld } from "#testing/membership.ts";

const BASE = "/api/v1/delegations";
const ROOT = "delegation:ben-hr";
const [LIST, GET, UPDATE] = ["people.demo.list_employees", "people.demo.get_employee", "people.demo.update_salary"] as const;
const HOURS = { tz: "Europe/Berlin", days: ["mon"], from: "09:00", to: "17:00" };
const DAYS_MS = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAYS_MS).toISOString();

/** Ben gives and takes, ada takes alone; of cleo's, cleo. */
const giverAlone: Rule = ({ sub, type, action }) => {
  if (type !== "delegations" || action === "view") return true;
  return action === "create" ? sub === "person:ben" : sub === "person:ben" || sub === "person:ada";
};
const change = (world: ServedWorld, body: object, more: { as?: string; id?: string; tag?: string } = {}) =>
  world.call(more.as ?? "ben", "PATCH", `${BASE}/${more.id ?? ROOT}`, { body, headers: { "if-match": more.tag ?? "*" } });
const read = async (world: ServedWorld, id = ROOT) => world.call("ben", "GET", `${BASE}/${id}`);
const reserve = (world: ServedWorld, more: object = {}) =>
  world.call("service:crud", "POST", `${BASE}/reservations`, {
    body: { call_id: crypto.randomUUID(), user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: LIST, usd: 0, ...more },
  });

test("what is named changes and the rest stays, in one version with its event and its audit row", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: giverAlone });
  const before = await read(world);
  const published = (await world.published()).length;
  const entries = world.entries.length;
  const reply = await change(
    world,
    { capabilities: [LIST, GET], budget_usd: 2.25, constraints: { per_call_usd: 0.5, hours: HOURS }, reason: "less is enough" },
    { tag: before.headers.get("etag") ?? "" },
  );
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  assert.deepEqual(reply.body, {
    ...before.body,
    capabilities: [GET, LIST],
    budget_usd: 2.25,
    constraints: { per_call_usd: 0.5, hours: HOURS },
  });
  assert.notEqual(reply.headers.get("etag"), before.headers.get("etag"));
  assert.deepEqual((await read(world)).body, reply.body);
  assert.deepEqual(
    (await world.published()).slice(published).map(({ type }) => type),
    ["delegation.narrowed", "graph.changed"],
  );
  assert.deepEqual(
    world.entries.slice(entries).map(({ data }) => [data?.["op"], data?.["reason"]]),
    [["narrowed", "less is enough"]],
  );
  const history = (await world.call("ben", "GET", `${BASE}/${ROOT}/history`)).body.items;
  assert.deepEqual([history.at(-1).reason, history.at(-1).after.constraints.per_call_usd], ["less is enough", 0.5]);

  const version = (await world.call("ben", "GET", "/api/v1/graph/version")).body.version;
  const same = await change(world, { budget_usd: 2.25, constraints: { hours: HOURS } });
  assert.deepEqual([same.status, same.headers.get("x-graph-version")], [200, String(version)], "nothing changed: no version");
  const loosened = await change(world, { constraints: { hours: null } });
  assert.deepEqual(loosened.body.constraints, { per_call_usd: 0.5 });
  assert.equal((await world.published()).at(-2)?.type, "delegation.extended");
});

test("a patch is merged at every depth: what it does not name stays, and null ends what it names", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: giverAlone });
  const own = { type: "object", properties: { department: { enum: ["sales"] } } };
  const further = { type: "object", properties: { department: { enum: ["sales"], maxLength: 5 } } };
  const late = { ...HOURS, to: "18:00" };
  for (const [what, constraints, merged, op] of [
    ["of a first tool", { args: { [LIST]: own } }, { args: { [LIST]: own } }, "narrowed"],
    ["of a second", { args: { [GET]: own } }, { args: { [LIST]: own, [GET]: own } }, "narrowed"],
    [
      "a member of a schema",
      { args: { [LIST]: { properties: { department: { maxLength: 5 } } } } },
      { args: { [LIST]: further, [GET]: own } },
      "extended",
    ],
    ["of the first no more", { args: { [LIST]: null } }, { args: { [GET]: own } }, "extended"],
    ["hours", { args: null, hours: HOURS }, { hours: HOURS }, "extended"],
    ["a list in the place of a list", { hours: { days: ["tue"] } }, { hours: { ...HOURS, days: ["tue"] } }, "extended"],
    ["one of their members", { hours: { days: HOURS.days, to: "18:00" } }, { hours: late }, "extended"],
    ["none at all", null, {}, "extended"],
  ] as const) {
    const reply = await change(world, { constraints });
    assert.deepEqual([what, reply.status, reply.body.constraints], [what, 200, merged], JSON.stringify(reply.body));
    assert.equal((await world.published()).at(-2)?.type, `delegation.${op}`, what);
  }
  // What it says of a tool that the agent has lost since is in nobody's way.
  assert.equal((await change(world, { capabilities: [GET], constraints: { args: { [LIST]: own } } })).status, 200);
  await world.sql(`update membership.edge set expires_at = now() where kind = 'HAS_CAPABILITY' and dst = '${LIST}'`);
  assert.equal((await change(world, { constraints: { args: { [GET]: own } } })).status, 200);
  assert.equal((await change(world, { constraints: null })).status, 200);
  // What it comes to is looked at as a whole.
  const part = await change(world, { constraints: { hours: { to: "18:00" } } });
  assert.deepEqual(
    [part.status, part.body.errors.map(({ path }: { path: string }) => path)],
    [422, ["tz", "days", "from"].map((name) => `/constraints/hours/${name}`)],
  );
  await world.sql(
    `update membership.delegation set constraints = jsonb_build_object('args', jsonb_build_object('${LIST}', jsonb_build_object('title', repeat('x', 1048576))))
     where id = '${ROOT}'`,
  );
  const large = await change(world, { constraints: { per_call_usd: 1 } });
  assert.deepEqual([large.status, large.body.errors.at(-1).path], [422, "/constraints"]);
});

forEachDatabase("a long history is told from its end, in bounds, and says that there was more", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const history = async () => {
    const { body } = await world.call("ben", "GET", `${BASE}/${ROOT}/history`);
    return [body.items.length, body.items.at(-1).version, body.truncated];
  };
  const [first, written, isCut] = await history();
  assert.deepEqual([first, isCut], [1, false]);
  const last = Number(written) + 1_000;
  await world.sql(`insert into membership.graph_change (version, actor, source, correlation_id)
    select ${last} + g, 'person:ben', 'api', 'test' from generate_series(1, 200) g`);
  await world.sql(`insert into membership.graph_change_op (version, seq, op, subject, after)
    select ${last} + g, 0, 'put_edge', '${ROOT}', '{"tenant_id": "tenant:acme"}' from generate_series(1, 200) g`);
  assert.deepEqual(await history(), [200, last + 200, true]);
  await world.sql(
    `update membership.graph_change_op set after = after || jsonb_build_object('long', repeat('x', 1100000)) where version = ${last} + 199`,
  );
  assert.deepEqual(await history(), [2, last + 200, true]);
});

test("to widen it is to give it anew, and its giver's alone", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: giverAlone });
  const set = {
    capabilities: [LIST],
    budget_usd: 1,
    max_steps: 10,
    expires_at: inDays(5),
    constraints: { per_call_usd: 0.2, per_minute_steps: 5, hours: HOURS },
  };
  assert.equal((await change(world, set, { as: "ada" })).status, 200, "whoever may end it may narrow it");
  for (const [what, patch] of Object.entries({
    "another tool": { capabilities: [LIST, GET] },
    "every tool": { capabilities: null },
    "more money": { budget_usd: 1.000001 },
    "more steps": { max_steps: 11 },
    "a later end": { expires_at: inDays(6) },
    "dearer calls": { constraints: { per_call_usd: 0.21 } },
    "calls of any price": { constraints: { per_call_usd: null } },
    "more steps a minute": { constraints: { per_minute_steps: 6 } },
    "other hours": { constraints: { hours: { ...HOURS, to: "16:00" } } },
    "any hour": { constraints: { hours: null } },
  })) {
    const whatIf = await world.call("ada", "POST", `${BASE}/what-if`, { body: { id: ROOT, patch } });
    const refused = await change(world, patch, { as: "ada" });
    assert.deepEqual([what, refused.status, refused.body.code, whatIf.status], [what, 403, "access_denied", 403]);
    const given = await change(world, patch);
    assert.deepEqual([what, given.status], [what, 200], JSON.stringify(given.body));
    assert.equal((await change(world, set)).status, 200);
  }
});

test("a patch is refused with every fault, and nothing of it holds", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: giverAlone });
  await reserve(world, { usd: 0.75 });
  const before = (await read(world)).body;
  for (const [what, patch, status, at] of [
    ["an unknown member", { agent_id: "agent:reporter" }, 422, undefined],
    ["a tool that the agent has not", { capabilities: [LIST, "people.demo.other"] }, 422, "/capabilities/1"],
    ["seven decimals", { budget_usd: 1.0000001 }, 422, "/budget_usd"],
    ["more than anybody may give", { budget_usd: 10_001 }, 422, "/budget_usd"],
    ["no step", { max_steps: 0 }, 422, "/max_steps"],
    ["an end in the past", { expires_at: inDays(-1) }, 422, "/expires_at"],
    ["an end in two years", { expires_at: inDays(730) }, 422, "/expires_at"],
    ["a constraint that nobody knows", { constraints: { per_day_usd: 1 } }, 422, undefined],
    ["a place that is no time zone", { constraints: { hours: { ...HOURS, tz: "Mars/Olympus" } } }, 422, "/constraints/hours/tz"],
    ["an hour that no day has", { constraints: { hours: { ...HOURS, to: "24:01" } } }, 422, undefined],
    ["no day", { constraints: { hours: { ...HOURS, days: [] } } }, 422, undefined],
    ["a purpose of one letter", { purpose: "x" }, 422, undefined],
    ["less money than is held", { budget_usd: 0.5 }, 409, undefined],
  ] as const) {
    const reply = await change(world, patch);
    assert.deepEqual([what, reply.status], [what, status], JSON.stringify(reply.body));
    if (at !== undefined) assert.equal(reply.body.errors?.[0]?.path, at, what);
    if (status === 409) assert.deepEqual([reply.body.code, reply.body.held_usd, reply.body.least_usd], ["budget_in_use", 0.75, 0.75]);
  }
  assert.deepEqual((await read(world)).body, before);
  for (const [headers, status, code] of [
    [{}, 400, "if_match_required"],
    [{ "if-match": '"77"' }, 412, "stale_version"],
  ] as const) {
    const reply = await world.call("ben", "PATCH", `${BASE}/${ROOT}`, { body: { budget_usd: 1 }, headers });
    assert.deepEqual([reply.status, reply.body.code], [status, code]);
  }
  assert.equal((await change(world, { purpose: "Once more" }, { id: "delegation:ben-old" })).body.code, "delegation_ended");
  assert.equal((await change(world, { purpose: "Once more" }, { id: "delegation:never" })).status, 404);
  assert.equal((await change(world, { purpose: "Once more" }, { as: "eve" })).status, 404, "another tenant's is not there");
});

forEachDatabase("of two changes at once one is stale", graphModules, async (t, database) => {
  const world = await servedWorld(t, database, { rule: giverAlone });
  const tag = (await read(world)).headers.get("etag") ?? "";
  const replies = await Promise.all([1, 2, 3, 4].map((budget_usd) => change(world, { budget_usd }, { tag })));
  assert.deepEqual(
    replies.map(({ status }) => status).toSorted((one, other) => one - other),
    [200, 412, 412, 412],
  );
});

forEachDatabase(
  "what lies below is narrowed with it, and its limits are lent and given back to the micro-dollar",
  graphModules,
  async (t, database) => {
    const world = await servedWorld(t, database, { rule: giverAlone });
    await world.put(
      { id: "agent:a", kind: "AIAgent", name: "A", tenant_id: "tenant:acme" },
      ...[LIST, GET].map((dst) => ({ kind: "HAS_CAPABILITY", src: "agent:a", dst, props: { granted_by: "person:ben" } }) as const),
      { kind: "CONTROLLED_BY", src: "agent:a", dst: "person:ben", props: { level: "primary" } },
    );
    const made = await world.call("ben", "POST", BASE, {
      body: { agent_id: "agent:a", parent_id: ROOT, capabilities: [LIST, GET], budget_usd: 1, max_steps: 10, purpose: "Handed on" },
      headers: { "idempotency-key": "below" },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const below = String(made.body.delegation_id);
    const lent = async () => {
      const { lent_usd, lent_steps } = (await read(world)).body;
      return [lent_usd, lent_steps];
    };
    assert.deepEqual(await lent(), [1, 10]);
    assert.equal((await change(world, { budget_usd: 1.500001, max_steps: 4 }, { id: below })).status, 200);
    assert.deepEqual(await lent(), [1.500001, 4]);
    const tooMuch = await change(world, { budget_usd: 5.1 }, { id: below });
    assert.deepEqual([tooMuch.status, tooMuch.body.code], [409, "budget_exhausted"]);
    const inUse = await change(world, { budget_usd: 1.5 });
    assert.deepEqual([inUse.status, inUse.body.code, inUse.body.lent_usd], [409, "budget_in_use", 1.500001]);
    const foreign = await change(world, { capabilities: [LIST, UPDATE] }, { id: below });
    assert.equal(foreign.status, 422, "no tool that the agent has not");
    assert.equal((await change(world, { capabilities: null }, { id: below })).status, 422, "nor all, where the one above names some");

    const version = (await world.call("ben", "GET", "/api/v1/graph/version")).body.version as number;
    const end = inDays(3);
    const narrowed = await change(world, { capabilities: [LIST], expires_at: end });
    assert.deepEqual([narrowed.status, narrowed.headers.get("x-graph-version")], [200, String(version + 1)], "in one version");
    const after = (await read(world, below)).body;
    assert.deepEqual([after.capabilities, after.expires_at], [[LIST], end]);
    assert.equal((await change(world, { expires_at: inDays(4) }, { id: below })).status, 422, "no later than the one above");
  },
);

forEachDatabase(
  "calls are held back by price, by the minute and by the hour, of it and of the one above",
  graphModules,
  async (t, database) => {
    const world = await servedWorld(t, database, { rule: giverAlone });
    const published = async (more: object = {}) => {
      const { status, body, headers } = await reserve(world, more);
      if (body.code === "outside_hours") assert.match(body.detail, /^It holds .* from \d\d:\d\d to \d\d:\d\d \(Asia\/Tokyo\)/);
      return status < 300 ? "held" : `${status} ${String(body.code)}${headers.has("retry-after") ? " later" : ""}`;
    };
    /** What is tried first is answered like what is done, and holds nothing. */
    const tried = async (more: object = {}) => {
      const asked = await published({ ...more, dry_run: true });
      assert.equal(asked, await published(more));
      return asked;
    };
    await change(world, { constraints: { per_call_usd: 0.25 } });
    assert.deepEqual([await tried({ usd: 0.25 }), await tried({ usd: 0.250001 })], ["held", "409 call_limit_exceeded"]);
    await change(world, { constraints: { per_call_usd: null, per_minute_steps: 3 } });
    const many = await Promise.all(Array.from({ length: 6 }, () => published()));
    assert.deepEqual(many.toSorted(), [...Array<string>(4).fill("409 rate_exceeded later"), "held", "held"], "one was held before");
    await world.sql("update membership.reservation set created_at = created_at - interval '61 seconds'");
    assert.equal(await tried(), "held", "what was a minute ago counts no more");

    // The hours are set around the present one: no test waits for a clock.
    const [{ day, hour } = { day: "", hour: 0 }] = await world.sql<{ day: string; hour: number }>(
      "select to_char(now() at time zone 'Asia/Tokyo', 'dy') as day, extract(hour from now() at time zone 'Asia/Tokyo')::int as hour",
    );
    const at = (from: number, to: number): { from: string; to: string } => {
      const text = (n: number): string => `${String((n + 24) % 24).padStart(2, "0")}:00`;
      return { from: text(from), to: text(to) };
    };
    const week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    const yesterday = week[(week.indexOf(day) + 6) % 7] ?? "";
    const others = week.filter((one) => one !== day && one !== yesterday);
    for (const [what, hours, expected] of [
      ["around now", { days: week, ...at(hour - 1, hour + 2) }, "held"],
      ["later", { days: week, ...at(hour + 2, hour + 4) }, "409 outside_hours"],
      ["on other days", { days: others, from: "00:00", to: "24:00" }, "409 outside_hours"],
      ["this day", { days: [day], from: "00:00", to: "24:00" }, "held"],
      ["the night that began yesterday", { days: [yesterday], from: "23:59", to: "23:58" }, hour === 23 ? undefined : "held"],
    ] as const) {
      const changed = await change(world, { constraints: { per_minute_steps: null, hours: { tz: "Asia/Tokyo", ...hours } } });
      assert.equal(changed.status, 200, JSON.stringify(changed.body));
      if (expected !== undefined) assert.deepEqual([what, await tried()], [what, expected]);
    }
  },
);

test("arguments and tenants are bound by the delegation and by all above it; what binds nobody is refused", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: giverAlone });
  const own = { type: "object", properties: { department: { enum: ["sales"] } } };
  for (const [what, constraints, path] of [
    ["a tool that the agent has not", { args: { "people.demo.lst": own } }, "/constraints/args/people.demo.lst"],
    ["a schema that refers elsewhere", { args: { [LIST]: { $ref: "https://elsewhere.example/s" } } }, `/constraints/args/${LIST}`],
    ["no list of tenants", { tenant_ids: "tenant:acme" }, "/constraints/tenant_ids"],
  ] as const) {
    const { status, body } = await change(world, { constraints });
    assert.deepEqual([what, status, body.errors?.[0].path], [what, 422, path], JSON.stringify(body));
  }
  const scopeOf = async () => {
    const ask = {
      subject_id: "person:ben",
      agent_ids: ["agent:hr-assistant"],
      action: "tools/call",
      resource: { type: "tool", external_id: LIST },
    };
    return (await world.reader.facts(wholeGraph, [ask])).value[0]?.data_scope;
  };
  assert.deepEqual((await scopeOf())?.tenant_ids, ["tenant:acme"]);
  assert.equal("argument_schemas" in (await reserve(world)).body, false);

  // Who may take may bind; to loosen is to give.
  const bound = await change(world, { constraints: { args: { [LIST]: own }, tenant_ids: ["tenant:other"] } }, { as: "ada" });
  assert.equal(bound.status, 200, JSON.stringify(bound.body));
  assert.deepEqual([(await scopeOf())?.tenant_ids, (await scopeOf())?.row_filter_sql], [[], "1=0"]);
  const call_id = crypto.randomUUID();
  for (const _twice of [1, 2]) assert.deepEqual((await reserve(world, { call_id })).body.argument_schemas, [own]);
  assert.equal("argument_schemas" in (await reserve(world, { tool_id: GET })).body, false, "of another tool nothing is demanded");
  for (const constraints of [
    { args: null },
    { args: { [LIST]: null } },
    { args: { [LIST]: { properties: null } } },
    { tenant_ids: null },
    { tenant_ids: ["tenant:other", "tenant:acme"] },
  ])
    assert.equal((await change(world, { constraints }, { as: "ada" })).body.code, "access_denied", JSON.stringify(constraints));
  assert.equal((await change(world, { constraints: { args: { [GET]: own } } }, { as: "ada" })).status, 200);

  // What was handed on demands its own beside it.
  await world.put(
    { id: "agent:below", kind: "AIAgent", name: "Below", tenant_id: "tenant:acme" },
    { kind: "CONTROLLED_BY", src: "agent:below", dst: "person:ben", props: { level: "primary" } },
    { kind: "HAS_CAPABILITY", src: "agent:below", dst: LIST, props: { granted_by: "person:ben" } },
  );
  const further = { type: "object", required: ["department"] };
  const below = await world.call("ben", "POST", BASE, {
    body: {
      agent_id: "agent:below",
      parent_id: ROOT,
      capabilities: [LIST],
      constraints: { args: { [LIST]: further } },
      budget_usd: 0,
      max_steps: 1,
      purpose: "Less of it",
    },
    headers: { "idempotency-key": "below" },
  });
  assert.equal(below.status, 201, JSON.stringify(below.body));
  const held = await reserve(world, { user_id: "agent:hr-assistant", agent_id: "agent:below" });
  assert.deepEqual(held.body.argument_schemas, [own, further], JSON.stringify(held.body));
});

forEachDatabase("without an end only where Sallyport allows it, and never below one that has an end", graphModules, async (t, database) => {
  const world = await servedWorld(t, database, { environment: { DELEGATION_ALLOW_ENDLESS: "true" } });
  const draft = { agent_id: "agent:hr-assistant", capabilities: [LIST], budget_usd: 0, max_steps: 5, purpose: "always", expires_at: null };
  const create = (body: object) => world.call("ben", "POST", BASE, { body, headers: { "idempotency-key": crypto.randomUUID() } });
  const made = await create(draft);
  assert.deepEqual([made.status, made.body.expires_at, made.body.status], [201, null, "active"], JSON.stringify(made.body));
  assert.equal((await reserve(world, { delegation_id: made.body.delegation_id })).status, 201);
  await world.put(
    { id: "agent:below", kind: "AIAgent", name: "below", tenant_id: "tenant:acme" },
    { kind: "CONTROLLED_BY", src: "agent:below", dst: "person:ben", props: { level: "primary" } },
    { kind: "HAS_CAPABILITY", src: "agent:below", dst: LIST, props: { granted_by: "person:ben" } },
  );
  const handOn = (parent: string) => create({ ...draft, agent_id: "agent:below", parent_id: parent, max_steps: 1 });
  assert.deepEqual((await handOn(made.body.delegation_id)).body.expires_at, null);
  const tooLong = await handOn(ROOT);
  assert.deepEqual([tooLong.status, tooLong.body.errors?.[0]?.path], [422, "/expires_at"], JSON.stringify(tooLong.body));

  const ended = await change(world, { expires_at: inDays(3) }, { id: made.body.delegation_id });
  assert.equal(ended.status, 200, JSON.stringify(ended.body));
  const endless = await change(world, { expires_at: null }, { id: made.body.delegation_id });
  assert.deepEqual([endless.status, endless.body.expires_at], [200, null], "which gives more, and is decided so");
  const not = await servedWorld(t, await testDatabase(t, graphModules));
  assert.deepEqual((await change(not, { expires_at: null })).body.errors?.[0]?.path, "/expires_at");
});
