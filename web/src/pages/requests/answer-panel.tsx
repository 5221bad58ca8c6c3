import { Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { answerAccessRequest } from "#contract/access-requests.ts";
import { REQUESTS } from "../../api/access-requests.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { requestWords } from "../../strings/requests.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Panel } from "../../ui/panel.tsx";

/** Approve or decline, with a comment. Afterwards the request is read again: whoever was first has answered. */
export const AnswerPanel = ({ id }: { readonly id: string }): ReactElement => {
  const answer = useEndpoint(answerAccessRequest);
  const queries = useQueryClient();
  const [comment, setComment] = useState("");
  const answering = useMutation({
    mutationFn: async (outcome: "approve" | "deny") =>
      await answer.ask({ params: { id }, body: { outcome, comment: comment.trim() || undefined } }),
    onSettled: async () => await queries.invalidateQueries({ queryKey: [REQUESTS] }),
  });
  const isBusy = (outcome: "approve" | "deny"): boolean => answering.isPending && answering.variables === outcome;
  const send = (outcome: "approve" | "deny"): void => {
    if (!answering.isPending) answering.mutate(outcome);
  };
  return (
    <Panel title={requestWords.answerTitle}>
      <div className="sp-stack">
        <p className="sp-dim">{requestWords.answerLead}</p>
        <Textarea
          label={requestWords.commentLabel}
          description={requestWords.commentHint}
          rows={2}
          maxLength={1000}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
        {answering.isError ? <Failure error={answering.error} /> : null}
        <div className="sp-actions">
          <ActButton isBusy={isBusy("approve")} onClick={() => send("approve")}>
            {requestWords.approve}
          </ActButton>
          <ActButton color="red.9" isBusy={isBusy("deny")} onClick={() => send("deny")}>
            {requestWords.deny}
          </ActButton>
        </div>
      </div>
    </Panel>
  );
};
