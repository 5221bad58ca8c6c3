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

type Step = ToolExplanation["doors"][number];

/** Whether an earlier door failed for the same reason, so that all of it stands there. */
const isSaid = (door: Step, doors: readonly Step[]): boolean =>
  door.outcome === "fail" &&
  doors.slice(0, doors.indexOf(door)).some(({ outcome, reason }) => outcome === "fail" && reason === door.reason);

/** Nothing at all where a door has nothing to say: a card shows no title of what is empty. */
const Because = ({ door, isAgain }: { readonly door: Step; readonly isAgain: boolean }): ReactElement => (
  <>
    {door.reason === undefined ? null : isAgain ? toolWords.asAbove : <Foreign text={words.reasons[door.reason] ?? door.reason} />}
    {door.edge === undefined ? null : (
      <div className="sp-small">
        <Foreign text={`${door.edge.from} ${door.edge.kind} ${door.edge.to}`} isCode />
      </div>
    )}
    {door.policy_id === undefined ? null : (
      <div className="sp-small">
        <Foreign text={door.policy_id} isCode />
      </div>
    )}
    {door.decision_id === undefined ? null : (
      <div className="sp-small">
        <DecisionLink id={door.decision_id} />
      </div>
    )}
  </>
);

const callableIcon = {
  yes: { tone: "allow", icon: "check" },
  no: { tone: "deny", icon: "cross" },
  depends: { tone: "stepup", icon: "question" },
} as const;

/** The doors of a call in their order: which let it through, which do not, and the way out. */
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
      rows={explanation.doors}
      keyOf={(door) => door.door}
      columns={[
        { key: "door", title: toolWords.door, cell: (door) => <Foreign text={door.door} /> },
        { key: "outcome", title: toolWords.outcome, cell: (door) => <Verdict of={door.outcome} /> },
        {
          key: "because",
          title: toolWords.because,
          wraps: true,
          cell: (door) => <Because door={door} isAgain={isSaid(door, explanation.doors)} />,
        },
        {
          key: "remedy",
          title: toolWords.remedy,
          wraps: true,
          cell: (door) => (door.remedy === undefined || isSaid(door, explanation.doors) ? null : <Foreign text={door.remedy} />),
        },
      ]}
    />
  </div>
);
