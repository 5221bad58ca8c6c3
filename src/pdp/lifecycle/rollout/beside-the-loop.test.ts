import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { PolicyReport } from "#contract/policies.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { createExaminer } from "#pdp/lifecycle/examine/examiner.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { administer, askFor, opensOperations, policyText, readJson } from "#testing/rollout.ts";
import { until } from "#testing/until.ts";

const MANY = 600;
const manyPolicies = Array.from(
  { length: MANY },
  (_none, at) =>
    `@id("one-of-many-${at}")\n@description("One of many")\nforbid (principal, action == Action::"pages:view", resource == Page::"p${at}");`,
).join("\n");

test("while large policies are validated, the health and decisions are answered", async (t) => {
  // With a thread of its own: the one that tests share may have begun already.
  const world = await pdpWorld(t, { parts: { examiner: createExaminer() } });
  const admin = administer(world);
  const begun = once(process, "worker");
  let isDone = false;
  const validating = admin.call("/validate", { files: { "policies/many.cedar": manyPolicies } }).finally(() => (isDone = true));
  // The thread that looks at them has begun; without one this never comes.
  await Promise.race([begun, validating.then(() => assert.fail("it was looked at without a thread"))]);
  let answered = 0;
  while (!isDone) {
    assert.equal((await world.service.fetch(new Request("http://localhost:8082/health/live"))).status, 200);
    assert.equal((await askFor(world, "ada", "pages", "view", "operations")).decision, true);
    answered += 1;
  }
  const report = await readJson<PolicyReport>(await validating);
  assert.deepEqual([report.valid, report.errors, report.lint], [true, [], []]);
  assert.ok(answered >= 5, `${answered} decisions while ${MANY} policies were looked at`);
  t.diagnostic(`${answered} decisions while ${MANY} policies were looked at`);
});

test("whatever looks at policies waits its turn for the thread, and is busy where too many wait", async (t) => {
  const limits = { maxWaiting: 8 };
  const world = await pdpWorld(t, { parts: { examiner: createExaminer(limits) } });
  const admin = administer(world);
  const whileBusy = async (call: () => Promise<Response>): Promise<string> => {
    limits.maxWaiting = 0;
    try {
      const { status, headers } = await call().then(async (response) => {
        assert.equal((await readJson<ProblemBody>(response, 503)).code, "busy");
        return response;
      });
      return `${status} ${headers.get("retry-after")}`;
    } finally {
      limits.maxWaiting = 8;
    }
  };
  const post = (path: string, body: unknown) => () => admin.call(path, body);
  const get = (path: string) => () => admin.call(path);
  const { rollout } = await admin.draft(opensOperations);
  const path = admin.version(rollout.version);
  const first = (await readJson<{ readonly version: string }>(await admin.call(""))).version;
  const { digest } = await admin.matrix(rollout.version);
  const files = { "policies/pages.cedar": policyText("pages.cedar") };
  for (const [what, call] of [
    ["validate", post("/validate", { files })],
    ["test", post("/test", { files })],
    ["draft", post("/rollouts", { files: { "policies/new.cedar": "" }, message: "Try" })],
    ["list beside a draft", get("")],
    ["read of a draft", get(`/pages-people?version=${encodeURIComponent(rollout.version)}`)],
    ["matrix", get(`${path}/matrix`)],
    ["promotion to the shadow", post(`${path}/promote`, { to: "shadow" })],
    ["promotion", post(`${path}/promote`, { to: "active", acknowledged_diff: digest })],
    ["replay", post("/replay", { version: rollout.version, filter: {}, limit: 1 })],
  ] as const)
    assert.equal(await whileBusy(call), "503 5", what);
  assert.equal((await askFor(world, "cleo", "pages", "view", "operations")).decision, false, "nothing has changed");
  await admin.activate(rollout.version);
  assert.equal(await whileBusy(post("/rollouts/last/rollback", {})), "503 5");
  assert.equal((await askFor(world, "cleo", "pages", "view", "operations")).decision, true);
  assert.equal((await admin.rollBack()).version, first);
});

test("a version that another process activated is read in the thread, and looked for again where that did not answer", async (t) => {
  const one = await pdpWorld(t);
  const limits = { maxWaiting: 0 };
  const other = await pdpWorld(t, { over: one, parts: { examiner: createExaminer(limits), follow: { pollMs: 20, blindMs: 600_000 } } });
  const opens = async (): Promise<boolean> => (await askFor(other, "cleo", "pages", "view", "operations")).decision;
  const admin = administer(one);
  await admin.activate((await admin.draft(opensOperations)).rollout.version);
  for (let round = 0; round < 5; round++) assert.equal(await opens(), false);
  limits.maxWaiting = 8;
  await until(opens);
});

test("a shadow that could not be read for want of room is looked for again", async (t) => {
  const one = await pdpWorld(t);
  const limits = { maxWaiting: 0 };
  const other = await pdpWorld(t, { over: one, parts: { examiner: createExaminer(limits), follow: { pollMs: 20, blindMs: 600_000 } } });
  const admin = administer(one);
  await admin.shadow((await admin.draft(opensOperations)).rollout.version);
  for (let round = 0; round < 5; round++) await askFor(other, "cleo", "pages", "view", "operations");
  limits.maxWaiting = 8;
  await until(async () => (await other.metrics.text()).includes('state="shadow"'));
});
