import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import type { FactAsk } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { createFeed } from "#membership/graph/index/feed.ts";
import { createIndexReader } from "#membership/graph/index/index-reader.ts";
import { seedBuiltIns } from "#membership/seed/built-in-nodes.ts";
import { putEdge, type EdgeDraft } from "#membership/graph/put-edge.ts";
import type { NodeDraft } from "#membership/graph/put-node.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import type { RoleRight } from "#membership/graph/role-watch.ts";
import { silentLog } from "#telemetry/log.ts";
import { seedDemo } from "#demo/world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld, type GraphWorld, type Rule, type ServedWorld } from "#testing/membership.ts";
import { directoryOf, made, patch, user } from "#testing/scim-directory.ts";
import { until } from "#testing/until.ts";

const PLATFORM = "role:platform";
const dataScope = { unknownType: "tenants", refused: () => {} } as const;
const scopes = ["membership.read", "membership.write"];
const key = () => ({ "idempotency-key": crypto.randomUUID() });

const askOf = (subject: string): FactAsk => ({
  subject_id: subject,
  action: "view_all",
  resource: { type: "employee", external_id: "*" },
});
const edgeSql = (src: string, dst: string): string =>
  `insert into membership.edge (id, kind, src, dst) values ('edge:${src.slice(7)}-${dst.slice(5)}', 'MEMBER_OF', '${src}', '${dst}')`;

forEachDatabase("role:platform counts in the operator's tenant alone, whatever reads it", graphModules, async (t, database) => {
  const world = await graphWorld(database);
  assert.deepEqual(await world.sql("select tenant_id from membership.operator_tenant"), [{ tenant_id: "tenant:acme" }]);
  // No writer may make this edge.
  await world.sql(edgeSql("person:eve", PLATFORM));
  for (const tenant of ["tenant:acme", "tenant:globex"])
    await world.sql(`update membership.data_scope_rule set masks = '[{"column": "salary", "kind": "null", "unless_member_of": ["${PLATFORM}"]}]'
      where tenant_id = '${tenant}' and resource_type = 'employee'`);
  const { metrics } = world;
  const feed = await createFeed({ database, log: silentLog, metrics, pollMs: 20, boundMs: 60_000 });
  cleanUp(t, () => feed[Symbol.asyncDispose]());
  await until(() => typeof feed.look() !== "string");
  const index = createIndexReader({ feed, sql: world.reader, database, dataScope });
  for (const [name, reader] of [
    ["sql", world.reader],
    ["index", index],
  ] as const)
    for (const [subject, holds] of [
      ["person:ada", true],
      ["person:eve", false],
      ["person:ben", false],
    ] as const) {
      const {
        value: [facts],
      } = await reader.facts(wholeGraph, [askOf(subject)]);
      const masked = await reader.dataScope(wholeGraph, { subjectId: subject, resourceType: "employee" });
      assert.deepEqual(
        [name, subject, facts?.subject?.groups.includes(PLATFORM), masked.value.column_mask["salary"] === undefined],
        [name, subject, holds, holds],
      );
      assert.equal(facts?.data_scope?.column_mask["salary"] === undefined, holds, `${name} ${subject}`);
    }
  const other = await servedWorld(t, database);
  for (const as of ["ada", "eve"]) {
    const { body } = await other.call(as, "GET", `/api/v1/roles/holders?role_id=${PLATFORM}`);
    assert.deepEqual([as, body.items.map((item: { holder_id: string }) => item.holder_id)], [as, as === "ada" ? ["person:ada"] : []]);
  }
});

const refusal = (error: unknown): string => (error instanceof Problem ? `${error.code}: ${error.options.detail ?? ""}` : String(error));
const tryEdge = (world: GraphWorld, roles: RoleRight, src: string, dst: string): Promise<string> =>
  world
    .write({ actor: "service:any", source: "api", correlationId: "test", tenantId: null, roles }, async (tx) => {
      await putEdge(tx, { kind: "MEMBER_OF", src, dst });
      return { value: undefined };
    })
    .then(() => "written", refusal);

