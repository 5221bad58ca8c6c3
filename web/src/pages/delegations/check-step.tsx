import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { notifications } from "@mantine/notifications";
import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState, type ReactElement } from "react";
import { createDelegation, whatIfDelegation } from "#contract/delegations.ts";
import { hasCode } from "../../model/gateway-error.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { grantWords } from "../../strings/grant.ts";
import { formatMoney, formatMoment, visibleText } from "../../strings/format.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Icon } from "../../ui/icon.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { draftOf } from "./grant-draft.ts";
import type { StepProps } from "./step-props.ts";
import { StepForm } from "../../ui/step-form.tsx";
import { WhatIfView } from "./what-if-view.tsx";

/** What the delegation adds, by the code that will decide; then the button that grants exactly that. */
export const CheckStep = ({ form, onBack, onCreated }: StepProps & { readonly onCreated: () => void }): ReactElement => {
  const whatIfEndpoint = useEndpoint(whatIfDelegation);
  const create = useEndpoint(createDelegation);
  const queries = useQueryClient();
  const navigate = useNavigate();
  // One key for one draft as it was looked at: pressing twice, or again after a lost answer, creates one delegation.
  const keys = useRef(new Map<string, string>());
  const keyFor = (digest: string): string => {
    const key = keys.current.get(digest) ?? crypto.randomUUID();
    keys.current.set(digest, key);
    return key;
  };
  const [wasStale, setStale] = useState(false);
  const draft = draftOf(form, new Date());
  const whatIf = useQuery({
    queryKey: ["what-if", draft],
    queryFn: async () =>
      draft === undefined ? await Promise.reject(new Error("the draft is not complete")) : await whatIfEndpoint.ask({ body: draft }),
    enabled: draft !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const saving = useMutation({
    mutationFn: async (digest: string) => {
      if (draft === undefined) throw new Error("the draft is not complete");
      return await create.ask({ body: { ...draft, what_if_digest: digest }, headers: { "idempotency-key": keyFor(digest) } });
    },
    onSuccess: async (created) => {
      onCreated();
      notifications.show({ message: grantWords.created(visibleText(created.agent_name ?? created.agent_id)), autoClose: 4_000 });
      await queries.invalidateQueries({ queryKey: ["delegations"] });
      await navigate({ to: "/delegations/$id", params: { id: created.delegation_id } });
    },
    onError: async (error) => {
      if (!hasCode(error, "what_if_stale")) return;
      setStale(true);
      await whatIf.refetch();
    },
  });
  const isUnknown = hasCode(saving.error, "outcome_unknown");
  const showsFailure = saving.isError && !hasCode(saving.error, "what_if_stale");
  const digest = whatIf.data?.what_if_digest;
  return (
    <StepForm
      issues={[]}
      hasTried={false}
      onNext={() => {
        if (digest === undefined || saving.isPending || whatIf.isFetching) return;
        setStale(false);
        saving.mutate(digest);
      }}
      onBack={onBack}
      submit={
        <ActButton type="submit" isBusy={saving.isPending} disabled={digest === undefined || whatIf.isFetching}>
          {grantWords.save}
        </ActButton>
      }
    >
      {draft === undefined ? null : (
        <FactList>
          <TextFact name={grantWords.steps.agent} text={draft.agent_id} isCode />
          <Fact name={grantWords.steps.limits}>
            {words.common.facts(
              delegationWords.stepCount(draft.max_steps),
              formatMoney(draft.budget_usd),
              draft.expires_at === undefined || draft.expires_at === null ? "" : formatMoment(draft.expires_at),
            )}
          </Fact>
          <TextFact name={grantWords.purpose} text={draft.purpose} />
        </FactList>
      )}
      <p className="sp-dim">{grantWords.checkLead}</p>
      {wasStale ? (
        <div className="sp-notice" role="alert">
          <Icon name="warning" />
          {grantWords.stale}
        </div>
      ) : null}
      <QueryView query={whatIf} service="membership">
        {(value) => <WhatIfView whatIf={value} />}
      </QueryView>
      {showsFailure ? <Failure error={saving.error} /> : null}
      {isUnknown ? (
        <p>
          {grantWords.outcomeUnknown}{" "}
          <Link className="sp-link" to="/delegations">
            {grantWords.toList}
          </Link>
        </p>
      ) : null}
    </StepForm>
  );
};
