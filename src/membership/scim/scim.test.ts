import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld, type Rule } from "#testing/membership.ts";
import { directoryOf, group, GROUP, made, makeToken, patch, user, USER, PATCH } from "#testing/scim-directory.ts";

const scopes = ["membership.read", "membership.write"];
const openWorld = async (t: TestContext, rule?: Rule) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), rule === undefined ? {} : { rule });
  return { world, scim: await directoryOf(world) };
};
/** Of 52 comparisons in 697 characters. */
const manyBranches = Array<string>(26).fill("(type pr or value pr)").join(" and ");

test("a token is made by who may, shown once, kept as a digest, ends, and there are two at a time", async (t) => {
  const { world, scim } = await openWorld(t);
  const second = await makeToken(world);
  assert.match(second.body.token, /^scim_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
  const third = await makeToken(world);
  assert.deepEqual([third.status, third.body.code], [409, "conflict"]);
  const kept = await world.sql<Record<string, string>>("select * from membership.scim_token");
  assert.ok(
    !JSON.stringify(kept, (_key, value) => (typeof value === "bigint" ? String(value) : value)).includes(second.body.token.slice(22)),
  );
  const { body } = await world.call("ada", "GET", "/api/v1/scim-tokens", { scopes });
  assert.deepEqual([body.items.length, "token" in body.items[0]], [2, false]);
  assert.deepEqual((await world.call("eve", "GET", "/api/v1/scim-tokens", { scopes })).body.items, []);
  const foreign = await world.call("eve", "DELETE", `/api/v1/scim-tokens/${body.items[0].token_id}`, { scopes });
  assert.equal(foreign.status, 404);
  assert.equal((await scim("GET", "/Users")).status, 200);
  for (const { token_id } of body.items)
    assert.equal((await world.call("ada", "DELETE", `/api/v1/scim-tokens/${token_id}`, { scopes })).status, 204);
  const ended = await scim("GET", "/Users");
  assert.deepEqual([ended.status, ended.body.status, ended.headers.has("www-authenticate")], [401, "401", true]);
  for (const days of [0, 366, 1.5]) assert.equal((await makeToken(world, "ada", { days })).status, 422);
  for (const authorization of ["", "Bearer", "Bearer x", `Bearer scim_${"0".repeat(16)}_${"A".repeat(43)}`, "Basic YTpi"])
    assert.equal((await scim("GET", "/Users", undefined, { authorization })).status, 401);
  const late = await directoryOf(world);
  await world.sql("update membership.scim_token set expires_at = now()");
  assert.equal((await late("GET", "/Users")).status, 401);
  const refused = await servedWorld(t, await testDatabase(t, graphModules), { rule: ({ type }) => type !== "scim" });
  assert.equal((await makeToken(refused)).status, 403);
});

test("a user is a person with an account of the tenant, changed and found as SCIM has it", async (t) => {
  const { world, scim } = await openWorld(t);
  const sent = user("bjensen@acme.example", {
    externalId: "00u1",
    displayName: "Babs",
    name: { givenName: "Barbara", familyName: "Jensen" },
    emails: [{ value: "babs@acme.example", type: "work", primary: true }],
    password: "t1meMa$heen",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { employeeNumber: "701984" },
  });
  const first = await scim("POST", "/Users", sent);
  assert.equal(first.status, 201, JSON.stringify(first.body));
  const { id, meta } = first.body;
  assert.deepEqual(
    [first.headers.get("etag"), meta.version, meta.location],
    ['W/"1"', 'W/"1"', `http://localhost:8084/scim/v2/Users/${id}`],
  );
  assert.ok(!JSON.stringify(first.body).includes("t1meMa"), "a password is never kept");
  const node = (await world.call("ada", "GET", `/api/v1/identity_nodes/person:scim:${id}`, { scopes })).body;
  assert.deepEqual(
    [node.name, node.system, node.external_id, node.properties?.email ?? node.props?.email],
    ["Babs", "scim", "00u1", "babs@acme.example"],
  );
  const [version] = await world.sql<{ actor: string; source: string }>(
    "select actor, source from membership.graph_change order by version desc limit 1",
  );
  assert.deepEqual(version, { actor: "service:scim:tenant:acme", source: "sync" });
  assert.ok(world.entries.some(({ data, actor }) => data?.["op"] === "scim_user_made" && actor.subject === "service:scim:tenant:acme"));
  const again = await scim("POST", "/Users", user("BJensen@acme.example"));
  assert.deepEqual([again.status, again.body.scimType], [409, "uniqueness"]);

  await made(scim, "/Users", user("other"));
  const found = async (filter: string) => {
    const { status, body } = await scim("GET", `/Users?filter=${encodeURIComponent(filter)}`);
    return status === 200 ? body.Resources.map(({ userName }: { userName: string }) => userName) : body.scimType;
  };
  for (const filter of [
    'userName eq "BJENSEN@acme.example"',
    'externalId eq "00u1"',
    `id eq "${id}"`,
    'name.familyName co "ense"',
    'emails[type eq "work" and value ew "acme.example"]',
    'userName sw "bj" and active eq true',
    'userName eq "bjensen@acme.example" or userName eq "never or"',
    'not (userName eq "other")',
  ])
    assert.deepEqual([filter, await found(filter)], [filter, ["bjensen@acme.example"]]);
  for (const filter of [
    "",
    "userName",
    "userName eq",
    'userName eq "other" or',
    'userName eq "other" OR ',
    'userName eq "other" and',
    '(userName eq "other" or) and active eq true',
    'emails[type eq "work" and] or userName eq "other"',
    'or userName eq "other"',
    'userName eq "other" or or active eq true',
    'userName eq "other" "more"',
    "userName pr not",
    'userName xx "a"',
    "(((",
    'userName eq "',
    "__proto__ eq 1",
    `userName eq "${"x".repeat(1001)}"`,
    `emails[${manyBranches}]`,
    `emails[type pr] or userName pr and ${manyBranches}`,
    `(userName pr) and emails[${manyBranches}] pr`,
    // What the library takes for the end of a text, of a bracket or for an operator is one here.
    `userName eq "\\" and ${manyBranches} and userName eq "\\"`,
    manyBranches.replaceAll("or ", "or_"),
    `userName eq "${"\\a".repeat(60)}`,
  ])
    assert.deepEqual([filter, await found(filter)], [filter, "invalidFilter"]);
  const page = await scim("GET", "/Users?startIndex=2&count=1");
  assert.deepEqual([page.body.totalResults, page.body.startIndex, page.body.Resources.length], [2, 2, 1]);
  assert.deepEqual((await scim("GET", "/Users?count=0")).body.Resources, []);
  assert.equal((await scim("GET", "/Users?count=ten")).body.scimType, "invalidValue");
  assert.deepEqual(Object.keys((await scim("GET", `/Users/${id}?attributes=userName`)).body).toSorted(), ["id", "schemas", "userName"]);

  const renamed = await scim("PATCH", `/Users/${id}`, patch({ op: "Replace", path: "userName", value: "barbara" }), {
    "if-match": 'W/"1"',
  });
  assert.deepEqual(
    [renamed.status, renamed.body.userName, renamed.headers.get("etag")],
    [200, "barbara", 'W/"2"'],
    JSON.stringify(renamed.body),
  );
  assert.equal(
    (await scim("PATCH", `/Users/${id}`, patch({ op: "replace", path: "userName", value: "x" }), { "if-match": 'W/"1"' })).status,
    412,
  );
  assert.equal((await scim("GET", `/Users/${id}`, undefined, { "if-none-match": 'W/"2"' })).status, 304);
  const put = await scim("PUT", `/Users/${id}`, user("barbara", { active: true }));
  assert.deepEqual([put.status, put.body.displayName], [200, undefined], "PUT leaves out what it does not name");
  assert.equal((await scim("DELETE", `/Users/${id}`)).status, 204);
  assert.equal((await scim("GET", `/Users/${id}`)).status, 404);
  const gone = await world.sql<{ state: string }>(`select state from membership.node where id = 'person:scim:${id}'`);
  assert.deepEqual(gone, [{ state: "disabled" }]);
  await made(scim, "/Users", user("barbara", { externalId: "00u1" }));
});

test("a group's members come and go; who somebody else put in stays, and whose group it is not is not the directory's", async (t) => {
  const { world, scim } = await openWorld(t);
  const [one, two] = [await made(scim, "/Users", user("one")), await made(scim, "/Users", user("two"))];
  const inner = await made(scim, "/Groups", group("Inner", [two]));
  const id = await made(scim, "/Groups", group("Staff", [one, inner]));
  const members = async () =>
    (await scim("GET", `/Groups/${id}`)).body.members?.map(({ value }: { value: string }) => value).toSorted() ?? [];
  assert.deepEqual(await members(), [one, inner].toSorted());
  assert.deepEqual(
    (await scim("GET", `/Users/${one}`)).body.groups.map(({ value }: { value: string }) => value),
    [id],
  );
  await world.put({ kind: "MEMBER_OF", src: "account:dan@acme", dst: `group:scim:${id}` });
  const removed = await scim(
    "PATCH",
    `/Groups/${id}`,
    patch({ op: "remove", path: `members[value eq "${one}"]` }, { op: "add", path: "members", value: [{ value: two }] }),
  );
  assert.equal(removed.status, 200, JSON.stringify(removed.body));
  assert.deepEqual(await members(), [two, inner].toSorted());
  assert.equal((await scim("PUT", `/Groups/${id}`, group("Staff renamed"))).status, 200);
  assert.deepEqual(await members(), []);
  const left = await world.sql<{ src: string }>(`select src from membership.edge where dst = 'group:scim:${id}' and kind = 'MEMBER_OF'`);
  assert.deepEqual(left, [{ src: "account:dan@acme" }]);
  assert.equal((await scim("GET", `/Groups?filter=${encodeURIComponent('displayName eq "staff RENAMED"')}`)).body.totalResults, 1);
  const cycle = await scim("PATCH", `/Groups/${inner}`, patch({ op: "add", path: "members", value: [{ value: id }] }));
  assert.equal(cycle.status, 200);
  assert.equal((await scim("PATCH", `/Groups/${id}`, patch({ op: "add", path: "members", value: [{ value: inner }] }))).status, 400);
  for (const value of ["account:dan@acme", "z".repeat(26), "../x", 7])
    assert.equal((await scim("PUT", `/Groups/${id}`, { ...group("x"), members: [{ value }] })).status, 400);
  assert.equal((await scim("DELETE", `/Groups/${id}`)).status, 204);
});

test("a user's version is another one when its groups are, whoever changed them", async (t) => {
  const { world, scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("one"));
  const staff = await made(scim, "/Groups", group("Staff"));
  let tag = (await scim("GET", `/Users/${id}`)).headers.get("etag") ?? "";
  for (const [what, change] of [
    ["put into a group", () => scim("PATCH", `/Groups/${staff}`, patch({ op: "add", path: "members", value: [{ value: id }] }))],
    ["the group renamed", () => scim("PATCH", `/Groups/${staff}`, patch({ op: "replace", path: "displayName", value: "Team" }))],
    [
      "taken out by an administrator",
      () =>
        world.call("ada", "DELETE", `/api/v1/edges/MEMBER_OF/account:scim:${id}/group:scim:${staff}?reason=gone`, {
          scopes,
          headers: { "if-match": "*" },
        }),
    ],
  ] as const) {
    assert.equal((await scim("GET", `/Users/${id}`, undefined, { "if-none-match": tag })).status, 304, what);
    assert.ok((await change()).status < 300, what);
    const now = await scim("GET", `/Users/${id}`, undefined, { "if-none-match": tag });
    assert.deepEqual([what, now.status, now.headers.get("etag")], [what, 200, now.body.meta.version]);
    const rename = patch({ op: "replace", path: "displayName", value: what });
    assert.equal((await scim("PATCH", `/Users/${id}`, rename, { "if-match": tag })).status, 412, what);
    const [listed] = (await scim("GET", `/Users?excludedAttributes=groups`)).body.Resources;
    assert.deepEqual([listed.meta.version, listed.groups], [now.body.meta.version, undefined], what);
    const renamed = await scim("PATCH", `/Users/${id}`, rename, { "if-match": listed.meta.version });
    assert.equal(renamed.status, 200, what);
    tag = renamed.headers.get("etag") ?? "";
  }
});

test("a group's version is another one when its members are, or one of them is renamed, whoever did it", async (t) => {
  const { world, scim } = await openWorld(t);
  const [id, other] = [await made(scim, "/Users", user("one")), await made(scim, "/Users", user("two"))];
  const inner = await made(scim, "/Groups", group("Inner"));
  const staff = await made(scim, "/Groups", group("Staff", [id, other, inner]));
  const path = `/Groups/${staff}`;
  let tag = (await scim("GET", path)).headers.get("etag") ?? "";
  for (const [what, change, names] of [
    [
      "a member renamed",
      () => scim("PATCH", `/Users/${id}`, patch({ op: "add", path: "displayName", value: "Ada" })),
      ["Inner", "Ada", "two"],
    ],
    [
      "a group in it renamed",
      () => scim("PATCH", `/Groups/${inner}`, patch({ op: "replace", path: "displayName", value: "Core" })),
      ["Core", "Ada", "two"],
    ],
    ["a member removed", () => scim("DELETE", `/Users/${other}`), ["Core", "Ada"]],
    [
      "a member taken out by an administrator",
      () =>
        world.call("ada", "DELETE", `/api/v1/edges/MEMBER_OF/account:scim:${id}/group:scim:${staff}?reason=gone`, {
          scopes,
          headers: { "if-match": "*" },
        }),
      ["Core"],
    ],
  ] as const) {
    assert.equal((await scim("GET", path, undefined, { "if-none-match": tag })).status, 304, what);
    assert.ok((await change()).status < 300, what);
    const now = await scim("GET", path, undefined, { "if-none-match": tag });
    const shown = now.body.members.map((member: { display: string }) => member.display);
    assert.deepEqual([what, now.status, now.headers.get("etag"), shown.toSorted()], [what, 200, now.body.meta.version, names.toSorted()]);
    const rename = patch({ op: "replace", path: "displayName", value: what });
    assert.equal((await scim("PATCH", path, rename, { "if-match": tag })).status, 412, what);
    const [listed] = (await scim("GET", `/Groups?excludedAttributes=members&filter=${encodeURIComponent(`id eq "${staff}"`)}`)).body
      .Resources;
    assert.deepEqual([listed.meta.version, listed.members], [now.body.meta.version, undefined], what);
    const renamed = await scim("PATCH", path, rename, { "if-match": listed.meta.version });
    assert.equal(renamed.status, 200, what);
    tag = renamed.headers.get("etag") ?? "";
  }
});

test("addresses are those of Sallyport, whatever host a caller says it was sent on from", async (t) => {
  const { scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("one"));
  for (const [proto, host, origin] of [
    ["https", "gate.example", "https://gate.example"],
    ["https", "gate.example:443", "https://gate.example"],
    ["http", "gate.example", "http://localhost:8084"],
    ["https", "evil.example", "http://localhost:8084"],
    ["https", "gate.example@evil.example", "http://localhost:8084"],
    ["javascript", "x", "http://localhost:8084"],
    ["", "", "http://localhost:8084"],
  ] as const) {
    const { body } = await scim("GET", `/Users/${id}`, undefined, { "x-forwarded-proto": proto, "x-forwarded-host": host });
    assert.deepEqual([host, body.meta.location], [host, `${origin}/scim/v2/Users/${id}`]);
  }
});

test("members are added, taken away and replaced in all the ways that directories say it, many at once", async (t) => {
  const { scim } = await openWorld(t);
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) ids.push(await made(scim, "/Users", user(`m${n}`)));
  const [a = "", b = "", c = "", d = ""] = ids;
  const id = await made(scim, "/Groups", group("Many", [a]));
  const after = async (...operations: readonly object[]): Promise<unknown> => {
    const { status, body } = await scim("PATCH", `/Groups/${id}`, patch(...operations));
    if (status !== 200) return [status, body.scimType];
    return [body.displayName, ...(body.members ?? []).map(({ value }: { value: string }) => ids.indexOf(value)).toSorted()];
  };
  const named = (...values: readonly string[]) => values.map((value) => ({ value }));
  for (const [operation, expected] of [
    [{ op: "add", path: "members", value: named(b, c) }, ["Many", 0, 1, 2]],
    [{ op: "Add", path: "members", value: { value: d } }, ["Many", 0, 1, 2, 3]],
    [{ op: "remove", path: `members[value eq "${a}"]` }, ["Many", 1, 2, 3]],
    [{ op: "Remove", path: "members", value: named(b) }, ["Many", 2, 3]],
    [{ op: "remove", path: `urn:ietf:params:scim:schemas:core:2.0:Group:members[value eq "${c}"]` }, ["Many", 3]],
    [{ op: "add", value: { members: named(a), displayName: "More" } }, ["More", 0, 3]],
    [{ op: "replace", value: { members: named(b) } }, ["More", 1]],
    [{ op: "replace", path: "members", value: named(c, d) }, ["More", 2, 3]],
    [{ op: "remove", path: "members" }, ["More"]],
    [{ op: "remove", path: `members[value eq "${a}"]` }, ["More"]],
    [{ op: "replace", path: `members[value eq "${a}"].display`, value: "x" }, ["More"]],
    [{ op: "remove", path: 'members[display sw "m"]' }, [400, "invalidPath"]],
    [{ op: "add", path: "members", value: ["x"] }, [400, "invalidValue"]],
    [{ op: "add", path: "members", value: named("z".repeat(26)) }, [400, "invalidValue"]],
    [{ op: "shuffle", path: "members" }, [400, "invalidSyntax"]],
  ] as const)
    assert.deepEqual([operation, await after(operation)], [operation, expected]);
  const many = Array.from({ length: 996 }, (_none, n) => ({
    op: n % 2 === 0 ? "add" : "remove",
    path: "members",
    value: named(ids[n % 6] ?? ""),
  }));
  assert.deepEqual(await after(...many, { op: "add", path: "members", value: named(a) }), ["More", 0, 2, 4]);
  assert.deepEqual(await after(...many, ...many), [413, undefined]);
  const renames = Array.from({ length: 101 }, (_none, n) => ({ op: "replace", path: "displayName", value: `n${n}` }));
  assert.deepEqual(
    [await after(...renames), await after(...renames.slice(1))],
    [
      [413, undefined],
      ["n100", 0, 2, 4],
    ],
  );
  const emails = Array.from({ length: 101 }, (_none, n) => ({ value: `${n}@acme.example` }));
  assert.equal((await scim("POST", "/Users", user("mails", { emails }))).body.scimType, "invalidValue");
});

