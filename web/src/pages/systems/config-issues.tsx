import type { ReactElement } from "react";
import type { ConfigIssue } from "../../api/systems.ts";
import { words } from "../../strings/en.ts";
import { systemWords } from "../../strings/systems.ts";
import { Foreign } from "../../ui/foreign.tsx";
import type { Mark } from "../../ui/source-editor.tsx";

const text = systemWords.report;

/** Where in the editor an issue is; of a file that the document refers to nowhere. */
export const markOf = ({ line, column }: ConfigIssue): Mark | undefined => (line === undefined ? undefined : { line, column });

/** Issues of a document. With `onGo` each leads to its line. */
export const ConfigIssues = ({
  issues,
  onGo,
}: {
  readonly issues: readonly ConfigIssue[];
  readonly onGo?: (mark: Mark) => void;
}): ReactElement => (
  <ul className="sp-issue-list">
    {issues.map((issue, at) => {
      const mark = markOf(issue);
      const place = mark === undefined ? issue.path : text.at(mark.line, mark.column);
      return (
        <li key={`${at} ${issue.path}`}>
          {mark === undefined || onGo === undefined ? (
            <Foreign text={place} isCode />
          ) : (
            <button type="button" className="sp-text-button sp-mono" onClick={() => onGo(mark)}>
              {place}
            </button>
          )}{" "}
          <Foreign text={issue.message} />
          {issue.hint === undefined ? null : (
            <div className="sp-small sp-dim">
              {words.common.named(text.hint)}
              <Foreign text={issue.hint} />
            </div>
          )}
        </li>
      );
    })}
  </ul>
);
