import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyReport } from "#contract/policies.ts";
import type { MatrixDifference, Rollout } from "#contract/rollouts.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { cedarGeneration } from "#pdp/model/cedar-program.ts";
import { pdpWorld, sharedPdpWorld } from "#testing/pdp.ts";
import { administer, askFor, locksOut, opensOperations, policyText, readJson } from "#testing/rollout.ts";

/** One world for the tests that only draft and look. */
const shared = sharedPdpWorld();
const pages = "policies/pages.cedar";

interface WithReport extends ProblemBody {
  readonly report?: PolicyReport;
  readonly matrix?: MatrixDifference;
}

test("a draft goes through the shadow, decides once its matrix was acknowledged, and is taken back at once", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  assert.equal((await askFor(world, "cleo", "pages", "view", "operations")).decision, false);

  const { rollout, report } = await admin.draft(opensOperations, "Operations for analysts");
  assert.match(rollout.version, /^v2\+[0-9a-f]{12}$/);
  assert.equal(rollout.state, "draft");
  assert.equal(rollout.created_by, "person:ada");
  assert.deepEqual([report.valid, report.errors, report.lint, report.cases.failed], [true, [], [], []]);
  assert.ok(report.cases.passed > 30);

  const difference = await admin.matrix(rollout.version);
  assert.deepEqual(difference.changed, [
    { row: "pages:view operations", column: "cleo", before: "R", after: "Y", policies: ["operations-for-analysts"] },
  ]);
  assert.equal((await admin.shadow(rollout.version)).state, "shadow");
  assert.equal((await askFor(world, "cleo", "pages", "view", "operations")).decision, false);

  const promote = `${admin.version(rollout.version)}/promote`;
  for (const acknowledged of [undefined, "something else"]) {
    const body = { to: "active", ...(acknowledged === undefined ? {} : { acknowledged_diff: acknowledged }) };
    const refused = await readJson<WithReport>(await admin.call(promote, body), 409);
    assert.equal(refused.code, "matrix_not_acknowledged");
    assert.deepEqual(refused.matrix, difference);
  }
  const active = await readJson<Rollout>(await admin.call(promote, { to: "active", acknowledged_diff: difference.digest }));
  assert.equal(active.state, "active");
  assert.ok(active.activated_at);
  const opened = await askFor(world, "cleo", "pages", "view", "operations");
  assert.equal(opened.decision, true);

  const back = await admin.rollBack();
  assert.match(back.version, /^v1\+/);
  assert.equal((await askFor(world, "cleo", "pages", "view", "operations")).decision, false);
  const { rollouts } = await readJson<{ rollouts: readonly Rollout[] }>(await admin.call("/rollouts"));
  assert.deepEqual(
    rollouts.map(({ version, state }) => [version, state]),
    [
      [rollout.version, "retired"],
      [back.version, "active"],
    ],
  );
  const published = (await world.world.published()).filter(({ type }) => type.startsWith("policy."));
  assert.deepEqual(
    published.map(({ type, kind, tenant }) => [type, kind, tenant]),
    [
      ["policy.drafted", "policy", "tenant:acme"],
      ["policy.shadowed", "policy", "tenant:acme"],
      ["policy.activated", "policy", "tenant:acme"],
      ["policy.rolled_back", "policy", "tenant:acme"],
    ],
  );
  const audited = world.entries.filter(({ category }) => category === "policy");
  assert.deepEqual(
    audited.map(({ data, actor }) => [data["op"], actor.subject]),
    [
      ["imported", "service:pdp"],
      ["drafted", "person:ada"],
      ["shadowed", "person:ada"],
      ["activated", "person:ada"],
      ["rolled_back", "person:ada"],
    ],
  );
  for (const { decisionId } of audited.slice(1)) assert.match(decisionId ?? "", /^d_/);
});