test("who is deactivated is refused at the next call, through agents too, and comes back; what an administrator switched off stays off", async (t) => {
  const { world, scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("gina"));
  const person = `person:scim:${id}`;
  await world.put({ kind: "CONTROLLED_BY", src: "agent:reporter", dst: person, props: { level: "deputy" } });
  await world.sql(`update membership.delegation set delegator_id = '${person}' where id = 'delegation:cleo-rep'`);
  const capabilities = async () => {
    const { value } = await world.reader.capabilities(
      { tenant: "tenant:acme" } as never,
      { userId: person, agentId: "agent:reporter" } as never,
    );
    return JSON.stringify(value);
  };
  const reserve = async (): Promise<unknown> => {
    const body = {
      call_id: crypto.randomUUID(),
      user_id: person,
      agent_id: "agent:reporter",
      tool_id: "people.demo.list_employees",
      usd: 0.001,
    };
    const reply = await world.call("service:crud", "POST", "/api/v1/delegations/reservations", { body });
    return reply.status === 201 ? 201 : [reply.status, reply.body.code];
  };
  const before = await capabilities();
  assert.match(before, /list_employees/);
  assert.equal(await reserve(), 201);
  const off = await scim("PATCH", `/Users/${id}`, patch({ op: "Replace", path: "active", value: "False" }));
  assert.deepEqual([off.status, off.body.active], [200, false], JSON.stringify(off.body));
  assert.doesNotMatch(await capabilities(), /list_employees/);
  assert.deepEqual(await reserve(), [409, "delegation_inactive"]);
  assert.equal((await scim("PATCH", `/Users/${id}`, patch({ op: "replace", value: { active: true } }))).body.active, true);
  assert.equal(await capabilities(), before);
  assert.equal(await reserve(), 201);
  await world.sql(`update membership.node set state = 'suspended' where id = '${person}'`);
  assert.equal((await scim("PUT", `/Users/${id}`, user("gina", { displayName: "G" }))).status, 200);
  assert.doesNotMatch(await capabilities(), /list_employees/);
});

