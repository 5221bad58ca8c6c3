import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { whatIf } from "#contract/what-if.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";
import { administer, askFor, opensOperations, readJson } from "#testing/rollout.ts";

const shared = sharedPdpWorld();
type Reply = ReplyOf<typeof whatIf>;
const PATH = "/access/v1/what-if";
const named = (rows: Reply["gained"]): readonly string[] =>
  rows.map(({ action, resource }) => `${resource.type}/${action}${resource.id === undefined ? "" : ` ${resource.id}`}`).toSorted();
const ask = async (body: unknown, login = "ada") => (await shared()).ask(PATH, await (await shared()).personToken(login), body);

test("a membership gives what its permits give, and nothing is written", async () => {
  const world = await shared();
  const before = await world.world.reader.version();
  const joins = { edges: { add: [{ kind: "MEMBER_OF", from: "account:dan@acme", to: "group:analysts" }] } };
  const reply = await readJson<Reply>(await ask({ subject_id: "person:dan", changes: joins }));
  assert.deepEqual(reply.lost, []);
  assert.equal(reply.truncated, false);
  const gained = named(reply.gained);
  for (const wanted of ["pages/view people", "pages/view my-work", "pages/view_all", "tools/view_all", "employee/list", "streams/workflow"])
    assert.ok(gained.includes(wanted), `${wanted} in ${gained.join(", ")}`);
  for (const other of ["policies/activate", "pages/view operations", "workflows/execute_quick"]) assert.ok(!gained.includes(other), other);
  assert.deepEqual(reply.gained.find(({ resource }) => resource.id === "people")?.via, ["page-granted"]);
  assert.deepEqual(await world.world.reader.version(), before);
  assert.equal((await askFor(world, "dan", "pages", "view_all")).decision, false);
});

test("an edge taken away takes what hung on it", async () => {
  const left = { edges: { remove: [{ kind: "MEMBER_OF", from: "account:cleo@acme", to: "group:analysts" }] } };
  const reply = await readJson<Reply>(
    await ask({ subject_id: "person:cleo", changes: left, actions: ["pages/view", "pages/view_all", "tools/view_all"] }),
  );
  assert.deepEqual(reply.gained, []);
  assert.deepEqual(named(reply.lost), ["pages/view my-work", "pages/view people", "pages/view_all", "tools/view_all"]);
});

test("a page that is granted, or no longer, takes its widgets with it", async () => {
  const grant = { kind: "GRANTS_ACCESS", from: "group:people-ops", to: "resource:acme.pages.operations" };
  const given = await readJson<Reply>(await ask({ subject_id: "person:ben", changes: { edges: { add: [grant] } } }));
  assert.deepEqual(named(given.gained), ["page.widget/view operations:grid:runs", "pages/view operations"]);
  const taken = { edges: { remove: [{ ...grant, to: "resource:acme.pages.people" }] } };
  const left = await readJson<Reply>(await ask({ subject_id: "person:ben", changes: taken, actions: ["pages/view", "page.widget/view"] }));
  assert.deepEqual(named(left.lost), [
    "page.widget/view people:action:offboard",
    "page.widget/view people:grid:employees",
    "pages/view people",
  ]);
});

test("a delegation gives an agent its tools and the audiences behind them", async () => {
  const lends = { edges: { add: [{ kind: "DELEGATES_TO", from: "person:ben", to: "agent:reporter" }] } };
  const reply = await readJson<Reply>(
    await ask({ subject_id: "person:ben", agent_id: "agent:reporter", changes: lends, actions: ["tool/tools/call"] }),
  );
  assert.deepEqual(named(reply.gained), ["tool/tools/call people.demo.list_employees"]);
  assert.deepEqual(reply.gained[0]?.via, ["tool-delegated"]);
  assert.ok(reply.audiences.gained.length > 0);
  assert.deepEqual(reply.audiences.lost, []);
});

