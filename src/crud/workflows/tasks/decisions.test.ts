import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { cleo, personOf, taskWorld } from "#testing/task-world.ts";
import { ben } from "#testing/workflow-world.ts";
import { until } from "#testing/until.ts";
import { silentLog } from "#telemetry/log.ts";
import { startRunRetention } from "#crud/workflows/engine/run-retention.ts";
import { resumeRun } from "./resume-run.ts";

const modules = ["events", "crud"] as const;
const ada = personOf("person:ada");
const benHimself = personOf("person:ben");
const dan = personOf("person:dan");
const hrOfCleo = personOf("person:cleo", { agent: "agent:hr", actors: ["agent:hr"] });
const eve = personOf("person:eve", { tenant: "tenant:globex" });

const refused = async (work: Promise<unknown>): Promise<Problem> => {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return error;
  }
  assert.fail("it was not refused");
};

forEachDatabase("refusals of a resume come in their order, and 409 and 412 have a fresh waiting", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  world.forms.set("f", { type: "object", required: ["why"], properties: { why: { type: "string" }, n: { type: "integer" } } });
  const { run, task } = await world.ask({ form: "f", assign: ["person:cleo", "person:ada"], required: 2 });
  const key = "first";
  const good = { decision: "approve", data: { why: "x" }, idempotencyKey: key };
  const wrong = { decision: "maybe", data: { n: "x" }, idempotencyKey: "other" };
  const now = () => world.run(run.id).then((row) => row.state_version);
  const send = (by: typeof cleo, answer: object, taskId: string | undefined = task.id) =>
    resumeRun(world.parts, { run: run.id, taskId, by, answer: answer as typeof good });

  const first = await send(cleo, { ...good, stateVersion: await now() });
  assert.equal(first.isReplayed, false);
  assert.equal(first.answer.waiting?.required_actions[0]?.received, 1);
  assert.equal(first.answer.waiting?.required_actions[0]?.you_may, false);
  const version = await now();
  assert.ok(version > run.state_version, "an approval alters what the next is decided on");

  // Each has what all later checks would refuse, too.
  const rows: readonly (readonly [string, typeof cleo, object, number, string, string?])[] = [
    ["another tenant", eve, { ...wrong, stateVersion: 1 }, 404, "not_found"],
    ["who may not view it", dan, { ...wrong, stateVersion: 1 }, 404, "not_found"],
    ["a task of no run", cleo, { ...wrong, stateVersion: 1 }, 404, "not_found", "task_0"],
    ["a known key with another body", cleo, { ...wrong, idempotencyKey: key }, 422, "idempotency_mismatch"],
    ["no version", cleo, wrong, 422, "state_version_required"],
    ["both versions stale", cleo, { ...wrong, ifMatch: '"1"', stateVersion: 1 }, 412, "stale_version"],
    ["a stale body", cleo, { ...wrong, ifMatch: `"${version}"`, stateVersion: version - 1 }, 409, "stale_version"],
    ["who decided before", cleo, { ...wrong, stateVersion: version }, 409, "already_decided"],
    ["a decision that is none", benHimself, { ...wrong, stateVersion: version }, 422, "decision_not_allowed"],
    ["wrong data", benHimself, { ...good, data: { n: "x" }, idempotencyKey: "d", stateVersion: version }, 422, "unprocessable"],
    ["who started it", benHimself, { ...good, idempotencyKey: "d", stateVersion: version }, 403, "separation_of_duties"],
  ];
  for (const [what, by, answer, status, code, taskId] of rows) {
    const problem = await refused(send(by, answer, taskId));
    assert.deepEqual([problem.status, problem.code], [status, code], what);
    const { waiting } = (problem.options.members ?? {}) as { waiting?: { state_version: number; required_actions: { task_id: string }[] } };
    assert.equal(waiting?.state_version, status === 409 || status === 412 ? version : undefined, what);
    if (waiting !== undefined)
      assert.deepEqual(
        waiting.required_actions.map((one) => one.task_id),
        [task.id],
        what,
      );
    if (code === "unprocessable") assert.deepEqual(problem.options.errors?.map(({ path }) => path).toSorted(), ["/data/n", "/data/why"]);
  }
  const points = [
    ["deny", 403, "access_denied"],
    ["step-up", 401, "step_up_required"],
    ["down", 503, "decision_unavailable"],
  ] as const;
  for (const [answer, status, code] of points) {
    world.answers.set("person:ada tasks/complete", answer);
    world.answers.set("person:ada tasks/view", "permit");
    const problem = await refused(send(ada, { ...good, idempotencyKey: "d", stateVersion: version }));
    assert.deepEqual([problem.status, problem.code], [status, code]);
  }
  world.answers.clear();
  const agent = await refused(send(hrOfCleo, { ...good, idempotencyKey: "d", stateVersion: version }));
  assert.ok(["already_decided", "person_required"].includes(agent.code));

  const again = await send(cleo, { ...good, stateVersion: run.state_version });
  assert.deepEqual([again.isReplayed, again.answer], [true, JSON.parse(JSON.stringify(first.answer))]);
  assert.equal(await now(), version, "nothing of what was refused or repeated was written");
  await send(ada, { ...good, idempotencyKey: "d", ifMatch: `"${version}"` });
  const done = await world.until(run.id, "completed");
  const steps = await world.steps(run.id);
  const output = steps["/do/ask"]?.output as { decision: string; task_id: string; decided_by: { sub: string }[] };
  assert.deepEqual([output.decision, output.task_id], ["approve", task.id]);
  assert.deepEqual(
    output.decided_by.map(({ sub }) => sub),
    ["person:cleo", "person:ada"],
  );
  const late = await refused(send(personOf("person:p1"), { ...good, idempotencyKey: "e", stateVersion: done.state_version }));
  assert.deepEqual([late.code, (late.options.members as { waiting: unknown }).waiting], ["already_decided", null]);
});