forEachDatabase(
  "no writer leads a node of another tenant to role:platform, and none without it gives it",
  graphModules,
  async (_t, database) => {
    const world = await graphWorld(database);
    const group = { kind: "Group", tenant_id: "tenant:globex" } as const;
    await world.put({ ...group, id: "group:g1", name: "one" }, { ...group, id: "group:g2", name: "two" });
    await world.put({ kind: "MEMBER_OF", src: "group:g1", dst: "group:g2" });
    for (const src of ["person:eve", "group:g2", "group:globex-staff", "service:pdp"]) {
      assert.match(await tryEdge(world, "platform", src, PLATFORM), /access_denied: role:platform is held in the operator's tenant alone/);
      for (const roles of ["assign", "provision", "none"] as const)
        assert.match(await tryEdge(world, roles, src, PLATFORM), /^access_denied/);
    }
    for (const roles of ["assign", "provision", "none"] as const)
      for (const dst of [PLATFORM, "group:platform-admins"])
        assert.match(await tryEdge(world, roles, "person:ben", dst), /^access_denied/, `${roles} ${dst}`);
    assert.equal(await tryEdge(world, "assign", "person:ben", "role:administrator"), "written");
    assert.equal(await tryEdge(world, "platform", "person:ben", PLATFORM), "written");
    assert.deepEqual(await world.sql("select tenant_id from membership.operator_tenant"), [{ tenant_id: "tenant:acme" }]);
  },
);

const edit = (world: ServedWorld, as: string, ...changes: readonly object[]) =>
  world.call(as, "POST", "/api/v1/graph/changes", { body: { changes, reason: "who runs the deployment" }, headers: key(), scopes });
const put = (src: string, dst: string) => ({ op: "put_edge", edge: { kind: "MEMBER_OF", src, dst } });
const drop = (src: string, dst: string) => ({ op: "drop_edge", edge: { kind: "MEMBER_OF", src, dst } });
const openWorld = async (t: TestContext) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.put({ kind: "MEMBER_OF", src: "person:ben", dst: "role:administrator" });
  return world;
};

test("an administrator changes nothing of who holds role:platform, by no way; a holder does", async (t) => {
  const world = await openWorld(t);
  const agent = { id: "agent:runner", kind: "AIAgent", name: "Runner", tenant_id: "tenant:acme", props: {} } as const;
  await world.put(agent, { kind: "MEMBER_OF", src: agent.id, dst: PLATFORM });
  const version = (await world.reader.version()).version;
  for (const changes of [
    [put("person:ben", PLATFORM)],
    [put("person:dan", "group:platform-admins")],
    [{ op: "put_edge", edge: { kind: "BELONGS_TO", src: "person:ben", dst: "account:new@acme" } }, put("account:new@acme", PLATFORM)],
    [drop("group:platform-admins", PLATFORM)],
    [drop("account:ada@acme", "group:platform-admins")],
    [
      { op: "put_node", node: { id: "group:mine", kind: "Group", name: "Mine" } },
      put("person:ben", "group:mine"),
      put("group:mine", PLATFORM),
    ],
  ]) {
    const account = {
      op: "put_node",
      node: { id: "account:new@acme", kind: "Account", name: "new", props: { login: "new", system: "x" } },
    };
    const reply = await edit(world, "ben", account, ...changes);
    assert.deepEqual([JSON.stringify(changes), reply.status, reply.body.code], [JSON.stringify(changes), 403, "access_denied"]);
  }
  const acts: readonly (readonly [path: string, body: object])[] = [
    ["/identity-links", { issuer: "https://login.example", subject: "bens-other", person_id: "person:ada", reason: "as ada" }],
    ["/credentials", { client_id: agent.id, reason: "as the runner" }],
  ];
  for (const [path, body] of acts) {
    const refused = await world.call("ben", "POST", `/api/v1${path}`, { body, scopes });
    assert.deepEqual([path, refused.status, refused.body.code], [path, 403, "access_denied"]);
  }
  assert.equal((await world.reader.version()).version, version);
  for (const [path, body] of acts) assert.equal((await world.call("ada", "POST", `/api/v1${path}`, { body, scopes })).status, 201, path);
  const [credential] = (await world.call("ada", "GET", "/api/v1/credentials", { scopes })).body.items;
  const rotate = { body: { reason: "as the runner" }, scopes };
  assert.equal((await world.call("ben", "POST", `/api/v1/credentials/${credential.credential_id}/rotate`, rotate)).status, 403);
  assert.equal((await edit(world, "ada", put("person:ben", PLATFORM))).status, 200);
  assert.equal((await edit(world, "ben", put("person:cleo", PLATFORM))).status, 200, "who was given it gives it");
  const refused = await servedWorld(t, await testDatabase(t, graphModules), {
    rule: ({ type }) => (type === "roles" ? "step_up_required" : true),
  });
  assert.equal(
    (await edit(refused, "ada", put("person:ben", PLATFORM))).body.code,
    "step_up_required",
    "a holder needs roles/assign as well",
  );
});

