import { NativeSelect } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, type ReactElement } from "react";
import { listDecisions, type DecisionRecord } from "#contract/decisions.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useActivity } from "../../live/use-activity.ts";
import { words } from "../../strings/en.ts";
import { whyWords } from "../../strings/why.ts";
import { formatMoment } from "../../strings/format.ts";
import { Verdict } from "../../ui/chip.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import type { Column } from "../../ui/rows.tsx";
import { Who } from "../../ui/who.tsx";
import { DecisionFilters, type Search } from "./decision-filters.tsx";
import { filterOf, isNarrowed } from "./list-filter.ts";
import { resourceText, shownVerdictOf } from "./verdict-of.ts";

const route = getRouteApi("/why");
type ListPage = ReplyOf<typeof listDecisions>;

const columns: readonly Column<DecisionRecord>[] = [
  {
    key: "time",
    title: whyWords.time,
    sort: "time",
    cell: (row) => (
      <Link className="sp-link sp-nowrap" to="/why/$decisionId" params={{ decisionId: row.decision_id }}>
        <time dateTime={row.decided_at}>{formatMoment(row.decided_at)}</time>
      </Link>
    ),
  },
  { key: "who", title: whyWords.who, sort: "subject", cell: ({ subject }) => subject && <Who {...subject} isShort /> },
  { key: "agent", title: whyWords.agent, sort: "agent", cell: ({ agent }) => agent && <Who {...agent} isShort /> },
  { key: "action", title: whyWords.action, sort: "action", cell: (row) => <Foreign text={row.action} isCode /> },
  {
    key: "resource",
    title: whyWords.resource,
    sort: "resource",
    wraps: true,
    cell: (row) => <Foreign text={resourceText(row.resource)} isCode />,
  },
  {
    key: "verdict",
    title: whyWords.verdict,
    sort: "decision",
    cell: (row) => (
      <>
        <Verdict of={shownVerdictOf(row)} />
        {row.enforced === false ? <div className="sp-small sp-dim">{whyWords.askedShown}</div> : null}
      </>
    ),
  },
  {
    key: "reason",
    title: whyWords.reason,
    sort: "reason",
    wraps: true,
    cell: ({ reason }) => (reason === undefined ? null : <Foreign text={words.reasons[reason] ?? reason} />),
  },
];

/** The same as the titles of the columns, where a narrow screen shows none. */
const SortSelect = ({
  search,
  onChange,
}: {
  readonly search: Search;
  readonly onChange: (more: { readonly sort: string; readonly order: string }) => void;
}): ReactElement => (
  <NativeSelect
    className="sp-narrow-only"
    label={whyWords.sortBy}
    value={`${search.sort ?? "time"} ${search.order ?? "desc"}`}
    data={columns.flatMap(({ sort = "", title }) =>
      (["desc", "asc"] as const).map((order) => ({
        value: `${sort} ${order}`,
        label:
          sort === "time"
            ? whyWords[order === "desc" ? "newest" : "oldest"]
            : whyWords[order === "desc" ? "descending" : "ascending"](title),
      })),
    )}
    onChange={(event) => {
      const [sort = "", order = ""] = event.currentTarget.value.split(" ");
      onChange({ sort, order });
    }}
  />
);

/** Decisions, newest first: what somebody tried and was refused, unless the address says otherwise. */
export const DecisionListPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const address = JSON.stringify(search);
  // A span goes to the moment at which it was chosen: a question that moved with the clock would never be answered.
  const filter = useMemo(() => filterOf(search, new Date()), [address]);
  const query = useInfiniteQuery({
    ...useEndpoint(listDecisions).pages({ query: { ...filter, limit: 50 } }),
    placeholderData: keepPreviousData,
  });
  const canFollow = useActivity(search.live !== "off", () => void query.refetch());
  const set = (more: Readonly<Record<string, string>>): void =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  const [by, order] = [search.sort ?? "time", search.order === "asc" ? "asc" : "desc"] as const;
  const sortTo = (sort: string, next: string): void => set({ sort: sort === "time" ? "" : sort, order: next === "desc" ? "" : next });
  const further = ({ searched_to: at, nextCursor }: ListPage) => {
    if (at === undefined) return undefined;
    const until = formatMoment(at);
    const text = nextCursor === undefined ? whyWords.sortedTo(until) : whyWords[order === "asc" ? "searchedOn" : "searchedTo"](until);
    return { text, button: whyWords.searchFurther };
  };
  return (
    <Page title={whyWords.title} lead={whyWords.lead} actions={<CopyButton label={words.common.copyLink} text={() => location.href} />}>
      <DecisionFilters search={search} canFollow={canFollow} onChange={set} />
      <SortSelect search={search} onChange={({ sort, order: next }) => sortTo(sort, next)} />
      <PagedRows
        query={query}
        service="pdp"
        waiting={8}
        rowsOf={(page) => page.decisions}
        further={further}
        empty={
          isNarrowed(search) ? (
            <Empty text={whyWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
          ) : (
            <Empty text={whyWords.empty}>
              <Link className="sp-link" to="/why" search={{ asked: "any", verdict: "any" }}>
                {whyWords.emptyShowAll}
              </Link>
            </Empty>
          )
        }
        caption={whyWords.title}
        columns={columns}
        keyOf={(row) => row.decision_id}
        sorting={{
          by,
          order,
          // A name is looked for from A on, a time from now back.
          onSort: (sort) => sortTo(sort, sort === by ? (order === "asc" ? "desc" : "asc") : sort === "time" ? "desc" : "asc"),
        }}
      />
    </Page>
  );
};
