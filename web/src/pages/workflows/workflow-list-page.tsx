import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, type ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { listWorkflows } from "#contract/workflows.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useWorkflowEvents } from "../../live/use-workflow-events.ts";
import { isFilteredBy } from "../../shell/search.ts";
import { formatCount, visibleText } from "../../strings/format.ts";
import { workflowWords } from "../../strings/workflows.ts";
import { Status } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { ListPage } from "../../ui/list-page.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import type { Column } from "../../ui/rows.tsx";
import { Person } from "../tasks/person.tsx";
import { Tags } from "./tags.tsx";
import { statusLook } from "./workflow-status.ts";

const route = getRouteApi("/workflows");

type Workflow = ReplyOf<typeof listWorkflows>["items"][number];

const columns: readonly Column<Workflow>[] = [
  {
    key: "workflow",
    title: workflowWords.workflow,
    wraps: true,
    cell: ({ name, title, summary }) => (
      <div>
        <Link className="sp-link" to="/workflows/$name" params={{ name }}>
          {visibleText(title || name)}
        </Link>{" "}
        <Foreign text={name} isCode />
        <div className="sp-small sp-dim">{visibleText(summary)}</div>
      </div>
    ),
  },
  { key: "status", title: workflowWords.status, cell: ({ status }) => <Status {...statusLook(status)} /> },
  { key: "owner", title: workflowWords.owner, cell: ({ owner }) => <Person id={owner} /> },
  { key: "tags", title: workflowWords.tags, cell: ({ tags }) => <Tags tags={tags} /> },
  { key: "version", title: workflowWords.version, cell: ({ version }) => <Foreign text={version} isCode /> },
  { key: "live", title: workflowWords.live, isNumber: true, cell: ({ runs }) => formatCount(runs.live) },
  { key: "waiting", title: workflowWords.waiting, isNumber: true, cell: ({ runs }) => formatCount(runs.waiting) },
  {
    key: "start",
    title: workflowWords.start,
    cell: ({ name, title, may }) =>
      may.start ? (
        <Link
          className="sp-link"
          to="/workflows/$name"
          params={{ name }}
          search={{ tab: "start" }}
          aria-label={workflowWords.startOf(visibleText(title || name))}
        >
          {workflowWords.start}
        </Link>
      ) : (
        <span className="sp-dim">{workflowWords.mayNotStart}</span>
      ),
  },
];

const counted = (values: readonly string[]): ReadonlyMap<string, number> =>
  new Map(
    Map.groupBy(values.toSorted(), (value) => value)
      .entries()
      .map(([value, all]) => [value, all.length]),
  );

/** Workflows of the tenant, with those that run now. The server filters them, page by page. */
export const WorkflowListPage = (): ReactElement => {
  const { q, tag, status: asked, pages = "1" } = route.useSearch();
  const status = asked === "serving" || asked === "degraded" ? asked : undefined;
  const navigate = route.useNavigate();
  const list = useEndpoint(listWorkflows);
  const query = useInfiniteQuery(list.pages({ query: { search: q, tag: tag === undefined ? undefined : [tag], status } }));
  // What the facets count is what the text alone finds.
  const all = useInfiniteQuery(list.pages({ query: { search: q } })).data?.pages.flatMap(({ items }) => items) ?? [];
  useWorkflowEvents();
  const shown = query.data?.pages.length ?? 0;
  const { hasNextPage, isFetching, fetchNextPage } = query;
  useEffect(() => {
    if (shown > 0 && shown < Number(pages) && hasNextPage && !isFetching) void fetchNextPage();
  }, [shown, pages, hasNextPage, isFetching, fetchNextPage]);
  const set = (more: Partial<ReturnType<typeof route.useSearch>>): void =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  const { statuses } = workflowWords;
  const nameOf = (one: keyof typeof statuses): string => statuses[one];
  return (
    <ListPage
      title={workflowWords.title}
      filters={
        <FilterBar
          label={workflowWords.search}
          placeholder={workflowWords.searchPlaceholder}
          text={q ?? ""}
          facets={[
            {
              key: "status",
              name: workflowWords.status,
              value: status && nameOf(status),
              counts: counted(all.map((row) => nameOf(row.status))),
            },
            { key: "tag", name: workflowWords.tag, value: tag, counts: counted(all.flatMap(({ tags }) => tags)) },
          ]}
          onChange={(more) =>
            set({
              ...more,
              ...("status" in more ? { status: (["serving", "degraded"] as const).find((one) => nameOf(one) === more["status"]) } : {}),
              pages: undefined,
            })
          }
        />
      }
      foot={query.data && workflowWords.shown(query.data.pages.flatMap(({ items }) => items).length, hasNextPage)}
    >
      <PagedRows
        query={query}
        service="crud"
        waiting={6}
        rowsOf={({ items }) => items}
        empty={
          isFilteredBy({ q, tag, status }) ? (
            <Empty text={workflowWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
          ) : (
            <Empty text={workflowWords.empty} />
          )
        }
        onMore={() => set({ pages: String(shown + 1) })}
        caption={workflowWords.title}
        columns={columns}
        keyOf={({ name }) => name}
      />
    </ListPage>
  );
};
