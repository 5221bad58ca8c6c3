import assert from "node:assert/strict";
import { forEachDatabase } from "#testing/database.ts";
import { Problem } from "#contract/problem.ts";
import { recheckRuns } from "./signals.ts";
import { call, goTo, human, workflow, workflowWorld } from "#testing/workflow-world.ts";

const modules = ["events", "crud"] as const;

forEachDatabase("steps of every kind run in order, and a run that waits has no lease", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine();
  const run = await world.start(
    workflow(
      [
        { kind: "set", name: "first", set: { sum: "${ input.a + 1 }" }, exportAs: "${ output }" },
        call("look", "people.find", { with: { id: "${ input.a }" }, outputAs: "${ output.tool }" }),
        { kind: "wait", name: "pause", waitMs: 3_600_000 },
        human("approve"),
        {
          kind: "switch",
          name: "which",
          cases: [
            { name: "yes", when: 'steps.approve.decision == "approve"', ...goTo("go") },
            { name: "no", ...goTo("end") },
          ],
        },
        { kind: "set", name: "never", set: "x" },
        {
          kind: "for",
          name: "go",
          each: "item",
          at: "index",
          in: "[10, 20, 30]",
          while: "index < 2",
          steps: [{ kind: "set", name: "double", set: "${ item * 2 + index }" }],
        },
        {
          kind: "fork",
          name: "both",
          branches: [
            { kind: "do", name: "left", steps: [call("l1", "sys.left"), { kind: "set", name: "l2", set: "L" }] },
            { kind: "do", name: "right", steps: [call("r1", "sys.right"), { kind: "set", name: "r2", set: "R" }] },
          ],
        },
        {
          kind: "try",
          name: "attempt",
          steps: [{ kind: "raise", name: "oops", error: { type: "urn:x", status: 418, detail: "${ steps.look }" } }],
          catch: { as: "problem", errors: { status: 418 }, steps: [{ kind: "set", name: "caught", set: "${ problem.detail }" }] },
        },
        { kind: "set", name: "skipped", set: 1, if: "steps.go > 1000" },
        { kind: "do", name: "last", steps: [{ kind: "set", name: "all", set: { go: "${ steps.go }", both: "${ steps.both }" } }] },
      ],
      { output: { as: { last: "${ output }", context: "${ context }", caught: "x" } } },
    ),
    { input: { a: 4 } },
  );
  const timer = await world.until(run.id, "waiting");
  assert.equal(timer.reason, "timer");
  await world.ahead(3_600);
  await database.notify("wf_wake", "");
  const waiting = await world.until(run.id, "waiting").then(async () => {
    const { reason } = await world.run(run.id);
    return reason;
  });
  assert.ok(["timer", "human"].includes(String(waiting)));
  await world.answer(run.id, { decision: "approve", completed_at: "t", decided_by: [] });
  const done = await world.until(run.id, "completed", "faulted");
  assert.deepEqual(done.error, null);
  assert.deepEqual(done.output, { last: { go: 41, both: ["L", "R"] }, context: { sum: 5 }, caught: "x" });
  assert.equal(done.cost_micro, 3000n);
  const steps = await world.steps(run.id);
  assert.equal(steps["/do/look"]?.output, "people.find");
  assert.equal(steps["/do/skipped"]?.status, "skipped");
  assert.equal(steps["/do/never"], undefined);
  assert.equal(steps["/do/attempt/catch/caught"]?.output, "people.find");
  assert.equal(steps["/do/go[2]/double"], undefined);
});

forEachDatabase("what is denied waits until it is decided otherwise, or raises after its grace", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine();
  let allowed = "";
  world.tools.set("sys.write", { refuse: ({ run }) => (run.id === allowed ? undefined : new Problem("access_denied")) });
  const document = workflow([call("write", "sys.write")]);
  const [later, never] = [await world.start(document), await world.start(document)];
  assert.equal((await world.until(later.id, "waiting")).reason, "denied");
  await world.until(never.id, "waiting");
  allowed = later.id;
  assert.equal(await recheckRuns(database, "tenant:globex"), 0);
  assert.equal(await recheckRuns(database, "tenant:acme"), 2);
  assert.equal((await world.until(later.id, "completed")).cost_micro, 1000n);
  await world.until(never.id, "waiting");
  await world.ahead(90_000);
  const { error } = await world.until(never.id, "faulted");
  assert.match(String(error?.type), /authorization$/);
  assert.equal(error?.instance, "/do/write");
});
