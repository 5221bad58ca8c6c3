import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { listDefinitions, type DefinitionRow } from "#contract/definitions.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { formatMoment } from "../../strings/format.ts";
import { definitionWords } from "../../strings/definitions.ts";
import { systemWords } from "../../strings/systems.ts";
import { Chip } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { DefinitionPanel } from "./definition-panel.tsx";
import { WaitingSystems } from "./waiting-systems.tsx";

const text = definitionWords;
const route = getRouteApi("/definitions");

const looks = {
  proposed: { tone: "stepup", icon: "question" },
  approved: { tone: "allow", icon: "check" },
  drifted: { tone: "deny", icon: "warning" },
  rejected: { tone: "quiet", icon: "cross" },
} as const;

const columns: readonly Column<DefinitionRow>[] = [
  {
    key: "tool",
    title: text.tool,
    cell: ({ tool }) => (
      <Link
        className="sp-link sp-mono sp-nowrap"
        to="/definitions"
        search={(before) => ({ ...before, tool })}
        aria-label={text.lookAt(tool)}
      >
        {tool}
      </Link>
    ),
  },
  { key: "state", title: text.state, cell: ({ state }) => <Chip {...looks[state]} text={text.states[state]} /> },
  { key: "owner", title: text.owner, cell: ({ owner = "" }) => <Foreign text={owner} isCode /> },
  { key: "since", title: text.since, cell: ({ since }) => <time dateTime={since}>{formatMoment(since)}</time> },
  { key: "by", title: text.decidedBy, cell: ({ decided_by: by }) => <Foreign text={by ?? ""} isCode /> },
  { key: "why", title: text.reason, wraps: true, cell: ({ reason }) => <Foreign text={reason ?? ""} /> },
];

/** Definitions of tools that servers of others serve: what waits for an answer, and what was answered. */
export const DefinitionListPage = (): ReactElement => {
  const { state, tool } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(
    useEndpoint(listDefinitions).query({ query: { state: (state || undefined) as DefinitionRow["state"] | undefined } }),
  );
  const [said, setSaid] = useState("");
  return (
    <Page title={text.title} lead={text.lead}>
      <div role="status">{said === "" ? null : <p>{said}</p>}</div>
      {tool === undefined ? null : (
        <DefinitionPanel
          key={tool}
          tool={tool}
          onDone={(sentence) => {
            setSaid(sentence);
            void navigate({ search: (before) => ({ ...before, tool: "" }), replace: true });
          }}
        />
      )}
      <section className="sp-panel sp-below" aria-label={text.title}>
        <div className="sp-filters" role="search" aria-label={words.common.filters}>
          <NativeSelect
            data-filter=""
            label={text.state}
            value={state ?? ""}
            data={[
              { value: "", label: systemWords.anyState },
              ...(["proposed", "drifted", "rejected", "approved"] as const).map((value) => ({ value, label: text.states[value] })),
            ]}
            onChange={(event) => {
              const chosen = event.currentTarget.value;
              void navigate({ search: (before) => ({ ...before, state: chosen }) as typeof before, replace: true });
            }}
          />
        </div>
        <QueryView query={query} service="crud" rows={4}>
          {({ definitions, waiting }) =>
            definitions.length > 0 ? (
              <>
                <WaitingSystems waiting={waiting} definitions={definitions} onDone={setSaid} />
                <Rows caption={text.title} columns={columns} rows={definitions} keyOf={(row) => row.tool} />
              </>
            ) : state === undefined ? (
              <Empty text={text.empty} />
            ) : (
              <Empty text={text.emptyFiltered} onClear={() => void navigate({ search: {} })} />
            )
          }
        </QueryView>
      </section>
    </Page>
  );
};
