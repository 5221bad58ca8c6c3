import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DifferenceClass } from "#contract/replay.ts";
import { words } from "../../strings/en.ts";
import { formatCount } from "../../strings/format.ts";
import { policyWords } from "../../strings/policies.ts";
import { Verdict } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Moment, Rows } from "../../ui/rows.tsx";

type Side = DifferenceClass["active"];

/** Newly allowed first: that is where a hole would be; then by how often. */
const byDanger = (a: DifferenceClass, b: DifferenceClass): number => {
  const rank = ({ active, other }: DifferenceClass): number =>
    !active.decision && other.decision ? 0 : active.decision === other.decision ? 2 : 1;
  return rank(a) - rank(b) || b.count - a.count;
};

const SideView = ({ side }: { readonly side: Side }): ReactElement => (
  <span className="sp-list-row">
    <Verdict of={side.decision ? "allow" : "deny"} />
    {side.reason === undefined ? null : <Foreign text={words.reasons[side.reason] ?? side.reason} />}
    {side.obligations.length === 0 ? null : <Foreign text={side.obligations.join(", ")} isCode />}
    <span className="sp-small sp-dim">
      <Foreign text={side.policies.join(", ")} isCode />
    </span>
  </span>
);

const Sample = ({ sample }: { readonly sample: NonNullable<DifferenceClass["sample"]>[number] }): ReactElement => {
  const text = [sample.subject, sample.agent, sample.resource_id].filter((part) => part !== undefined).join(" ");
  if (sample.decision_id === undefined) return <Foreign text={text} isCode />;
  return (
    <Link className="sp-link sp-mono" to="/why/$decisionId" params={{ decisionId: sample.decision_id }}>
      <Foreign text={text} isCode />
    </Link>
  );
};

const keyOf = (kind: DifferenceClass): string => JSON.stringify([kind.resource_type, kind.action, kind.active, kind.other]);

/** Decisions that would fall otherwise, by kind, those newly allowed first. */
export const ClassList = ({
  caption,
  classes,
}: {
  readonly caption: string;
  readonly classes: readonly DifferenceClass[];
}): ReactElement => (
  <Rows
    caption={caption}
    rows={classes.toSorted(byDanger)}
    keyOf={keyOf}
    columns={[
      {
        key: "what",
        title: policyWords.classes.what,
        cell: (kind) => <Foreign text={`${kind.resource_type}: ${kind.action}`} isCode />,
      },
      { key: "active", title: policyWords.classes.active, wraps: true, cell: (kind) => <SideView side={kind.active} /> },
      { key: "other", title: policyWords.classes.other, wraps: true, cell: (kind) => <SideView side={kind.other} /> },
      { key: "count", title: policyWords.classes.count, isNumber: true, cell: (kind) => formatCount(kind.count) },
      {
        key: "who",
        title: policyWords.classes.who,
        wraps: true,
        cell: (kind) =>
          kind.sample === undefined ? (
            <span className="sp-dim">{policyWords.classes.whoHidden}</span>
          ) : (
            <ul className="sp-list">
              {kind.sample.map((sample) => (
                <li key={JSON.stringify(sample)}>
                  <Sample sample={sample} />
                </li>
              ))}
            </ul>
          ),
      },
      { key: "last", title: policyWords.classes.last, cell: (kind) => <Moment at={kind.last_seen} /> },
    ]}
  />
);
