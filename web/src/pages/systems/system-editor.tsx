import { useMemo, useState, type ReactElement } from "react";
import { systemWords } from "../../strings/systems.ts";
import { Panel } from "../../ui/panel.tsx";
import { SourceEditor, type Mark } from "../../ui/source-editor.tsx";
import { markOf } from "./config-issues.tsx";
import { TryReport, type Tried } from "./try-report.tsx";

/** A system's document to write in, with its issues at their lines, and what publishing it would change. */
export const SystemEditor = ({
  name,
  label,
  text,
  isDraft,
  tried,
  onTried,
  onChange,
}: {
  /** Absent: a new system. */
  readonly name?: string;
  readonly label: string;
  readonly text: string;
  /** Something is written that is not published. */
  readonly isDraft: boolean;
  readonly tried: Tried | undefined;
  readonly onTried: (tried: Tried | undefined) => void;
  /** Absent: for reading only. */
  readonly onChange: ((text: string) => void) | undefined;
}): ReactElement => {
  const [jumpTo, setJumpTo] = useState<Mark>();
  const marks = useMemo(() => (isDraft ? (tried?.written.errors ?? []) : []).flatMap((issue) => markOf(issue) ?? []), [isDraft, tried]);
  return (
    <>
      <Panel title={systemWords.one.document}>
        <SourceEditor
          key={onChange === undefined ? "read" : "write"}
          label={label}
          path="system.yaml"
          text={text}
          marks={marks}
          jumpTo={jumpTo}
          {...(onChange === undefined ? {} : { onChange })}
        />
      </Panel>
      {onChange === undefined ? null : (
        <TryReport name={name} document={isDraft ? text : undefined} onTried={onTried} onGo={(mark) => setJumpTo({ ...mark })} />
      )}
    </>
  );
};