test("a policy that changes is told to every tenant that asked for decisions", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  await askFor(world, "eve", "pages", "view_all");
  await askFor(world, "eve", "tools", "view_all");
  const { rollout } = await admin.draft(opensOperations);
  await admin.activate(rollout.version);
  const published = (await world.world.published()).filter(({ type }) => type === "policy.activated");
  assert.deepEqual(published.map(({ tenant }) => tenant).toSorted(), ["tenant:acme", "tenant:globex"]);
});

test("a faulty draft is kept with its report and never decides", async () => {
  const world = await shared();
  const admin = administer(world);
  const { rollout, report } = await admin.draft({ [pages]: `${policyText("pages.cedar")}\npermit (` });
  assert.equal(report.valid, false);
  assert.equal(report.errors[0]?.file, pages);
  assert.ok(report.errors[0]?.line);
  const promote = `${admin.version(rollout.version)}/promote`;
  for (const to of ["shadow", "active"]) {
    const refused = await readJson<WithReport>(await admin.call(promote, { to, acknowledged_diff: "x" }), 409);
    assert.equal(refused.code, "policy_invalid");
    assert.deepEqual(refused.report?.errors, report.errors);
  }
  assert.equal((await readJson<ProblemBody>(await admin.call(`${admin.version(rollout.version)}/matrix`), 409)).code, "policy_invalid");
});

test("a draft whose cases fail stays one", async () => {
  const world = await shared();
  const admin = administer(world);
  const text =
    "- name: dan sees all\n  given: { subject: person:dan }\n  ask: { action: view_all, resource: pages }\n  expect: { decision: true }\n";
  const { rollout, report } = await admin.draft({ "policies/cases/mine.yaml": text });
  assert.equal(report.valid, true);
  assert.deepEqual(report.cases.failed, [
    { name: "dan sees all", file: "policies/cases/mine.yaml", expected: { decision: true }, got: { decision: false } },
  ]);
  const refused = await readJson<WithReport>(await admin.call(`${admin.version(rollout.version)}/promote`, { to: "shadow" }), 409);
  assert.equal(refused.code, "cases_failed");
  assert.equal(refused.report?.cases.failed.length, 1);
});

test("a version that lets nobody activate policies is refused, and so is one that shuts out who activates it", async () => {
  const world = await shared();
  const admin = administer(world);
  const everybody = await admin.draft({ "policies/administration.cedar": locksOut });
  assert.equal(everybody.report.valid, false);
  assert.equal(everybody.report.lint[0]?.code, "locks_everybody_out");
  const refused = await readJson<WithReport>(
    await admin.call(`${admin.version(everybody.rollout.version)}/promote`, { to: "active", acknowledged_diff: "x" }),
    409,
  );
  assert.equal(refused.code, "policy_invalid");
  assert.equal(refused.errors?.[0]?.code, "locks_everybody_out");

  const others = `${locksOut}
@id("activation") @description("Both groups together activate")
permit (principal in Group::"group:platform-admins", action == Action::"policies:activate", resource)
when { principal in Group::"group:people-ops" };`;
  const handed = await admin.draft({ "policies/administration.cedar": others });
  assert.equal(handed.report.valid, true);
  const { digest } = await admin.matrix(handed.rollout.version);
  const own = await readJson<WithReport>(
    await admin.call(`${admin.version(handed.rollout.version)}/promote`, { to: "active", acknowledged_diff: digest }),
    409,
  );
  assert.equal(own.errors?.[0]?.code, "locks_yourself_out");
});

