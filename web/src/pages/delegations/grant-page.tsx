import { Button } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";
import { useCans } from "../../decisions/use-cans.ts";
import { useDraft } from "../../session/use-draft.ts";
import { grantWords } from "../../strings/grant.ts";
import { Icon } from "../../ui/icon.tsx";
import { Page } from "../../ui/page.tsx";
import { AgentStep } from "./agent-step.tsx";
import { CheckStep } from "./check-step.tsx";
import { emptyForm, furthestStep, grantForm, steps, type GrantForm, type Step } from "./grant-draft.ts";
import { LimitsStep } from "./limits-step.tsx";
import type { StepProps } from "./step-props.ts";
import { Steps } from "../../ui/steps.tsx";
import { ToolsStep } from "./tools-step.tsx";

const route = getRouteApi("/delegations/new");

const shape = { read: (kept: unknown): GrantForm | undefined => grantForm.safeParse(kept).data };

/** Delegate to an agent, in four steps that are each in the address. Nothing is granted before the last. */
export const GrantPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [initial] = useState<GrantForm>(() => ({
    ...emptyForm(new Date()),
    agentId: search.agent ?? "",
    tools: search.tool === undefined ? [] : [search.tool],
  }));
  const draft = useDraft("grant", initial, shape);
  const form = draft.value;
  const [mayChosen] = useCans(form.agentId === "" ? [] : [{ type: "delegations", id: form.agentId, action: "create" }]);
  // An agent may stand in the address or in a draft that is not, or no longer, this person's.
  const reached = mayChosen === "denied" ? "agent" : furthestStep(form, new Date());
  const asked = steps.find((step) => step === search.step) ?? "agent";
  const step: Step = steps.indexOf(asked) <= steps.indexOf(reached) ? asked : reached;
  const go = (to: Step): void => void navigate({ to: "/delegations/new", search: { step: to } });

  useEffect(() => {
    // A draft opened from elsewhere with an agent of its own wins over one that was left half-filled for another agent.
    if (search.agent !== undefined && search.agent !== form.agentId)
      draft.change({ ...form, agentId: search.agent, tools: search.tool === undefined ? [] : [search.tool] });
    // Only when the address changes.
  }, [search.agent, search.tool]);

  const at = steps.indexOf(step);
  const next = steps[at + 1];
  const before = steps[at - 1];
  const props: StepProps = {
    form,
    onChange: draft.change,
    onNext: () => (next === undefined ? undefined : go(next)),
    onBack: before && (() => go(before)),
  };
  return (
    <Page
      title={grantWords.title}
      lead={grantWords.lead}
      actions={
        <Button
          variant="default"
          onClick={() => {
            draft.forget();
            void navigate({ to: "/delegations/new", search: {} });
          }}
        >
          {grantWords.discard}
        </Button>
      }
    >
      {draft.wasRestored ? (
        <div className="sp-notice" role="status">
          <Icon name="refresh" />
          {grantWords.restored}
        </div>
      ) : null}
      <Steps steps={steps} labels={grantWords.steps} current={step} reached={reached} onGo={go}>
        {step === "agent" ? <AgentStep {...props} /> : null}
        {step === "tools" ? <ToolsStep {...props} /> : null}
        {step === "limits" ? <LimitsStep {...props} /> : null}
        {step === "check" ? <CheckStep {...props} onCreated={draft.forget} /> : null}
      </Steps>
    </Page>
  );
};
