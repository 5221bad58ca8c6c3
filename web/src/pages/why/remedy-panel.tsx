import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DecisionRecord, Remedy } from "#contract/decisions.ts";
import { useCan } from "../../decisions/use-can.ts";
import { useSession } from "../../session/session-context.ts";
import { useStepUp } from "../../ui/step-up-provider.tsx";
import { useScreens } from "../../shell/use-screen.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { whyWords } from "../../strings/why.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Who } from "../../ui/who.tsx";
import { ASK_PANEL } from "../requests/asked-for-here.ts";
import { wayOutOf } from "./way-out.ts";

type Change = Remedy["changes"][number];

/** A link to where a delegation is given, for who may give it; for everybody else what they lack. */
const Grant = ({ agentId, children }: { readonly agentId: string; readonly children: ReactElement }): ReactElement | null => {
  const may = useScreens();
  const can = useCan({ type: "delegations", id: agentId, action: "create" });
  if (can === "pending" || may.delegations === "pending") return null;
  return can === "allowed" && may.delegations === "allowed" ? children : <span className="sp-dim sp-small">{whyWords.notYetYours}</span>;
};

const Draft = ({
  way,
  text,
}: {
  readonly way: { readonly agentId: string; readonly tool: string | undefined };
  readonly text: string;
}): ReactElement => (
  <Link className="sp-link" to="/delegations/new" search={{ agent: way.agentId, tool: way.tool }}>
    {text}
  </Link>
);

interface WayProps {
  readonly step: Change["steps"][number];
  readonly record: DecisionRecord;
  /** No other step stands before it. */
  readonly isFirst: boolean;
}

const nameIn = (record: DecisionRecord, id: string): string | undefined =>
  [record.subject, record.agent].find((one) => one?.id === id)?.name;

const Way = ({ step, record, isFirst }: WayProps): ReactElement | null => {
  const { subject } = useSession();
  const askStepUp = useStepUp();
  const way = wayOutOf(step, record, subject.id, isFirst);
  const names = step.who_can.map((id) => visibleText(nameIn(record, id) ?? id)).join(", ");
  switch (way?.kind) {
    case undefined:
      return names === "" ? null : <span className="sp-dim sp-small">{whyWords.notYours(names)}</span>;
    case "later":
      return <span className="sp-dim sp-small">{whyWords.notYetYours}</span>;
    case "elsewhere":
      return <span className="sp-dim sp-small">{whyWords.elsewhere}</span>;
    case "sign_in":
      return (
        <div>
          <Button leftSection={<Icon name="key" />} onClick={() => askStepUp({ acrValues: "strong", maxAge: 300 })}>
            {whyWords.signInAgain}
          </Button>
        </div>
      );
    case "ask":
      return (
        <a
          className="sp-link"
          href={`#${ASK_PANEL}`}
          onClick={(event) => {
            event.preventDefault();
            document.getElementById(ASK_PANEL)?.querySelector<HTMLElement>("button, textarea")?.focus();
          }}
        >
          {whyWords.askFor}
        </a>
      );
    case "draft":
      return (
        <Grant agentId={way.agentId}>
          <Draft way={way} text={whyWords.openDraft} />
        </Grant>
      );
    case "resume":
      return (
        <Grant agentId={way.agentId}>
          <Link className="sp-link" to="/delegations/$id" params={{ id: way.id }}>
            {whyWords.openDelegation}
          </Link>
        </Grant>
      );
    case "renew":
      return (
        <Grant agentId={way.agentId}>
          <>
            <p className="sp-dim sp-small">{whyWords.renewHint}</p>
            <span className="sp-list-row">
              <Link className="sp-link" to="/delegations/$id" params={{ id: way.id }}>
                {whyWords.openRunOut}
              </Link>
              <Draft way={way} text={whyWords.renew} />
            </span>
          </>
        </Grant>
      );
  }
};

/** Who can make a step, by name where the decision knows it. */
const WhoCan = ({ ids, record }: { readonly ids: readonly string[]; readonly record: DecisionRecord }): ReactElement => {
  const { subject } = useSession();
  if (ids.length === 0) return <span>{whyWords.nobodyCan}</span>;
  return (
    <>{ids.map((id) => (id === subject.id ? <span key={id}>{whyWords.you}</span> : <Who key={id} id={id} name={nameIn(record, id)} />))}</>
  );
};

const ChangeCard = ({ change, record }: { readonly change: Change; readonly record: DecisionRecord }): ReactElement => (
  <li className="sp-remedy">
    <ol className={change.steps.length > 1 ? "sp-remedy-steps" : "sp-list"}>
      {change.steps.map((step, index) => (
        <li key={`${step.kind} ${step.text}`}>
          <div>
            <Foreign text={step.text} />
          </div>
          {step.edge === undefined ? null : (
            <div className="sp-small sp-dim">
              <Foreign text={`${step.edge.from} ${step.edge.kind} ${step.edge.to}`} isCode />
            </div>
          )}
          <div className="sp-list-row sp-small">
            <span className="sp-dim">{words.common.named(whyWords.whoCan)}</span>
            <WhoCan ids={step.who_can} record={record} />
          </div>
          <Way step={step} record={record} isFirst={index === 0} />
        </li>
      ))}
    </ol>
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