test("states are left only by their own transitions", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const { rollout } = await admin.draft(opensOperations);
  const name = admin.version(rollout.version);
  const first = (await readJson<{ version: string }>(await admin.call(""))).version;
  const drop = async (path: string) =>
    world.service.fetch(
      new Request(`http://localhost:8082/access/v1/policies${path}`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${await world.personToken("ada", { acr: "strong" })}` },
      }),
    );
  const refused: readonly (readonly [what: string, answer: Promise<Response>, status: number, code: string])[] = [
    ["dropping what decides", drop(admin.version(first)), 409, "not_a_draft"],
    ["promoting what decides", admin.call(`${admin.version(first)}/promote`, { to: "shadow" }), 409, "conflict"],
    ["rolling back to a draft", admin.call(`${name}/rollback`, {}), 409, "conflict"],
    ["rolling back to nothing", admin.call("/rollouts/last/rollback", {}), 409, "conflict"],
    ["unshadowing a draft", admin.call(`${name}/promote`, { to: "draft" }), 409, "conflict"],
    ["an unknown version", admin.call("/rollouts/v99/promote", { to: "shadow" }), 404, "not_found"],
    ["no version at all", admin.call("/rollouts/v0/promote", { to: "shadow" }), 404, "not_found"],
    ["the same files again", admin.call("/rollouts", { files: opensOperations, message: "x" }), 409, "already_exists"],
    ["nothing changed", admin.call("/rollouts", { files: {}, message: "x" }), 409, "already_exists"],
    ["a path outside", admin.call("/rollouts", { files: { "../x.cedar": "" }, message: "x" }), 400, "invalid_request"],
    ["a file of another kind", admin.call("/rollouts", { files: { "policies/x.js": "" }, message: "x" }), 400, "invalid_request"],
    ["no message", admin.call("/rollouts", { files: { [pages]: "" } }), 400, "invalid_request"],
    ["an unknown member", admin.call(`${name}/promote`, { to: "shadow", now: true }), 400, "invalid_request"],
    ["an unknown state", admin.call("/rollouts?state=half"), 400, "invalid_query"],
    ["a cursor of somebody else", admin.call("/rollouts?cursor=AAAA"), 400, "invalid_cursor"],
    ["a case that is none", admin.call("/test", { cases: [{ name: "x" }] }), 400, "invalid_request"],
  ];
  for (const [what, answer, status, code] of refused) {
    assert.equal((await readJson<ProblemBody>(await answer, status)).code, code, what);
  }
  assert.equal((await admin.shadow(rollout.version)).state, "shadow");
  assert.equal((await readJson<Rollout>(await admin.call(`${name}/promote`, { to: "draft" }))).state, "draft");
  assert.equal((await drop(name)).status, 204);
  assert.equal((await admin.call(name)).status, 404);
  // A number is never used twice.
  assert.match((await admin.draft(opensOperations)).rollout.version, /^v3\+/);
});

test("another shadow takes the place of the first, and what decides leaves the shadow", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const one = (await admin.draft(opensOperations)).rollout.version;
  const other = (await admin.draft({ ...opensOperations, [pages]: `${opensOperations[pages]}\n// again` })).rollout.version;
  await admin.shadow(one);
  await admin.shadow(other);
  const stateOf = async (name: string) => (await readJson<Rollout>(await admin.call(admin.version(name)))).state;
  assert.deepEqual([await stateOf(one), await stateOf(other)], ["draft", "shadow"]);
  await admin.activate(one);
  assert.deepEqual([await stateOf(one), await stateOf(other)], ["active", "shadow"]);
  await admin.activate(other);
  assert.deepEqual([await stateOf(one), await stateOf(other)], ["retired", "active"]);
  const published = (await world.metrics.text()).split("\n").filter((line) => line.startsWith("pdp_bundle_info{"));
  assert.deepEqual(published, [`pdp_bundle_info{version="${other}",state="active"} 1`]);
});

test("who read another state is told so by If-Match", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const before = (await admin.call("/rollouts")).headers.get("etag") ?? "";
  assert.match(before, /^"epoch-\d+"$/);
  const { rollout } = await admin.draft(opensOperations);
  await admin.shadow(rollout.version);
  const stale = await admin.call(`${admin.version(rollout.version)}/promote`, { to: "draft" }, { "if-match": before });
  assert.equal((await readJson<ProblemBody>(stale, 412)).code, "stale_version");
  const now = stale.headers.get("etag") ?? "";
  assert.notEqual(now, before);
  assert.equal((await admin.call(`${admin.version(rollout.version)}/promote`, { to: "draft" }, { "if-match": now })).status, 200);
});

