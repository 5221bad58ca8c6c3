import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { whyWords } from "../../strings/why.ts";
import { Verdict } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Rows } from "../../ui/rows.tsx";

/** `file:line`, where it is known. */
export const sourceText = (source: { readonly file?: string | undefined; readonly line?: number | undefined } | undefined): string => {
  if (source?.file === undefined) return "";
  return source.line === undefined ? source.file : `${source.file}:${source.line}`;
};

/** The checks in the order in which they were made. */
export const ChecksPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement | null =>
  record.checks === undefined ? null : (
    <Panel title={whyWords.checks}>
      <Rows
        caption={whyWords.checks}
        rows={record.checks}
        keyOf={(check) => check.name}
        columns={[
          { key: "name", title: whyWords.check, cell: (check) => whyWords.checkNames[check.name] ?? check.name },
          { key: "outcome", title: whyWords.outcome, cell: (check) => <Verdict of={check.outcome} /> },
          { key: "input", title: whyWords.input, wraps: true, cell: ({ input }) => input && <Foreign text={input} isCode /> },
          { key: "source", title: whyWords.source, cell: ({ source }) => source && <Foreign text={sourceText(source)} isCode /> },
        ]}
      />
    </Panel>
  );
