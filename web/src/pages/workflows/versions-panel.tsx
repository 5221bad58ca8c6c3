import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { configKinds } from "#contract/configs.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { formatCount, visibleText } from "../../strings/format.ts";
import { workflowWords } from "../../strings/workflows.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Moment, type Column } from "../../ui/rows.tsx";

const { endpoints, servedEndpoints = endpoints } = configKinds.workflow;
const versionsOf = servedEndpoints.versions;

type Version = ReplyOf<typeof versionsOf>["versions"][number];

const columns: readonly Column<Version>[] = [
  {
    key: "version",
    title: workflowWords.stored,
    cell: ({ version, deleted, restored_from: from }) => (
      <>
        {formatCount(version)} {deleted === true ? <span className="sp-dim">{workflowWords.deleted}</span> : null}
        {from === undefined ? null : <span className="sp-dim">{workflowWords.restored(from)}</span>}
      </>
    ),
  },
  { key: "at", title: workflowWords.at, cell: ({ at }) => <Moment at={at} /> },
  { key: "author", title: workflowWords.author, cell: ({ author }) => visibleText(author) },
  { key: "reason", title: workflowWords.reason, wraps: true, cell: ({ reason }) => <Foreign text={reason} /> },
];

/** What was published under the name, newest first. */
export const VersionsPanel = ({ name }: { readonly name: string }): ReactElement => {
  const query = useInfiniteQuery(useEndpoint(versionsOf).pages({ params: { name } }));
  return (
    <Panel title={workflowWords.versions}>
      <PagedRows
        query={query}
        service="crud"
        waiting={3}
        rowsOf={({ versions }) => versions}
        empty={<Empty text={workflowWords.versionsEmpty} />}
        caption={workflowWords.versions}
        columns={columns}
        keyOf={({ version }) => String(version)}
      />
    </Panel>
  );
};
