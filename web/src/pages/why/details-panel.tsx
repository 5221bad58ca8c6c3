import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { words } from "../../strings/en.ts";
import { whyWords } from "../../strings/why.ts";
import { formatCount, formatMoment } from "../../strings/format.ts";
import { FactList, TextFact } from "../../ui/fact-list.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Tree } from "../../ui/tree.tsx";
import { resourceText } from "./verdict-of.ts";

const shadowText = ({ shadow }: DecisionRecord): string | undefined => {
  if (shadow === undefined) return undefined;
  const { policy_version: version, decision, reason = whyWords.denied } = shadow;
  return decision ? whyWords.shadowAllowed(version) : whyWords.shadowDenied(version, reason);
};

const rowsOf = (record: DecisionRecord): readonly (readonly [string, string | undefined])[] => [
  [whyWords.decidedAt, formatMoment(record.decided_at)],
  [whyWords.subject, record.subject?.id],
  [whyWords.agent, record.agent?.id],
  [whyWords.action, record.action],
  [whyWords.resource, resourceText(record.resource)],
  [whyWords.reason, record.reason],
  [whyWords.correlation, record.correlation_id],
  [whyWords.policyVersion, record.policy_version],
  [whyWords.graphVersion, record.graph_version === undefined ? undefined : formatCount(record.graph_version)],
  [whyWords.pep, record.pep],
  [whyWords.cached, record.cached === undefined ? undefined : record.cached ? words.common.yes : words.common.no],
  [whyWords.shadow, shadowText(record)],
  [whyWords.latency, record.latency_ms === undefined ? undefined : `${formatCount(record.latency_ms)} ms`],
];

/** Everything else that the viewer may see of the record. */
export const DetailsPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement => (
  <Panel title={whyWords.details}>
    <div className="sp-stack">
      <FactList>
        {rowsOf(record).map(([name, value]) => (
          <TextFact key={name} name={name} text={value} isCode />
        ))}
      </FactList>
      {record.errors === undefined || record.errors.length === 0 ? null : (
        <>
          <h3>{whyWords.errors}</h3>
          <Tree value={record.errors} />
        </>
      )}
      {record.obligations === undefined || record.obligations.length === 0 ? null : (
        <>
          <h3>{whyWords.obligations}</h3>
          <Tree value={record.obligations} />
        </>
      )}
      {record.inputs === undefined ? null : (
        <details>
          <summary>{whyWords.inputs}</summary>
          <Tree value={record.inputs} />
        </details>
      )}
      {record.facts === undefined ? null : (
        <details>
          <summary>{whyWords.facts}</summary>
          <Tree value={record.facts} />
        </details>
      )}
    </div>
  </Panel>
);
