import type { ReactElement } from "react";
import { visibleText } from "../../strings/format.ts";
import { policyWords } from "../../strings/policies.ts";

export interface FileRow {
  readonly path: string;
  /** A word on what became of it, e.g. "changed". */
  readonly note?: string | undefined;
}

/** The files of a version, those in a folder after those beside it; one is open. */
export const FileList = ({
  files,
  open,
  onOpen,
}: {
  readonly files: readonly FileRow[];
  readonly open: string | undefined;
  readonly onOpen: (path: string) => void;
}): ReactElement => (
  <nav aria-label={policyWords.oneVersion.files}>
    <ul className="sp-file-list">
      {files
        .toSorted((a, b) => a.path.split("/").length - b.path.split("/").length || a.path.localeCompare(b.path))
        .map(({ path, note }) => (
          <li key={path}>
            <button type="button" aria-current={path === open ? "true" : undefined} onClick={() => onOpen(path)}>
              <span className="sp-mono">{visibleText(path.replace(/^policies\//, ""))}</span>
              {note === undefined ? null : <span className="sp-small sp-dim">{note}</span>}
            </button>
          </li>
        ))}
    </ul>
  </nav>
);
