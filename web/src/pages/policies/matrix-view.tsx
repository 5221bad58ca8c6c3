import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { MatrixDifference } from "#contract/rollouts.ts";
import type { ReadMatrix } from "../../api/policies.ts";
import { policyWords } from "../../strings/policies.ts";
import { Chip, type Tone } from "../../ui/chip.tsx";
import { FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import type { IconName } from "../../ui/icon.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows } from "../../ui/rows.tsx";

const cells: Readonly<Record<string, { readonly tone: Tone; readonly icon: IconName }>> = {
  Y: { tone: "allow", icon: "check" },
  S: { tone: "stepup", icon: "key" },
  R: { tone: "stepup", icon: "clock" },
  "-": { tone: "deny", icon: "cross" },
};

const Cell = ({ of }: { readonly of: string }): ReactElement => (
  <Chip {...(cells[of] ?? { tone: "quiet", icon: "question" })} text={policyWords.matrix.cells[of] ?? of} />
);

const Difference = ({ matrix }: { readonly matrix: MatrixDifference }): ReactElement => (
  <div className="sp-stack">
    {matrix.changed.length === 0 ? (
      <p>{policyWords.matrix.none}</p>
    ) : (
      <>
        <p>{policyWords.matrix.count(matrix.changed.length)}</p>
        <Rows
          caption={policyWords.matrix.title}
          rows={matrix.changed}
          keyOf={(change) => `${change.row} ${change.column}`}
          columns={[
            { key: "row", title: policyWords.matrix.row, cell: (change) => <Foreign text={change.row} isCode /> },
            { key: "column", title: policyWords.matrix.column, cell: (change) => <Foreign text={change.column} isCode /> },
            { key: "before", title: policyWords.matrix.before, cell: (change) => <Cell of={change.before} /> },
            { key: "after", title: policyWords.matrix.after, cell: (change) => <Cell of={change.after} /> },
            {
              key: "policies",
              title: policyWords.matrix.policies,
              wraps: true,
              cell: (change) => <Foreign text={change.policies.join(", ")} isCode />,
            },
          ]}
        />
      </>
    )}
    <FactList isSmall>
      <TextFact name={policyWords.matrix.digest} text={matrix.digest} isCode />
    </FactList>
  </div>
);

/** The cells that a version changes, and the digest that says which difference was seen. */
export const MatrixView = ({ query }: { readonly query: UseQueryResult<ReadMatrix> }): ReactElement => (
  <QueryView query={query} service="pdp" rows={3}>
    {({ matrix }) => <Difference matrix={matrix} />}
  </QueryView>
);