test("a token reaches no other tenant, no other system's person, and no role that nobody marked", async (t) => {
  const { world, scim } = await openWorld(t);
  const foreign = await directoryOf(world, "eve");
  const id = await made(scim, "/Users", user("one"));
  const staff = await made(scim, "/Groups", group("Staff"));
  for (const [method, path, body] of [
    ["GET", `/Users/${id}`, undefined],
    ["PUT", `/Users/${id}`, user("mine")],
    ["PATCH", `/Users/${id}`, patch({ op: "replace", path: "active", value: false })],
    ["DELETE", `/Users/${id}`, undefined],
    ["DELETE", `/Groups/${staff}`, undefined],
    ["GET", "/Users/person:ada", undefined],
    ["GET", "/Users/..%2f..%2fapi", undefined],
  ] as const)
    assert.deepEqual([method, path, (await foreign(method, path, body)).status], [method, path, 404]);
  assert.equal((await foreign("GET", "/Users")).body.totalResults, 0);
  assert.equal((await foreign("POST", "/Groups", group("x", [id]))).status, 400);
  await made(foreign, "/Users", user("one"));

  // What an administrator took over is no longer the directory's.
  await world.sql(`update membership.node set system = 'directory' where id = 'person:scim:${id}'`);
  for (const [method, body] of [
    ["PUT", user("one")],
    ["DELETE", undefined],
  ] as const)
    assert.equal((await scim(method, `/Users/${id}`, body)).status, 403);
  await world.sql(`update membership.node set system = 'scim', state = 'active' where id = 'person:scim:${id}'`);

  const node = `group:scim:${staff}`;
  await world.put({ kind: "MEMBER_OF", src: node, dst: "role:administrator" });
  const add = () => scim("PATCH", `/Groups/${staff}`, patch({ op: "add", path: "members", value: [{ value: id }] }));
  const refused = await add();
  assert.deepEqual([refused.status, /role:administrator/.test(refused.body.detail)], [403, true]);
  assert.equal((await scim("PUT", `/Groups/${staff}`, { ...group("Staff"), provisions_roles: true })).status, 200);
  assert.equal((await add()).status, 403, "the mark is not SCIM's to make");
  assert.equal((await scim("DELETE", `/Groups/${staff}`)).status, 403);
  await world.put({ id: node, kind: "Group", name: "Staff", system: "scim", tenant_id: "tenant:acme", props: { provisions_roles: true } });
  assert.equal((await add()).status, 200);
  assert.deepEqual((await world.call("ada", "GET", `/api/v1/roles/holders?holder_id=person:scim:${id}`)).body.items.length, 1);
});

