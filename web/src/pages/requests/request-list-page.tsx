import { NativeSelect, SegmentedControl } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessRequestStatus, type AccessRequestTask } from "#contract/access-requests.ts";
import { useRequests } from "../../api/access-requests.ts";
import { words } from "../../strings/en.ts";
import { requestWords } from "../../strings/requests.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Moment, type Column } from "../../ui/rows.tsx";
import { RequestStatusChip } from "./status-chip.tsx";

const route = getRouteApi("/requests");

const columns: readonly Column<AccessRequestTask>[] = [
  {
    key: "what",
    title: requestWords.what,
    wraps: true,
    cell: (row) => (
      <Link className="sp-link" to="/requests/$id" params={{ id: row.id }}>
        <Foreign text={row.display.title} />
      </Link>
    ),
  },
  {
    key: "who",
    title: requestWords.who,
    cell: (row) => <Foreign text={[row.subject, row.agent].flatMap((one) => (one === undefined ? [] : [one.name ?? one.id])).join(", ")} />,
  },
  { key: "status", title: requestWords.status, cell: (row) => <RequestStatusChip status={row.status} /> },
  { key: "asked", title: requestWords.asked, cell: (row) => <Moment at={row.created_at} /> },
  { key: "until", title: requestWords.until, cell: (row) => (row.status === "pending" ? <Moment at={row.expires_at} /> : null) },
];

/** Requests that a denial be lifted: one's own, or those that wait for one's answer. */
export const RequestListPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const role = search.as === "approver" ? "approver" : "requester";
  const status = accessRequestStatus.safeParse(search.status).data;
  const query = useRequests(role, status);
  const set = (more: Readonly<Record<string, string>>): void =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <Page title={requestWords.title} lead={requestWords.lead}>
      <div className="sp-filters" role="search" aria-label={words.common.filters}>
        <SegmentedControl
          aria-label={requestWords.role}
          value={role}
          data={[
            { value: "requester", label: requestWords.mine },
            { value: "approver", label: requestWords.toAnswer },
          ]}
          onChange={(value) => set({ as: value === "approver" ? value : "" })}
        />
        <NativeSelect
          label={requestWords.status}
          value={status ?? ""}
          data={[
            { value: "", label: requestWords.anyStatus },
            ...accessRequestStatus.options.map((value) => ({ value, label: requestWords.statuses[value] })),
          ]}
          onChange={(event) => set({ status: event.currentTarget.value })}
        />
      </div>
      <PagedRows
        query={query}
        service="pdp"
        waiting={6}
        rowsOf={(page) => page.requests}
        empty={
          status === undefined ? (
            <Empty text={role === "approver" ? requestWords.emptyToAnswer : requestWords.emptyMine} />
          ) : (
            <Empty text={requestWords.emptyFiltered} onClear={() => set({ status: "" })} />
          )
        }
        caption={requestWords.title}
        columns={columns}
        keyOf={(row) => row.id}
      />
    </Page>
  );
};
