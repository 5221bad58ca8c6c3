import assert from "node:assert/strict";
import { testIdentity } from "#testing/identity.ts";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { statement, type Database, type Sql } from "#store/database.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, sharedWorld } from "#testing/membership.ts";

const shared = sharedWorld();
const PIP = "/api/v1/pip/membership";

interface Case {
  readonly name: string;
  /** SQL that makes the world so; undone afterwards. */
  readonly given?: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Members of each item that are compared; all unless given. */
  readonly select?: readonly string[];
  readonly valid_until?: boolean;
}

/** A database whose statements run inside a transaction while there is one, so that a case can be undone. */
const undoable = (database: Database): { readonly proxy: Database; within(work: (sql: Sql) => Promise<void>): Promise<void> } => {
  let current: Sql | undefined;
  return {
    proxy: { ...database, run: (one, values) => (current ?? database).run(one, values) },
    within: async (work) => {
      const undo = new Error("undo");
      await database
        .transaction(async (sql) => {
          current = sql;
          await work(sql).finally(() => (current = undefined));
          throw undo;
        })
        .catch((error: unknown) => {
          if (error !== undo) throw error;
        });
    },
  };
};

const picked = (body: unknown, members: readonly string[] | undefined): unknown =>
  members === undefined || !Array.isArray(body)
    ? body
    : body.map((item: Record<string, unknown>) => Object.fromEntries(members.map((member) => [member, item[member]])));

test("the five questions answer their cases", async (t) => {
  const { proxy, within } = undoable(await testDatabase(t, graphModules));
  const world = await servedWorld(t, proxy);
  const folder = new URL("../cases/", import.meta.url);
  let given = 0;
  for (const file of (await readdir(folder)).sort()) {
    const { endpoint, cases } = parse(await readFile(new URL(file, folder), "utf8")) as { endpoint: string; cases: readonly Case[] };
    assert.ok(cases.length > 0);
    for (const one of cases) {
      await t.test(`${endpoint}: ${one.name}`, () =>
        within(async (sql) => {
          for (const text of one.given ?? []) await sql.run(statement(`testing.given.${++given}`, text));
          const reply = await world.call("service:pdp", "GET", `${PIP}/${endpoint}?${new URLSearchParams(one.query).toString()}`);
          assert.equal(reply.status, 200);
          assert.deepEqual(picked(reply.body, one.select), one.body);
          assert.match(reply.headers.get("x-graph-version") ?? "", /^[0-9]+$/);
          assert.equal(reply.headers.get("x-graph-source"), "sql");
          assert.match(reply.headers.get("etag") ?? "", /^"[A-Za-z0-9_-]{43}"$/);
          assert.equal(reply.headers.get("cache-control"), "private, no-cache");
          assert.equal(reply.headers.get("vary"), "Authorization");
          if (one.valid_until !== undefined) assert.equal(reply.headers.has("x-valid-until"), one.valid_until, "X-Valid-Until");
        }),
      );
    }
  }
  assert.deepEqual(world.asked, [], "the point that decisions ask never asks for a decision");
});

const questions: Readonly<Record<string, string>> = {
  capabilities: "user_id=person:ben&agent_id=agent:hr-assistant",
  delegations: "user_id=person:ben",
  "data-scope": "subject_id=person:ben&resource_type=employee",
  "step-up": "subject_id=person:ben",
  "chain-eligibility": "user_id=person:ben&agent_id=agent:hr-assistant&tool_id=people.demo.get_employee",
};

test("an answer is asked for again at no cost while it holds, and a version can be demanded", async () => {
  const world = await shared();
  for (const [name, query] of Object.entries(questions)) {
    const path = `${PIP}/${name}?${query}`;
    const first = await world.call("service:pdp", "GET", path);
    const etag = first.headers.get("etag") ?? "";
    for (const tag of [etag, `"x", W/${etag}`]) {
      const again = await world.call("service:pdp", "GET", path, { headers: { "if-none-match": tag } });
      assert.deepEqual([again.status, again.body, again.headers.get("etag")], [304, undefined, etag]);
    }
    assert.equal((await world.call("service:pdp", "GET", path, { headers: { "if-none-match": '"other"' } })).status, 200);
    const version = Number(first.headers.get("x-graph-version"));
    assert.equal((await world.call("service:pdp", "GET", path, { headers: { "x-graph-min-version": String(version) } })).status, 200);
    const behind = await world.call("service:pdp", "GET", path, { headers: { "x-graph-min-version": String(version + 1) } });
    assert.deepEqual([behind.status, behind.body.code, behind.headers.get("retry-after")], [503, "graph_behind", "1"]);
    assert.equal((await world.call("service:pdp", "GET", path, { headers: { "x-graph-min-version": "new" } })).status, 422);
  }
});

