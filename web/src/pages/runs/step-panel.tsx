import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { readTask } from "#contract/tasks.ts";
import { resumeRun, runSteps, type Run, type RunStep } from "#contract/workflow-runs.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { formatMoment, formatMoney, formatRelative, visibleText } from "../../strings/format.ts";
import { runWords } from "../../strings/runs.ts";
import { formatSpan } from "../../strings/span.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Failure } from "../../ui/failure.tsx";
import { DecisionLink, ToolLink } from "../../ui/links.tsx";
import { JsonValue, MemberFacts } from "../../ui/member-facts.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { stepLook } from "../../ui/run-status.tsx";
import { Chip } from "../../ui/chip.tsx";
import { TaskView } from "../tasks/task-view.tsx";
import type { StepLine } from "./run-steps.ts";

/** The task of a step, to be answered in place. */
const StepTask = ({ id }: { readonly id: string }): ReactElement => {
  const query = useQuery(useEndpoint(readTask).query({ params: { id } }));
  return (
    <QueryView query={query} service="crud" rows={4}>
      {(task) => <TaskView key={id} task={task} isInRun />}
    </QueryView>
  );
};

/** A step waits for something that is no task: whoever may has the run try again at once. */
const GoOn = ({ run, step }: { readonly run: Run; readonly step: RunStep }): ReactElement | null => {
  const resume = useEndpoint(resumeRun);
  const queries = useQueryClient();
  const [key] = useState(() => crypto.randomUUID());
  const action = run.waiting?.required_actions.find(({ task_id: id, task_name: name }) => id === null && name === step.name);
  const going = useMutation({
    mutationFn: async () => {
      const body = { decision: "continue", state_version: run.state_version, idempotency_key: `${key}.${run.state_version}` };
      return await resume.ask({ params: { id: run.id }, body });
    },
    onSettled: async () => await queries.invalidateQueries({ queryKey: ["workflows"] }),
  });
  const reason = runWords.reasons[step.reason ?? ""];
  return (
    <div className="sp-stack">
      {reason === undefined ? null : <p>{runWords.continueLead(reason)}</p>}
      {going.isError ? <Failure error={going.error} /> : null}
      {action?.you_may === true && action.allowed_decisions.includes("continue") ? (
        <div>
          <ActButton isBusy={going.isPending} onClick={() => going.mutate()}>
            {runWords.goOn}
          </ActButton>
        </div>
      ) : null}
    </div>
  );
};

const Values = ({ runId, path }: { readonly runId: string; readonly path: string }): ReactElement => {
  const query = useQuery(useEndpoint(runSteps).query({ params: { id: runId }, query: { path } }));
  return (
    <QueryView query={query} service="crud">
      {({ items: [step] }) =>
        step === undefined || (step.input === undefined && step.output === undefined) ? (
          <p className="sp-dim">{runWords.noValues}</p>
        ) : (
          <>
            <h3>{runWords.input}</h3>
            <MemberFacts value={step.input} />
            <h3>{runWords.output}</h3>
            {step.output === undefined || step.output === null ? (
              <p className="sp-dim">{runWords.none}</p>
            ) : (
              <JsonValue value={step.output} />
            )}
          </>
        )
      }
    </QueryView>
  );
};

const Facts = ({ step, tool }: { readonly step: RunStep; readonly tool: string | undefined }): ReactElement => {
  const { error, attempts } = step;
  const usd = attempts.reduce((sum, attempt) => sum + (attempt.cost_usd ?? 0), 0);
  const last = attempts.at(-1);
  return (
    <FactList>
      <Fact name={runWords.tool}>{tool === undefined ? undefined : <ToolLink name={tool} />}</Fact>
      <Fact name={runWords.started}>{formatMoment(step.started_at)}</Fact>
      <Fact name={runWords.took}>{step.ms === null ? undefined : formatSpan(step.ms)}</Fact>
      <Fact name={runWords.until}>
        {step.wake_at === null || step.status !== "waiting" ? undefined : (
          <time dateTime={step.wake_at} title={formatMoment(step.wake_at)}>
            {formatRelative(step.wake_at, new Date())}
          </time>
        )}
      </Fact>
      <Fact name={runWords.attempts}>
        {attempts.length < 2 ? undefined : (
          <ol className="sp-list">
            {attempts.map((one) => (
              <li key={one.attempt}>
                {[one.outcome === null ? runWords.underWay : visibleText(one.outcome), one.ms === null ? "" : formatSpan(one.ms)].join(" ")}
                {one.decision_id === null ? null : (
                  <>
                    {" "}
                    <DecisionLink id={one.decision_id}>{runWords.decision}</DecisionLink>
                  </>
                )}
              </li>
            ))}
          </ol>
        )}
      </Fact>
      <Fact name={runWords.decision}>{last?.decision_id ? <DecisionLink id={last.decision_id} /> : undefined}</Fact>
      <Fact name={runWords.cost}>{attempts.length === 0 ? undefined : formatMoney(usd)}</Fact>
      <TextFact name={runWords.audit} text={last?.audit_id} isCode />
      <TextFact
        name={runWords.error}
        text={error === null ? undefined : [error.title, error.detail].filter(Boolean).join(": ") || error.type}
      />
    </FactList>
  );
};

/** The chosen step: what it asks of the reader, else what it did. */
export const StepPanel = ({ run, line: { name, state, tool, step } }: { readonly run: Run; readonly line: StepLine }): ReactElement => (
  <Panel title={visibleText(name)} aside={<Chip {...stepLook(state)} />}>
    <div className="sp-stack">
      {step === undefined ? (
        <p className="sp-dim">{runWords.notBegun}</p>
      ) : (
        <>
          {step.task_id === null ? null : <StepTask id={step.task_id} />}
          {step.task_id === null && step.status === "waiting" ? <GoOn run={run} step={step} /> : null}
          {step.task_id === null || step.kind === "call" ? (
            <>
              <Facts step={step} tool={tool} />
              <Values runId={run.id} path={step.path} />
            </>
          ) : null}
        </>
      )}
    </div>
  </Panel>
);