/** Every way in which Gil, one of two holders, is switched off by a change of the graph. */
const switches: readonly (readonly [what: string, changes: readonly object[]])[] = (() => {
  const [gil, account] = ["person:gil", "account:gil@acme"];
  const node = (id: string, kind: string, state: string, props: object = {}) => ({
    op: "put_node",
    node: { id, kind, name: id, state, props },
  });
  const end = (kind: string, src: string, dst: string) => ({
    op: "put_edge",
    edge: { kind, src, dst, expires_at: "2100-01-01T00:00:00Z" },
  });
  const owned = { kind: "BELONGS_TO", src: gil, dst: account };
  return [
    ["the person is suspended", [node(gil, "Person", "suspended")]],
    ["the person is disabled", [node(gil, "Person", "disabled")]],
    ["the person is dropped", [{ op: "drop_node", id: gil, cascade: true }]],
    ["the account is disabled", [node(account, "Account", "disabled", { login: "gil", system: "directory" })]],
    ["the account is dropped", [{ op: "drop_node", id: account, cascade: true }]],
    ["the account is taken away", [{ op: "drop_edge", edge: owned }]],
    ["the account gets an end", [end("BELONGS_TO", gil, account)]],
    ["the account leaves the group by which it is in the tenant", [drop(account, "group:analysts")]],
    ["the group leaves the tenant", [drop("group:analysts", "tenant:acme")]],
    ["the group's tenant gets an end", [end("MEMBER_OF", "group:analysts", "tenant:acme")]],
    ["the group is suspended", [node("group:analysts", "Group", "suspended")]],
    ["an agent that holds it is suspended", [node("agent:runner", "AIAgent", "suspended")]],
  ];
})();