test("facts, candidates and facts after a change say their version too, and a version can be demanded of them", async () => {
  const world = await shared();
  const ask = { subject_id: "person:ben", action: "view", resource: { type: "pages", external_id: "people" } };
  const reach = { subject_id: "person:ben" };
  const version = Number((await world.reader.version()).version);
  for (const [name, body] of [
    ["facts", { asks: [ask] }],
    ["candidates", { of: "subject", type: "identity", action: "view", limit: 10 }],
    ["candidates", { of: "subject", type: "spaceship", action: "view", limit: 10 }],
    ["candidates", { of: "resource", type: "pages", action: "view", limit: 10 }],
    ["facts-if", { asks: [ask], tenant_id: "tenant:acme", add: [], remove: [], reach }],
  ] as const) {
    const demand = (least: string) =>
      world.call("service:pdp", "POST", `${PIP}/${name}`, { body, headers: { "x-graph-min-version": least } });
    const plain = await world.call("service:pdp", "POST", `${PIP}/${name}`, { body });
    for (const reply of [plain, await demand(String(version))])
      assert.deepEqual(
        [name, reply.status, reply.headers.get("x-graph-version"), reply.headers.get("x-graph-source")],
        [name, 200, String(version), "sql"],
      );
    if (name !== "candidates") assert.equal(plain.body.graph_version, version);
    const behind = await demand(String(version + 1));
    assert.deepEqual([behind.status, behind.body.code, behind.headers.get("retry-after")], [503, "graph_behind", "1"]);
    assert.equal((await demand("new")).status, 422);
  }
});

test("bad questions are refused, for a misspelt parameter must not widen an answer", async () => {
  const world = await shared();
  const bad: readonly (readonly [path: string, status: number, code: string])[] = [
    ["capabilities", 422, "unprocessable"],
    ["capabilities?user_id=person:ben&agent=agent:hr-assistant", 422, "unknown_parameter"],
    ["capabilities?user_id=person:ben&user_id=person:ada", 400, "ambiguous_query"],
    ["capabilities?user_id=per son", 422, "unprocessable"],
    ["capabilities?user_id=person%2Fben", 422, "unprocessable"],
    ["capabilities?user_id=person:ben&agent_id=", 422, "unprocessable"],
    ["delegations?user_id=person:ben&status=dead", 422, "unprocessable"],
    ["delegations?user_id=person:ben&limit=0", 422, "unprocessable"],
    ["delegations?user_id=person:ben&limit=501", 422, "unprocessable"],
    ["delegations?user_id=person:ben&offset=-1", 422, "unprocessable"],
    ["data-scope?subject_id=person:ben", 422, "unprocessable"],
    ["data-scope?subject_id=person:ben&resource_type=%00", 422, "unprocessable"],
    ["step-up?subject_id=person:ben'--", 422, "unprocessable"],
    ["chain-eligibility?user_id=person:ben&agent_id=agent:hr-assistant", 422, "unprocessable"],
    ["chain-eligibility?user_id=person:ben&agent_id=agent:hr-assistant&tool_id=%00", 422, "unprocessable"],
  ];
  for (const [path, status, code] of bad) {
    const reply = await world.call("service:pdp", "GET", `${PIP}/${path}`);
    assert.deepEqual([path, reply.status, reply.body.code], [path, status, code]);
  }
});

