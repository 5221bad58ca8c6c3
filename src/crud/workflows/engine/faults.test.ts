import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import { forEachDatabase } from "#testing/database.ts";
import { call, human, workflow, workflowWorld } from "#testing/workflow-world.ts";

const modules = ["events", "crud"] as const;

const document = workflow([
  { kind: "set", name: "one", set: { n: 1 }, exportAs: "${ output }" },
  call("write", "sys.write", { with: { n: "${ context.n }" } }),
  human("ask"),
  { kind: "fork", name: "both", branches: [call("left", "sys.left"), call("right", "sys.right")] },
]);

/** When a transaction fails, and as what: `after` it was committed, and only the answer was lost. */
const faults = [
  ["before", "store_unavailable"],
  ["after", "store_unavailable"],
  ["before", "event_backlog_full"],
] as const;

for (const [when, code] of faults)
  forEachDatabase(`a transaction that fails ${when} its commit with ${code} changes nothing of a run`, modules, async (t, database) => {
    const world = await workflowWorld(t, database);
    const play = async (k: number) => {
      let commits = 0;
      const change: Change = async (work) => {
        const isFailing = commits++ === k;
        if (isFailing && when === "before") throw new Problem(code);
        const result = await world.change(work);
        if (isFailing) throw new Problem(code);
        return result;
      };
      const run = await world.start(document);
      await using _engine = await world.engine({ change, workers: 1, leaseSeconds: 10 });
      for (;;) {
        const { phase } = await world.run(run.id);
        if (phase === "completed" || phase === "faulted") break;
        // The step waits a moment, or the lease of an engine that does not know what it wrote must end.
        await world.skipWait(run.id, "unavailable");
        const { lease_by: holder } = (await world.run(run.id)) as { lease_by?: string | null };
        const task = Object.values(await world.steps(run.id)).find(({ reason }) => reason === "human")?.task_id;
        if (holder === null && task !== null && task !== undefined) await world.signal(run.id, task, { decision: "approve" });
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return { run: run.id, commits };
    };
    const whole = await play(Infinity);
    const plain = (value: unknown): string =>
      JSON.stringify(value, (_name, held: unknown) => (typeof held === "bigint" ? String(held) : held)).replaceAll(/task_\w{26}/g, "task");
    const undisturbed = plain(await world.outcome(whole.run));
    assert.ok(whole.commits >= 8, String(whole.commits));
    for (let k = 0; k < whole.commits; k++) {
      const { run } = await play(k);
      assert.equal(plain(await world.outcome(run)), undisturbed, `transaction ${k}`);
      assert.deepEqual(new Set((await world.attempts(run)).map(({ outcome }) => outcome)), new Set(["ok"]), `transaction ${k}`);
      assert.equal(await world.charged(run), 3000n, `transaction ${k}`);
    }
  });