test("an administrator switches off no holder of role:platform, by no way; a holder does, after a strong sign-in", async (t) => {
  let strong = true;
  const rule: Rule = ({ type }) => (type === "roles" && !strong ? "step_up_required" : type !== "deployment");
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule });
  await world.put(
    { id: "agent:runner", kind: "AIAgent", name: "Runner", tenant_id: "tenant:acme", props: {} },
    { kind: "MEMBER_OF", src: "agent:runner", dst: PLATFORM },
    { kind: "MEMBER_OF", src: "person:ben", dst: "role:administrator" },
    { id: "person:gil", kind: "Person", name: "Gil", tenant_id: "tenant:acme" },
    { id: "account:gil@acme", kind: "Account", name: "gil", tenant_id: "tenant:acme", props: { login: "gil", system: "directory" } },
    { kind: "BELONGS_TO", src: "person:gil", dst: "account:gil@acme" },
    { kind: "MEMBER_OF", src: "account:gil@acme", dst: "group:analysts" },
    { kind: "MEMBER_OF", src: "person:gil", dst: "role:administrator" },
    { kind: "MEMBER_OF", src: "person:gil", dst: PLATFORM },
  );
  const link = { issuer: "https://login.example", subject: "gil-1", person_id: "person:gil", reason: "as gil" };
  const { body: linked } = await world.call("ada", "POST", "/api/v1/identity-links", { body: link, scopes });
  const made = await world.call("ada", "POST", "/api/v1/credentials", { body: { client_id: "agent:runner", reason: "runs" }, scopes });
  const file = (changes: readonly object[]) =>
    changes.map((change) => {
      const { op, node, edge, ...drops } = change as { op: string; node?: object; edge?: object; id?: string; cascade?: boolean };
      const line =
        op === "drop_node" ? { drop: { node: drops.id, cascade: true } } : op === "drop_edge" ? { drop: { edge } } : { node, edge };
      return `${JSON.stringify(line)}\n`;
    });
  const { version } = await world.reader.version();
  for (const [what, changes] of switches) {
    const refused = await edit(world, "ben", ...changes);
    assert.deepEqual([what, refused.status, refused.body.code], [what, 403, "access_denied"]);
    const sent = { headers: { ...key(), "content-type": "application/x-ndjson" }, body: file(changes).join(""), scopes };
    const imported = await world.call("ben", "POST", "/api/v1/imports?reason=a%20file", sent);
    assert.deepEqual([what, imported.status, imported.body.errors?.[0].code], [what, 422, "access_denied"]);
  }
  const acts: readonly (readonly [method: string, path: string, body?: object])[] = [
    ["PATCH", "/nodes/person:gil", { state: "suspended" }],
    ["DELETE", "/nodes/person:gil?cascade=true"],
    ["POST", "/agent/agents/agent:runner/suspend", { reason: "stop it" }],
    ["DELETE", `/identity-links/${linked.link_id}?reason=gone`],
    ["DELETE", `/credentials/${made.body.credential_id}?reason=gone`],
  ];
  const act = (as: string, [method, path, body]: (typeof acts)[number]) =>
    world.call(as, method, `/api/v1${path}`, { ...(body && { body }), headers: { ...key(), "if-match": "*" }, scopes });
  for (const one of acts) {
    const refused = await act("ben", one);
    assert.deepEqual([one[1], refused.status, refused.body.code], [one[1], 403, "access_denied"]);
  }
  strong = false;
  for (const one of acts.slice(0, 4)) assert.equal((await act("ada", one)).body.code, "step_up_required", one[1]);
  strong = true;
  assert.equal((await world.reader.version()).version, version);
  // What leaves a holder a way in, and what is about anybody else, stays the administrator's.
  const aside = { op: "put_edge", edge: { kind: "MEMBER_OF", src: "account:gil@acme", dst: "group:people-ops" } };
  const dan = { op: "put_node", node: { id: "person:dan", kind: "Person", name: "Dan", state: "suspended", props: {} } };
  assert.equal((await edit(world, "ada", aside)).status, 200);
  assert.equal((await edit(world, "ben", drop("account:gil@acme", "group:analysts"), dan)).status, 200);
  for (const one of [...acts.slice(2), ...acts.slice(0, 1)]) assert.ok((await act("ada", one)).status < 300, one[1]);
});

test("a directory's active: false is done to a holder of role:platform, unless it is the last one", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scim = await directoryOf(world);
  const id = await made(scim, "/Users", user("fay"));
  const off = patch({ op: "Replace", path: "active", value: "False" });
  await world.put({ kind: "MEMBER_OF", src: `person:scim:${id}`, dst: PLATFORM });
  assert.equal((await scim("PATCH", `/Users/${id}`, off)).status, 200);
  assert.deepEqual(await world.sql(`select state from membership.node where id = 'person:scim:${id}'`), [{ state: "suspended" }]);
  await world.put(
    { id: `person:scim:${id}`, kind: "Person", name: "fay", system: "scim", tenant_id: "tenant:acme", state: "active" },
    {
      id: `account:scim:${id}`,
      kind: "Account",
      name: "fay",
      system: "scim",
      tenant_id: "tenant:acme",
      props: { login: "fay", system: "scim" },
    },
    { kind: "MEMBER_OF", src: `person:scim:${id}`, dst: "role:administrator" },
  );
  await world.put({ id: "person:ada", kind: "Person", name: "Ada", tenant_id: "tenant:acme", state: "suspended" });
  assert.equal((await scim("PATCH", `/Users/${id}`, off)).status, 409);
});

