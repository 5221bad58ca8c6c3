import { Button } from "@mantine/core";
import { useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { words } from "../strings/en.ts";
import { grantWords } from "../strings/grant.ts";

export interface StepFault {
  /** Id of the field. */
  readonly field: string;
  readonly text: string;
}

/** Frame of a step: its fields, all faults at once with links to their fields, back and next. */
export const StepForm = ({
  faults,
  hasTried,
  onTried,
  onNext,
  onBack,
  submit = <Button type="submit">{words.common.next}</Button>,
  children,
}: {
  readonly faults: readonly StepFault[];
  readonly hasTried: boolean;
  readonly onTried?: (hasTried: true) => void;
  /** The step is sent, and nothing in it is wrong. */
  readonly onNext: () => void;
  readonly onBack?: () => void;
  readonly submit?: ReactNode;
  readonly children: ReactNode;
}): ReactElement => {
  const form = useRef<HTMLFormElement>(null);
  const shows = hasTried && faults.length > 0;
  useEffect(() => {
    if (shows) form.current?.querySelector<HTMLElement>("[data-fault-summary]")?.focus();
  }, [shows]);
  return (
    <form
      ref={form}
      className="sp-stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onTried?.(true);
        if (faults.length === 0) onNext();
      }}
    >
      {shows ? (
        <div className="sp-state sp-failure" role="alert" tabIndex={-1} data-fault-summary="">
          <strong>{grantWords.faultsTitle}</strong>
          <ul className="sp-fault-list">
            {faults.map((fault) => (
              <li key={fault.field}>
                <a
                  className="sp-link"
                  href={`#${fault.field}`}
                  onClick={(event) => {
                    event.preventDefault();
                    document.getElementById(fault.field)?.focus();
                  }}
                >
                  {fault.text}
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
