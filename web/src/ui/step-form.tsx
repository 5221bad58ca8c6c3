import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { words } from "../strings/en.ts";
import { IssueSummary } from "./issue-summary.tsx";

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
  const shows = hasTried && issues.length > 0;
  return (
    <form
      className="sp-stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onTried?.(true);
        if (issues.length === 0) onNext();
      }}
    >
      <IssueSummary issues={shows ? issues : []} attempt={shows ? 1 : 0} />
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
