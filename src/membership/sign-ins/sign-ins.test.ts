import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type ServedWorld } from "#testing/membership.ts";
import { createPersonOf } from "./links.ts";
import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { putNode } from "#membership/graph/put-node.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import type { SignInRules } from "./settle-person.ts";

const issuer = "https://login.example";
const groups = new Map([
  ["staff", ["group:choir", "group:theirs"]],
  ["club", ["group:club"]],
  ["roles", ["group:crew", "group:marked"]],
]);
const rulesOf = (provision: SignInRules["provision"]): SignInRules => ({ provision, system: "oidc", subjectPrefix: "person:", groups });
type Body = Readonly<Record<string, unknown>>;

const person = (id: string, more: Body = {}, props: Body = {}) =>
  ({ id, kind: "Person", name: id, tenant_id: "tenant:acme", ...more, props }) as const;
const signIn = async (world: ServedWorld, subject: string, more: Body = {}) => {
  const body = { issuer, subject, tenant: "tenant:acme", ...more };
  const { status, body: reply } = await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body, scopes: ["membership.sign_in"] });
  return status === 200 ? ((reply as { person: { id: string } | null }).person?.id ?? null) : (reply as { code: string }).code;
};
const groupsOf = async (world: ServedWorld, id: string) =>
  (await world.sql<{ dst: string }>(`select dst from membership.edge where kind = 'MEMBER_OF' and src = '${id}' order by dst`)).map(
    ({ dst }) => dst,
  );

const worldOf = async (t: TestContext, provision: SignInRules["provision"], database?: Database) => {
  const world = await servedWorld(t, database ?? (await testDatabase(t, graphModules)), { signIns: rulesOf(provision) });
  await world.put(
    person("person:fay", { system: "oidc", external_id: "fay-1" }),
    person("person:gus", {}, { email: "Gus@Acme.example" }),
    person("person:hal", {}, { email: "twin@acme.example" }),
    person("person:hana", {}, { email: "twin@acme.example" }),
    person("person:ian", { system: "oidc", external_id: "ian-1" }, { email: "ian@acme.example" }),
    { id: "role:chief", kind: "BusinessRole", name: "Chief", tenant_id: "tenant:acme" },
    { id: "account:ian@acme", kind: "Account", name: "ian", tenant_id: "tenant:acme", props: { login: "ian", system: "x" } },
    { kind: "BELONGS_TO", src: "person:ian", dst: "account:ian@acme" },
    { kind: "MEMBER_OF", src: "account:ian@acme", dst: "role:chief" },
    person("person:lou", {}, { email: "lou@acme.example" }),
    person("person:zoe", { tenant_id: "tenant:globex" }, { email: "zoe@globex.example" }),
  );
  return world;
};

forEachDatabase(
  "match links by external id, else by the only verified e-mail of the tenant, and links once",
  graphModules,
  async (t, database) => {
    const world = await worldOf(t, "match", database);
    const rows: readonly (readonly [what: string, subject: string, more: Body, expected: string])[] = [
      ["the external id", "fay-1", {}, "person:fay"],
      ["the same subject again, whatever else is said", "fay-1", { email: "gus@acme.example" }, "person:fay"],
      ["a verified address, in whatever case", "g-7", { email: "gus@ACME.example" }, "person:gus"],
      ["a second subject with that address", "g-8", { email: "gus@acme.example" }, "unknown_person"],
      ["an address that two have", "h-1", { email: "twin@acme.example" }, "unknown_person"],
      ["a holder of a role by an account, by external id", "ian-1", {}, "unknown_person"],
      ["and by address", "ian-2", { email: "ian@acme.example" }, "unknown_person"],
      ["a person of another tenant", "z-1", { email: "zoe@globex.example" }, "unknown_person"],
      ["a tenant that nobody named", "l-1", { email: "lou@acme.example", tenant: undefined }, "unknown_person"],
      ["who is linked, where nobody named the tenant and there are several", "fay-1", { tenant: undefined }, "unknown_person"],
      ["a pattern is no address", "l-2", { email: "l_u@acme.example" }, "unknown_person"],
      ["nobody", "n-1", {}, "unknown_person"],
      ["an id of the graph", "person:ada", {}, "unknown_person"],
      ["the same subject at another issuer", "fay-1", { issuer: "https://other.example" }, "unknown_person"],
    ];
    for (const [what, subject, more, expected] of rows) assert.equal(await signIn(world, subject, more), expected, what);
    const links = await world.sql<{ n: number }>("select count(*)::int as n from membership.identity_link");
    assert.equal(links[0]?.n, 2);
    assert.deepEqual(
      world.entries.map(({ resource, data }) => [resource.id, data["op"], data["how"]]),
      [
        ["person:fay", "person_linked", "match"],
        ["person:gus", "person_linked", "match"],
      ],
    );
    const lookUp = createPersonOf(world.database, () => new Date());
    assert.deepEqual(await lookUp(issuer, "fay-1", "tenant:acme"), { id: "person:fay", tenant: "tenant:acme" });
    assert.equal(await lookUp(issuer, "fay-1\0", "tenant:acme"), undefined);
  },
);

