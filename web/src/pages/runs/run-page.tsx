import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { readRun, runDiagram, runSteps, type Run } from "#contract/workflow-runs.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useWorkflowEvents } from "../../live/use-workflow-events.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { runWords } from "../../strings/runs.ts";
import { DetailPage } from "../../ui/detail-page.tsx";
import { Late } from "../../ui/late.tsx";
import { DoneNotice } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { RunStatus } from "../../ui/run-status.tsx";
import { useClock } from "../../ui/timers.ts";
import { useName } from "../tasks/person.tsx";
import { nodeIdOf, readStepEvent, runActs, stepLines, withEvent, type RunAct, type RunDiagramReply, type StepLine } from "./run-steps.ts";
import { StepList } from "./step-list.tsx";
import { StepPanel } from "./step-panel.tsx";

const RunDiagram = lazyRouteComponent(async () => await import("./run-diagram.tsx"), "RunDiagram");

const RunActDialog = lazyRouteComponent(async () => await import("./run-act-dialog.tsx"), "RunActDialog");

const route = getRouteApi("/workflows/runs/$id");

const isForMe = (run: Run): boolean => run.waiting?.required_actions.some(({ you_may }) => you_may) === true;

const Line = ({ run }: { readonly run: Run }): ReactElement => {
  const now = useClock(30_000);
  const { sub, agent } = run.started_by;
  const person = useName(sub) ?? sub;
  const agentName = useName(agent) ?? agent;
  const by = agentName === null ? person : runWords.byAgent(agentName, person);
  return (
    <span title={formatMoment(run.created_at)}>
      {visibleText(runWords.line(by, formatRelative(run.created_at, now), run.version, run.cost.usd))}
    </span>
  );
};

const urgent = ["waiting", "unknown", "running", "failed"] as const;

/** The step that is shown while nobody chose one: what waits, else what runs or failed, else the last. */
const firstOf = (lines: readonly StepLine[], run: Run | undefined): StepLine | undefined => {
  const mine = run?.waiting?.required_actions.find(({ you_may }) => you_may)?.task_id;
  const reached = lines.filter(({ step }) => step !== undefined);
  return (
    reached.find(({ step }) => mine !== undefined && mine !== null && step?.task_id === mine) ??
    urgent.map((state) => reached.find((line) => line.state === state)).find((line) => line !== undefined) ??
    reached.at(-1) ??
    lines[0]
  );
};

/** One run, live: its flow and its steps, what the chosen one did or asks, and how to stop the run or have it go on. */
export const RunPage = (): ReactElement => {
  const { id } = route.useParams();
  const { step: asked, act } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const [done, setDone] = useState<string>();
  const params = { id };
  const query = useQuery(useEndpoint(readRun).query({ params }));
  const diagramQuery = useEndpoint(runDiagram).query({ params });
  const diagram = useQuery(diagramQuery);
  const steps = useInfiniteQuery(useEndpoint(runSteps).pages({ params, query: { limit: 200 } }));
  // A state is drawn as its event comes; all else is what is read afterwards.
  useWorkflowEvents(id, ({ data }) => {
    const event = readStepEvent(data);
    if (event !== undefined) queries.setQueryData<RunDiagramReply>(diagramQuery.queryKey, (before) => before && withEvent(before, event));
  });
  const run = query.data;
  const items = steps.data?.pages.flatMap((page) => page.items) ?? [];
  const nodes = diagram.data?.nodes ?? [];
  const lines = stepLines(items, nodes);
  const chosen = lines.find(({ key }) => key === asked) ?? firstOf(lines, run);
  const choose = (step: string): void => void navigate({ search: (before) => ({ ...before, step }), replace: true });
  const chooseNode = (node: string): void => choose(items.findLast(({ path }) => nodeIdOf(path) === node)?.path ?? node);
  const open = (name: RunAct | undefined): void => void navigate({ search: (before) => ({ ...before, act: name }), replace: true });
  const asks = runActs.find((name) => name === act);
  const content = (
    <QueryView query={query} service="crud" rows={6}>
      {(value) => (
        <>
          <QueryView query={diagram} service="crud" rows={4}>
            {(drawn) => (
              <Late>
                <RunDiagram diagram={drawn} chosen={chosen && nodeIdOf(chosen.key)} onChoose={chooseNode} />
              </Late>
            )}
          </QueryView>
          <div className="sp-split">
            <StepList query={steps} runId={id} lines={lines} chosen={chosen?.key} />
            <aside>{chosen === undefined ? null : <StepPanel key={chosen.key} run={value} line={chosen} />}</aside>
          </div>
          {asks === undefined ? null : (
            <Late>
              <RunActDialog
                act={asks}
                run={value}
                steps={items}
                nodes={nodes}
                onClose={() => open(undefined)}
                onDone={(fact, after) => {
                  void navigate({ to: "/workflows/runs/$id", params: { id: after }, search: {}, replace: after === id });
                  setDone(fact);
                }}
              />
            </Late>
          )}
        </>
      )}
    </QueryView>
  );
  return (
    <DetailPage
      title={run === undefined ? runWords.oneTitle : visibleText(runWords.title(run.workflow))}
      id={id}
      parent={run && { name: visibleText(run.workflow), link: { to: "/workflows/$name", params: { name: run.workflow } } }}
      status={run && <RunStatus phase={isForMe(run) ? "waitingForYou" : run.phase} reason={run.reason} />}
      line={run && <Line run={run} />}
      acts={runActs
        .filter((name) => run?.may?.includes(name))
        .map((name) => (
          <Button key={name} variant="default" className={name === "cancel" ? "sp-danger" : undefined} onClick={() => open(name)}>
            {runWords.acts[name]}
          </Button>
        ))}
      note={<DoneNotice>{done}</DoneNotice>}
      tabs={[{ id: "run", name: runWords.oneTitle, content }]}
      tab={undefined}
      onTab={() => undefined}
    />
  );
};