forEachDatabase("a task ends by enough equal decisions, by one rejection, by its expiry or with its run", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const people = [1, 2, 3, 4].map((n) => personOf(`person:p${n}`));
  const assign = people.map(({ caller }) => caller.sub);
  const rows = [
    { what: "approved", required: 2, decisions: ["approve", "approve"], status: "COMPLETED", phase: "completed" },
    { what: "rejected", required: 3, decisions: ["approve", "reject"], status: "REJECTED", phase: "faulted" },
    { what: "chosen", required: 2, kind: "choice", own: ["a", "b"], decisions: ["a", "b", "b"], status: "COMPLETED", phase: "completed" },
  ] as const;
  for (const { what, required, decisions, status, phase, ...more } of rows) {
    const kind = "kind" in more ? more.kind : "approval";
    const { run, task } = await world.ask({ assign, required, taskKind: kind, ...("own" in more ? { decisions: more.own } : {}) });
    for (const [at, decision] of decisions.entries()) {
      const isLast = at === decisions.length - 1;
      const { answer } = await world.complete(task.id, people[at] ?? cleo, { decision });
      assert.equal(answer.status, isLast ? status : "PENDING", what);
      assert.equal(answer.completed_by, isLast ? people[at]?.caller.sub : null, what);
    }
    assert.equal((await world.until(run.id, phase)).phase, phase, what);
    assert.equal((await refused(world.complete(task.id, people[3] ?? cleo))).code, "already_decided", what);
  }

  // Expired: refused before an engine closes it, and no signal comes of it.
  const expiring = await world.ask({ assign, expiresMs: 3_600_000 });
  await world.ahead(3_601);
  assert.match((await refused(world.complete(expiring.task.id, cleo))).message, /EXPIRED/);
  await database.notify("wf_wake", "");
  assert.match(String((await world.until(expiring.run.id, "faulted")).error?.type), /timeout$/);
  const status = async (id: string) =>
    (await database.run<{ status: string }>(statement("t.status", "select status from crud.task where id = $1"), [id]))[0]?.status;
  assert.equal(await status(expiring.task.id), "EXPIRED");
  // The step's own timeout closes it, too.
  const late = await world.ask({ assign, timeoutMs: 60_000 });
  await world.ahead(61);
  await database.notify("wf_wake", "");
  await world.until(late.run.id, "faulted");
  assert.equal(await status(late.task.id), "EXPIRED");
  const cancelled = await world.ask({ assign });
  await world.resume(cancelled.run.id, benHimself, { decision: "cancel" });
  await world.until(cancelled.run.id, "cancelled");
  assert.equal(await status(cancelled.task.id), "CANCELLED");

  // What was shown is what is decided: a row that somebody altered is decided by nobody.
  const altered = await world.ask({ assign, evidence: { sum: 10 } });
  await database.run(statement("t.alter", `update crud.task set evidence = '{"sum":1000}' where id = $1`), [altered.task.id]);
  const problem = await refused(world.complete(altered.task.id, cleo));
  assert.deepEqual([problem.status, problem.code], [409, "stale_version"]);

  await world.integrator.integrate();
  const entries = await database.run<{ leaf: string }>(
    statement("t.leaf", "select convert_from(leaf, 'UTF8') as leaf from events.audit_entry where category = 'workflow' order by seq"),
  );
  const decided = entries
    .map(({ leaf }) => JSON.parse(leaf) as { data: { op: string; status?: string } })
    .filter(({ data }) => data.op === "decide");
  assert.deepEqual(
    decided.map(({ data }) => data.status),
    ["PENDING", "COMPLETED", "PENDING", "REJECTED", "PENDING", "PENDING", "COMPLETED"],
  );
});

