import { NativeSelect, SegmentedControl, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";
import { reasons } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { useClient } from "../../api/client-context.ts";
import { decisionPagesQuery, type DecisionFilter } from "../../api/decisions.ts";
import { useSession } from "../../session/session-context.ts";
import { isFilteredBy } from "../../shell/search.ts";
import { words } from "../../strings/en.ts";
import { whyWords } from "../../strings/why.ts";
import { formatMoment, visibleText } from "../../strings/format.ts";
import { Verdict } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import type { Column } from "../../ui/rows.tsx";
import { resourceText, verdictOf } from "./verdict-of.ts";

const route = getRouteApi("/why");
type Search = ReturnType<typeof route.useSearch>;

const filterOf = (search: Search, subjectId: string): DecisionFilter => {
  const subject = search.whose === "mine" ? subjectId : search.subject;
  const verdict = search.verdict ?? "denied";
  const reason = reasons.find((one) => one === search.reason);
  // A correlation id names one request: all of it is wanted.
  const asked = search.asked ?? (search.correlation === undefined ? "done" : "any");
  return {
    ...(subject === undefined ? {} : { subject }),
    ...(search.agent === undefined ? {} : { agent: search.agent }),
    ...(search.action === undefined ? {} : { action: search.action }),
    ...(search.type === undefined ? {} : { resource_type: search.type }),
    ...(verdict === "any" ? {} : { decision: verdict === "denied" ? ("false" as const) : ("true" as const) }),
    ...(asked === "any" ? {} : { enforced: asked === "done" ? ("true" as const) : ("false" as const) }),
    ...(reason === undefined ? {} : { reason }),
    ...(search.correlation === undefined ? {} : { correlation_id: search.correlation }),
  };
};

const columns: readonly Column<DecisionRecord>[] = [
  {
    key: "time",
    title: whyWords.time,
    cell: (row) => (
      <Link className="sp-link sp-nowrap" to="/why/$decisionId" params={{ decisionId: row.decision_id }}>
        <time dateTime={row.decided_at}>{formatMoment(row.decided_at)}</time>
      </Link>
    ),
  },
  { key: "who", title: whyWords.who, cell: (row) => <Foreign text={row.subject?.name ?? row.subject?.id ?? ""} /> },
  { key: "agent", title: whyWords.agent, cell: (row) => <Foreign text={row.agent?.name ?? row.agent?.id ?? ""} /> },
  { key: "action", title: whyWords.action, cell: (row) => <Foreign text={row.action} isCode /> },
  {
    key: "resource",
    title: whyWords.resource,
    wraps: true,
    cell: (row) => <Foreign text={resourceText(row.resource)} isCode />,
  },
  {
    key: "verdict",
    title: whyWords.verdict,
    cell: (row) => (
      <>
        <Verdict of={verdictOf(row)} />
        {row.enforced === false ? <div className="sp-small sp-dim">{whyWords.askedShown}</div> : null}
      </>
    ),
  },
  {
    key: "reason",
    title: whyWords.reason,
    wraps: true,
    cell: (row) => <Foreign text={row.reason === undefined ? "" : (words.reasons[row.reason] ?? row.reason)} />,
  },
];

/** A text filter that counts when the field is left or Enter is pressed. */
const TextFilter = ({
  label,
  value,
  isFirst = false,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly isFirst?: boolean;
  readonly onChange: (text: string) => void;
}): ReactElement => {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  const take = (): void => {
    if (text.trim() !== (value ?? "")) onChange(text.trim());
  };
  return (
    <TextInput
      {...(isFirst ? { "data-filter": "" } : {})}
      label={label}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === "Enter") take();
      }}
    />
  );
};

const Filters = ({ search }: { readonly search: Search }): ReactElement => {
  const navigate = route.useNavigate();
  const set = (more: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <div className="sp-filters" role="search" aria-label={words.common.filters}>
      <SegmentedControl
        aria-label={whyWords.whose}
        value={search.whose ?? "all"}
        data={[
          { value: "all", label: whyWords.everyones },
          { value: "mine", label: whyWords.own },
        ]}
        onChange={(whose) => set({ whose: whose === "all" ? "" : whose })}
      />
      <NativeSelect
        label={whyWords.verdict}
        value={search.verdict ?? "denied"}
        data={[
          { value: "denied", label: whyWords.denied },
          { value: "allowed", label: whyWords.allowed },
          { value: "any", label: whyWords.any },
        ]}
        onChange={(event) => set({ verdict: event.currentTarget.value === "denied" ? "" : event.currentTarget.value })}
      />
      <NativeSelect
        label={whyWords.asked}
        value={search.asked ?? (search.correlation === undefined ? "done" : "any")}
        data={[
          { value: "done", label: whyWords.askedDone },
          { value: "shown", label: whyWords.askedShown },
          { value: "any", label: whyWords.askedAny },
        ]}
        onChange={(event) => set({ asked: event.currentTarget.value as "done" | "shown" | "any" })}
      />
      <NativeSelect
        label={whyWords.reason}
        value={search.reason ?? ""}
        data={[
          { value: "", label: whyWords.anyReason },
          ...reasons.map((reason) => ({ value: reason, label: words.reasons[reason] ?? reason })),
        ]}
        onChange={(event) => set({ reason: event.currentTarget.value })}
      />
      {search.whose === "mine" ? null : (
        <TextFilter isFirst label={whyWords.subject} value={search.subject} onChange={(subject) => set({ subject })} />
      )}
      <TextFilter label={whyWords.agent} value={search.agent} onChange={(agent) => set({ agent })} />
      <TextFilter label={whyWords.action} value={search.action} onChange={(action) => set({ action })} />
      <TextFilter label={whyWords.resourceType} value={search.type} onChange={(type) => set({ type })} />
      <TextFilter label={whyWords.correlation} value={search.correlation} onChange={(correlation) => set({ correlation })} />
    </div>
  );
};

/** Decisions, newest first: what somebody tried and was refused, unless the address says otherwise. */
export const DecisionListPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { subject } = useSession();
  const query = useInfiniteQuery(decisionPagesQuery(useClient(), filterOf(search, subject.id)));
  return (
    <Page title={whyWords.title} lead={whyWords.lead}>
      <Filters search={search} />
      <PagedRows
        query={query}
        service="pdp"
        waiting={8}
        rowsOf={(page) => page.decisions}
        empty={
          isFilteredBy(search) ? (
            <Empty text={whyWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
          ) : (
            <Empty text={whyWords.empty}>
              <Link className="sp-link" to="/why" search={{ asked: "any", verdict: "any" }}>
                {whyWords.emptyShowAll}
              </Link>
            </Empty>
          )
        }
        caption={visibleText(whyWords.title)}
        columns={columns}
        keyOf={(row) => row.decision_id}
      />
    </Page>
  );
};
