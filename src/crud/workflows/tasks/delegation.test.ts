import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { cleo, personOf, taskWorld } from "#testing/task-world.ts";
import { ben, call, human, workflow } from "#testing/workflow-world.ts";
import { delegateTask } from "./delegate-task.ts";
import { listTasks, readTaskDetail, type TaskFilter } from "./list-tasks.ts";
import { summarizeTasks } from "./task-summary.ts";

const modules = ["events", "crud"] as const;
const dan = personOf("person:dan");
const ada = personOf("person:ada");
const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

forEachDatabase("who passes a task on is excluded, and to whom it is passed is asked", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const { task } = await world.ask({ taskKind: "choice", decisions: ["yes", "no"], assign: ["group:people-ops"] });
  const pass = (by: typeof cleo, to: string, ifMatch?: string) =>
    codeOf(delegateTask(world.parts, { task: task.id, to, by, note: "please", ifMatch }));
  const agent = personOf("person:cleo", { agent: "agent:hr", actors: ["agent:hr"] });
  const rows = [
    [dan, "person:ada", undefined, "not_found"],
    [agent, "person:dan", undefined, "person_required"],
    [cleo, "person:dan", '"99"', "stale_version"],
    [cleo, "person:cleo", undefined, "unprocessable"],
    [cleo, "person:nobody", undefined, "unprocessable"],
    [cleo, "group:people-ops", undefined, "delegated_already"],
    [cleo, "group:other", undefined, "unprocessable"],
    [cleo, "person:ben", undefined, "separation_of_duties"],
    [cleo, "person:dan", '"1"', "ok"],
  ] as const;
  for (const [by, to, version, code] of rows) assert.equal(await pass(by, to, version), code, `${by.caller.sub} ${to}`);
  assert.deepEqual(
    world.notices.map(({ kind, recipients }) => [kind, ...recipients]),
    [
      ["task", "group:people-ops"],
      ["task", "person:dan"],
    ],
  );
  // In the group still, and asked no more.
  world.answers.set("person:cleo tasks/view", "permit");
  world.answers.set("person:cleo tasks/complete", "permit");
  assert.equal(await pass(cleo, "person:ada"), "delegated_already");
  assert.equal(await codeOf(world.complete(task.id, cleo, { decision: "yes" })), "access_denied");
  const { approvers } = await readTaskDetail(world.parts, { task: task.id, by: dan });
  assert.deepEqual(
    approvers.map(({ identity, source }) => [identity, source]),
    [
      ["group:people-ops", "assigned"],
      ["person:cleo", "excluded"],
      ["person:dan", "delegated"],
    ],
  );
  assert.equal((await world.complete(task.id, dan, { decision: "yes" })).answer.status, "COMPLETED");
  assert.equal(await pass(dan, "person:ada"), "already_decided");
});

forEachDatabase("who decided a named step, and to whom they passed the next, do not decide it", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const branch = (name: string, more: object) => human(name, { assign: ["person:cleo", "person:ada", "person:owner"], ...more });
  const document = workflow([
    { kind: "fork", name: "both", branches: [branch("one", {}), branch("two", { separationOfDuties: ["one"] })] },
  ]);
  const run = await world.start(document);
  await world.until(run.id, "waiting");
  const [one, two] = [await world.taskOf(run.id, "one"), await world.taskOf(run.id, "two")];
  await delegateTask(world.parts, { task: two.id, to: "person:dan", by: cleo });
  await world.complete(one.id, cleo);
  world.answers.set("person:dan tasks/complete", "permit");
  for (const by of [personOf("person:ben"), dan])
    assert.equal(await codeOf(world.complete(two.id, by)), "separation_of_duties", by.caller.sub);
  assert.equal((await world.complete(two.id, ada)).answer.status, "COMPLETED");
  await world.until(run.id, "completed");
});

