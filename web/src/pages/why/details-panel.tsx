import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { words } from "../../strings/en.ts";
import { formatCount, formatMoment } from "../../strings/format.ts";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Tree } from "../../ui/tree.tsx";
import { resourceText } from "./verdict-of.ts";

const shadowText = ({ shadow }: DecisionRecord): string | undefined => {
  if (shadow === undefined) return undefined;
  const { policy_version: version, decision, reason = words.why.denied } = shadow;
  return decision ? words.why.shadowAllowed(version) : words.why.shadowDenied(version, reason);
};

const rowsOf = (record: DecisionRecord): readonly (readonly [string, string | undefined])[] => [
  [words.why.decidedAt, formatMoment(record.decided_at)],
  [words.why.subject, record.subject?.id],
  [words.why.agent, record.agent?.id],
  [words.why.action, record.action],
  [words.why.resource, resourceText(record.resource)],
  [words.why.reason, record.reason],
  [words.why.correlation, record.correlation_id],
  [words.why.policyVersion, record.policy_version],
  [words.why.graphVersion, record.graph_version === undefined ? undefined : formatCount(record.graph_version)],
  [words.why.pep, record.pep],
  [words.why.cached, record.cached === undefined ? undefined : record.cached ? words.common.yes : words.common.no],
  [words.why.shadow, shadowText(record)],
  [words.why.latency, record.latency_ms === undefined ? undefined : `${formatCount(record.latency_ms)} ms`],
];

/** Everything else that the viewer may see of the record. */
export const DetailsPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement => (
  <Panel title={words.why.details}>
    <div className="sp-stack">
      <FactList>
        {rowsOf(record).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value === undefined ? undefined : <Foreign text={value} isCode />}
          </Fact>
        ))}
      </FactList>
      {record.errors === undefined || record.errors.length === 0 ? null : (
        <>
          <h3>{words.why.errors}</h3>
          <Tree value={record.errors} />
        </>
      )}
      {record.obligations === undefined || record.obligations.length === 0 ? null : (
        <>
          <h3>{words.why.obligations}</h3>
          <Tree value={record.obligations} />
        </>
      )}
      {record.inputs === undefined ? null : (
        <details>
          <summary>{words.why.inputs}</summary>
          <Tree value={record.inputs} />
        </details>
      )}
      {record.facts === undefined ? null : (
        <details>
          <summary>{words.why.facts}</summary>
          <Tree value={record.facts} />
        </details>
      )}
    </div>
  </Panel>
);
