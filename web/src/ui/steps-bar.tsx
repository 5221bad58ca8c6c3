import type { ReactElement } from "react";
import { Icon } from "./icon.tsx";

/** Where the person is; steps that were reached can be gone back to. */
export const StepsBar = <Step extends string>({
  steps,
  labels,
  current,
  reached,
  onGo,
}: {
  readonly steps: readonly Step[];
  readonly labels: Readonly<Record<Step, string>>;
  readonly current: Step;
  readonly reached: Step;
  readonly onGo: (step: Step) => void;
}): ReactElement => (
  <ol className="sp-steps">
    {steps.map((step, index) => {
      const state = step === current ? "current" : index <= steps.indexOf(reached) ? "done" : "open";
      const text = (
        <>
          <span aria-hidden="true">{index + 1}</span>
          {labels[step]}
          {state === "done" && index < steps.indexOf(reached) ? <Icon name="check" size={13} /> : null}
        </>
      );
      return (
        <li key={step} data-state={state} aria-current={step === current ? "step" : undefined}>
          {state === "done" ? (
            <button type="button" onClick={() => onGo(step)}>
              {text}
            </button>
          ) : (
            <span>{text}</span>
          )}
        </li>
      );
    })}
  </ol>
);