forEachDatabase("too few who may decide are reported to the owner, and nothing is approved by itself", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const rows = [
    [{ assign: ["person:ben"] }, true],
    [{ assign: "${ input }" }, true],
    [{ assign: ["person:cleo", "person:ada"], required: 3 }, true],
    [{ assign: ["person:cleo", "person:ben"], required: 2, separationOfDuties: false }, false],
    [{ assign: ["group:people-ops"], required: 5 }, false],
  ] as const;
  for (const [step, isShort] of rows) {
    world.notices.length = 0;
    const { task } = await world.ask(step);
    assert.deepEqual(
      world.notices.filter(({ kind }) => kind === "too_few_approvers").map(({ recipients, id }) => [id, ...recipients]),
      isShort ? [[task.id, "person:owner"]] : [],
      JSON.stringify(step),
    );
    world.answers.set("person:dan tasks/view", "permit");
    const seen = await readTaskDetail(world.parts, { task: task.id, by: dan });
    assert.deepEqual([seen.status, seen.you_may, seen.why_not], ["PENDING", false, isShort ? "too_few_approvers" : "access_denied"]);
  }
});

forEachDatabase("a list has what its reader may view, by filters, in pages; a summary counts", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const first = await world.ask({ title: "Alpha 100%", dueMs: 60_000 });
  const second = await world.ask({ title: "Beta", taskKind: "choice", decisions: ["yes"], assign: ["group:people-ops"] });
  const third = await world.ask({ title: "Gamma", taskKind: "form", decisions: ["submit"], assign: ["person:dan"] });
  await world.complete(third.task.id, dan, { decision: "submit" });
  await world.ahead(120);
  const titles = async (by: typeof cleo, filter: TaskFilter = {}) =>
    (await listTasks({ ...world.parts, cursors: world.cursors }, { filter, limit: 50, by })).items.map(({ title }) => title);
  const rows: readonly (readonly [typeof cleo, TaskFilter, readonly string[]])[] = [
    [cleo, {}, ["Beta", "Alpha 100%"]],
    [dan, {}, ["Gamma"]],
    [ada, {}, ["Alpha 100%"]],
    [personOf("person:eve", { tenant: "tenant:globex" }), {}, []],
    [cleo, { sort: "created_at" }, ["Alpha 100%", "Beta"]],
    [cleo, { sort: "due_at" }, ["Alpha 100%", "Beta"]],
    [cleo, { isMine: true }, ["Beta", "Alpha 100%"]],
    [ada, { isMine: true }, []],
    [cleo, { overdue: true }, ["Alpha 100%"]],
    [cleo, { overdue: false }, ["Beta"]],
    [cleo, { search: "ALPHA 100%" }, ["Alpha 100%"]],
    [cleo, { search: "%" }, ["Alpha 100%"]],
    [cleo, { type: ["choice", "form"] }, ["Beta"]],
    [dan, { completedBy: "person:dan", status: ["COMPLETED"] }, ["Gamma"]],
    [cleo, { status: ["COMPLETED"] }, []],
    [cleo, { run: first.run.id }, ["Alpha 100%"]],
    [cleo, { workflow: second.run.name }, ["Beta"]],
    [cleo, { createdBy: "person:ada" }, []],
  ];
  for (const [by, filter, expected] of rows)
    assert.deepEqual(await titles(by, filter), expected, `${by.caller.sub} ${JSON.stringify(filter)}`);

  const parts = { ...world.parts, cursors: world.cursors };
  for (const sort of ["created_at", "-created_at", "due_at"] as const) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listTasks(parts, { filter: { sort }, limit: 1, cursor, by: cleo });
      seen.push(...page.items.map(({ title }) => title));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    assert.deepEqual(seen, await titles(cleo, { sort }), sort);
  }
  const { next_cursor: another } = await listTasks(parts, { filter: {}, limit: 1, by: cleo });
  assert.equal(await codeOf(listTasks(parts, { filter: {}, limit: 1, cursor: another, by: ada })), "invalid_cursor");

  const { oldest_pending_at: oldest, due_today: _today, ...counts } = await summarizeTasks(world.parts, cleo);
  assert.equal(oldest, first.task.created_at);
  assert.deepEqual(counts, {
    pending: 2,
    mine: 2,
    awaiting_my_approval: 1,
    overdue: 1,
    completed_7d: 1,
    by_kind: { approval: 1, choice: 1 },
  });
});

