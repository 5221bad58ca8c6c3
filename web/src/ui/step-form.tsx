import { Button } from "@mantine/core";
import { useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { words } from "../strings/en.ts";
import { grantWords } from "../strings/grant.ts";

export interface StepError {
  /** Id of the field. */
  readonly field: string;
  readonly text: string;
}

/** Frame of a step: its fields, all issues at once with links to their fields, back and next. */
export const StepForm = ({
  issues,
  hasTried,
  onTried,
  onNext,
  onBack,
  submit = <Button type="submit">{words.common.next}</Button>,
  children,
}: {
  readonly issues: readonly StepError[];
  readonly hasTried: boolean;
  readonly onTried?: (hasTried: true) => void;
  /** The step is sent, and nothing in it is wrong. */
  readonly onNext: () => void;
  readonly onBack?: () => void;
  readonly submit?: ReactNode;
  readonly children: ReactNode;
}): ReactElement => {
  const form = useRef<HTMLFormElement>(null);
  const shows = hasTried && issues.length > 0;
  useEffect(() => {
    if (shows) form.current?.querySelector<HTMLElement>("[data-issue-summary]")?.focus();
  }, [shows]);
  return (
    <form
      ref={form}
      className="sp-stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onTried?.(true);
        if (issues.length === 0) onNext();
      }}
    >
      {shows ? (
        <div className="sp-state sp-failure" role="alert" tabIndex={-1} data-issue-summary="">
          <strong>{grantWords.issuesTitle}</strong>
          <ul className="sp-issue-list">
            {issues.map((issue) => (
              <li key={issue.field}>
                <a
                  className="sp-link"
                  href={`#${issue.field}`}
                  onClick={(event) => {
                    event.preventDefault();
                    document.getElementById(issue.field)?.focus();
                  }}
                >
                  {issue.text}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
      {children}
      <div className="sp-actions">
        {onBack === undefined ? null : (
          <Button variant="default" onClick={onBack}>
            {words.common.back}
          </Button>
        )}
        {submit}
      </div>
    </form>
  );
};
