import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunStep } from "#contract/workflow-runs.ts";
import { drawnNodes, nodeIdOf, readStepEvent, stepLines, undoPlan, withEvent, type RunDiagramReply } from "./run-steps.ts";

const node = (id: string, more: Partial<RunDiagramReply["nodes"][number]> = {}): RunDiagramReply["nodes"][number] => ({
  id,
  kind: "call",
  label: id.slice(id.lastIndexOf("/") + 1),
  ...more,
});

const step = (path: string, more: Partial<RunStep> = {}): RunStep => ({
  path,
  name: path.slice(path.lastIndexOf("/") + 1),
  kind: "call",
  status: "done",
  reason: null,
  attempt: 1,
  error: null,
  undo_of: null,
  task_id: null,
  wake_at: null,
  started_at: "2026-11-28T10:00:00Z",
  ended_at: "2026-11-28T10:00:01Z",
  ms: 1_000,
  attempts: [],
  ...more,
});

const nodes = [
  node("start", { kind: "start" }),
  node("/do/record", { status: "done", tool: "memory.create" }),
  node("/do/record~undo", { kind: "undo", tool: "memory.delete" }),
  node("/do/all", { kind: "for", status: "running" }),
  node("/do/all[]/revoke", { status: "running", tool: "memory.end" }),
  node("/do/all[]/revoke~undo", { kind: "undo", tool: "memory.restore" }),
  node("/do/cool_off", { kind: "wait" }),
  node("end", { kind: "end" }),
];
const steps = [
  step("/do/record"),
  step("/do/all", { kind: "for", status: "running", ended_at: null, ms: null }),
  step("/do/all[0]/revoke", { ended_at: "2026-11-28T10:00:05Z" }),
  step("/do/all[1]/revoke", { status: "running", ended_at: null, ms: null }),
];

test("turns of a loop share the node that draws them, also inside another loop", () => {
  assert.equal(nodeIdOf("/do/all[12]/each[0]/revoke~undo"), "/do/all[]/each[]/revoke~undo");
});

test("the list has what was reached as it began, each turn of a loop, then what was not, without start, end and undo", () => {
  assert.deepEqual(
    stepLines(steps, nodes).map(({ name, state, tool }) => [name, state, tool]),
    [
      ["record", "done", "memory.create"],
      ["all", "running", undefined],
      ["revoke 1", "done", "memory.end"],
      ["revoke 2", "running", "memory.end"],
      ["cool_off", "open", undefined],
    ],
  );
});

test("what undoes a step is drawn once it does, and is a line of its own", () => {
  const undoing = nodes.map((one) => (one.id === "/do/record~undo" ? { ...one, status: "running" as const } : one));
  assert.deepEqual(
    drawnNodes(undoing).map(({ label }) => label),
    ["record", "Undo record", "all", "revoke", "cool_off"],
  );
  const [line] = stepLines([step("/do/record~undo", { name: "record", status: "running", undo_of: "/do/record" })], undoing);
  assert.equal(line?.name, "Undo record");
});

test("the plan of an undo has the calls that are done, newest first, and says which stay", () => {
  const plan = undoPlan([...steps, step("/do/read", { ended_at: "2026-11-28T10:00:03Z" })], nodes);
  assert.deepEqual(
    plan.map(({ step: { path }, tool }) => [path, tool]),
    [
      ["/do/all[0]/revoke", "memory.restore"],
      ["/do/read", undefined],
      ["/do/record", "memory.delete"],
    ],
  );
});

test("an event colours the node of its step; one in unknown words changes nothing", () => {
  const event = readStepEvent({ step: { path: "/do/all[7]/revoke", status: "failed", attempt: 2 } });
  assert.ok(event !== undefined);
  const drawn = withEvent({ nodes, edges: [] }, event);
  assert.deepEqual(
    drawn.nodes.filter((one, index) => one !== nodes[index]).map(({ id, status, attempt }) => [id, status, attempt]),
    [["/do/all[]/revoke", "failed", 2]],
  );
  for (const data of [{}, { step: null }, { step: { path: 1, status: "done" } }, { step: { path: "/do/record", status: "sung" } }])
    assert.equal(readStepEvent(data), undefined, JSON.stringify(data));
  const before = { nodes, edges: [] };
  assert.equal(withEvent(before, { path: "/do/other", status: "done", attempt: 1 }), before);
});