test("hostile bodies are refused in SCIM's own words and write nothing", async (t) => {
  const { world, scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("one"));
  const before = (await world.reader.version()).version;
  const bodies: readonly (readonly [method: string, path: string, body: unknown, status: number])[] = [
    ["POST", "/Users", "{", 400],
    ["POST", "/Users", '{"userName":"a","userName":"b"}', 400],
    ["POST", "/Users", [], 400],
    ["POST", "/Users", user(""), 400],
    ["POST", "/Users", user("a\u0000b"), 400],
    ["POST", "/Users", user("a\nb"), 400],
    ["POST", "/Users", user("x".repeat(255)), 400],
    ["POST", "/Users", { schemas: [USER] }, 400],
    ["POST", "/Users", user("a", { active: "yes" }), 400],
    ["POST", "/Users", user("a", { displayName: "x".repeat(70_000) }), 400],
    ["POST", "/Users", user("a", { externalId: {} }), 400],
    ["POST", "/Groups", { schemas: [GROUP] }, 400],
    ["PATCH", `/Users/${id}`, { schemas: [PATCH] }, 400],
    ["PATCH", `/Users/${id}`, patch({ op: "move", path: "userName" }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "replace", path: "__proto__.x", value: 1 }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "replace", path: "emails[", value: 1 }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "replace", path: 'emails[type ne "home"].value', value: "x" }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "replace", path: "active", value: "no" }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "replace", path: `emails[${manyBranches}].value`, value: "x" }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "add", value: { [`emails[${manyBranches}].value`]: "x" } }), 400],
    ["PATCH", `/Users/${id}`, patch({ op: "remove", path: "userName" }), 400],
    ["PATCH", `/Users/${id}?attributes=__proto__`, patch({ op: "replace", path: "title", value: "x" }), 400],
    ["POST", `/Users?attributes=__proto__`, user("a"), 400],
    ["PATCH", `/Users/${id}`, { Operations: [] }, 400],
    ["POST", "/Bulk", {}, 405],
    ["PUT", "/Users", user("a"), 405],
    ["GET", "/Me", undefined, 404],
    ["GET", "/Schemas/%E0%A4%A", undefined, 400],
    ["GET", "/Users/x/y", undefined, 404],
  ];
  for (const [method, path, body, status] of bodies) {
    const reply = await scim(method, path, body);
    const what = `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`;
    assert.deepEqual([what, reply.status, reply.body.status], [what, status, String(status)], JSON.stringify(reply.body));
    assert.deepEqual(reply.body.schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"]);
  }
  assert.equal((await world.reader.version()).version, before);
  for (const name of ['O\'Neil "q" \\', "\u202egnal", "🦀".repeat(40), "İstanbul", "%_", "<script>"]) {
    const reply = await scim("POST", "/Users", user(name, { displayName: name }));
    assert.deepEqual([reply.status, reply.body.userName], [201, name], JSON.stringify(reply.body));
    const filter = encodeURIComponent(`userName eq ${JSON.stringify(name)}`);
    assert.ok([200, 400].includes((await scim("GET", `/Users?filter=${filter}`)).status));
  }
});

