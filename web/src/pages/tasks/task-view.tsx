import { lazyRouteComponent, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { TaskDetail } from "#contract/tasks.ts";
import { useScreens } from "../../shell/use-screen.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { taskWords } from "../../strings/tasks.ts";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Late } from "../../ui/late.tsx";
import { MemberFacts } from "../../ui/member-facts.tsx";
import { DoneNotice } from "../../ui/page.tsx";
import { Person } from "./person.tsx";

const DecisionForm = lazyRouteComponent(async () => await import("./decision-form.tsx"), "DecisionForm");

const text = taskWords;

const nextOf = ({ kind, required, received }: TaskDetail): string =>
  kind === "unknown_outcome" ? text.nextUnknown : required === 1 ? text.nextOne : text.nextMany(required, received);

const People = ({ ids }: { readonly ids: readonly string[] }): ReactElement => (
  <ul className="sp-list">
    {ids.map((id) => (
      <li key={id}>
        <Person id={id} />
      </li>
    ))}
  </ul>
);

const Facts = ({ task, isInRun }: { readonly task: TaskDetail; readonly isInRun: boolean }): ReactElement => {
  const hasRun = useScreens().workflows === "allowed" && !isInRun;
  const asked = task.approvers.filter(({ source }) => source !== "excluded").map(({ identity }) => identity);
  const now = new Date();
  return (
    <FactList>
      <Fact name={text.askedBy}>
        <Person id={task.created_by} />
        {task.created_by_agent === null ? null : (
          <>
            {", "}
            <Person id={task.created_by_agent} />
          </>
        )}
      </Fact>
      <Fact name={text.asked}>
        <time dateTime={task.created_at} title={formatMoment(task.created_at)}>
          {formatRelative(task.created_at, now)}
        </time>
      </Fact>
      <Fact name={text.run}>
        {hasRun ? (
          <Link className="sp-link" to="/workflows/runs/$id" params={{ id: task.run_id }}>
            {visibleText(text.openRun(task.workflow, task.step))}
          </Link>
        ) : undefined}
      </Fact>
      <Fact name={text.approvers}>{asked.length === 0 ? undefined : <People ids={asked} />}</Fact>
      <Fact name={text.answers}>
        {text.given(task.received, task.required)}
        <ul className="sp-list">
          {task.decisions.map(({ sub, decision, at }) => (
            <li key={sub}>
              <Person id={sub} />{" "}
              <span className="sp-dim">{text.decidedLine(text.done[decision] ?? visibleText(decision), formatMoment(at))}</span>
            </li>
          ))}
        </ul>
      </Fact>
      <Fact name={text.expires}>
        {task.expires_at === null || task.status !== "PENDING" ? undefined : (
          <time dateTime={task.expires_at} title={formatMoment(task.expires_at)}>
            {formatRelative(task.expires_at, now)}
          </time>
        )}
      </Fact>
    </FactList>
  );
};

/** One task: what is asked, on which evidence, and what the reader answers. */
export const TaskView = ({
  task,
  onHandOver,
  isInRun = false,
}: {
  readonly task: TaskDetail;
  readonly onHandOver?: (() => void) | undefined;
  /** Shown beside its run already. */
  readonly isInRun?: boolean;
}): ReactElement => {
  const [isSent, setSent] = useState(false);
  // What was being written stays when somebody else was first.
  const [mayOnce] = useState(task.you_may);
  return (
    <div className="sp-stack">
      {task.description === null ? null : (
        <p>
          <Foreign text={task.description} />
        </p>
      )}
      <h3>{text.evidence}</h3>
      {task.evidence === null ? <p className="sp-dim">{text.evidenceNone}</p> : <MemberFacts value={task.evidence} isProse />}
      <h3>{text.facts}</h3>
      <Facts task={task} isInRun={isInRun} />
      {isSent ? <DoneNotice>{text.sent}</DoneNotice> : null}
      {task.you_may ? (
        <div>
          <h3>{text.next}</h3>
          <p className="sp-dim">{nextOf(task)}</p>
        </div>
      ) : null}
      {(task.you_may || mayOnce) && !isSent ? (
        <Late>
          <DecisionForm task={task} onSent={() => setSent(true)} onHandOver={task.you_may ? onHandOver : undefined} />
        </Late>
      ) : isSent || task.why_not === null ? null : (
        <p className="sp-notice">{text.whyNot[task.why_not]}</p>
      )}
    </div>
  );
};
