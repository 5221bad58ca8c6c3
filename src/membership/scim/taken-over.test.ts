import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, made, patch, user } from "#testing/scim-directory.ts";

const scopes = ["membership.read", "membership.write"];
const off = patch({ op: "replace", path: "active", value: false });
const on = patch({ op: "replace", path: "active", value: true });

const openWorld = async (t: TestContext) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scim = await directoryOf(world);
  const nodeOf = async (id: string) => {
    const [node] = await world.sql<{ system: string | null; state: string; rev: bigint }>(
      `select system, state, rev from membership.node where id = 'person:scim:${id}'`,
    );
    assert.ok(node);
    return node;
  };
  const tag = async (id: string) => ({ "if-match": `"${(await nodeOf(id)).rev}"` });
  const imported = (body: string, type: string, query = "") =>
    world.call("ada", "POST", `/api/v1/imports?reason=from%20a%20file${query}`, {
      body,
      scopes,
      headers: { "content-type": type, "idempotency-key": crypto.randomUUID() },
    });
  /** What an administrator writes of a person without its system. */
  const writers: Readonly<Record<string, (id: string, more?: object) => Promise<{ readonly status: number; readonly body: unknown }>>> = {
    "PUT of a node": async (id, more) =>
      world.call("ada", "PUT", `/api/v1/nodes/person:scim:${id}`, {
        body: { kind: "Person", name: "New", ...more },
        headers: await tag(id),
        scopes,
      }),
    "graph/changes": (id, more) =>
      world.call("ada", "POST", "/api/v1/graph/changes", {
        body: { changes: [{ op: "put_node", node: { id: `person:scim:${id}`, kind: "Person", name: "New", ...more } }], reason: "renamed" },
        headers: { "idempotency-key": crypto.randomUUID() },
        scopes,
      }),
    "import of NDJSON": (id, more) =>
      imported(JSON.stringify({ node: { id: `person:scim:${id}`, kind: "Person", name: "New", ...more } }), "application/x-ndjson"),
    "import of CSV": (id, more = {}) =>
      imported(
        `${["id", "kind", "name", ...Object.keys(more)].join()}\n${[`person:scim:${id}`, "Person", "New", ...Object.values(more)].join()}\n`,
        "text/csv",
        "&format=csv&csv=nodes",
      ),
  };
  return { world, scim, nodeOf, tag, writers };
};

test("a person of a directory that somebody writes without its system stays the directory's, and switched off", async (t) => {
  const { scim, nodeOf, writers } = await openWorld(t);
  for (const [what, write] of Object.entries(writers)) {
    const id = await made(scim, "/Users", user(what));
    const written = async (): Promise<void> => {
      const reply = await write(id);
      assert.equal(reply.status, 200, `${what}: ${JSON.stringify(reply.body)}`);
    };
    await written();
    assert.equal((await nodeOf(id)).system, "scim", what);
    assert.equal((await scim("PATCH", `/Users/${id}`, off)).status, 200, what);
    await written();
    assert.deepEqual([what, (await nodeOf(id)).state], [what, "suspended"]);
    assert.deepEqual([what, (await scim("PATCH", `/Users/${id}`, on)).body.active], [what, true]);
    assert.equal((await scim("DELETE", `/Users/${id}`)).status, 204, what);
    assert.equal((await nodeOf(id)).state, "disabled", what);
  }
});