test("create makes a person with an account in a tenant that is there, once, and never beside somebody who is guarded", async (t) => {
  const world = await worldOf(t, "create");
  const made = { name: "Kim Çelik", login: "kim", email: "kim@acme.example" };
  const both = await Promise.all([signIn(world, "k-1", made), signIn(world, "k-1", made)]);
  assert.deepEqual(both, ["person:oidc:k-1", "person:oidc:k-1"]);
  const node = (await world.reader.node(wholeGraph, "person:oidc:k-1")).value;
  assert.deepEqual([node?.name, node?.external_id, node?.tenant_id], ["Kim Çelik", "k-1", "tenant:acme"]);
  assert.deepEqual(await groupsOf(world, "account:oidc:k-1"), ["tenant:acme"]);
  assert.match(String(await signIn(world, "odd|subject/")), /^person:oidc:[a-z2-7]{26}$/);
  for (const [what, subject, more] of [
    ["a tenant that a claim made up", "m-1", { tenant: "tenant:mine" }],
    ["an address of somebody who is linked", "k-2", { email: "kim@acme.example" }],
    ["an address of a holder of a role", "ian-3", { email: "ian@acme.example" }],
  ] as const)
    assert.equal(await signIn(world, subject, more), "unknown_person", what);
  await world.put(person("person:oidc:taken"));
  assert.equal(await signIn(world, "taken"), "unknown_person", "the id is somebody's of the tenant");
});

test("off finds nobody but who is linked; nothing is made", async (t) => {
  const world = await worldOf(t, "off");
  assert.equal(await signIn(world, "fay-1"), null);
  const link = { issuer, subject: "fay-1", person_id: "person:fay" };
  assert.equal((await world.call("ada", "POST", "/api/v1/identity-links", { body: link, scopes: ["membership.write"] })).status, 201);
  await world.sql("insert into membership.first_administrator (person_id) values ('person:fay')");
  assert.equal(await signIn(world, "fay-1"), "person:fay");
  const [first] = await world.sql<{ came: boolean }>("select signed_in_at is not null as came from membership.first_administrator");
  assert.equal(first?.came, true, "that the first administrator came is known from then on");
});