test("no name that all objects have leads into what they share, in filters, paths, members or values", async (t) => {
  const { world, scim } = await openWorld(t);
  const id = await made(scim, "/Users", user("one", { emails: [{ value: "one@acme.example", type: "work" }] }));
  const constructor = await made(scim, "/Groups", group("Constructor"));
  const before = (await world.reader.version()).version;
  const look = (): unknown => [Object, Object.prototype, Array.prototype].map((shared) => Object.getOwnPropertyNames(shared));
  const shared = look();
  const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
  const to = `/Users/${id}`;
  const rows: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ...[
      '__proto__.zz eq "x"',
      '__proto__ eq "x"',
      'Constructor.zz eq "x"',
      'constructor eq "x"',
      'toString.zz eq "x"',
      'name.__proto__.zz eq "x"',
      '__proto__ [zz eq "x"]',
      'emails[__proto__.zz eq "x"]',
      'userName eq "one" or not (hasOwnProperty.zz pr)',
    ].flatMap((filter): readonly (readonly [string, string, unknown?])[] => [
      ["GET", `/Users?filter=${encodeURIComponent(filter)}`],
      ["POST", "/Users/.search", { filter }],
    ]),
    ["GET", "/Users?attributes=constructor.zz"],
    ["GET", "/Users?excludedAttributes=userName,a.__proto__.zz"],
    ["POST", "/Users", user("two", { [`${enterprise}:__proto__.zz`]: "x" })],
    ["POST", "/Users", user("two", { [`${enterprise}:constructor.zz`]: "x" })],
    ["POST", "/Users", user("two", { ["__proto__"]: { userName: "three" } })],
    ["POST", "/Users", user("two", { emails: [{ ["__proto__"]: { value: "x" } }] })],
    ["PUT", to, user("one", { [enterprise]: { ["__proto__"]: { zz: "x" } } })],
    ["PATCH", to, patch({ op: "add", path: "__proto__.zz", value: "x" })],
    ["PATCH", to, patch({ op: "add", path: `${enterprise}:constructor.zz`, value: "x" })],
    ["PATCH", to, patch({ op: "add", value: { [`${enterprise}:__proto__.zz`]: "x" } })],
    ["PATCH", to, patch({ op: "replace", path: "emails[constructor.zz pr].value", value: "x" })],
    ["PATCH", to, patch({ op: "remove", path: "emails", value: [{ "value pr or __proto__.zz": "x" }] })],
  ];
  for (const [method, path, body] of rows) {
    const what = `${method} ${decodeURIComponent(path)} ${JSON.stringify(body)}`;
    const reply = await scim(method, path, body);
    assert.deepEqual([what, reply.status], [what, 400], JSON.stringify(reply.body));
    assert.deepEqual([what, look()], [what, shared]);
  }
  assert.equal((await world.reader.version()).version, before);
  // As the text of a value they are words like all others.
  const found = await scim("GET", `/Groups?filter=${encodeURIComponent('displayName eq "Constructor"')}`);
  assert.deepEqual(
    found.body.Resources.map((one: { id: string }) => one.id),
    [constructor],
  );
  const removed = await scim("PATCH", to, patch({ op: "remove", path: "emails", value: [{ value: "one@acme.example" }] }));
  assert.deepEqual([removed.status, removed.body.emails], [200, undefined], JSON.stringify(removed.body));
});

