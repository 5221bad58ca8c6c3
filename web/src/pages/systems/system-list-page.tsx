import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { systemListQuery, type SystemRow } from "../../api/systems.ts";
import { Gate } from "../../decisions/use-can.ts";
import { words } from "../../strings/en.ts";
import { formatCount, formatMoment } from "../../strings/format.ts";
import { definitionWords } from "../../strings/definitions.ts";
import { systemWords } from "../../strings/systems.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { StateChip, standingOf } from "./state-chip.tsx";

const route = getRouteApi("/systems");

/** Where it does not load: the first issue, and how many more there are. */
const Issue = ({ row: { degraded } }: { readonly row: SystemRow }): ReactElement | null => {
  const [first] = degraded?.errors ?? [];
  if (first === undefined) return null;
  return <Foreign text={systemWords.issueOf(`${first.path} ${first.message}`.trim(), (degraded?.errors.length ?? 1) - 1)} />;
};

const columns: readonly Column<SystemRow>[] = [
  {
    key: "name",
    title: systemWords.name,
    cell: ({ name }) => (
      <Link className="sp-link sp-mono sp-nowrap" to="/systems/$name" params={{ name }}>
        {name}
      </Link>
    ),
  },
  { key: "title", title: systemWords.heading, wraps: true, cell: ({ title = "" }) => <Foreign text={title} /> },
  { key: "state", title: systemWords.state, cell: (row) => <StateChip system={row} /> },
  { key: "kind", title: systemWords.kind, cell: ({ kind = systemWords.notShown }) => <Foreign text={kind} isCode /> },
  { key: "tools", title: systemWords.tools, isNumber: true, cell: ({ tools }) => formatCount(tools) },
  { key: "version", title: systemWords.version, isNumber: true, cell: ({ version }) => formatCount(version) },
  {
    key: "changed",
    title: systemWords.changed,
    cell: ({ author, at }) => (
      <>
        <Foreign text={author} isCode />{" "}
        <time className="sp-nowrap sp-dim" dateTime={at}>
          {formatMoment(at)}
        </time>
      </>
    ),
  },
  { key: "fault", title: systemWords.issue, wraps: true, cell: (row) => <Issue row={row} /> },
];

/** Of what was taken away nobody knows these. */
const ofServing: ReadonlySet<string> = new Set(["title", "kind", "tools", "fault"]);

const fits = ({ name, title = "", owner = "" }: SystemRow, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every((part) => `${name} ${title} ${owner}`.toLowerCase().includes(part));

/** The systems that the person may see, and the two ways to a new one. */
export const SystemListPage = (): ReactElement => {
  const { q = "", state } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(systemListQuery(useClient(), state === "deleted" ? state : undefined));
  const set = (more: Readonly<Record<string, string>>): void =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <Page
      title={systemWords.title}
      lead={systemWords.lead}
      actions={
        <Gate ask={{ type: "system", action: "edit" }}>
          <Link className="sp-link" to="/definitions" search={{ state: "proposed" }}>
            {definitionWords.title}
          </Link>
          <Link className="sp-link" to="/systems/new">
            {systemWords.write}
          </Link>
          <Link className="sp-button-link" to="/systems/import">
            {systemWords.import}
          </Link>
        </Gate>
      }
    >
      <section className="sp-panel" aria-label={systemWords.title}>
        <div className="sp-filters" role="search" aria-label={words.common.filters}>
          <TextInput
            data-filter=""
            label={systemWords.find}
            placeholder={systemWords.findPlaceholder}
            value={q}
            onChange={(event) => set({ q: event.currentTarget.value })}
          />
          <NativeSelect
            label={systemWords.state}
            value={state ?? ""}
            data={[
              { value: "", label: systemWords.anyState },
              ...(["serving", "degraded", "off", "switched_off", "deleted"] as const).map((value) => ({
                value,
                label: systemWords.states[value],
              })),
            ]}
            onChange={(event) => set({ state: event.currentTarget.value })}
          />
        </div>
        <QueryView query={query} service="crud" rows={6}>
          {({ systems }) => {
            const rows = systems.filter((row) => fits(row, q) && (state === undefined || standingOf(row) === state));
            const shown = columns.filter(({ key }) =>
              state === "deleted" ? !ofServing.has(key) : key !== "fault" || rows.some(({ degraded }) => degraded !== undefined),
            );
            if (rows.length > 0) return <Rows caption={systemWords.title} columns={shown} rows={rows} keyOf={({ name }) => name} />;
            return systems.length === 0 && state !== "deleted" ? (
              <Empty text={systemWords.empty} />
            ) : (
              <Empty text={systemWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
            );
          }}
        </QueryView>
      </section>
    </Page>
  );
};
