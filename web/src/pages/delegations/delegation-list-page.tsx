import { Button, Checkbox, NativeSelect, SegmentedControl } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { listDelegations, type Delegation } from "#contract/delegations.ts";
import type { SentQuery } from "#contract/endpoint.ts";
import { useClient } from "../../api/client-context.ts";
import { agentSuggestions } from "../../api/nodes.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useSession } from "../../session/session-context.ts";
import { nodeText } from "#contract/page-search.ts";
import { isFilteredBy } from "../../shell/search.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { DelegationMeters } from "../../ui/delegation-meters.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import type { Column } from "../../ui/rows.tsx";
import { StatusChip } from "../../ui/status-chip.tsx";
import { SuggestInput } from "../../ui/suggest-input.tsx";
import { useClock } from "../../ui/timers.ts";
import { endingOf } from "./facts.ts";
import { RevokeAllDialog } from "./revoke-dialogs.tsx";

const route = getRouteApi("/delegations");

const statuses = ["active", "paused", "revoked", "expired"] as const;

type Search = ReturnType<typeof route.useSearch>;

const filterOf = (search: Search, subjectId: string): SentQuery<typeof listDelegations> => {
  const status = search.status ?? "active";
  const known = statuses.find((candidate) => candidate === status);
  return {
    ...(search.whose === "all" ? { whose: "all" as const } : { user_id: subjectId }),
    status: known,
    agent_id: search.agent,
    attention: search.attention === undefined ? undefined : ("true" as const),
  };
};

/** In which time a delegation ends, or since when it is over. */
const Ending = ({ delegation, now }: { readonly delegation: Delegation; readonly now: Date }): ReactElement => {
  const { at, isOver } = endingOf(delegation);
  if (at === null) return <>{isOver ? words.verdict.revoked : delegationWords.never}</>;
  const relative = formatRelative(at, now);
  return (
    <time className="sp-nowrap" dateTime={at} title={formatMoment(at)}>
      {isOver ? delegationWords.endedSince(relative) : relative}
    </time>
  );
};

const columnsAt = (now: Date): readonly Column<Delegation>[] => [
  {
    key: "id",
    title: delegationWords.oneTitle,
    wraps: true,
    cell: (row) => (
      <>
        <Link className="sp-link" to="/delegations/$id" params={{ id: row.delegation_id }}>
          {visibleText(row.purpose)}
        </Link>
        <div className="sp-small sp-dim">
          <Foreign text={row.delegation_id} isCode />
        </div>
      </>
    ),
  },
  { key: "from", title: delegationWords.from, cell: (row) => visibleText(row.delegator_name ?? row.delegator_id) },
  { key: "agent", title: delegationWords.agent, cell: (row) => visibleText(row.agent_name ?? row.agent_id) },
  { key: "status", title: delegationWords.status, cell: (row) => <StatusChip delegation={row} /> },
  {
    key: "tools",
    title: delegationWords.tools,
    cell: (row) => (row.capabilities === null ? delegationWords.allTools : delegationWords.toolCount(row.capabilities.length)),
  },
  {
    key: "meters",
    title: `${words.meters.steps}, ${words.meters.money}`,
    wraps: true,
    cell: (row) => <DelegationMeters delegation={row} />,
  },
  { key: "ends", title: delegationWords.endsOrEnded, cell: (row) => <Ending delegation={row} now={now} /> },
];

const AgentFilter = ({ value, onChange }: { readonly value: string; readonly onChange: (agent: string) => void }): ReactElement => {
  const client = useClient();
  return (
    <SuggestInput
      isFirst
      label={delegationWords.agent}
      placeholder={words.common.nameOrId}
      value={value}
      suggest={(text) => agentSuggestions(client, text)}
      onChange={(agent) => (agent === "" || nodeText.test(agent) ? onChange(agent) : undefined)}
    />
  );
};

