import { SegmentedControl } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ReplyOf, SentQuery } from "#contract/endpoint.ts";
import { listRuns } from "#contract/workflow-runs.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { formatMoment, formatMoney, formatRelative, visibleText } from "../../strings/format.ts";
import { workflowWords } from "../../strings/workflows.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Panel } from "../../ui/panel.tsx";
import type { Column } from "../../ui/rows.tsx";
import { RunStatus } from "../../ui/run-status.tsx";
import { useClock } from "../../ui/timers.ts";
import { Person } from "../tasks/person.tsx";

type Run = ReplyOf<typeof listRuns>["items"][number];

export type WhichRuns = "all" | "live" | "mine";
const which = ["all", "live", "mine"] as const;

const filters: Readonly<Record<WhichRuns, SentQuery<typeof listRuns>>> = {
  all: {},
  live: { status: ["pending", "running", "waiting", "suspended"] },
  mine: { mine: "true" },
};

const columnsAt = (now: Date): readonly Column<Run>[] => [
  {
    key: "run",
    title: workflowWords.run,
    cell: ({ id }) => (
      <Link className="sp-link sp-mono" to="/workflows/runs/$id" params={{ id }}>
        {visibleText(id)}
      </Link>
    ),
  },
  { key: "state", title: workflowWords.state, cell: ({ phase, reason }) => <RunStatus phase={phase} reason={reason} isRow /> },
  { key: "by", title: workflowWords.startedBy, cell: ({ started_by: by }) => <Person id={by.agent ?? by.sub} /> },
  {
    key: "started",
    title: workflowWords.started,
    cell: ({ created_at: at }) => (
      <time className="sp-nowrap" dateTime={at} title={formatMoment(at)}>
        {formatRelative(at, now)}
      </time>
    ),
  },
  { key: "version", title: workflowWords.version, cell: ({ version }) => <Foreign text={version} isCode /> },
  { key: "cost", title: workflowWords.cost, isNumber: true, cell: ({ cost }) => formatMoney(cost.usd) },
];

/** Runs of a workflow, newest first. */
export const RunsPanel = ({
  name,
  shows,
  onShow,
}: {
  readonly name: string;
  readonly shows: WhichRuns;
  readonly onShow: (which: WhichRuns) => void;
}): ReactElement => {
  const now = useClock(30_000);
  const query = useInfiniteQuery(useEndpoint(listRuns).pages({ query: { workflow: name, ...filters[shows] } }));
  return (
    <Panel
      title={workflowWords.runs}
      aside={
        <SegmentedControl
          aria-label={workflowWords.whichRuns}
          value={shows}
          data={which.map((value) => ({ value, label: workflowWords.which[value] }))}
          onChange={(value) => onShow(which.find((one) => one === value) ?? "all")}
        />
      }
    >
      <PagedRows
        query={query}
        service="crud"
        waiting={4}
        rowsOf={({ items }) => items}
        empty={<Empty text={workflowWords.runsEmpty} />}
        caption={workflowWords.runs}
        columns={columnsAt(now)}
        keyOf={({ id }) => id}
      />
    </Panel>
  );
};
