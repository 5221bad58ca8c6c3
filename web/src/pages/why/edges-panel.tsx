import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { whyWords } from "../../strings/why.ts";
import { Chip } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Rows } from "../../ui/rows.tsx";

/** The same as the drawing, as a table: every edge that was looked for, there or missing. */
export const EdgesPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement | null =>
  record.edges === undefined || record.edges.length === 0 ? null : (
    <Panel title={whyWords.edges}>
      <Rows
        caption={whyWords.edges}
        rows={record.edges}
        keyOf={(edge) => `${edge.kind} ${edge.from} ${edge.to} ${edge.id ?? ""}`}
        columns={[
          { key: "kind", title: whyWords.edgeKind, cell: (edge) => <Foreign text={edge.kind} isCode /> },
          { key: "from", title: whyWords.edgeFrom, cell: (edge) => <Foreign text={edge.from} isCode /> },
          { key: "to", title: whyWords.edgeTo, cell: (edge) => <Foreign text={edge.to} isCode /> },
          {
            key: "state",
            title: whyWords.edgeState,
            cell: (edge) =>
              edge.present ? (
                <Chip tone="allow" icon="check" text={whyWords.present} />
              ) : (
                <Chip tone="deny" icon="cross" text={whyWords.missing} />
              ),
          },
        ]}
      />
    </Panel>
  );