const Filters = ({ search }: { readonly search: Search }): ReactElement => {
  const navigate = route.useNavigate();
  const set = (more: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <div className="sp-filters" role="search" aria-label={words.common.filters}>
      <SegmentedControl
        aria-label={delegationWords.delegator}
        value={search.whose ?? "mine"}
        data={[
          { value: "mine", label: delegationWords.mine },
          { value: "all", label: delegationWords.everyones },
        ]}
        onChange={(whose) => set({ whose: whose === "mine" ? "" : whose })}
      />
      <NativeSelect
        label={delegationWords.status}
        value={search.status ?? "active"}
        data={[...statuses.map((status) => ({ value: status, label: words.verdict[status] })), { value: "any", label: words.common.all }]}
        onChange={(event) => set({ status: event.currentTarget.value === "active" ? "" : event.currentTarget.value })}
      />
      <AgentFilter value={search.agent ?? ""} onChange={(agent) => set({ agent })} />
      <Checkbox
        label={delegationWords.attention}
        checked={search.attention !== undefined}
        onChange={(event) => set({ attention: event.currentTarget.checked ? "true" : "" })}
      />
    </div>
  );
};

/** No active delegation of mine: either there never was one, or all are over, and where those are. */
const NoneActive = ({ userId }: { readonly userId: string }): ReactElement => {
  const query = useQuery(useEndpoint(listDelegations).query({ query: { user_id: userId } }));
  const count = query.data?.items.length ?? 0;
  return (
    <QueryView query={query} service="membership">
      {({ next_cursor: more }) => (
        <Empty text={count === 0 ? delegationWords.empty : delegationWords.noneActive(count, more !== undefined)}>
          {count === 0 ? null : (
            <Link className="sp-link" to="/delegations" search={{ status: "any" }}>
              {delegationWords.showAll}
            </Link>
          )}
          <Link className="sp-link" to="/delegations/new">
            {delegationWords.grant}
          </Link>
        </Empty>
      )}
    </QueryView>
  );
};

/** Delegations: mine and active unless the address says otherwise. */
export const DelegationListPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { subject } = useSession();
  const now = useClock(30_000);
  const query = useInfiniteQuery(useEndpoint(listDelegations).pages({ query: filterOf(search, subject.id) }));
  const [isRevoking, setRevoking] = useState(false);
  const [fact, setFact] = useState<string>();
  const isFiltered = isFilteredBy(search);
  const held = query.data?.pages.flatMap((page) => page.items) ?? [];
  const agentName = visibleText(held[0]?.agent_name ?? search.agent ?? "");
  return (
    <Page
      title={delegationWords.title}
      lead={delegationWords.lead}
      actions={
        <>
          {search.agent === undefined || held.length === 0 ? null : (
            <Button variant="default" onClick={() => setRevoking(true)}>
              {delegationWords.revokeAll(agentName)}
            </Button>
          )}
          <Link to="/delegations/new" className="sp-button-link">
            <Icon name="plus" />
            {delegationWords.grant}
          </Link>
        </>
      }
    >
      {fact === undefined ? null : (
        <div className="sp-notice" data-tone="allow" role="status">
          <Icon name="check" />
          {fact}
        </div>
      )}
      <Filters search={search} />
      <PagedRows
        query={query}
        service="membership"
        waiting={6}
        rowsOf={(page) => page.items}
        empty={
          isFiltered ? (
            <Empty text={delegationWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
          ) : (
            <NoneActive userId={subject.id} />
          )
        }
        caption={delegationWords.title}
        columns={columnsAt(now)}
        keyOf={(row) => row.delegation_id}
      />
      {isRevoking && search.agent !== undefined ? (
        <RevokeAllDialog
          agentId={search.agent}
          agentName={agentName}
          onClose={() => setRevoking(false)}
          onDone={(done) => {
            setRevoking(false);
            setFact(done);
          }}
        />
      ) : null}
    </Page>
  );
};
