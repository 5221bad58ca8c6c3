import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { workflowDiagram } from "#contract/workflow-runs.ts";
import { listWorkflows } from "#contract/workflows.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useWorkflowEvents } from "../../live/use-workflow-events.ts";
import { formatCount, visibleText } from "../../strings/format.ts";
import { words } from "../../strings/en.ts";
import { workflowWords } from "../../strings/workflows.ts";
import { Chip } from "../../ui/chip.tsx";
import { DetailPage } from "../../ui/detail-page.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Late } from "../../ui/late.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { Person } from "../tasks/person.tsx";
import { drawnNodes } from "../runs/run-steps.ts";
import { RunsPanel, type WhichRuns } from "./runs-panel.tsx";
import { StartForm } from "./start-form.tsx";
import { Tags } from "./tags.tsx";
import { VersionsPanel } from "./versions-panel.tsx";
import { statusLook } from "./workflow-status.ts";

const RunDiagram = lazyRouteComponent(async () => await import("../runs/run-diagram.tsx"), "RunDiagram");

const route = getRouteApi("/workflows/$name");

type Step = ReplyOf<typeof workflowDiagram>["nodes"][number];
type Workflow = ReplyOf<typeof listWorkflows>["items"][number];

const toolOf = (name: string): string => `workflow.${name}`;

const Facts = ({ row }: { readonly row: Workflow }): ReactElement => (
  <Panel title={workflowWords.properties}>
    <FactList>
      <Fact name={workflowWords.owner}>
        <Person id={row.owner} />
      </Fact>
      <TextFact name={workflowWords.version} text={row.version} isCode />
      <TextFact name={workflowWords.namespace} text={row.namespace === "all" ? workflowWords.everybody : row.namespace} />
      <Fact name={workflowWords.tool}>
        {row.mcp_enabled ? (
          <Link className="sp-link sp-mono" to="/tools/$name" params={{ name: toolOf(row.name) }}>
            {visibleText(toolOf(row.name))}
          </Link>
        ) : (
          <span className="sp-dim">{workflowWords.noTool}</span>
        )}
      </Fact>
      <Fact name={workflowWords.live}>{formatCount(row.runs.live)}</Fact>
      <Fact name={workflowWords.waiting}>{formatCount(row.runs.waiting)}</Fact>
      <Fact name={workflowWords.tags}>{row.tags.length === 0 ? undefined : <Tags tags={row.tags} />}</Fact>
    </FactList>
  </Panel>
);

const stepColumns: readonly Column<Step>[] = [
  { key: "step", title: workflowWords.step, wraps: true, cell: ({ label }) => visibleText(label) },
  {
    key: "tool",
    title: workflowWords.tool,
    cell: ({ tool }) => (tool === undefined ? <span className="sp-dim">{"\u2013"}</span> : <Foreign text={tool} isCode />),
  },
];

const Overview = ({ row }: { readonly row: Workflow }): ReactElement => {
  const diagram = useQuery({ ...useEndpoint(workflowDiagram).query({ params: { name: row.name } }), retry: false });
  return (
    <>
      <Panel title={workflowWords.description}>
        {row.summary === "" ? <p className="sp-dim">{workflowWords.noDescription}</p> : <p>{visibleText(row.summary)}</p>}
      </Panel>
      <QueryView query={diagram} service="crud" rows={4}>
        {(drawn) => (
          <>
            <Late>
              <RunDiagram title={workflowWords.flow} diagram={drawn} chosen={undefined} onChoose={() => undefined} />
            </Late>
            <Panel title={workflowWords.steps}>
              <Rows caption={workflowWords.steps} columns={stepColumns} rows={drawnNodes(drawn.nodes)} keyOf={({ id }) => id} />
            </Panel>
          </>
        )}
      </QueryView>
    </>
  );
};

/** One workflow: what it does, its start, its runs and versions. */
export const WorkflowPage = (): ReactElement => {
  const { name } = route.useParams();
  const { tab, runs } = route.useSearch();
  const navigate = route.useNavigate();
  // In addresses it may have `-` too, as in its document.
  const wireName = name.replaceAll("-", "_");
  // By its exact name: of all that have it in theirs.
  const query = useQuery(useEndpoint(listWorkflows).query({ query: { search: name, limit: 200 } }));
  useWorkflowEvents();
  const row = query.data?.items.find((one) => one.name === wireName);
  const setTab = (id: string): void =>
    void navigate({ search: (before) => ({ ...before, tab: id === "overview" ? undefined : id }), replace: true });
  const shows: WhichRuns = runs === "live" || runs === "mine" ? runs : "all";
  const read = (draw: (one: Workflow) => ReactElement): ReactElement => (
    <QueryView query={query} service="crud" rows={6}>
      {() => (row === undefined ? <Empty text={words.failure.absentTitle} /> : draw(row))}
    </QueryView>
  );
  return (
    <DetailPage
      title={visibleText(row?.title || name)}
      id={name}
      line={row && visibleText(workflowWords.line(row.version))}
      status={row && <Chip {...statusLook(row.status)} />}
      acts={row?.may.start === true && tab !== "start" ? <Button onClick={() => setTab("start")}>{workflowWords.start}</Button> : null}
      note={row?.status === "degraded" ? <div className="sp-notice">{workflowWords.degradedNote}</div> : null}
      tabs={[
        { id: "overview", name: workflowWords.overview, content: read((one) => <Overview row={one} />) },
        { id: "start", name: workflowWords.start, content: read((one) => <StartForm name={one.name} mayStart={one.may.start} />) },
        {
          id: "runs",
          name: workflowWords.runs,
          content: (
            <RunsPanel
              name={name}
              shows={shows}
              onShow={(next) =>
                void navigate({ search: (before) => ({ ...before, runs: next === "all" ? undefined : next }), replace: true })
              }
            />
          ),
        },
        { id: "versions", name: workflowWords.versions, content: <VersionsPanel name={name} /> },
      ]}
      tab={tab}
      onTab={setTab}
      aside={row && <Facts row={row} />}
    />
  );
};