test("what names a secret of the platform is written by who runs the deployment, with a strong sign-in, whichever way", async (t) => {
  let ada: boolean | string = true;
  const rule: Rule = ({ type, sub }) => type !== "deployment" || (sub === "person:ada" && ada);
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule });
  const props = { type: "secret" };
  const NODE = "resource:acme.secret.people.demo";
  const node = (id: string, external_id: string, more: object = {}) =>
    ({ id, kind: "Resource", name: id, external_id, props: { ...props, ...more } }) as const;
  await world.put(
    { ...node("resource:other", "yaml://secret/acme/own"), tenant_id: "tenant:acme" },
    { kind: "GRANTS_ACCESS", src: "group:analysts", dst: "resource:other" },
  );
  const url = "yaml://secret/people/other";
  const own = (dst: string) => ({ kind: "GRANTS_ACCESS", src: "group:analysts", dst });
  const sent = (method: string, path: string, body: object, headers: object = { "if-match": "*" }) => ({ method, path, body, headers });
  const changes = (...all: readonly object[]) => sent("POST", "/graph/changes", { changes: all, reason: "a test of the wall" }, {});
  const lines = (query: string, ...all: readonly object[]) => ({
    method: "POST",
    path: `/imports?reason=a%20file${query}`,
    body: all.map((line) => `${JSON.stringify(line)}\n`).join(""),
    headers: { "content-type": "application/x-ndjson" },
  });
  const ways: readonly (readonly [what: string, ReturnType<typeof sent> | ReturnType<typeof lines>])[] = [
    ["a new node", sent("PUT", "/nodes/resource:new", { ...node("resource:new", url), id: undefined }, { "if-none-match": "*" })],
    ["a node that is led there", sent("PATCH", "/nodes/resource:other", { external_id: url })],
    ["a node named for a system", sent("PATCH", `/nodes/${NODE}`, { props: { ...props, attributes: { used_by: "mine.own" } } })],
    ["a node that is led away", sent("PATCH", `/nodes/${NODE}`, { external_id: "yaml://secret/acme/other" })],
    ["a node of another type", sent("PATCH", "/nodes/resource:other", { external_id: url, props: { type: "page" } })],
    ["a grant", sent("PUT", `/edges/GRANTS_ACCESS/group:analysts/${NODE}`, {}, {})],
    ["a grant among changes", changes({ op: "put_edge", edge: own(NODE) })],
    ["a grant to a role", changes({ op: "put_edge", edge: { ...own(NODE), src: "person:cleo" } })],
    ["a node and its grant", changes({ op: "put_node", node: node("resource:new", url) }, { op: "put_edge", edge: own("resource:new") })],
    ["the node taken away", sent("DELETE", `/nodes/${NODE}?cascade=true`, {})],
    ["an owner", sent("POST", `/resources/${NODE}/owners`, { owner_identity_id: "person:cleo", reason: "a test of the wall" }, {})],
    [
      "an owner among changes",
      changes({ op: "put_edge", edge: { kind: "OWNS_RESOURCE", src: "group:analysts", dst: NODE, props: { level: "deputy" } } }),
    ],
    ["a file", lines("", { node: node("resource:new", url) }, { edge: own("resource:new") })],
    ["a file with a grant", lines("", { edge: own(NODE) })],
    ["a file that is tried", lines("&dry_run=true", { edge: own(NODE) })],
  ];
  const send = async (as: string, { method, path, body, headers }: (typeof ways)[number][1]) => {
    const more = method === "DELETE" ? {} : { body };
    return world.call(as, method, `/api/v1${path}`, { ...more, headers: { ...key(), ...headers }, scopes });
  };
  const { version } = await world.reader.version();
  for (const [what, way] of ways) {
    const refused = await send("ben", way);
    const codes = [refused.body.code, ...(refused.body.errors ?? []).map((one: { code?: string }) => one.code)];
    assert.ok(codes.includes("access_denied"), `${what} ${refused.status} ${JSON.stringify(refused.body)}`);
    assert.match(JSON.stringify(refused.body), /names a secret of the platform/, what);
    ada = "step_up_required";
    assert.equal((await send("ada", way)).body.code, "step_up_required", what);
    ada = true;
    assert.equal((await world.reader.version()).version, version, what);
  }
  for (const [what, way] of [...ways.slice(5, 8), ...ways.slice(10)]) assert.ok((await send("ada", way)).status < 300, what);
  // What names another secret, and what takes a grant away, is the administrator's.
  for (const [what, way] of [
    ["a grant of the own", changes({ op: "put_edge", edge: { ...own("resource:other"), src: "person:cleo" } })],
    ["a grant that goes", sent("DELETE", `/edges/GRANTS_ACCESS/group:people-ops/${NODE}`, {})],
  ] as const)
    assert.ok((await send("ben", way)).status < 300, what);
});

