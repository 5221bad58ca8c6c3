import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { createStreamSource, type StreamEvent } from "#events/streams/stream-source.ts";
import { forEachDatabase } from "#testing/database.ts";
import { personOf, taskWorld } from "#testing/task-world.ts";
import { ben } from "#testing/workflow-world.ts";
import { delegateTask } from "./delegate-task.ts";
import { openRunSight } from "./run-sight.ts";

const modules = ["events", "crud"] as const;
const byAgent = { ...ben, caller: { ...ben.caller, agent: "agent:hr" } };
const ofRequest: Pick<StreamEvent, "kind" | "visibleTo"> = { kind: "access_request", visibleTo: ["person:ada", "agent:hr"] };

interface Reader {
  readonly who: string;
  readonly sub: string;
  readonly rights?: readonly string[];
  readonly link?: "control" | "delegation";
  /** Which steps of the run, all of it or none of it, and whether the access request of somebody else. */
  readonly sees: readonly ["all" | "tasks" | "none", boolean];
}
const readers: readonly Reader[] = [
  { who: "the initiator", sub: "person:ben", sees: ["all", false] },
  { who: "a controller of the agent", sub: "person:kim", link: "control", sees: ["all", false] },
  { who: "who has another delegation to the agent", sub: "person:kim", link: "delegation", sees: ["none", false] },
  { who: "a member of the group that is asked", sub: "person:cleo", sees: ["tasks", false] },
  { who: "to whom the task was passed", sub: "person:dan", sees: ["tasks", false] },
  { who: "anybody else", sub: "person:p1", sees: ["none", false] },
  { who: "who may view all runs", sub: "person:p1", rights: ["workflows/view_runs"], sees: ["all", false] },
  { who: "who may view all activity, but no runs", sub: "person:p1", rights: ["activity/view_all"], sees: ["none", true] },
  { who: "whom a request names", sub: "person:ada", sees: ["none", true] },
];

forEachDatabase("each reader of the workflow stream sees what they may, whatever the stream holds", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  world.groups.set("person:kim", []);
  await world.engine();
  const { run, task } = await world.ask({ assign: ["group:people-ops"] }, byAgent);
  world.answers.set("person:cleo tasks/delegate", "permit");
  await delegateTask(world.parts, { task: task.id, to: "person:dan", by: personOf("person:cleo") });
  await world.complete(task.id, personOf("person:dan"));
  await world.until(run.id, "completed");

  const events = await createStreamSource(database).read("tenant:acme", "workflow", 0n, 100);
  const steps = events.map(({ type, data }) => `${type}${"task_id" in data ? " task" : ""}`);
  assert.deepEqual(
    steps.filter((one) => one.endsWith(" task")),
    ["step.waiting task", "step.waiting task", "step.waiting task", "step.completed task"],
  );
  assert.ok(events.length > 6 && events.every(({ kind }) => kind === "workflow"));
  assert.equal(/Approve|person:|group:/.test(JSON.stringify(events.map(({ data }) => data))), false, "no names and no values");

  for (const { who, sub, rights = [], link, sees } of readers) {
    world.links.delete("agent:hr person:kim");
    if (link !== undefined) world.links.set(`agent:hr ${sub}`, link);
    for (const right of ["workflows/view_runs", "activity/view_all"])
      world.answers.set(`${sub} ${right}`, rights.includes(right) ? "permit" : "deny");
    const sight = await openRunSight(world.parts, personOf(sub));
    const seen = await Promise.all(events.map((event) => sight.sees(event)));
    const tasks = events.filter((_event, at) => seen[at] === true && "task_id" in (events[at]?.data ?? {})).length;
    const extent = seen.every(Boolean) ? "all" : seen.some(Boolean) ? "tasks" : "none";
    assert.deepEqual([extent, await sight.sees(ofRequest)], sees, who);
    if (extent === "tasks") assert.equal(seen.filter(Boolean).length, tasks, who);
    assert.equal(await sight.sees({ kind: "workflow", visibleTo: undefined }), true);
  }
});

forEachDatabase("what a reader sees is read anew, and asked once of each agent in between", modules, async (t, database) => {
  const world = await taskWorld(t, database);
  let asked = 0;
  const graph = {
    ...world.parts.graph,
    linkOf: async (...of: Parameters<typeof world.parts.graph.linkOf>) => {
      asked += 1;
      return world.parts.graph.linkOf(...of);
    },
  };
  const sight = await openRunSight({ ...world.parts, graph }, personOf("person:ada"));
  const ofAgent = { kind: "workflow", visibleTo: ["person:ben", "agent:hr"] };
  const ofGroup = { kind: "workflow", visibleTo: ["person:ben", "group:people-ops"] };
  const look = async () => [await sight.sees(ofAgent), await sight.sees(ofGroup)];
  for (let n = 0; n < 5; n++) assert.deepEqual(await look(), [false, false]);
  assert.equal(asked, 1);
  world.links.set("agent:hr person:ada", "control");
  world.groups.set("person:ada", ["group:people-ops"]);
  assert.deepEqual(await look(), [false, false]);
  await sight.refresh();
  assert.deepEqual([await look(), asked], [[true, true], 2]);
  // What cannot be read anew shows nothing new, and says so.
  world.answers.set("person:ada workflows/view_runs", "down");
  await assert.rejects(sight.refresh(), (error) => error instanceof Problem && error.code === "decision_unavailable");
});
