import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DecisionRecord, Remedy } from "#contract/decisions.ts";
import { useSession } from "../../session/session-context.ts";
import { useStepUp } from "../../session/step-up-dialog.tsx";
import { useScreens } from "../../shell/use-screen.ts";
import { words } from "../../strings/en.ts";
import { whyWords } from "../../strings/why.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/panel.tsx";
import { wayOutOf } from "./way-out.ts";

type Change = Remedy["changes"][number];

const Way = ({ step, record }: { readonly step: Change["steps"][number]; readonly record: DecisionRecord }): ReactElement | null => {
  const { subject } = useSession();
  const may = useScreens();
  const askStepUp = useStepUp();
  const way = wayOutOf(step, record, subject.id);
  if (way === undefined) return null;
  if (way.kind === "sign_in")
    return (
      <Button leftSection={<Icon name="key" />} onClick={() => askStepUp({ acrValues: "strong", maxAge: 300 })}>
        {whyWords.signInAgain}
      </Button>
    );
  if (may.delegations !== "allowed") return null;
  if (way.kind === "draft")
    return (
      <Link
        className="sp-link"
        to="/delegations/new"
        search={{ agent: way.agentId, ...(way.tool === undefined ? {} : { tool: way.tool }) }}
      >
        {whyWords.openDraft}
      </Link>
    );
  return (
    <Link className="sp-link" to="/delegations/$id" params={{ id: way.id }}>
      {whyWords.openDelegation}
    </Link>
  );
};

const ChangeCard = ({ change, record }: { readonly change: Change; readonly record: DecisionRecord }): ReactElement => (
  <li className="sp-remedy">
    {change.steps.map((step) => (
      <div key={`${step.kind} ${step.text}`} className="sp-stack">
        <div>
          <Foreign text={step.text} />
        </div>
        {step.edge === undefined ? null : (
          <div className="sp-small">
            <Foreign text={`${step.edge.from} ${step.edge.kind} ${step.edge.to}`} isCode />
          </div>
        )}
        <div className="sp-list-row sp-small">
          <span className="sp-dim">{words.common.named(whyWords.whoCan)}</span>
          <Foreign text={step.who_can.length === 0 ? words.common.unknown : step.who_can.join(", ")} />
        </div>
        <Way step={step} record={record} />
      </div>
    ))}
    <div className="sp-small sp-dim">
      {whyWords.alsoAllows(change.also_allows, change.also_allows_more === true)}
      {change.sample.length === 0 ? null : (
        <>
          {" "}
          <Foreign text={change.sample.join(", ")} isCode />
        </>
      )}
    </div>
  </li>
);

const isOfAnotherPoint = (record: DecisionRecord): boolean => record.policy_version?.startsWith("remote:") === true;

/** The cheapest changes that would allow it: who may make each, and what else it would open. */
export const RemedyPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement => {
  const { remedy } = record;
  if (remedy === undefined)
    return (
      <Panel title={whyWords.remedyTitle}>
        <p className="sp-dim">{isOfAnotherPoint(record) ? whyWords.remedyElsewhere : whyWords.remedyHidden}</p>
      </Panel>
    );
  return (
    <Panel title={whyWords.remedyTitle}>
      <div className="sp-stack">
        {remedy.changes.length === 0 ? (
          <p className="sp-dim">{whyWords.remedyNone}</p>
        ) : (
          <ul className="sp-list">
            {remedy.changes.map((change) => (
              <ChangeCard key={JSON.stringify(change.steps)} change={change} record={record} />
            ))}
          </ul>
        )}
        {remedy.blocked_by.length === 0 ? null : (
          <p>
            <span className="sp-dim">{words.common.named(whyWords.blockedBy)}</span>
            <Foreign text={remedy.blocked_by.join(", ")} isCode />
          </p>
        )}
        {remedy.complete ? null : <p className="sp-small sp-dim">{whyWords.remedyIncomplete}</p>}
      </div>
    </Panel>
  );
};
