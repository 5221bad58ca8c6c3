import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { z } from "zod";
import { listPolicies, type policyRow } from "#contract/policies.ts";
import { listRollouts } from "#contract/rollouts.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { words } from "../../strings/en.ts";
import { policyWords } from "../../strings/policies.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { DoneNotice, Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { EffectChip, StateChip } from "./state-chip.tsx";
import { RollBackDialog } from "./version-dialogs.tsx";
import { VersionList } from "./version-list.tsx";

const route = getRouteApi("/policies");
type Row = z.infer<typeof policyRow>;

const columns: readonly Column<Row>[] = [
  {
    key: "id",
    title: policyWords.id,
    cell: ({ id, status, version }) => (
      <Link className="sp-link sp-mono sp-nowrap" to="/policies/$id" params={{ id }} search={status === "active" ? {} : { version }}>
        {id}
      </Link>
    ),
  },
  { key: "effect", title: policyWords.effect, cell: ({ effect }) => <EffectChip effect={effect} /> },
  { key: "description", title: policyWords.description, wraps: true, cell: ({ description }) => <Foreign text={description} /> },
  { key: "status", title: policyWords.status, cell: ({ status }) => <StateChip state={status} /> },
  { key: "where", title: policyWords.where, cell: ({ file, line }) => <Foreign text={`${file}:${line}`} isCode /> },
];

const fits = (row: Row, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .every((part) => `${row.id} ${row.file} ${row.description} ${row.effect}`.toLowerCase().includes(part));

const RuleList = (): ReactElement => {
  const { q = "", status } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(useEndpoint(listPolicies).query({ query: {} }));
  const set = (more: Readonly<Record<string, string>>): void =>
    void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <Panel
      title={policyWords.list}
      aside={query.data === undefined ? null : <span className="sp-dim">{policyWords.decides(query.data.version)}</span>}
    >
      <div className="sp-filters" role="search" aria-label={words.common.filters}>
        <TextInput
          data-filter=""
          label={policyWords.find}
          placeholder={policyWords.findPlaceholder}
          value={q}
          onChange={(event) => set({ q: event.currentTarget.value })}
        />
        <NativeSelect
          label={policyWords.status}
          value={status ?? ""}
          data={[
            { value: "", label: policyWords.anyStatus },
            ...(["active", "shadow", "draft"] as const).map((value) => ({ value, label: policyWords.states[value] })),
          ]}
          onChange={(event) => set({ status: event.currentTarget.value })}
        />
      </div>
      <QueryView query={query} service="pdp" rows={8}>
        {({ policies }) => {
          const rows = policies.filter((row) => fits(row, q) && (status === undefined || row.status === status));
          if (rows.length > 0)
            return <Rows caption={policyWords.list} columns={columns} rows={rows} keyOf={(row) => `${row.id} ${row.status}`} />;
          return policies.length === 0 ? (
            <Empty text={policyWords.empty} />
          ) : (
            <Empty text={policyWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
          );
        }}
      </QueryView>
    </Panel>
  );
};

const RollBack = ({ onFact }: { readonly onFact: (fact: string) => void }): ReactElement | null => {
  const { act } = route.useSearch();
  const navigate = route.useNavigate();
  const { data } = useQuery(useEndpoint(listRollouts).query({ query: { state: "retired", limit: 200 } }));
  const [last] = data?.rollouts.toSorted((a, b) => (b.activated_at ?? "").localeCompare(a.activated_at ?? "")) ?? [];
  const open = (isOpen: boolean): void =>
    void navigate({ search: (before) => ({ ...before, act: isOpen ? "rollback" : "" }), replace: true });
  if (last === undefined) return null;
  return (
    <>
      <Button variant="default" onClick={() => open(true)}>
        {policyWords.acts.rollback}
      </Button>
      {act === "rollback" ? <RollBackDialog version={last.version} onDone={onFact} onClose={() => open(false)} /> : null}
    </>
  );
};

/** What decides, rule by rule, and the versions that decided, decide or might. */
export const PolicyListPage = (): ReactElement => {
  const [fact, setFact] = useState<string>();
  return (
    <Page
      title={policyWords.title}
      lead={policyWords.lead}
      actions={
        <>
          <Gate ask={{ type: "policies", action: "edit" }}>
            <Link className="sp-button-link" to="/policies/versions/new">
              {policyWords.newDraft}
            </Link>
          </Gate>
          <Gate ask={{ type: "policies", action: "activate" }}>
            <RollBack onFact={setFact} />
          </Gate>
        </>
      }
    >
      <DoneNotice>{fact}</DoneNotice>
      <div className="sp-stack">
        <Gate ask={{ type: "policies", action: "view_all" }}>
          <VersionList />
        </Gate>
        <RuleList />
      </div>
    </Page>
  );
};
