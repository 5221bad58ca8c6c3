import { Problem } from "#contract/problem.ts";
import { statement, type TransactionSql } from "#store/database.ts";
import { keyedDigest, sha256Of } from "#crud/model/digest.ts";
import { STEP } from "#crud/workflows/engine/ledger.ts";
import { runEvents, withAsked } from "#crud/workflows/engine/run-events.ts";
import type { RunRow } from "#crud/workflows/engine/run-rows.ts";
import { signal } from "#crud/workflows/engine/signals.ts";
import { runEntry, type RunCaller } from "#crud/workflows/engine/start-run.ts";
import type { Answer } from "./check-answer.ts";
import type { TaskContext } from "./task-context.ts";
import type { TaskState, TaskStatus } from "./task-rows.ts";

const EVIDENCE = statement<{ evidence: unknown }>("crud.task_evidence", "select evidence from crud.task where id = $1");
const DECIDE = statement<{ at: string }>(
  "crud.task_decide",
  `insert into crud.task_decision (task_id, person, agent, decision, data, comment, evidence_digest, decision_id, at)
   values ($1, $2, $3, $4, $5::json, $6, $7, $8, crud.wf_now()) returning at`,
);
const COUNT = statement(
  "crud.task_count",
  `update crud.task set received = $2::int, status = $3, state_version = state_version + 1,
     decision = case when $3 <> 'PENDING' then $4 end, completed_by = case when $3 <> 'PENDING' then $5 end,
     completed_at = case when $3 <> 'PENDING' then $6::timestamptz end
   where id = $1`,
);
/** An approval that is not the last alters what the next one is decided on. */
const RAISE = statement("crud.task_raise_run", "update crud.wf_run set state_version = state_version + 1 where id = $1");

interface Decided {
  readonly run: RunRow;
  readonly state: TaskState;
}

const statusAfter = (decision: string, count: number, required: number): TaskStatus =>
  decision === "reject" ? "REJECTED" : count >= required ? "COMPLETED" : "PENDING";

/** Writes one person's decision under the run's lock; the last one signals the run. Answers entries and events of the transaction. */
export const decideTask = async (
  { sql, digestKey }: Pick<TaskContext, "digestKey"> & { readonly sql: TransactionSql },
  { run, state }: Decided,
  { by, answer }: { readonly by: RunCaller; readonly answer: Answer },
) => {
  const { task, decisions } = state;
  const { decision, data = null, comment = null } = answer;
  const [stored] = await sql.run(EVIDENCE, [task.id]);
  const evidence = stored?.evidence ?? null;
  const digest = sha256Of(evidence);
  if (digest !== task.evidence_digest)
    throw new Problem("stale_version", { status: 409, detail: "The evidence is not what was asked about." });
  const { sub, agent = null } = by.caller;
  const values = [task.id, sub, agent, decision, data === null ? null : JSON.stringify(data), comment, digest, by.decisionId ?? null];
  const [made] = await sql.run(DECIDE, values);
  if (made === undefined) throw new Problem("already_decided");
  const counts = Map.groupBy([...decisions, { decision }], (one) => one.decision);
  const status = statusAfter(decision, counts.get(decision)?.length ?? 0, task.required);
  const received = Math.max(...[...counts.values()].map(({ length }) => length));
  sql.post(COUNT, [task.id, received, status, decision, sub, made.at]);
  if (status === "PENDING") sql.post(RAISE, [run.id]);
  else {
    const decidedBy = [
      ...decisions.map(({ person, decision: their, at }) => ({ sub: person, decision: their, at })),
      { sub, decision, at: made.at },
    ];
    const payload = { decision, data, completed_at: made.at, decided_by: decidedBy };
    await signal(sql, { run: run.id, tenant: run.tenant, topic: task.id, signalId: "decided", payload });
  }
  const [step] = await sql.run(STEP, [run.id, task.path]);
  const entry = runEntry(run, "decide", by);
  return {
    entries: [
      {
        ...entry,
        resource: { type: "task", id: task.id },
        data: {
          ...entry.data,
          task_id: task.id,
          decision,
          status,
          received,
          required: task.required,
          evidence_digest: keyedDigest(digestKey, evidence),
        },
      },
    ],
    events: runEvents(run, { ...run, state_version: run.state_version + 1 }, step === undefined ? [] : await withAsked(sql, [step])),
  };
};
