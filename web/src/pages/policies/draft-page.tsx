import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { PolicyReport } from "#contract/policies.ts";
import { readRollout, createRollout, listRollouts } from "#contract/rollouts.ts";
import { hasCode } from "../../model/gateway-error.ts";
import { POLICIES } from "../../api/policies.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useDraft } from "../../session/use-draft.ts";
import { policyWords } from "../../strings/policies.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { DraftEditor } from "./draft-editor.tsx";
import { emptyDraft, pathsOf, readPolicyDraft } from "./draft-files.ts";
import { DraftReport } from "./draft-report.tsx";
import type { Mark } from "../../ui/source-editor.tsx";

const route = getRouteApi("/policies/versions/new");
const text = policyWords.draft;
const shape = { read: readPolicyDraft };

const Editing = ({ version }: { readonly version: ReplyOf<typeof readRollout> }): ReactElement => {
  const create = useEndpoint(createRollout);
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const from = version.version;
  const { value: draft, change, forget, wasRestored } = useDraft(`policies.${from}`, emptyDraft, shape);
  const [report, setReport] = useState<PolicyReport>();
  const [jumpTo, setJumpTo] = useState<Mark>();
  const [hasTried, setTried] = useState(false);
  const paths = pathsOf(version.files, draft);
  const open = paths.find((path) => path === search.file) ?? paths.find((path) => path.endsWith(".cedar")) ?? paths[0];
  const show = (path: string): void => {
    setJumpTo(undefined);
    void navigate({ search: (before) => ({ ...before, from, file: path }), replace: true });
  };
  const saving = useMutation({
    mutationFn: async () => await create.ask({ body: { from_version: from, files: { ...draft.files }, message: draft.message.trim() } }),
    onSuccess: ({ rollout }) => {
      forget();
      void queries.invalidateQueries({ queryKey: [POLICIES] });
      void navigate({ to: "/policies/versions/$version", params: { version: rollout.version } });
    },
  });
  const hasChanges = Object.keys(draft.files).length > 0;
  const hasMessage = draft.message.trim() !== "";
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (hasChanges && hasMessage && !saving.isPending) saving.mutate();
  };
  const marks = [...(report?.errors ?? []), ...(report?.lint ?? [])].flatMap((issue) =>
    issue.file === open && issue.line !== undefined ? [{ line: issue.line, column: issue.column }] : [],
  );
  const isUnknown = hasCode(saving.error, "outcome_unknown");
  return (
    <form className="sp-stack" onSubmit={submit} noValidate>
      {wasRestored && hasChanges ? (
        <div className="sp-notice" role="status">
          {text.restored}
          <Button variant="default" onClick={forget}>
            {text.discard}
          </Button>
        </div>
      ) : null}
      <p className="sp-dim">{text.lead(from)}</p>
      <Panel title={text.files}>
        <DraftEditor base={version.files} draft={draft} open={open} marks={marks} jumpTo={jumpTo} onOpen={show} onChange={change} />
      </Panel>
      <DraftReport
        from={from}
        files={draft.files}
        onReport={setReport}
        onGo={(issue) => {
          if (issue.file === undefined) return;
          if (issue.file !== open) show(issue.file);
          setJumpTo({ line: issue.line ?? 1, column: issue.column });
        }}
      />
      <div className="sp-form">
        <Textarea
          label={text.message}
          description={text.messageHint}
          required
          rows={2}
          maxLength={500}
          value={draft.message}
          error={hasTried && !hasMessage ? text.messageIssue : undefined}
          onChange={(event) => change({ ...draft, message: event.currentTarget.value })}
        />
        {hasTried && !hasChanges ? (
          <p className="sp-dim" role="alert">
            {text.nothing}
          </p>
        ) : null}
        {saving.isError ? <Failure error={saving.error} /> : null}
        {isUnknown ? (
          <p>
            {text.outcomeUnknown}{" "}
            <Link className="sp-link" to="/policies">
              {policyWords.toList}
            </Link>
          </p>
        ) : null}
        <div className="sp-actions">
          <ActButton type="submit" isBusy={saving.isPending}>
            {text.save}
          </ActButton>
        </div>
      </div>
    </form>
  );
};

const From = ({ version }: { readonly version: string }): ReactElement => (
  <QueryView query={useQuery(useEndpoint(readRollout).query({ params: { version } }))} service="pdp" rows={8}>
    {(read) => <Editing key={read.version} version={read} />}
  </QueryView>
);

/** Writing a draft over a version: the one that decides unless the address names another. */
export const DraftPage = (): ReactElement => {
  const { from } = route.useSearch();
  const active = useQuery({ ...useEndpoint(listRollouts).query({ query: { state: "active", limit: 1 } }), enabled: from === undefined });
  return (
    <Page
      title={text.title}
      actions={
        <Link className="sp-link" to="/policies">
          {policyWords.toList}
        </Link>
      }
    >
      {from === undefined ? (
        <QueryView query={active} service="pdp" rows={8}>
          {({ rollouts: [rollout] }) => (rollout === undefined ? <Empty text={text.noActive} /> : <From version={rollout.version} />)}
        </QueryView>
      ) : (
        <From version={from} />
      )}
    </Page>
  );
};