test("services ask about anybody, a person about himself, an agent about what it may do for its person", async () => {
  const world = await shared();
  const statuses = async (as: string | undefined, path: string, scopes?: readonly string[]): Promise<number> =>
    (await world.call(as, "GET", `${PIP}/${path}`, scopes === undefined ? {} : { scopes })).status;
  const other = "user_id=person:cleo&agent_id=agent:reporter";
  for (const [name, query] of Object.entries(questions)) {
    assert.equal(await statuses(undefined, `${name}?${query}`), 401);
    assert.equal(await statuses("ben", `${name}?${query}`, ["mcp.tools.invoke"]), 403);
    assert.equal(await statuses("ben", `${name}?${query}`), 200);
    assert.equal(await statuses("ada", `${name}?${query}`), 403, `${name} of another person`);
    assert.equal(await statuses("eve", `${name}?${query}`), 403);
  }
  assert.equal(await statuses("ben", `capabilities?${other}`), 403);
  assert.equal(await statuses("ben", "capabilities?user_id=person:nobody"), 403, "an absent person is as another one");
  const scopes = ["membership.read"];
  assert.equal(await statuses("ben+hr-assistant", `capabilities?${questions["capabilities"]}`, scopes), 200);
  assert.equal(
    await statuses("ben+hr-assistant", "capabilities?user_id=person:ben", scopes),
    403,
    "an agent does not see what other agents may",
  );
  assert.equal(await statuses("ben+hr-assistant", "capabilities?user_id=person:ben&agent_id=agent:reporter", scopes), 403);
  for (const [wide, path] of [
    ["another agent of the person", "capabilities?user_id=person:ben&agent_id=agent:reporter"],
    ["every agent of the person", "delegations?user_id=person:ben"],
    ["another person", `chain-eligibility?${other}&tool_id=people.demo.get_employee`],
    ["the person's rows", "data-scope?subject_id=person:ben&resource_type=employee"],
    ["the person's sign-in", "step-up?subject_id=person:ben"],
    ["itself", "step-up?subject_id=agent:hr-assistant"],
  ] as const)
    assert.equal(await statuses("ben+hr-assistant", path, ["membership.read", "pip.read"]), 403, `no scope shows an agent ${wide}`);
  const facts = await world.call("ben", "POST", `${PIP}/facts`, { body: { asks: [] } });
  assert.equal(facts.status, 403, "facts are for services");
  const refused = await world.call("ada", "GET", `${PIP}/step-up?subject_id=person:ben`);
  assert.deepEqual([refused.body.code, /pip\.read/.test(refused.headers.get("www-authenticate") ?? "")], ["insufficient_scope", true]);
});

test("a setting leaves types without a rule without rows", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { environment: { DATA_SCOPE_UNKNOWN_TYPE: "deny" } });
  const scope = async (type: string) =>
    (await world.call("service:pdp", "GET", `${PIP}/data-scope?subject_id=person:ben&resource_type=${type}`)).body.row_filter_sql;
  assert.equal(await scope("orders"), "1=0");
  assert.equal(await scope("employee"), "tenant_id IN ('tenant:acme')");
});

test("an enforcement point outside, with a client of its own and pip.read, asks about anybody of its tenant and nobody else's", async (t) => {
  const identity = testIdentity();
  const world = await servedWorld(t, await testDatabase(t, graphModules), { identity });
  const ask = async (tenant: string, path: string, scopes: readonly string[] = ["pip.read"]) => {
    const token = await identity.tokenFor({ sub: "service:shop", clientId: "service:shop", tenant, scopes });
    return world.call(undefined, "GET", `${PIP}/${path}`, { headers: { authorization: `Bearer ${token}` } });
  };
  const capabilities = "capabilities?user_id=person:cleo&agent_id=agent:reporter";
  const step = "step-up?subject_id=person:ben";
  assert.deepEqual((await ask("tenant:acme", capabilities)).body, { capabilities: ["people.demo.list_employees"] });
  assert.deepEqual((await ask("*", capabilities)).body, { capabilities: ["people.demo.list_employees"] });
  assert.deepEqual((await ask("tenant:globex", capabilities)).body, { capabilities: [] }, "as of somebody who is not there");
  assert.equal((await ask("tenant:acme", step)).status, 200);
  for (const [what, tenant, scopes, code] of [
    ["another scope", "tenant:acme", ["authzen.pep"], "insufficient_scope"],
    ["what a person has", "tenant:acme", ["membership.read"], "insufficient_scope"],
    ["no tenant", "", ["pip.read"], "identity_rejected"],
  ] as const) {
    const reply = await ask(tenant, step, scopes);
    assert.deepEqual([what, reply.status, reply.body.code], [what, 403, code]);
  }
  // Facts are read with it; nothing is written.
  const token = await identity.tokenFor({ sub: "service:shop", clientId: "service:shop", tenant: "tenant:acme", scopes: ["pip.read"] });
  const headers = { authorization: `Bearer ${token}`, "if-none-match": "*" };
  const put = await world.call(undefined, "PUT", "/api/v1/nodes/group:x", { body: { kind: "Group", name: "x" }, headers });
  assert.deepEqual([put.status, put.body.code], [403, "insufficient_scope"]);
});