test("what came with the deployment is joined and parted by nobody, who runs the deployment included", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules), { rule: () => true });
  const ends = { kind: "PROVIDES", src: "service:crud", dst: "system.health" };
  const { version } = await world.reader.version();
  for (const [what, change] of [
    ["parted", { op: "drop_edge", edge: ends }],
    ["given an end", { op: "put_edge", edge: { ...ends, expires_at: "2020-01-01T00:00:00Z" } }],
    ["joined", { op: "put_edge", edge: { ...ends, src: "service:pdp" } }],
  ] as const) {
    const { status, body } = await edit(world, "ada", change);
    assert.deepEqual([what, status, body.code], [what, 403, "access_denied"]);
  }
  const sent = {
    body: `${JSON.stringify({ drop: { edge: ends } })}\n`,
    headers: { ...key(), "content-type": "application/x-ndjson" },
    scopes,
  };
  const imported = await world.call("ada", "POST", "/api/v1/imports?reason=a%20file", sent);
  assert.deepEqual([imported.status, imported.body.errors[0].code], [422, "access_denied"]);
  const direct = await world.call("ada", "DELETE", "/api/v1/edges/PROVIDES/service:crud/system.health", {
    headers: { "if-match": "*" },
    scopes,
  });
  assert.equal(direct.status, 403);
  assert.equal((await world.reader.version()).version, version);
});