test("circumstances and another version are tried too", async () => {
  const world = await shared();
  const secret = { type: "secret", id: "yaml://secret/people/demo" };
  const fresh = await readJson<Reply>(
    await ask({ subject_id: "person:ada", changes: { facts: { mfa: true } }, actions: ["secret/destroy_versions"], resources: [secret] }),
  );
  // A secret is named to nobody.
  assert.deepEqual(fresh.gained, [{ action: "destroy_versions", resource: { type: "secret" }, via: ["secret-admin"] }]);
  const operations = { type: "pages", id: "operations" };
  const approved = await readJson<Reply>(
    await ask({ subject_id: "person:cleo", changes: { facts: { approved: true } }, actions: ["pages/view"], resources: [operations] }),
  );
  assert.deepEqual(named(approved.gained), ["pages/view operations"]);
  const { rollout } = await administer(world).draft(opensOperations);
  const drafted = await readJson<Reply>(
    await ask({ subject_id: "person:cleo", version: rollout.version, actions: ["pages/view"], resources: [operations] }),
  );
  assert.equal(drafted.policy_version, rollout.version);
  assert.deepEqual(drafted.gained, [{ action: "view", resource: operations, via: ["operations-for-analysts"] }]);
});

test("who may not see decisions asks nothing, another tenant's nodes are not there, and a change that could not be made is refused", async () => {
  const body = { subject_id: "person:ben" };
  for (const login of ["ben", "dan", "eve"]) assert.equal((await readJson<ProblemBody>(await ask(body, login), 403)).code, "access_denied");
  const edge = (kind: string, from: string, to: string) => ({ ...body, changes: { edges: { add: [{ kind, from, to }] } } });
  const foreign = await readJson<ProblemBody>(await ask(edge("MEMBER_OF", "account:eve@globex", "group:globex-staff")), 422);
  const absent = await readJson<ProblemBody>(await ask(edge("MEMBER_OF", "account:evx@globex", "group:globex-stafx")), 422);
  assert.deepEqual(
    absent.errors?.map(({ message }) => message.replace("evx", "eve").replace("stafx", "staff")),
    foreign.errors?.map(({ message }) => message),
  );
  const wrong: readonly (readonly [body: unknown, status: number, code: string])[] = [
    [edge("LIKES", "person:ben", "person:ada"), 422, "unprocessable"],
    [edge("MEMBER_OF", "person:ben", "person:ada"), 422, "edge_not_allowed"],
    [edge("member of", "person:ben", "person:ada"), 400, "invalid_request"],
    [
      { ...body, changes: { edges: { remove: [{ kind: "MEMBER_OF", from: "account:ben@acme", to: "group:analysts" }] } } },
      422,
      "unprocessable",
    ],
    [{ ...body, version: "v99" }, 404, "not_found"],
    [{ ...body, version: "newest" }, 400, "invalid_request"],
    [{}, 400, "invalid_request"],
    [{ ...body, extra: 1 }, 400, "invalid_request"],
  ];
  for (const [sent, status, code] of wrong)
    assert.equal((await readJson<ProblemBody>(await ask(sent), status)).code, code, JSON.stringify(sent));
  const nobody = await readJson<Reply>(await ask({ subject_id: "person:eve" }));
  assert.deepEqual([nobody.gained, nobody.lost], [[], []]);
});

