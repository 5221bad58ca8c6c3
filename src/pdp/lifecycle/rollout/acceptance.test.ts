import assert from "node:assert/strict";
import { test } from "node:test";
import type { DifferenceClass } from "#contract/replay.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { administer, askFor, locksOut, opensOperations, policyText, readJson } from "#testing/rollout.ts";
import { until } from "#testing/until.ts";
import { rollBackOffline } from "./offline-rollback.ts";

interface ReplayReply {
  readonly state: string;
  readonly evaluated: number;
  readonly unchanged: number;
  readonly newly_allowed: number;
  readonly newly_denied: number;
  readonly changed: number;
  readonly not_replayable: number;
  readonly classes: readonly DifferenceClass[];
}

const people = ["ada", "ben", "cleo", "dan", "eve"];
const pages = ["people", "my-work", "operations"];

/** Everybody asks for every page and a few lists; the answers, by who and what. */
const askAround = async (world: PdpWorld): Promise<Readonly<Record<string, unknown>>> => {
  const answers: Record<string, unknown> = {};
  for (const login of people) {
    for (const id of pages) {
      const { decision, context } = await askFor(world, login, "pages", "view", id);
      answers[`${login} ${id}`] = [decision, context?.reason];
    }
    const { decision, context } = await askFor(world, login, "tools", "view_all");
    answers[`${login} tools`] = [decision, context?.reason];
  }
  return answers;
};

const sampled = (classes: readonly DifferenceClass[]) =>
  classes.map(({ resource_type: type, action, active, other, sample }) => ({
    what: `${type}/${action}`,
    before: [active.decision, active.reason],
    after: [other.decision, other.reason],
    who: sample?.map(({ subject, resource_id: id }) => `${subject} ${id}`).toSorted(),
  }));

const opened = [
  {
    what: "pages/view",
    before: [false, "approval_required"],
    after: [true, undefined],
    who: ["person:cleo operations"],
  },
];

const replayed = (world: PdpWorld, id: string): Promise<ReplayReply> =>
  until(
    async () => readJson<ReplayReply>(await administer(world).call(`/replay/${encodeURIComponent(id)}`)),
    ({ state }) => state !== "running",
  );

test("a draft that opens operations to analysts shows exactly that cell in matrix, shadow and replay, and changes no answer", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const before = await askAround(world);
  const { rollout } = await admin.draft(opensOperations);
  const { changed } = await admin.matrix(rollout.version);
  assert.deepEqual(
    changed.map(({ row, column }) => [row, column]),
    [["pages:view operations", "cleo"]],
  );
  // Those before the shadow, decided again.
  const started = await readJson<{ replay_id: string }>(
    await admin.call("/replay", { version: rollout.version, filter: { to: new Date(world.clock.now.getTime() + 1).toISOString() } }),
    202,
  );
  const reply = await replayed(world, started.replay_id);
  assert.deepEqual([reply.state, reply.newly_allowed, reply.newly_denied, reply.changed, reply.not_replayable], ["done", 1, 0, 0, 0]);
  assert.equal(reply.evaluated, reply.unchanged + 1);
  assert.deepEqual(sampled(reply.classes), opened);

  await admin.shadow(rollout.version);
  assert.deepEqual(await askAround(world), before);
  const seen = await readJson<{ evaluated: number; dropped: number; different: number; classes: readonly DifferenceClass[] }>(
    await admin.call(`${admin.version(rollout.version)}/differences`),
  );
  assert.deepEqual([seen.evaluated, seen.dropped, seen.different], [people.length * 4, 0, 1]);
  assert.deepEqual(sampled(seen.classes), opened);
  const metrics = await world.metrics.text();
  assert.match(metrics, /pdp_shadow_total\{result="different"\} 1\n/);
  assert.match(metrics, /pdp_shadow_total\{result="same"\} 19\n/);

  // What the shadow said becomes true, and nothing else does.
  await admin.activate(rollout.version);
  assert.deepEqual(await askAround(world), { ...before, "cleo operations": [true, undefined] });
});

