import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { cancelAccessRequest, getAccessRequest, type AccessRequestReply, type AccessRequestTask } from "#contract/access-requests.ts";
import { REQUESTS, REREAD_MS } from "../../api/access-requests.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useScreens } from "../../shell/use-screen.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, visibleText } from "../../strings/format.ts";
import { requestWords } from "../../strings/requests.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { DecisionLink } from "../../ui/links.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { AnswerPanel } from "./answer-panel.tsx";
import { CallPanel } from "./call-panel.tsx";
import { ApprovalChip, RequestStatusChip } from "./status-chip.tsx";

const route = getRouteApi("/requests/$id");

const nameOf = ({ id, name }: AccessRequestTask["subject"]): string => (name === undefined ? id : `${name} (${id})`);

const Facts = ({ task }: { readonly task: AccessRequestTask }): ReactElement => (
  <Panel title={requestWords.facts} aside={<RequestStatusChip status={task.status} />}>
    <div className="sp-stack">
      <p>
        <Foreign text={task.display.message} />
      </p>
      {task.failure === undefined ? null : (
        <p>
          <Foreign text={requestWords.failures[task.failure] ?? task.failure} />
        </p>
      )}
      <FactList>
        <TextFact name={requestWords.who} text={nameOf(task.subject)} />
        <TextFact name={requestWords.agent} text={task.agent && nameOf(task.agent)} />
        <TextFact name={requestWords.action} text={task.action.name} isCode />
        <TextFact name={requestWords.resource} text={`${task.resource.type} ${task.resource.id ?? task.resource.ref ?? ""}`} isCode />
        <Fact name={requestWords.justification}>
          {task.justification === undefined ? (
            <span className="sp-dim">{requestWords.justificationNone}</span>
          ) : (
            <Foreign text={task.justification} />
          )}
        </Fact>
        <TextFact name={requestWords.approvers} text={task.approvers.join(", ") || words.common.none} isCode />
        <Fact name={requestWords.asked}>{formatMoment(task.created_at)}</Fact>
        <Fact name={requestWords.until}>{task.status === "pending" ? formatMoment(task.expires_at) : undefined}</Fact>
        <TextFact name={requestWords.answeredBy} text={task.answered_by && nameOf(task.answered_by)} />
        <Fact name={requestWords.answeredAt}>{task.answered_at === undefined ? undefined : formatMoment(task.answered_at)}</Fact>
        <TextFact name={requestWords.comment} text={task.comment} />
        <Fact name={requestWords.decision}>
          <DecisionLink id={task.evaluation_id} />
        </Fact>
      </FactList>
    </div>
  </Panel>
);

const Approval = ({ result }: { readonly result: NonNullable<AccessRequestReply["result"]> }): ReactElement => {
  const { approval } = result;
  return (
    <Panel title={requestWords.approval} aside={<ApprovalChip state={approval.state} />}>
      <div className="sp-stack">
        {approval.state === "live" ? <p>{requestWords.reevaluate}</p> : null}
        {approval.reason === undefined ? null : (
          <p>
            <Foreign text={requestWords.voidReasons[approval.reason] ?? approval.reason} />
          </p>
        )}
        <FactList>
          <Fact name={requestWords.approvedUntil}>{formatMoment(approval.approved_until)}</Fact>
        </FactList>
        {approval.single_use ? <p className="sp-small sp-dim">{requestWords.singleUse}</p> : null}
      </div>
    </Panel>
  );
};

const RequestView = ({ reply: { task, result } }: { readonly reply: AccessRequestReply }): ReactElement => {
  const cancel = useEndpoint(cancelAccessRequest);
  const queries = useQueryClient();
  const cancelling = useMutation({
    mutationFn: async () => await cancel.ask({ params: { id: task.id } }),
    onSettled: async () => await queries.invalidateQueries({ queryKey: [REQUESTS] }),
  });
  return (
    <div className="sp-stack">
      <Facts task={task} />
      {task.call === undefined ? null : <CallPanel call={task.call} />}
      {result === undefined ? null : <Approval result={result} />}
      {task.links.review === undefined ? null : <AnswerPanel id={task.id} />}
      {cancelling.isError ? <Failure error={cancelling.error} /> : null}
      {task.links.cancel === undefined ? null : (
        <div>
          <ActButton variant="default" isBusy={cancelling.isPending} onClick={() => cancelling.mutate()}>
            {requestWords.cancel}
          </ActButton>
        </div>
      )}
    </div>
  );
};

/** One request: what, for whom, who may answer, and what became of it. */
export const RequestById = ({ id }: { readonly id: string }): ReactElement => {
  const may = useScreens();
  const query = useQuery({ ...useEndpoint(getAccessRequest).query({ params: { id } }), refetchInterval: REREAD_MS });
  return (
    <Page
      title={query.data === undefined ? requestWords.facts : visibleText(query.data.task.display.title)}
      actions={
        <>
          {may.requests === "allowed" ? (
            <Link className="sp-link" to="/requests">
              {requestWords.toList}
            </Link>
          ) : null}
          <CopyButton label={words.common.copyLink} text={() => location.href} />
        </>
      }
    >
      <QueryView query={query} service="pdp" rows={6}>
        {(reply) => <RequestView reply={reply} />}
      </QueryView>
    </Page>
  );
};

export const RequestPage = (): ReactElement => <RequestById id={route.useParams().id} />;