/** `SCIM_USERS=5000` is the size that docs/howto/scim.md speaks of. */
const USERS = Number(process.env["SCIM_USERS"] ?? 100);
const A_GROUP = 25;

// As long as so many need, on a busy machine too.
const timeout = 240_000 + USERS * 200;

test("a whole directory is pushed, renamed, deactivated and removed, and the graph follows", { timeout }, async (t) => {
  const { world, scim } = await openWorld(t);
  let since = performance.now();
  const lap = (what: string): void => {
    t.diagnostic(`${what}: ${((performance.now() - since) / 1000).toFixed(1)} s`);
    since = performance.now();
  };
  /** As directories push: a few at a time. */
  const each = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
    const rest = [...items];
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
      }),
    );
  };
  const numbers = Array.from({ length: USERS }, (_none, n) => n);
  const ids: string[] = [];
  await each(numbers, async (n) => {
    ids[n] = await made(scim, "/Users", user(`u${n}@acme.example`, { externalId: `x${n}`, displayName: `User ${n}` }));
  });
  lap(`${USERS} users pushed`);
  const groups: string[] = [];
  const parts = Array.from({ length: Math.ceil(USERS / A_GROUP) }, (_none, n) => n);
  await each(parts, async (n) => {
    groups[n] = await made(scim, "/Groups", group(`Group ${n}`));
    const members = ids.slice(n * A_GROUP, (n + 1) * A_GROUP).map((value) => ({ value }));
    assert.equal((await scim("PATCH", `/Groups/${groups[n]}`, patch({ op: "add", path: "members", value: members }))).status, 200);
  });
  lap(`${parts.length} groups with all of them pushed`);
  const change = async (path: string, ...operations: readonly object[]): Promise<void> =>
    assert.equal((await scim("PATCH", path, patch(...operations))).status, 200);
  await each(numbers, (n) => change(`/Users/${ids[n]}`, { op: "replace", path: "displayName", value: `Renamed ${n}` }));
  await each(parts, (n) => change(`/Groups/${groups[n]}`, { op: "replace", path: "displayName", value: `Team ${n}` }));
  lap("all renamed");
  const [off, gone] = [numbers.filter((n) => n % 5 === 1), numbers.filter((n) => n % 10 === 0)];
  await each(off, (n) => change(`/Users/${ids[n]}`, { op: "replace", path: "active", value: false }));
  lap(`${off.length} deactivated`);
  await each(gone, async (n) => assert.equal((await scim("DELETE", `/Users/${ids[n]}`)).status, 204));
  const goneGroups = parts.filter((n) => n % 4 === 0);
  await each(goneGroups, async (n) => assert.equal((await scim("DELETE", `/Groups/${groups[n]}`)).status, 204));
  lap(`${gone.length} users and ${goneGroups.length} groups removed`);

  const count = async (condition: string): Promise<number> =>
    (await world.sql<{ n: number }>(`select count(*)::int as n from membership.node where system = 'scim' and ${condition}`))[0]?.n ?? 0;
  assert.equal(await count("kind = 'Person' and state = 'suspended' and name like 'Renamed %'"), off.length);
  assert.equal(await count("kind = 'Person' and state = 'disabled'"), gone.length);
  assert.equal(await count("kind = 'Person' and state = 'active' and name like 'Renamed %'"), USERS - off.length - gone.length);
  assert.equal(await count("kind = 'Group' and name like 'Team %'"), parts.length - goneGroups.length);
  const seen = new Set<string>();
  for (let start = 1; ; start += 200) {
    const page = (await scim("GET", `/Users?startIndex=${start}&count=200&excludedAttributes=groups`)).body;
    assert.equal(page.totalResults, USERS - gone.length);
    for (const { id } of page.Resources) seen.add(id);
    if (page.Resources.length < 200) break;
  }
  assert.equal(seen.size, USERS - gone.length);
  const [kept = 0] = parts.filter((n) => !goneGroups.includes(n));
  const members = (await scim("GET", `/Groups/${groups[kept]}`)).body.members as readonly { value: string }[];
  const staying = ids.slice(kept * A_GROUP, (kept + 1) * A_GROUP).filter((id) => seen.has(id));
  assert.deepEqual(members.map(({ value }) => value).toSorted(), staying.toSorted());
  lap("read back");
});