test("lists page without gap or repeat, and filter by state", async () => {
  const world = await shared();
  const admin = administer(world);
  for (const number of [1, 2, 3]) await admin.draft({ "policies/extra.cedar": `// ${number}` });
  const all = await readJson<{ rollouts: readonly Rollout[] }>(await admin.call("/rollouts?limit=200"));
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await readJson<{ rollouts: readonly Rollout[]; nextCursor?: string }>(
      await admin.call(`/rollouts?limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`),
    );
    seen.push(...page.rollouts.map(({ version }) => version));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(
    seen,
    all.rollouts.map(({ version }) => version),
  );
  const active = await readJson<{ rollouts: readonly Rollout[] }>(await admin.call("/rollouts?state=active"));
  assert.deepEqual(
    active.rollouts.map(({ state }) => state),
    ["active"],
  );
});

test("policies are listed with where they stand, and read one by one with an ETag", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const { rollout } = await admin.draft(opensOperations);
  const listed = async (query: string) =>
    (
      await readJson<{ policies: readonly { id: string; status: string; version: string; file: string; line: number }[] }>(
        await admin.call(query),
      )
    ).policies;
  const drafted = await listed("?status=draft");
  assert.deepEqual(
    drafted.map(({ id, file, version }) => [id, file, version]),
    [["operations-for-analysts", pages, rollout.version]],
  );
  await admin.shadow(rollout.version);
  assert.deepEqual(
    (await listed("?status=shadow")).map(({ id }) => id),
    ["operations-for-analysts"],
  );
  const active = await listed("?status=active");
  assert.ok(active.length > 30 && !active.some(({ id }) => id === "operations-for-analysts"));
  const one = await admin.call("/page-granted");
  const policy = await readJson<{ text: string; file: string; line: number; version: string }>(one);
  assert.match(policy.text, /^@id\("page-granted"\)/);
  assert.match(one.headers.get("etag") ?? "", /^"[0-9a-f]{32}"$/);
  assert.equal((await admin.call("/operations-for-analysts")).status, 404);
  assert.equal((await admin.call(`/operations-for-analysts?version=${encodeURIComponent(rollout.version)}`)).status, 200);
  const schema = await readJson<{
    cedar: string;
    actions: readonly { action: string; resource_type: string; name: string; groups: string[] }[];
  }>(await admin.call("/schema"));
  assert.equal(schema.cedar, policyText("schema.cedarschema"));
  assert.deepEqual(
    schema.actions.find(({ action }) => action === "tool:tools/call"),
    { action: "tool:tools/call", resource_type: "tool", name: "tools/call", groups: ["act", "agent_reach"] },
  );
});

test("a draft that Cedar would break down at is reported, and what decides goes on deciding", async () => {
  const world = await shared();
  const admin = administer(world);
  const head = '@id("deep") @description("x") permit (principal, action == Action::"pages:view", resource)';
  const conditions = [
    Array(400).fill("context.via_agent").join(" && "),
    Array(10_000).fill("context.via_agent").join(" && "),
    `${"(".repeat(20_000)}true${")".repeat(20_000)}`,
    `${"!(".repeat(20_000)}`,
  ];
  const before = cedarGeneration();
  for (const condition of conditions) {
    const files = { "policies/deep.cedar": `${head}\n  when { ${condition} };` };
    const report = await readJson<PolicyReport>(await admin.call("/validate", { files }));
    assert.equal(report.valid, false);
    assert.deepEqual(
      report.errors.map(({ file, line, hint }) => [file, line, hint !== undefined]),
      [["policies/deep.cedar", 2, true]],
    );
  }
  assert.equal(cedarGeneration(), before);
  for (const page of ["people", "delegations", "why"]) await askFor(world, "ben", "pages", "view", page);
});