test("what a shadow and a replay show of others is for who may see decisions, and stays in the tenant", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const narrow = {
    "policies/globex.cedar": policyText("globex.cedar").replaceAll(
      'principal in Group::"group:globex-staff"',
      'principal in Group::"group:nobody"',
    ),
  };
  await askFor(world, "eve", "streams", "activity");
  const { rollout } = await admin.draft(narrow);
  const version = encodeURIComponent(rollout.version);
  await admin.shadow(rollout.version);
  await askFor(world, "eve", "streams", "activity");
  const own = await readJson<{ different: number; classes: unknown[] }>(await admin.call(`/rollouts/${version}/differences`));
  assert.deepEqual([own.different, own.classes], [1, []]);
  const robot = await world.identity.tokenFor({
    sub: "service:robot",
    tenant: "tenant:globex",
    clientId: "service:robot",
    scopes: ["pdp.policies.read", "pdp.policies.write"],
  });
  const differences = await world.ask(`/access/v1/policies/rollouts/${version}/differences`, robot);
  const [kind] = (await readJson<{ classes: readonly DifferenceClass[] }>(differences)).classes;
  assert.equal(kind?.count, 1);
  assert.equal(kind.sample, undefined);
  world.clock.now = new Date(world.clock.now.getTime() + 1_000);
  const started = await readJson<{ replay_id: string }>(
    await world.ask("/access/v1/policies/replay", robot, { version: rollout.version }),
    202,
  );
  assert.equal((await admin.call(`/replay/${encodeURIComponent(started.replay_id)}`)).status, 404);
  const path = `/access/v1/policies/replay/${encodeURIComponent(started.replay_id)}`;
  const reply = await until(
    async () => readJson<ReplayReply>(await world.ask(path, robot)),
    ({ state }) => state !== "running",
  );
  assert.ok(reply.newly_denied >= 1, JSON.stringify(reply));
  assert.ok(reply.classes.every(({ sample }) => sample === undefined));
});

test("of a share of none the shadow is asked nothing", async (t) => {
  const none = await pdpWorld(t, { settings: { PDP_SHADOW_SAMPLE: "0" } });
  const admin = administer(none);
  const { rollout } = await admin.draft(opensOperations);
  await admin.shadow(rollout.version);
  await askAround(none);
  const seen = await readJson<{ evaluated: number; dropped: number }>(await admin.call(`${admin.version(rollout.version)}/differences`));
  assert.deepEqual([seen.evaluated, seen.dropped], [0, 0]);
});

test("a decision is decided again on the facts it had, by the active version or another", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const denied = await askFor(world, "cleo", "pages", "view", "operations");
  const { rollout } = await admin.draft(opensOperations);
  const path = `/access/v1/decisions/${denied.context?.decision_id}/replay`;
  const ada = await world.personToken("ada");
  interface Again {
    readonly then: { readonly policy_version: string; readonly decision: boolean };
    readonly now: { readonly policy_version: string; readonly decision: boolean; readonly policies: readonly string[] };
    readonly changed: readonly string[];
  }
  const same = await readJson<Again>(await world.ask(path, ada, {}));
  assert.deepEqual([same.then.decision, same.now.decision, same.changed], [false, false, []]);
  const other = await readJson<Again>(await world.ask(path, ada, { version: rollout.version }));
  assert.deepEqual(other.now.policies, ["operations-for-analysts"]);
  assert.deepEqual(other.changed, ["decision", "reason", "policies"]);
  // The graph moves on; the facts of then stay.
  await world.world.put({ kind: "MEMBER_OF", src: "account:cleo@acme", dst: "group:people-ops" });
  assert.deepEqual(await readJson<Again>(await world.ask(path, ada, {})), same);
  const cleo = await world.personToken("cleo");
  assert.equal((await world.ask(path, cleo, {})).status, 200);
  assert.equal((await readJson<ProblemBody>(await world.ask(path, cleo, { version: rollout.version }), 403)).code, "access_denied");
  for (const stranger of ["eve", "dan"]) assert.equal((await world.ask(path, await world.personToken(stranger), {})).status, 404);
  const body = {
    subject: { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } },
    action: { name: "update_salary" },
    resource: { type: "employee", id: "*" },
    context: { claimed: { salary: 200_000 } },
  };
  const claimed = await readJson<{ context: { decision_id: string } }>(
    await world.ask("/access/v1/evaluation", await world.serviceToken("crud"), body),
  );
  const again = await world.ask(`/access/v1/decisions/${claimed.context.decision_id}/replay`, ada, {});
  assert.equal((await readJson<ProblemBody>(again, 409)).code, "not_replayable");
});

