import { Tabs } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { AccessRequestTask } from "#contract/access-requests.ts";
import type { SentQuery } from "#contract/endpoint.ts";
import { taskTabs } from "#contract/screens.ts";
import { listTasks, taskSummary, type Task } from "#contract/tasks.ts";
import { useRequests } from "../../api/access-requests.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { taskWords } from "../../strings/tasks.ts";
import { Empty } from "../../ui/empty.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { useClock, useDebounced } from "../../ui/timers.ts";
import { useName } from "./person.tsx";

const text = taskWords;

export type TaskTab = (typeof taskTabs)[number];

export interface TaskSearch {
  readonly tab?: string | undefined;
  readonly q?: string | undefined;
}

export const tabOf = ({ tab }: TaskSearch): TaskTab => taskTabs.find((one) => one === tab) ?? "all";

const filters: Readonly<Record<TaskTab, NonNullable<SentQuery<typeof listTasks>>>> = {
  all: {},
  mine: { assigned_to: "me" },
  approve: { assigned_to: "me", type: ["approval"] },
  overdue: { overdue: "true" },
};

const By = ({ task }: { readonly task: Task }): ReactElement => (
  <div className="sp-small sp-dim">{visibleText(text.by(useName(task.created_by) ?? task.created_by, task.workflow))}</div>
);

const Due = ({ at, isLate = false }: { readonly at: string | null; readonly isLate?: boolean }): ReactElement | null => {
  const now = useClock(30_000);
  if (at === null) return null;
  return (
    <time className="sp-nowrap sp-small" data-late={isLate ? "" : undefined} dateTime={at} title={formatMoment(at)}>
      {formatRelative(at, now)}
    </time>
  );
};

const columnsOf = (search: TaskSearch): readonly Column<Task>[] => [
  {
    key: "task",
    title: text.task,
    wraps: true,
    cell: (task) => (
      <>
        <Link className="sp-title-link" to="/tasks/$id" params={{ id: task.id }} search={search}>
          {visibleText(task.title)}
        </Link>
        <By task={task} />
      </>
    ),
  },
  { key: "due", title: text.due, cell: (task) => <Due at={task.due_at ?? task.expires_at} isLate={task.overdue} /> },
];

const requestColumns: readonly Column<AccessRequestTask>[] = [
  {
    key: "request",
    title: text.requests,
    wraps: true,
    cell: (row) => (
      <>
        <Link className="sp-title-link" to="/approvals/$id" params={{ id: row.id }}>
          {visibleText(row.display.title)}
        </Link>
        <div className="sp-small sp-dim">
          {visibleText([row.subject, row.agent].flatMap((one) => (one === undefined ? [] : [one.name ?? one.id])).join(", "))}
        </div>
      </>
    ),
  },
  { key: "due", title: text.due, cell: (row) => <Due at={row.expires_at} /> },
];

/** The tasks of a tab with their count, and what else waits for an approval; the chosen one is marked. */
export const TaskList = ({ search, chosen }: { readonly search: TaskSearch; readonly chosen?: string }): ReactElement => {
  const navigate = useNavigate();
  const tab = tabOf(search);
  const q = useDebounced(search.q, 250);
  const query = useInfiniteQuery(
    useEndpoint(listTasks).pages({ query: { status: ["PENDING"], ...filters[tab], search: q || undefined, sort: "due_at", limit: 50 } }),
  );
  const summary = useQuery(useEndpoint(taskSummary).query());
  const requests = useRequests("approver", "pending").data?.pages.flatMap((page) => page.requests);
  const counts = summary.data;
  const shown: Readonly<Record<TaskTab, number | undefined>> = {
    all: counts?.pending,
    mine: counts?.mine,
    approve: counts && counts.awaiting_my_approval + (requests?.length ?? 0),
    overdue: counts?.overdue,
  };
  const go = (more: TaskSearch): void => void navigate({ to: "/tasks", search: { ...search, ...more }, replace: true });
  const rowsOf = (items: readonly Task[]): readonly Task[] =>
    tab === "approve" ? items.filter((task) => task.why_not !== "separation_of_duties") : items;
  const found = query.data?.pages.flatMap(({ items }) => rowsOf(items)).length;
  const waiting = tab === "approve" && q === undefined ? (requests ?? []) : [];
  return (
    <div className="sp-stack">
      <Tabs value={tab} onChange={(name) => go({ tab: name === "all" ? undefined : (name ?? undefined) })} aria-label={text.tabsLabel}>
        <Tabs.List>
          {taskTabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {text.tab(text.tabs[name], shown[name])}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <FilterBar
        label={text.filter}
        placeholder={text.filter}
        text={search.q ?? ""}
        facets={[]}
        onChange={(more) => go({ q: more["q"] || undefined })}
      />
      <PagedRows
        query={query}
        service="crud"
        waiting={4}
        rowsOf={(page) => rowsOf(page.items)}
        empty={
          q === undefined ? (
            waiting.length > 0 ? (
              <></>
            ) : (
              <Empty text={text.empty[tab]} />
            )
          ) : (
            <Empty text={text.emptyFiltered} onClear={() => go({ q: undefined })} />
          )
        }
        caption={text.title}
        columns={columnsOf(search)}
        keyOf={({ id }) => id}
        isChosen={({ id }) => id === chosen}
      />
      {waiting.length === 0 ? null : <Rows caption={text.requests} columns={requestColumns} rows={waiting} keyOf={({ id }) => id} />}
      {found === undefined ? null : (
        <p className="sp-small sp-dim" role="status">
          {text.foot(found, counts?.due_today)}
        </p>
      )}
    </div>
  );
};