test("files are validated and cases run without anything being stored", async () => {
  const world = await shared();
  const admin = administer(world);
  const before = await readJson<{ rollouts: readonly Rollout[] }>(await admin.call("/rollouts?limit=200"));
  const good = await readJson<PolicyReport>(await admin.call("/validate", { files: opensOperations }));
  assert.equal(good.valid, true);
  const bad = await readJson<PolicyReport>(await admin.call("/validate", { files: { [pages]: "permit (principal, action, resource);" } }));
  assert.equal(bad.valid, false);
  assert.ok(bad.lint.every(({ file, line, column, hint }) => file === pages && line === 1 && column === 1 && hint !== undefined));
  const one = {
    name: "an analyst opens operations",
    given: { subject: "person:a", facts: { subject: { groups: ["group:analysts"] } } },
    ask: { action: "view", resource: { type: "pages", id: "operations" } },
    expect: { decision: true, policies: ["operations-for-analysts"] },
  };
  const opened = await readJson<{ passed: number }>(await admin.call("/test", { files: opensOperations, cases: [one] }));
  assert.deepEqual(opened, { passed: 1, failed: [] });
  const closed = await readJson<{ passed: number; failed: readonly { got: unknown }[] }>(await admin.call("/test", { cases: [one] }));
  assert.deepEqual(closed.failed[0]?.got, { decision: false, policies: [] });
  const after = await readJson<{ rollouts: readonly Rollout[] }>(await admin.call("/rollouts?limit=200"));
  assert.deepEqual(after, before);
});

test("a person needs the pair, whatever scopes the token has; a service needs the scope", async () => {
  const world = await shared();
  const paths: readonly (readonly [path: string, body: unknown, scope: string])[] = [
    ["", undefined, "pdp.policies.read"],
    ["/page-granted", undefined, "pdp.policies.read"],
    ["/schema", undefined, "pdp.policies.read"],
    ["/validate", {}, "pdp.policies.read"],
    ["/test", { cases: [] }, "pdp.policies.read"],
    ["/rollouts", undefined, "pdp.policies.read"],
    ["/rollouts/v1", undefined, "pdp.policies.read"],
    ["/rollouts/v1/matrix", undefined, "pdp.policies.read"],
    ["/rollouts/v1/differences", undefined, "pdp.policies.read"],
    ["/rollouts", { files: {}, message: "x" }, "pdp.policies.write"],
    ["/replay", { version: "v1" }, "pdp.policies.read"],
    ["/rollouts/v1/promote", { to: "shadow" }, "pdp.policies.activate"],
    ["/rollouts/v1/rollback", {}, "pdp.policies.activate"],
  ];
  for (const [path, body, scope] of paths) {
    const url = `/access/v1/policies${path}`;
    const ben = await world.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [scope] });
    const refused = await world.ask(url, ben, body);
    const problem = await readJson<ProblemBody>(refused, 403);
    assert.equal(problem.code, "access_denied", path);
    assert.match(String(problem["decision_id"]), /^d_/, path);
    const agent = await world.personToken("ada", { agent: "agent:hr-assistant" });
    assert.equal((await world.ask(url, agent, body)).status, 403, `${path} through an agent`);
    const pep = await world.identity.tokenFor({
      sub: "service:robot",
      tenant: "tenant:acme",
      clientId: "service:robot",
      scopes: ["authzen.pep"],
    });
    const lacking = await world.ask(url, pep, body);
    assert.match(lacking.headers.get("www-authenticate") ?? "", new RegExp(`error="insufficient_scope", scope="${scope}"`), path);
    const said = await readJson<ProblemBody>(lacking, 403);
    assert.deepEqual(
      [said.code, said["decision_id"], said["reason"]],
      ["insufficient_scope", undefined, undefined],
      `${path} without the scope`,
    );
    const robot = await world.identity.tokenFor({
      sub: "service:robot",
      tenant: "tenant:acme",
      clientId: "service:robot",
      scopes: [scope],
    });
    assert.notEqual((await world.ask(url, robot, body)).status, 403, `${path} with the scope`);
    assert.equal((await world.ask(url, undefined, body)).status, 401, path);
  }
});
