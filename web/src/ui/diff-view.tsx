import { useMemo, type ReactElement } from "react";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { diffLines, type DiffLine } from "./line-diff.ts";

const signs = { same: " ", added: "+", removed: "-", gap: "\u22ef" } as const;

const Line = ({ line: { kind, text } }: { readonly line: DiffLine }): ReactElement => {
  const shown = `${signs[kind]} ${visibleText(text)}\n`;
  if (kind === "added") return <ins>{shown}</ins>;
  return kind === "removed" ? <del>{shown}</del> : <span className={kind === "gap" ? "sp-dim" : undefined}>{shown}</span>;
};

/** Two texts line by line: what went and what came, by sign and colour. */
export const DiffView = ({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}): ReactElement => {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  if (lines.length === 0) return <p className="sp-dim">{words.common.sameText}</p>;
  return (
    <pre className="sp-code sp-diff" tabIndex={0} role="group" aria-label={label}>
      {lines.map((line, at) => (
        <Line key={at} line={line} />
      ))}
    </pre>
  );
};
