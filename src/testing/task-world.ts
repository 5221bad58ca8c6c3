import { fillForm } from "#crud/forms/definition/fill-form.ts";
import type { TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createSealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { Notice } from "#events/model/notice.ts";
import type { Decision } from "#pdp-client/obligations.ts";
import type { EvaluationQuery, Principal } from "#pdp-client/pdp-client.ts";
import type { Database } from "#store/database.ts";
import type { HumanStep } from "#crud/workflows/model/workflow-document.ts";
import type { TaskCaller, TaskContext } from "#crud/workflows/tasks/task-context.ts";
import { createTaskPort } from "#crud/workflows/tasks/task-port.ts";
import type { TaskPosition } from "#crud/workflows/tasks/list-tasks.ts";
import { completeTask, resumeRun } from "#crud/workflows/tasks/resume-run.ts";
import { readOpenTasks } from "#crud/workflows/tasks/task-rows.ts";
import { until } from "./until.ts";
import type { Log } from "#telemetry/log.ts";
import { ben, call, human, testSealing, workflow, workflowWorld } from "./workflow-world.ts";

export const personOf = (sub: string, more: Partial<Principal> = {}): TaskCaller => ({
  caller: { sub, tenant: "tenant:acme", scopes: new Set(["tasks.complete"]), amr: [], ...more },
  correlationId: "c-2",
});
export const cleo = personOf("person:cleo");

/** How the double of the decision point answers: as the shipped policies do, unless a key `<sub> <type>/<action>` is named. */
export type PointAnswer = "deny" | "permit" | "step-up" | "down";

/** A workflow world with tasks over the database, and doubles of the graph and the decision point. */
export const taskWorld = async (t: TestContext, database: Database) => {
  const world = await workflowWorld(t, database);
  const groups = new Map<string, readonly string[]>([
    ["person:cleo", ["group:people-ops", "role:member"]],
    ["person:ada", ["role:member"]],
    ["person:dan", []],
    ["person:ben", ["role:member"]],
    ["person:owner", ["role:member"]],
  ]);
  for (let n = 1; n <= 10; n++) groups.set(`person:p${n}`, ["role:member"]);
  const links = new Map<string, "control" | "delegation">([["agent:hr person:ben", "delegation"]]);
  const answers = new Map<string, PointAnswer>();
  const notices: Notice[] = [];
  const forms = new Map<string, unknown>();

  const decide = async ({ sub }: Principal, { type, action, properties = {} }: EvaluationQuery): Promise<Decision> => {
    const isStaff = groups.get(sub)?.includes("role:member") === true;
    const isPermitted = type === "tasks" && (properties["assigned"] === true || (properties["kind"] === "approval" && isStaff));
    const answer = answers.get(`${sub} ${type}/${action}`) ?? (isPermitted ? "permit" : "deny");
    if (answer === "down") throw new Problem("decision_unavailable");
    const reason = answer === "permit" ? undefined : answer === "deny" ? "not_granted" : "step_up_required";
    return { decision: answer === "permit", decisionId: "d_test", reason, obligations: [] } as unknown as Decision;
  };
  const parts: TaskContext = {
    database,
    change: world.change,
    pdpClient: {
      decide,
      decideMany: async (principal, asks) => Promise.all(asks.map((one) => decide(principal, one))),
      refusal: (_principal, { decision, reason }) =>
        decision ? undefined : new Problem(reason === "step_up_required" ? "step_up_required" : "access_denied"),
    },
    graph: {
      groupsOf: async (person) => (groups.has(person) ? new Set(groups.get(person)) : undefined),
      linkOf: async (agent, person) => links.get(`${agent} ${person}`),
      controlledBy: async (person, agents) => agents.filter((agent) => links.get(`${agent} ${person}`) === "control"),
    },
    notify: (_sql, notice) => void notices.push(notice),
    fillForm,
    formSchema: async (_tenant, form) => forms.get(form),
    ...testSealing,
    publicOrigin: "https://sallyport.test",
    newId: world.newId,
    metrics: world.metrics,
  };
  const tasks = createTaskPort(parts);
  const cursors = createSealedCursors<TaskPosition>({ secrets: [new Uint8Array(32)], purpose: "test", now: () => new Date() });

  const taskOf = async (run: string, step = "ask") => {
    const open = await until(
      () => readOpenTasks(database, { id: run, tenant: "tenant:acme" }),
      (found) => found.some(({ task }) => task.step === step),
    );
    const found = open.find(({ task }) => task.step === step);
    if (found === undefined) throw new Error("no such task");
    return found.task;
  };
  let keys = 0;
  const made = {
    ...world,
    parts,
    groups,
    links,
    answers,
    notices,
    forms,
    cursors,
    taskPort: tasks,
    taskOf,
    engine: (more: { readonly log?: Log } = {}) => world.engine({ tasks, ...more }),
    /** A run that waits for one task, or for what its steps say. */
    ask: async (step: Partial<HumanStep> = {}, by = ben) => {
      const name = `t${++keys}`;
      const { id } = await world.start(workflow([human("ask", step), call("write", "sys.write")], { name }), { by });
      await world.until(id, "waiting");
      return { run: await world.run(id), task: await taskOf(id) };
    },
    complete: async (
      task: string,
      by: TaskCaller,
      more: { decision?: string; data?: unknown; stateVersion?: number; key?: string } = {},
    ) => {
      const { decision = "approve", data, key = `k${++keys}` } = more;
      const version = more.stateVersion ?? (await made.versionOf(task));
      return completeTask(parts, { task, by, answer: { decision, data, stateVersion: version, idempotencyKey: key } });
    },
    resume: async (run: string, by: TaskCaller, more: { taskId?: string; decision?: string; stateVersion?: number; key?: string } = {}) => {
      const { decision = "continue", taskId, key = `k${++keys}` } = more;
      const version = more.stateVersion ?? (await world.run(run)).state_version;
      return resumeRun(parts, { run, taskId, by, answer: { decision, stateVersion: version, idempotencyKey: key } });
    },
    versionOf: async (task: string): Promise<number> => {
      const [row] = await database.run<{ state_version: number }>(
        { name: "t.task_version", text: "select state_version from crud.task where id = $1" },
        [task],
      );
      return row?.state_version ?? 0;
    },
  };
  return made;
};