test("groups of a claim come and go; what somebody else made stays, and a role is had through marked groups alone", async (t) => {
  const world = await worldOf(t, "match");
  const group = (id: string, tenant_id = "tenant:acme", props: Body = {}) => ({ id, kind: "Group", name: id, tenant_id, props }) as const;
  await world.write({ actor: "person:ada", source: "api", correlationId: "test", tenantId: null, roles: "assign" }, async (tx) => {
    for (const draft of [group("group:choir"), group("group:club"), group("group:theirs", "tenant:globex"), group("group:crew")])
      await putNode(tx, draft);
    await putNode(tx, group("group:marked", "tenant:acme", { provisions_roles: true }));
    for (const [src, dst] of [
      ["group:crew", "role:auditor"],
      ["group:marked", "role:member"],
      ["person:fay", "group:contractors"],
    ] as const)
      await putEdge(tx, { kind: "MEMBER_OF", src, dst });
    return { value: undefined };
  });
  const come = (...values: readonly string[]) => signIn(world, "fay-1", { groups: values });
  assert.equal(await come("staff", "club", "roles", "never heard of"), "person:fay");
  const all = ["group:choir", "group:club", "group:contractors", "group:marked"];
  assert.deepEqual(await groupsOf(world, "person:fay"), all, "never another tenant's, nor what leads to a role and is not marked for it");
  const version = (await world.reader.version()).version;
  await come("club", "staff", "roles");
  assert.equal((await world.reader.version()).version, version, "nothing new is no version");
  await come("staff");
  assert.deepEqual(await groupsOf(world, "person:fay"), ["group:choir", "group:contractors"]);
  await signIn(world, "fay-1");
  assert.deepEqual(await groupsOf(world, "person:fay"), ["group:choir", "group:contractors"], "no word of groups changes none");
  // By hand in what the claim would give: the hand's from now on.
  await world.put({ kind: "MEMBER_OF", src: "person:fay", dst: "group:club" });
  await come("club");
  await come();
  assert.deepEqual(await groupsOf(world, "person:fay"), ["group:club", "group:contractors"]);
  assert.deepEqual(
    world.entries.flatMap(({ data }) => (data["op"] === "group_left" ? [data["group"]] : [])),
    ["group:club", "group:marked", "group:choir"],
  );
  const off = await servedWorld(t, await testDatabase(t, graphModules), { signIns: rulesOf("off") });
  await off.put(group("group:choir"));
  assert.equal(await signIn(off, "dan", { groups: ["staff"] }), null);
  assert.deepEqual(await groupsOf(off, "person:dan"), ["group:choir"], "off: the subject is the id, and the claim counts");
});

test("links are seen, made and ended by administrators of the tenant; an unlinked subject is nobody at once", async (t) => {
  const world = await worldOf(t, "match");
  const call = (as: string, method: string, path: string, body?: Body) =>
    world.call(as, method, `/api/v1/identity-links${path}`, {
      scopes: ["membership.read", "membership.write"],
      ...(body === undefined ? {} : { body }),
    });
  const link = { issuer, subject: "ian-1", person_id: "person:ian", reason: "He showed his passport" };
  const made = await call("ada", "POST", "", link);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(await signIn(world, "ian-1"), "person:ian", "an administrator links whom no rule does");
  await signIn(world, "fay-1");
  assert.deepEqual(
    world.asked.map(({ sub, type, action }) => `${sub} ${type}/${action}`),
    ["person:ada links/manage"],
  );
  for (const [what, as, body, code] of [
    ["somebody's already", "ada", { ...link, person_id: "person:gus" }, "already_exists"],
    ["of another tenant", "ada", { ...link, subject: "x", person_id: "person:zoe" }, "not_found"],
    ["no person", "ada", { ...link, subject: "x", person_id: "agent:hr-assistant" }, "not_found"],
    ["a service's name", "ada", { ...link, subject: "x", person_id: "service:crud" }, "access_denied"],
    ["another tenant's administrator", "eve", { ...link, subject: "x" }, "not_found"],
    ["no subject", "ada", { ...link, subject: "a b" }, "invalid_body"],
  ] as const) {
    assert.equal((await call(as, "POST", "", body)).body.code, code, what);
  }
  const page = await call("ada", "GET", "?limit=1");
  assert.deepEqual(
    page.body.items.map((row: Body) => [row["subject"], row["how"], row["made_by"]]),
    [["ian-1", "administrator", "person:ada"]],
  );
  const next = await call("ada", "GET", `?limit=1&cursor=${page.body.next_cursor}`);
  assert.deepEqual([next.body.items[0].person_id, next.body.next_cursor], ["person:fay", undefined]);
  assert.equal((await call("ada", "GET", "?person_id=person:fay")).body.items.length, 1);
  assert.equal((await call("eve", "GET", "")).body.items.length, 0);
  for (const id of [randomUUID(), "x", made.body.link_id])
    assert.equal((await call(id === made.body.link_id ? "eve" : "ada", "DELETE", `/${id}`)).status, 404);
  assert.equal((await call("ada", "DELETE", `/${made.body.link_id}?reason=He%20left`)).status, 204);
  const behind = await call("ada", "GET", `?limit=1&cursor=${page.body.next_cursor}`);
  assert.deepEqual(behind.body, next.body, "a list goes on behind an item that has gone");
  assert.equal(await createPersonOf(world.database, () => new Date())(issuer, "ian-1", "tenant:acme"), undefined);
  assert.equal(await signIn(world, "ian-1"), "unknown_person");
});