forEachDatabase("a run that waits for no task is continued or cancelled by who may", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const benNow = personOf("person:ben", { acr: "strong", authTime: 1_900_000_000 });
  let isOver = false;
  for (const [code, reason] of [
    ["step_up_required", "step_up"],
    ["budget_exhausted", "budget"],
  ] as const) {
    isOver = false;
    world.tools.set("sys.some", { refuse: () => (isOver ? undefined : new Problem(code)) });
    const { id } = await world.start(workflow([call("some", "sys.some")], { name: reason.replace("_", "") }), { by: ben });
    assert.equal((await world.until(id, "waiting")).reason, reason);
    const notified = world.notices.filter((one) => one.id === id).map(({ kind, recipients }) => [kind, ...recipients]);
    assert.deepEqual(notified, reason === "step_up" ? [["step_up", "person:ben"]] : [], "the initiator alone can go on");
    const view = await world.resume(id, ada).then(undefined, (error: unknown) => error);
    assert.equal((view as Problem).code, "not_found", "who sees neither run nor task");
    world.answers.set("person:ada workflows/view_runs", "permit");
    assert.equal(await codeOf(world.resume(id, ada)), "access_denied");
    world.answers.set("person:ada workflows/operate", "permit");
    assert.equal(await codeOf(world.resume(id, benNow, { decision: "approve" })), "decision_not_allowed");
    if (reason === "step_up") {
      assert.equal(await codeOf(world.resume(id, ada)), "access_denied", "another's sign-in is none of the run's");
      assert.equal(await codeOf(world.resume(id, personOf("person:ben"))), "step_up_required");
    }
    isOver = true;
    assert.equal(await codeOf(world.resume(id, reason === "step_up" ? benNow : ada)), "ok");
    const done = await world.until(id, "completed");
    assert.equal(done.acr, reason === "step_up" ? "strong" : null);
    assert.equal(await codeOf(world.resume(id, benNow)), "wrong_phase");
    world.answers.clear();
  }
});

/** Tasks of ten approvals each; all with `FAULTS=all`. */
const races = process.env["FAULTS"] === "all" ? 100 : 8;
forEachDatabase("of approvals that race each is counted once, and two of five end the task", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  const assign = [1, 2, 3, 4, 5].map((n) => `person:p${n}`);
  const document = workflow([human("ask", { assign, required: 2 })], { name: "races" });
  const runs = await Promise.all(Array.from({ length: races }, () => world.start(document)));
  await world.engine();
  const tasks = await Promise.all(runs.map(({ id }) => world.taskOf(id)));
  for (const { id } of runs) await world.until(id, "waiting");
  const results = await Promise.all(
    tasks.flatMap(({ id }) =>
      Array.from({ length: 10 }, async (_, n) => {
        const by = personOf(assign[n % 5] ?? "");
        for (;;) {
          const code = await codeOf(world.complete(id, by, { key: `${n}` }));
          // Where all connections are taken for long, the caller asks again, with its key.
          if (code !== "stale_version" && code !== "store_unavailable") return code;
        }
      }),
    ),
  );
  assert.deepEqual(
    Object.fromEntries(
      Map.groupBy(results, (code) => code)
        .entries()
        .map(([code, all]) => [code, all.length]),
    ),
    {
      ok: races * 2,
      already_decided: races * 8,
    },
  );
  for (const { id } of runs) {
    await world.until(id, "completed");
    const { output } = await world.run(id);
    assert.equal((output as { decided_by: unknown[] }).decided_by.length, 2);
  }
  const [rows] = await database.run<{ decisions: number; signals: number }>(
    statement(
      "t.races",
      `select (select count(*)::int4 from crud.task_decision) as decisions, (select count(*)::int4 from crud.wf_signal) as signals`,
    ),
  );
  assert.deepEqual(rows, { decisions: races * 2, signals: races });
  await world.integrator.integrate();
  const [audit] = await database.run<{ n: number }>(
    statement(
      "t.audit",
      `select count(*)::int4 as n from events.audit_entry
       where category = 'workflow' and convert_from(leaf, 'UTF8')::jsonb -> 'data' ->> 'op' = 'decide'`,
    ),
  );
  assert.equal(audit?.n, races * 2);
});
