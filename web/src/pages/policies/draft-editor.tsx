import { Button, TextInput } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { visibleText } from "../../strings/format.ts";
import { policyWords } from "../../strings/policies.ts";
import { isPolicyPath, pathsOf, fileStateOf, withText, withoutChange, withoutFile, type PolicyDraft } from "./draft-files.ts";
import { FileList } from "./file-list.tsx";
import { SourceEditor, type Mark } from "../../ui/source-editor.tsx";

const text = policyWords.draft;
const notes = { same: undefined, changed: text.changed, added: text.added, removed: text.removed } as const;

const NewFile = ({ known, onAdd }: { readonly known: readonly string[]; readonly onAdd: (path: string) => void }): ReactElement => {
  const [path, setPath] = useState("");
  const [issue, setIssue] = useState<string>();
  const add = (): void => {
    const name = path.trim();
    const found = !isPolicyPath(name) ? text.newFileIssue : known.includes(name) ? text.newFileKnown : undefined;
    setIssue(found);
    if (found !== undefined) return;
    setPath("");
    onAdd(name);
  };
  return (
    <div className="sp-stack">
      <TextInput
        label={text.newFile}
        description={text.newFileHint}
        value={path}
        error={issue}
        onChange={(event) => setPath(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
          event.preventDefault();
          add();
        }}
      />
      <div>
        <Button variant="default" onClick={add}>
          {text.add}
        </Button>
      </div>
    </div>
  );
};

export interface DraftEditorProps {
  readonly base: Readonly<Record<string, string>>;
  readonly draft: PolicyDraft;
  readonly open: string | undefined;
  /** Issues of the open file. */
  readonly marks: readonly Mark[];
  readonly jumpTo: Mark | undefined;
  readonly onOpen: (path: string) => void;
  readonly onChange: (draft: PolicyDraft) => void;
}

/** The files of a version with unsaved changes over them; one is open for writing. */
export const DraftEditor = ({ base, draft, open, marks, jumpTo, onOpen, onChange }: DraftEditorProps): ReactElement => {
  const paths = pathsOf(base, draft);
  const state = open === undefined ? "same" : fileStateOf(open, base, draft.files);
  return (
    <div className="sp-files">
      <div className="sp-stack">
        <FileList files={paths.map((path) => ({ path, note: notes[fileStateOf(path, base, draft.files)] }))} open={open} onOpen={onOpen} />
        <NewFile
          known={paths}
          onAdd={(path) => {
            onChange(withText(base, draft, path, ""));
            onOpen(path);
          }}
        />
      </div>
      {open === undefined ? null : (
        <div className="sp-stack">
          {state === "removed" ? (
            <div className="sp-notice">{text.removed}</div>
          ) : (
            <SourceEditor
              key={open}
              label={text.editorOf(visibleText(open))}
              path={open}
              text={draft.files[open] ?? base[open] ?? ""}
              marks={marks}
              jumpTo={jumpTo}
              onChange={(changed) => onChange(withText(base, draft, open, changed))}
            />
          )}
          <div className="sp-actions">
            {state === "removed" ? null : (
              <Button variant="default" onClick={() => onChange(withoutFile(base, draft, open))}>
                {text.remove}
              </Button>
            )}
            {state === "changed" || state === "removed" ? (
              <Button variant="default" onClick={() => onChange(withoutChange(draft, open))}>
                {text.restore}
              </Button>
            ) : null}
          </div>
        </div>
      )}
    </div>
  );
};