forEachDatabase("neither subject, agents, delegates nor who decided a named step decide", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const byAgent = { ...ben, caller: { ...ben.caller, agent: "agent:hr" }, delegationId: "delegation:ben-hr" };
  const form = { taskKind: "form", decisions: ["submit"], assign: ["group:people-ops", "person:ben"] } as const;
  const rows = [
    { what: "the subject", step: {}, by: benHimself, code: "separation_of_duties" },
    { what: "the subject where it does not matter", step: { separationOfDuties: false }, by: benHimself, code: undefined },
    { what: "an agent in an approval", step: { separationOfDuties: false }, by: hrOfCleo, code: "person_required" },
    { what: "an agent of the subject in a form", step: { ...form, separationOfDuties: true }, by: hrOfCleo, code: "separation_of_duties" },
    { what: "an agent in a form", step: { ...form, separationOfDuties: false }, by: hrOfCleo, code: undefined },
    {
      what: "the agent that started it",
      step: { ...form, separationOfDuties: true },
      by: hrOfCleo,
      run: byAgent,
      code: "separation_of_duties",
    },
    { what: "somebody else", step: form, by: cleo, code: undefined },
  ] as const;
  for (const row of rows) {
    const { task } = await world.ask(row.step, "run" in row ? row.run : ben);
    const decision = "taskKind" in row.step ? "submit" : "approve";
    if (row.code === undefined) assert.equal((await world.complete(task.id, row.by, { decision })).answer.status, "COMPLETED", row.what);
    else assert.equal((await refused(world.complete(task.id, row.by, { decision }))).code, row.code, row.what);
  }
});

forEachDatabase("what was asked and decided is blanked with its run, and keys are forgotten", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const { run, task } = await world.ask({ evidence: { sum: 10 }, data: { note: "secret" } });
  await world.complete(task.id, cleo, { data: { note: "secret" } });
  await world.until(run.id, "completed");
  const days = { payloadDays: 30, retentionDays: 90, idempotencyDays: 7, everyMs: 20 };
  await using _retention = startRunRetention({ database, log: silentLog, metrics: world.metrics, ...days });
  const rows = async () =>
    (
      await database.run<{ values: number; tasks: number; keys: number }>(
        statement(
          "t.values",
          `select (select count(evidence) + count(prefill) + (select count(data) from crud.task_decision) from crud.task)::int4 as values,
             (select count(*)::int4 from crud.task) as tasks, (select count(*)::int4 from crud.wf_idempotency) as keys`,
        ),
      )
    )[0];
  assert.deepEqual(await rows(), { values: 3, tasks: 1, keys: 1 });
  for (const [ahead, left] of [
    [8, { values: 3, tasks: 1, keys: 0 }],
    [24, { values: 0, tasks: 1, keys: 0 }],
    [60, { values: 0, tasks: 0, keys: 0 }],
  ] as const) {
    await world.ahead(ahead * 86_400);
    assert.deepEqual(await until(rows, (now) => JSON.stringify(now) === JSON.stringify(left)), left);
  }
});