test("a marked group that leads to role:platform is filled by no file, directory or claim", async (t) => {
  const signIns = { provision: "off", system: "oidc", subjectPrefix: "person:", groups: new Map([["ops", ["group:ops"]]]) } as const;
  const world = await servedWorld(t, await testDatabase(t, graphModules), { signIns });
  const group = { kind: "Group", tenant_id: "tenant:acme", props: { provisions_roles: true } } as const;
  await world.put(
    { ...group, id: "group:ops", name: "Operators" },
    { kind: "MEMBER_OF", src: "group:ops", dst: PLATFORM },
    { kind: "MEMBER_OF", src: "person:cleo", dst: "group:ops" },
  );
  for (const line of [
    { edge: { kind: "MEMBER_OF", src: "person:dan", dst: "group:ops" } },
    { edge: { kind: "MEMBER_OF", src: "person:dan", dst: PLATFORM } },
    { drop: { edge: { kind: "MEMBER_OF", src: "person:cleo", dst: "group:ops" } } },
  ]) {
    const headers = { ...key(), "content-type": "application/x-ndjson" };
    const reply = await world.call("ada", "POST", "/api/v1/imports?reason=a%20file", {
      body: `${JSON.stringify(line)}\n`,
      headers,
      scopes,
    });
    assert.deepEqual([JSON.stringify(line), reply.status, reply.body.errors?.[0].code], [JSON.stringify(line), 422, "access_denied"]);
  }
  const body = { issuer: "https://login.example", subject: "dan", tenant: "tenant:acme", groups: ["ops"] };
  assert.equal((await world.call("service:gateway", "POST", "/api/v1/sign-ins", { body, scopes: ["membership.sign_in"] })).status, 200);
  assert.deepEqual(await world.sql("select 1 from membership.edge where src = 'person:dan' and dst = 'group:ops'"), []);

  const { body: made } = await world.call("ada", "POST", "/api/v1/scim-tokens", { body: { name: "directory" }, scopes });
  const scim = async (path: string, sent: object) => {
    const headers = { authorization: `Bearer ${made.token}`, "content-type": "application/scim+json" };
    const response = await world.service.fetch(
      new Request(`http://localhost:8084/scim/v2${path}`, { method: "POST", headers, body: JSON.stringify(sent) }),
    );
    return { status: response.status, body: (await response.json()) as { id: string; detail: string } };
  };
  const user = await scim("/Users", { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: "fay" });
  await world.put({ kind: "MEMBER_OF", src: `account:scim:${user.body.id}`, dst: "group:ops" });
  const staff = await scim("/Groups", { schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"], displayName: "Staff" });
  await world.put(
    { ...group, id: `group:scim:${staff.body.id}`, name: "Staff", system: "scim" },
    { kind: "MEMBER_OF", src: `group:scim:${staff.body.id}`, dst: PLATFORM },
  );
  const response = await world.service.fetch(
    new Request(`http://localhost:8084/scim/v2/Groups/${staff.body.id}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${made.token}`, "content-type": "application/scim+json" },
      body: JSON.stringify({
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        displayName: "Staff",
        members: [{ value: user.body.id }],
      }),
    }),
  );
  assert.deepEqual([response.status, /role:platform/.test(await response.text())], [403, true]);
});

const MIGRATION = new URL("../migrations/019-operator-tenant.sql", import.meta.url);
const platformHolders = (world: GraphWorld) =>
  world
    .sql<{ src: string }>("select src from membership.edge where dst = 'role:platform' order by 1")
    .then((rows) => rows.map(({ src }) => src));
type Draft = NodeDraft | EdgeDraft;
/** A deployment as it was before the role: its graph, and no word of an operator. */
const older = async (t: TestContext, marker: string | undefined, ...more: readonly Draft[]) => {
  const database = await testDatabase(t, graphModules);
  const world = await graphWorld(database, { demo: false });
  const tenant = { id: "tenant:acme", kind: "Tenant", name: "acme", tenant_id: "tenant:acme" } as const;
  const person = (id: string) => ({ id, kind: "Person", name: id, tenant_id: "tenant:acme" }) as const;
  await world.put(tenant, person("person:first"), person("person:second"), ...more);
  if (marker !== undefined) await world.sql(`insert into membership.first_administrator (person_id) values ('${marker}')`);
  await world.sql("drop table membership.operator_tenant");
  await database.script(await readFile(MIGRATION, "utf8"));
  return world;
};
const administrator = (src: string) => ({ kind: "MEMBER_OF", src, dst: "role:administrator" }) as const;
const otherTenant = { id: "tenant:other", kind: "Tenant", name: "other", tenant_id: "tenant:other" } as const;