test("who could make the change asks what it would do to their own rights, and nothing else", async () => {
  const world = await shared();
  const lends = (from: string, to: string) => ({ edges: { add: [{ kind: "DELEGATES_TO", from, to }] } });
  const ends = (from: string, to: string) => ({ edges: { remove: [{ kind: "DELEGATES_TO", from, to }] } });
  const joins = { edges: { add: [{ kind: "MEMBER_OF", from: "account:ben@acme", to: "group:platform-admins" }] } };
  const agent_id = "agent:hr-assistant";
  const calls = { actions: ["tool/tools/call"] };

  const without = await readJson<Reply>(
    await ask({ subject_id: "person:ben", agent_id, changes: ends("person:ben", agent_id), ...calls }, "ben"),
  );
  assert.ok(named(without.lost).includes("tool/tools/call people.demo.list_employees"), JSON.stringify(without));
  assert.deepEqual(without.gained, []);
  const withMore = await readJson<Reply>(
    await ask({ subject_id: "person:cleo", agent_id: "agent:reporter", changes: lends("person:cleo", "agent:reporter"), ...calls }, "cleo"),
  );
  assert.deepEqual([withMore.lost, withMore.truncated], [[], false]);
  const secret = { type: "secret", id: "yaml://secret/people/demo" };
  const stronger = await readJson<Reply>(
    await ask(
      { subject_id: "person:ada", changes: { facts: { mfa: true } }, actions: ["secret/destroy_versions"], resources: [secret] },
      "ada",
    ),
  );
  assert.deepEqual(
    stronger.gained.map(({ action }) => action),
    ["destroy_versions"],
  );

  const both = { edges: { ...ends("person:ben", agent_id).edges, ...joins.edges } };
  const refused: readonly (readonly [what: string, login: string, body: object])[] = [
    ["no change", "ben", { subject_id: "person:ben" }],
    ["an agent that another controls", "ben", { subject_id: "person:ben", changes: lends("person:ben", "agent:reporter") }],
    ["another's delegation", "ben", { subject_id: "person:ben", changes: ends("person:cleo", "agent:reporter") }],
    ["a delegation for another", "ben", { subject_id: "person:ben", changes: lends("person:cleo", agent_id) }],
    ["a delegation that is not there", "dan", { subject_id: "person:dan", changes: ends("person:dan", agent_id) }],
    ["another's rights", "ben", { subject_id: "person:cleo", changes: ends("person:ben", agent_id) }],
    ["a membership", "ben", { subject_id: "person:ben", changes: joins }],
    ["one part of two", "ben", { subject_id: "person:ben", changes: both }],
    ["an approval", "cleo", { subject_id: "person:cleo", changes: { facts: { approved: true } } }],
    ["a sign-in and an approval", "cleo", { subject_id: "person:cleo", changes: { facts: { mfa: true, approved: true } } }],
    ["another's sign-in", "ben", { subject_id: "person:ada", changes: { facts: { mfa: true } } }],
    ["other policies", "ben", { subject_id: "person:ben", version: "v1", changes: { facts: { mfa: true } } }],
    ["another tenant's", "eve", { subject_id: "person:ben", changes: { facts: { mfa: true } } }],
  ];
  for (const [what, login, body] of refused) {
    const problem = await readJson<ProblemBody & { decision_id?: string; reason?: string }>(await ask(body, login), 403);
    assert.deepEqual([problem.code, problem.reason], ["access_denied", "not_granted"], what);
    assert.match(problem.decision_id ?? "", /^d_/, what);
  }
  const byAgent = await world.personToken("ben", { agent: agent_id });
  const own = { subject_id: "person:ben", changes: ends("person:ben", agent_id) };
  assert.equal((await world.ask(PATH, byAgent, own)).status, 403, "an agent asks nothing of the person's rights");
});

test("a service without the scope is told which one it lacks", async () => {
  const world = await shared();
  const tokenWith = (scope: string) =>
    world.identity.tokenFor({ sub: "service:robot", tenant: "tenant:acme", clientId: "service:robot", scopes: [scope] });
  const body = {
    subject_id: "person:dan",
    changes: { edges: { add: [{ kind: "MEMBER_OF", from: "account:dan@acme", to: "group:analysts" }] } },
  };
  const refused = await world.ask(PATH, await tokenWith("authzen.pep"), body);
  assert.match(refused.headers.get("www-authenticate") ?? "", /scope="pdp\.decisions\.read"/);
  assert.equal((await readJson<ProblemBody>(refused, 403)).code, "insufficient_scope");
  await readJson<Reply>(await world.ask(PATH, await tokenWith("pdp.decisions.read"), body));
});
