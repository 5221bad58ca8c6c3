import { lazyRouteComponent } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ToolExplanation } from "#contract/tools.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { Chip, Verdict } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Late } from "../../ui/late.tsx";
import { DecisionLink } from "../../ui/links.tsx";
import { Rows } from "../../ui/rows.tsx";
import type { ExplainFor } from "./check-for.ts";

const MissingSteps = lazyRouteComponent(async () => await import("./missing-steps.tsx"), "MissingSteps");

type Step = ToolExplanation["steps"][number];

/** Whether an earlier check failed for the same reason, so that all of it stands there. */
const isSaid = (step: Step, steps: readonly Step[]): boolean =>
  step.outcome === "fail" &&
  steps.slice(0, steps.indexOf(step)).some(({ outcome, reason }) => outcome === "fail" && reason === step.reason);

/** Nothing at all where a check has nothing to say: a card shows no title of what is empty. */
const Because = ({ step, isAgain }: { readonly step: Step; readonly isAgain: boolean }): ReactElement => (
  <>
    {step.reason === undefined ? null : isAgain ? toolWords.asAbove : <Foreign text={words.reasons[step.reason] ?? step.reason} />}
    {step.edge === undefined ? null : (
      <div className="sp-small">
        <Foreign text={`${step.edge.from} ${step.edge.kind} ${step.edge.to}`} isCode />
      </div>
    )}
    {step.policy_id === undefined ? null : (
      <div className="sp-small">
        <Foreign text={step.policy_id} isCode />
      </div>
    )}
    {step.decision_id === undefined ? null : (
      <div className="sp-small">
        <DecisionLink id={step.decision_id} />
      </div>
    )}
  </>
);

const callableIcon = {
  yes: { tone: "allow", icon: "check" },
  no: { tone: "deny", icon: "cross" },
  depends: { tone: "stepup", icon: "question" },
} as const;

/** The checks of a call in their order: which let it through, which do not, and the way out. */
export const ExplanationView = ({
  explanation,
  asked = {},
  onDone,
}: {
  readonly explanation: ToolExplanation;
  /** For whom it was asked. */
  readonly asked?: ExplainFor;
  /** A missing step was done: what stands here is of before. */
  readonly onDone: () => void;
}): ReactElement => (
  <div className="sp-stack">
    <div className="sp-actions">
      <Chip {...callableIcon[explanation.callable]} text={toolWords.callable[explanation.callable]} />
      <span className="sp-dim">{explanation.listed ? toolWords.listed : toolWords.notListed}</span>
    </div>
    {explanation.missing.length === 0 ? null : (
      <Late>
        <MissingSteps explanation={explanation} asked={asked} onDone={onDone} />
      </Late>
    )}
    <Rows
      caption={toolWords.checkTitle}
      rows={explanation.steps}
      keyOf={(step) => step.step}
      columns={[
        { key: "step", title: toolWords.step, cell: (step) => <Foreign text={step.step} /> },
        { key: "outcome", title: toolWords.outcome, cell: (step) => <Verdict of={step.outcome} /> },
        {
          key: "because",
          title: toolWords.because,
          wraps: true,
          cell: (step) => <Because step={step} isAgain={isSaid(step, explanation.steps)} />,
        },
        {
          key: "remedy",
          title: toolWords.remedy,
          wraps: true,
          cell: (step) => (step.remedy === undefined || isSaid(step, explanation.steps) ? null : <Foreign text={step.remedy} />),
        },
      ]}
    />
  </div>
);