test("a replay is stopped, filtered, limited, and goes on in another process", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  await askAround(world);
  const { rollout } = await admin.draft(opensOperations);
  const start = async (body: Readonly<Record<string, unknown>>) =>
    (await readJson<{ replay_id: string }>(await admin.call("/replay", { version: rollout.version, ...body }), 202)).replay_id;
  world.clock.now = new Date(world.clock.now.getTime() + 1_000);
  const cleo = await replayed(world, await start({ filter: { subject: "person:cleo" } }));
  assert.deepEqual([cleo.evaluated, cleo.newly_allowed], [4, 1]);
  const permits = await replayed(world, await start({ filter: { subject: "person:cleo", decision: true } }));
  assert.deepEqual([permits.evaluated, permits.newly_allowed], [3, 0]);
  const some = await replayed(world, await start({ limit: 2 }));
  assert.equal(some.evaluated, 2);
  const none = await replayed(world, await start({ filter: { from: world.clock.now.toISOString(), to: world.clock.now.toISOString() } }));
  assert.equal(none.evaluated, 0);
  assert.equal((await readJson<ProblemBody>(await admin.call("/replay", { version: "v99" }), 404)).code, "not_found");

  // As a process leaves it that was killed after a page: running, with its place, and nobody speaks for it.
  await world.service[Symbol.asyncDispose]();
  const id = "replay:left-behind";
  await world.database.run(
    statement(
      "testing.leave_replay",
      `insert into pdp.replay (id, tenant, version, filter, most, state, progress, holder, seen_at, created_by)
       select $1, tenant, version, filter, 1000000, 'running',
         jsonb_set(progress, '{before}', '{"callId": "d_~", "part": 0}') || '{"evaluated": 100, "unchanged": 100, "newly_allowed": 0, "classes": {}}',
         'a process that died', clock_timestamp() - interval '1 minute', created_by
       from pdp.replay where most = 10000 and filter ->> 'subject' = 'person:cleo' and filter ->> 'decision' is null`,
    ),
    [id],
  );
  const next = await pdpWorld(t, { over: world });
  const went = await replayed(next, id);
  assert.deepEqual([went.state, went.evaluated, went.unchanged, went.newly_allowed], ["done", 104, 103, 1]);

  const stopped = await start({ limit: 1_000_000 }).catch(() => undefined);
  assert.equal(stopped, undefined, "the first process is gone");
  const again = administer(next);
  const running = (await readJson<{ replay_id: string }>(await again.call("/replay", { version: rollout.version }), 202)).replay_id;
  const gone = await next.service.fetch(
    new Request(`http://localhost:8082/access/v1/policies/replay/${encodeURIComponent(running)}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${await next.personToken("ada")}` },
    }),
  );
  assert.equal(gone.status, 204);
  assert.ok(["stopped", "done"].includes((await replayed(next, running)).state));
});

test("locked out of their own policies, people come back by the offline rollback, which the next start audits", async (t) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  const first = (await readJson<{ version: string }>(await admin.call(""))).version;
  // No endpoint of the service leads here: somebody wrote to the database.
  const { rollout, report } = await admin.draft({ "policies/administration.cedar": locksOut });
  assert.equal(report.valid, false);
  await world.service[Symbol.asyncDispose]();
  const force = (text: string) => world.database.run(statement(`testing.force_${text.length}`, text), [rollout.version]);
  await force("update pdp.bundle set state = 'retired', activated_at = now() where state = 'active' and version <> $1");
  await force("update pdp.bundle set state = 'active', activated_at = now() where version = $1");
  await force("update pdp.pointer set active = $1, epoch = epoch + 1");

  const locked = await pdpWorld(t, { over: world });
  const shut = administer(locked);
  assert.equal((await shut.call("/rollouts/last/rollback", {})).status, 403);
  await locked.service[Symbol.asyncDispose]();

  assert.deepEqual(await rollBackOffline(world.database, undefined, "root"), { version: first, from: rollout.version });
  const entriesBefore = world.entries.length;
  const mended = await pdpWorld(t, { over: locked });
  const back = administer(mended);
  assert.equal((await readJson<{ version: string }>(await back.call(""))).version, first);
  const audited = mended.entries.slice(entriesBefore).filter(({ category }) => category === "policy");
  assert.deepEqual(
    audited.map(({ data }) => [data["op"], data["version"], data["from"], data["offline"], data["operating_system_user"]]),
    [["rolled_back", first, rollout.version, true, "root"]],
  );
  await mended.service[Symbol.asyncDispose]();
  const later = mended.entries.length;
  await pdpWorld(t, { over: mended });
  assert.equal(mended.entries.length, later, "an act is audited once");
});
