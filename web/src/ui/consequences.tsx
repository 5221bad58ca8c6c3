import type { ReactElement, ReactNode } from "react";
import { words } from "../strings/en.ts";
import { formatClock } from "../strings/format.ts";
import { Chip, type ChipProps } from "./chip.tsx";
import { Rows, type Column } from "./rows.tsx";

/** What an act changes for one thing. */
export interface Change {
  readonly key: string;
  readonly what: ReactNode;
  readonly now: ReactNode;
  readonly after: ReactNode;
}

const columns: readonly Column<Change>[] = (["what", "now", "after"] as const).map((key) => ({
  key,
  title: words.acts[key],
  wraps: true,
  cell: (change) => change[key],
}));

/** What an act changes, as the server computed it at that moment: counts, then each thing now and after. */
export const Consequences = ({
  summary,
  changes,
  readAt,
}: {
  readonly summary: readonly ChipProps[];
  readonly changes: readonly Change[];
  readonly readAt: Date;
}): ReactElement => (
  <div className="sp-stack">
    <div className="sp-actions">
      {summary.map((chip) => (
        <Chip key={chip.text} {...chip} />
      ))}
      <span className="sp-small sp-dim">{words.acts.read(formatClock(readAt))}</span>
    </div>
    {changes.length === 0 ? null : <Rows caption={words.acts.changes} columns={columns} rows={changes} keyOf={({ key }) => key} />}
  </div>
);