test("a deployment from before the role gives it once: to the first administrator, else to who is one of the operator's tenant", async (t) => {
  const both = [administrator("person:first"), administrator("person:second")] as const;
  const group = (id: string, marked = false) =>
    ({ id, kind: "Group", name: id, tenant_id: "tenant:acme", props: marked ? { provisions_roles: true } : {} }) as const;
  const byGroup = [
    group("group:admins"),
    administrator("group:admins"),
    { kind: "MEMBER_OF", src: "person:first", dst: "group:admins" },
  ] as const;
  const agent = { id: "agent:runner", kind: "AIAgent", name: "Runner", tenant_id: "tenant:acme", props: {} } as const;
  const account = { id: "account:x", kind: "Account", name: "x", tenant_id: "tenant:acme", props: { login: "x", system: "x" } } as const;
  const others = [agent, account, administrator(agent.id), administrator(account.id)] as const;
  const stranger = { id: "person:stranger", kind: "Person", name: "stranger", tenant_id: "tenant:other" } as const;
  const elsewhere = [otherTenant, stranger, administrator(stranger.id)] as const;
  const cases: readonly (readonly [string, GraphWorld, readonly string[]])[] = [
    ["the first administrator", await older(t, "person:first", ...both, otherTenant), ["person:first"]],
    ["who is one no more", await older(t, "person:first", administrator("person:second"), otherTenant), ["person:second"]],
    ["no marker, one tenant", await older(t, undefined, ...both), ["person:first", "person:second"]],
    ["no marker, several tenants", await older(t, undefined, ...both, otherTenant), []],
    ["the first by a group", await older(t, "person:first", ...byGroup, administrator("person:second"), otherTenant), ["person:first"]],
    ["no agent, service or account", await older(t, "person:gone", administrator("person:second"), ...others), ["person:second"]],
    ["nobody of another tenant", await older(t, "person:first", administrator("person:second"), ...elsewhere), ["person:second"]],
    [
      "a group of administrators",
      await older(t, "person:first", group("group:admins"), administrator("group:admins"), otherTenant),
      ["group:admins"],
    ],
    [
      "no group that others fill",
      await older(t, "person:first", group("group:admins", true), administrator("group:admins"), otherTenant),
      [],
    ],
  ];
  for (const [what, world, holders] of cases) {
    await seedBuiltIns(world.write);
    assert.deepEqual([what, await platformHolders(world)], [what, holders]);
    const { version } = await world.reader.version();
    await seedBuiltIns(world.write);
    assert.equal((await world.reader.version()).version, version);
  }
  const [, first] = cases[0] ?? [];
  assert.ok(first);
  await first.put({ kind: "MEMBER_OF", src: "person:second", dst: PLATFORM });
  await first.sql("delete from membership.edge where src = 'person:first' and dst = 'role:platform'");
  await seedBuiltIns(first.write);
  assert.deepEqual(await platformHolders(first), ["person:second"], "what was taken away stays so");
});

test("the demo beside a deployment of somebody else's leaves the operator's tenant as it is", async (t) => {
  const world = await older(t, "person:first", administrator("person:first"), otherTenant);
  await seedBuiltIns(world.write);
  await world.sql("update membership.operator_tenant set tenant_id = 'tenant:other'");
  await seedDemo({ change: world.change, metrics: world.metrics, now: () => new Date() });
  assert.deepEqual(await platformHolders(world), ["person:first"]);
  assert.deepEqual(await world.sql("select tenant_id from membership.operator_tenant"), [{ tenant_id: "tenant:other" }]);
});

test("a graph that is put back into an empty store says whose the deployment is; of two tenants none", async (t) => {
  const world = await graphWorld(await testDatabase(t, graphModules), { demo: false });
  const person = (id: string, tenant_id: string) => ({ id, kind: "Person", name: id, tenant_id }) as const;
  const tenants = ["tenant:a", "tenant:b"].map((id) => ({ id, kind: "Tenant", name: id, tenant_id: id }) as const);
  await world.put(...tenants, person("person:a", "tenant:a"), person("person:b", "tenant:b"));
  const both = world.put({ kind: "MEMBER_OF", src: "person:a", dst: PLATFORM }, { kind: "MEMBER_OF", src: "person:b", dst: PLATFORM });
  await assert.rejects(both, /access_denied|operator/);
  assert.equal(await tryEdge(world, "assign", "person:a", PLATFORM).then((published) => published.slice(0, 13)), "access_denied");
  await world.put({ kind: "MEMBER_OF", src: "person:a", dst: PLATFORM });
  assert.deepEqual(await world.sql("select tenant_id from membership.operator_tenant"), [{ tenant_id: "tenant:a" }]);
});
