import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { listRollouts, type Rollout } from "#contract/rollouts.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { policyWords } from "../../strings/policies.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Moment, type Column } from "../../ui/rows.tsx";
import { StateChip } from "./state-chip.tsx";

const columns: readonly Column<Rollout>[] = [
  {
    key: "version",
    title: policyWords.version,
    cell: ({ version }) => (
      <Link className="sp-link sp-mono sp-nowrap" to="/policies/versions/$version" params={{ version }}>
        {version}
      </Link>
    ),
  },
  { key: "state", title: policyWords.state, cell: ({ state }) => <StateChip state={state} /> },
  { key: "message", title: policyWords.message, wraps: true, cell: ({ message }) => <Foreign text={message} /> },
  { key: "by", title: policyWords.by, cell: ({ created_by: by }) => <Foreign text={by} isCode /> },
  { key: "created", title: policyWords.created, cell: ({ created_at: at }) => <Moment at={at} /> },
  { key: "activated", title: policyWords.activated, cell: ({ activated_at: at }) => at && <Moment at={at} /> },
];

/** All versions, newest first, with where each stands. */
export const VersionList = (): ReactElement => {
  const query = useInfiniteQuery(useEndpoint(listRollouts).pages({ query: { limit: 20 } }));
  return (
    <Panel title={policyWords.versions}>
      <PagedRows
        query={query}
        service="pdp"
        waiting={4}
        rowsOf={(page) => page.rollouts}
        empty={<Empty text={policyWords.versionsEmpty} />}
        caption={policyWords.versions}
        columns={columns}
        keyOf={(row) => row.version}
      />
    </Panel>
  );
};
