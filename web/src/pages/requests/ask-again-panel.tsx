import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { askAgain } from "../../api/access-requests.ts";
import { useClient } from "../../api/client-context.ts";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { requestWords } from "../../strings/requests.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RequestForm } from "./request-form.tsx";

const text = requestWords.form;

/** The way from one's own denial to a request: the question is put again, since only a fresh denial can be asked to be lifted. */
export const AskAgainPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement | null => {
  const client = useClient();
  const { subject } = useSession();
  const { type, id } = record.resource;
  const asking = useMutation({
    mutationFn: async () => (id === undefined ? undefined : await askAgain(client, subject.id, record.action, { type, id })),
  });
  const found = asking.data;
  return (
    <Panel title={text.title}>
      <div className="sp-stack">
        <p className="sp-dim">{text.lead}</p>
        {found?.kind === "requestable" ? <RequestForm requestable={found.requestable} /> : null}
        {found?.kind === "allowed" ? <p role="status">{text.allowedNow}</p> : null}
        {found?.kind === "denied" ? (
          <p role="status">
            {text.notNow(
              found.reason === undefined || found.reason === "approval_required"
                ? text.elsewhere
                : (words.reasons[found.reason] ?? found.reason),
            )}
          </p>
        ) : null}
        {asking.isError ? <Failure error={asking.error} /> : null}
        {found === undefined ? (
          <div>
            <ActButton isBusy={asking.isPending} onClick={() => asking.mutate()}>
              {text.open}
            </ActButton>
          </div>
        ) : null}
      </div>
    </Panel>
  );
};