test("a person that an administrator gave another system is switched off by the directory that made it, and no more", async (t) => {
  const { world, scim, nodeOf, tag, writers } = await openWorld(t);
  const patched = async (id: string, body: object) =>
    world.call("ada", "PATCH", `/api/v1/nodes/person:scim:${id}`, { body, headers: await tag(id), scopes });
  const takings: Readonly<Record<string, (id: string) => Promise<{ readonly status: number; readonly body: unknown }>>> = {
    ...Object.fromEntries(Object.entries(writers).map(([what, write]) => [what, (id: string) => write(id, { system: "hr" })])),
    "PATCH of a node": (id) => patched(id, { system: "hr" }),
    "PATCH of a node to none": (id) => patched(id, { system: null }),
  };
  for (const [what, take] of Object.entries(takings)) {
    const system = what.endsWith("none") ? null : "hr";
    for (const [method, sent, status] of [
      ["PATCH", off, 200],
      ["PUT", user("#", { active: false }), 200],
      ["PUT", user("#", { active: "False", title: "Clerk" }), 403],
      ["DELETE", undefined, 403],
    ] as const) {
      const name = `${what} ${method} ${status}`;
      const id = await made(scim, "/Users", user(name));
      assert.equal((await take(id)).status, 200, name);
      const rename = patch({ op: "replace", path: "displayName", value: "x" });
      assert.deepEqual([name, (await scim("PATCH", `/Users/${id}`, rename)).status], [name, 403]);
      const reply = await scim(method, `/Users/${id}`, sent && JSON.parse(JSON.stringify(sent).replace("#", name)));
      assert.deepEqual([name, reply.status], [name, status], JSON.stringify(reply.body));
      if (status === 403) assert.match(reply.body.detail, /belongs to another system.*(?:active: false is done|is suspended)/, name);
      const { state, system: after } = await nodeOf(id);
      assert.deepEqual([name, state, after], [name, "suspended", system]);
      assert.deepEqual([name, (await scim("PATCH", `/Users/${id}`, on)).status], [name, 403]);
    }
  }
});

test("a directory suspends and removes its user whatever became of the account's id", async (t) => {
  const { world, scim, nodeOf } = await openWorld(t);
  const rows = [
    ["another tenant's account", "eve", { kind: "Account", name: "x", system: "scim", props: { login: "x", system: "scim" } }],
    ["another tenant's group", "eve", { kind: "Group", name: "x", system: "scim" }],
    ["a group", "ada", { kind: "Group", name: "x", system: "scim" }],
    ["nothing", "ada", undefined],
  ] as const;
  for (const [what, as, body] of rows)
    for (const [method, sent, state] of [
      ["PATCH", off, "suspended"],
      ["DELETE", undefined, "disabled"],
    ] as const) {
      const name = `${method} beside ${what}`;
      const id = await made(scim, "/Users", user(name));
      const account = `/api/v1/nodes/account:scim:${id}`;
      const gone = await world.call("ada", "DELETE", `${account}?cascade=true&reason=removed`, { headers: { "if-match": "*" }, scopes });
      assert.equal(gone.status, 204, name);
      if (body !== undefined)
        assert.equal((await world.call(as, "PUT", account, { body, headers: { "if-none-match": "*" }, scopes })).status, 201, name);
      const reply = await scim(method, `/Users/${id}`, sent);
      assert.ok(reply.status < 300, `${name}: ${JSON.stringify(reply.body)}`);
      assert.deepEqual([name, (await nodeOf(id)).state], [name, state]);
      if (body !== undefined) {
        const [node] = await world.sql<{ state: string }>(`select state from membership.node where id = 'account:scim:${id}'`);
        assert.deepEqual([name, node?.state], [name, "active"], "what somebody else has there stays as it is");
      }
    }
});

test("a user is removed without a version, by a version of now, and by none of before", async (t) => {
  const { scim, nodeOf } = await openWorld(t);
  for (const [tag, status, state] of [
    [undefined, 204, "disabled"],
    ["*", 204, "disabled"],
    ["now", 204, "disabled"],
    ['W/"0"', 412, "active"],
  ] as const) {
    const id = await made(scim, "/Users", user(`u ${tag}`));
    await made(scim, "/Groups", { displayName: `g ${tag}`, members: [{ value: id }] });
    const now = (await scim("GET", `/Users/${id}`)).headers.get("etag") ?? "";
    const headers: Record<string, string> = tag === undefined ? {} : { "if-match": tag === "now" ? now : tag };
    assert.deepEqual([tag, (await scim("DELETE", `/Users/${id}`, undefined, headers)).status], [tag, status]);
    assert.deepEqual([tag, (await nodeOf(id)).state], [tag, state]);
  }
});
