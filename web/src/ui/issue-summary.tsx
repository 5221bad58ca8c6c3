import { useEffect, useRef, type ReactElement } from "react";
import { grantWords } from "../strings/grant.ts";

export interface SummaryRow {
  /** Id of its field; none: it is of the whole form. */
  readonly field: string | undefined;
  readonly text: string;
}

/** All that is wrong with a form, each with a link to its field. It takes the focus each time that `attempt` is another. */
export const IssueSummary = ({
  issues,
  attempt,
}: {
  readonly issues: readonly SummaryRow[];
  readonly attempt: number;
}): ReactElement | null => {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (attempt > 0) box.current?.focus();
  }, [attempt]);
  if (issues.length === 0) return null;
  return (
    <div ref={box} className="sp-state sp-failure" role="alert" tabIndex={-1}>
      <strong>{grantWords.issuesTitle}</strong>
      <ul className="sp-issue-list">
        {issues.map(({ field, text }) => (
          <li key={`${field} ${text}`}>
            {field === undefined ? (
              text
            ) : (
              <a
                className="sp-link"
                href={`#${field}`}
                onClick={(event) => {
                  event.preventDefault();
                  document.getElementById(field)?.focus();
                }}
              >
                {text}
              </a>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
};
