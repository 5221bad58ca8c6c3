import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RunStep } from "#contract/workflow-runs.ts";
import { words } from "../../strings/en.ts";
import { formatCount, visibleText } from "../../strings/format.ts";
import { runWords } from "../../strings/runs.ts";
import { formatSpan } from "../../strings/span.ts";
import { DecisionLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { StepStatus } from "../../ui/run-status.tsx";
import type { StepLine } from "./run-steps.ts";

interface Numbered extends StepLine {
  readonly number: number;
}

const DASH = "\u2013";

const spanOf = (step: RunStep | undefined): string => (step === undefined || step.ms === null ? DASH : formatSpan(step.ms));

const columnsOf = (runId: string, chosen: string | undefined): readonly Column<Numbered>[] => [
  {
    key: "step",
    title: runWords.step,
    wraps: true,
    cell: ({ key, name, number }) => (
      <>
        <span className="sp-dim">{formatCount(number)}</span>{" "}
        <Link
          className="sp-title-link sp-step-link"
          to="/workflows/runs/$id"
          params={{ id: runId }}
          search={{ step: key }}
          replace
          aria-current={key === chosen ? "true" : undefined}
        >
          {visibleText(name)}
        </Link>
      </>
    ),
  },
  { key: "state", title: runWords.state, cell: ({ state }) => <StepStatus state={state} /> },
  { key: "took", title: runWords.took, isNumber: true, cell: ({ step }) => spanOf(step) },
  {
    key: "decision",
    title: runWords.decision,
    cell: ({ step }) => {
      const id = step?.attempts.findLast(({ decision_id }) => decision_id !== null)?.decision_id;
      return id === undefined || id === null ? DASH : <DecisionLink id={id}>{runWords.decisionLink}</DecisionLink>;
    },
  },
];

/** The steps in order: what the diagram shows, for the keyboard and for screen readers. */
export const StepList = <P,>({
  query,
  runId,
  lines,
  chosen,
}: {
  readonly query: UseInfiniteQueryResult<InfiniteData<P>>;
  readonly runId: string;
  readonly lines: readonly StepLine[];
  readonly chosen: string | undefined;
}): ReactElement => (
  <Panel title={runWords.list}>
    <QueryView query={query} service="crud" rows={5}>
      {() =>
        lines.length === 0 ? (
          <p className="sp-dim">{runWords.listEmpty}</p>
        ) : (
          <div className="sp-stack">
            <Rows
              caption={runWords.list}
              columns={columnsOf(runId, chosen)}
              rows={lines.map((line, index) => ({ ...line, number: index + 1 }))}
              keyOf={({ key }) => key}
              isChosen={({ key }) => key === chosen}
            />
            {query.hasNextPage ? (
              <div>
                <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                  {words.common.more}
                </Button>
              </div>
            ) : null}
            <p className="sp-small sp-dim">{runWords.listFoot}</p>
          </div>
        )
      }
    </QueryView>
  </Panel>
);