test("a link holds in the tenant of its person alone; where no tenant is meant, only in an instance that has one", async (t) => {
  const world = await worldOf(t, "match");
  const link = (as: string, subject: string, person_id: string) =>
    world.call(as, "POST", "/api/v1/identity-links", {
      scopes: ["membership.read", "membership.write"],
      body: { issuer, subject, person_id, reason: "We know them" },
    });
  const inNone = { tenant: undefined };
  assert.equal((await link("eve", "gus-1", "person:zoe")).status, 201);
  assert.equal(await signIn(world, "gus-1"), "unknown_person", "another tenant's link makes nobody of this one's people somebody else");
  assert.equal(await signIn(world, "gus-1", inNone), "unknown_person", "no tenant's administrator decides who somebody of no tenant is");
  assert.equal((await link("ada", "gus-1", "person:gus")).status, 201, "another tenant's link is not seen");
  assert.equal(await signIn(world, "gus-1"), "person:gus");
  assert.equal(await signIn(world, "gus-1", { tenant: "tenant:globex" }), "person:zoe");
  assert.equal(await signIn(world, "gus-1", inNone), "unknown_person", "nobody is chosen");
  const look = createPersonOf(world.database, () => new Date());
  assert.deepEqual(
    [await look(issuer, "gus-1", "tenant:acme"), await look(issuer, "gus-1", "tenant:other"), await look(issuer, "gus-1", undefined)],
    [{ id: "person:gus", tenant: "tenant:acme" }, undefined, undefined],
  );
  assert.equal((await link("ada", "gus-1", "person:lou")).body.code, "already_exists");
  const body = { issuer, subject: "gus-1" };
  const refused = await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body, scopes: ["membership.sign_in"] });
  assert.match((refused.body as { detail: string }).detail, /gus-1.*administrator.*OIDC_DEFAULT_TENANT/);
});

test("nobody but the gateway says who signed in", async (t) => {
  const world = await worldOf(t, "create");
  const body = { issuer, subject: "mallory", tenant: "tenant:acme" };
  for (const as of ["ada", "ben+hr-assistant"])
    for (const scopes of [["membership.sign_in"], ["membership.write"]]) {
      const { status } = await world.call(as, "POST", "/api/v1/sign-ins", { body, scopes });
      assert.equal(status, 403, `${as} ${scopes.join(" ")}`);
    }
  assert.equal((await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body })).status, 403);
});

test("while the database is away what was last known of a subject counts, for five minutes; of nobody else anything is known", async () => {
  let isAway = false;
  let time = 1000;
  const ada = { id: "person:ada", tenant: "tenant:acme" };
  const run = async (_query: unknown, [, subject]: readonly unknown[] = []) => {
    if (isAway) throw new Problem("store_unavailable");
    return subject === "ada-1" ? [ada] : [];
  };
  const look = createPersonOf({ run } as unknown as Database, () => new Date(time));
  assert.deepEqual([await look(issuer, "ada-1", undefined), await look(issuer, "x", undefined)], [ada, undefined]);
  isAway = true;
  assert.deepEqual([await look(issuer, "ada-1", undefined), await look(issuer, "x", undefined)], [ada, undefined]);
  await assert.rejects(look(issuer, "y", undefined), { code: "store_unavailable" });
  time += 300_001;
  await assert.rejects(look(issuer, "ada-1", undefined), { code: "store_unavailable" });
});

test("a person of another tenant under the id of a subject is in nobody's way", async (t) => {
  const world = await worldOf(t, "create");
  const squat = { tenant_id: "tenant:globex", system: "oidc" } as const;
  await world.put(person("person:oidc:new-1", squat), {
    ...squat,
    id: "account:oidc:new-2",
    kind: "Account",
    name: "x",
    props: { login: "x", system: "oidc" },
  });
  for (const subject of ["new-1", "new-2"]) {
    const made = await signIn(world, subject);
    assert.match(String(made), /^person:oidc:[0-9a-f-]{36}$/);
    const [node] = await world.sql(`select tenant_id, external_id from membership.node where id = '${made}'`);
    assert.deepEqual(node, { tenant_id: "tenant:acme", external_id: subject });
    assert.equal(await signIn(world, subject), made);
  }
});
