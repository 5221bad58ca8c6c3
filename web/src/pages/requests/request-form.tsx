import { Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactElement } from "react";
import { createAccessRequest } from "#contract/access-requests.ts";
import { REQUESTS, type Requestable } from "../../api/access-requests.ts";
import { GatewayError, memberOf } from "../../model/gateway-error.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { requestWords } from "../../strings/requests.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Foreign } from "../../ui/foreign.tsx";

const text = requestWords.form;

const RequestLink = ({ id, label }: { readonly id: string; readonly label: string }): ReactElement => (
  <Link className="sp-link" to="/requests/$id" params={{ id }}>
    {label}
  </Link>
);

/** Asks that one denial be lifted: what it would open and who answers is the server's to say, why is the person's. */
export const RequestForm = ({ requestable }: { readonly requestable: Requestable }): ReactElement => {
  const create = useEndpoint(createAccessRequest);
  const queries = useQueryClient();
  const [why, setWhy] = useState("");
  const [key] = useState(() => crypto.randomUUID());
  const sending = useMutation({
    // The same key never asks twice.
    mutationFn: async () =>
      await create.ask({
        body: { ...requestable.denial, justification: why.trim() || undefined },
        headers: { "idempotency-key": key },
      }),
    onSettled: async () => await queries.invalidateQueries({ queryKey: [REQUESTS] }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!sending.isPending) sending.mutate();
  };
  if (sending.data !== undefined)
    return (
      <p role="status">
        {text.sent} <RequestLink id={sending.data.task.id} label={text.openRequest} />
      </p>
    );
  const failure = sending.error instanceof GatewayError ? sending.error : undefined;
  const existing = failure === undefined ? undefined : memberOf(failure, "request_id");
  return (
    <form className="sp-stack" onSubmit={submit} noValidate>
      <div>
        <strong>
          <Foreign text={requestable.display.title} />
        </strong>
        <p>
          <Foreign text={requestable.display.message} />
        </p>
      </div>
      <Textarea
        label={text.why}
        description={text.whyHint}
        rows={2}
        maxLength={1000}
        value={why}
        onChange={(event) => setWhy(event.currentTarget.value)}
      />
      {sending.isError ? <Failure error={sending.error} /> : null}
      {failure?.problem.code === "outcome_unknown" ? <p>{text.unknown}</p> : null}
      {existing === undefined ? null : (
        <p>
          <RequestLink id={existing} label={text.openExisting} />
        </p>
      )}
      <div>
        <ActButton type="submit" isBusy={sending.isPending}>
          {text.send}
        </ActButton>
      </div>
    </form>
  );
};
