import type { ReactElement } from "react";
import { grantWords } from "../../strings/grant.ts";
import { Icon } from "../../ui/icon.tsx";
import { steps, type Step } from "./grant-draft.ts";

/** Where the person is; steps that were reached can be gone back to. */
export const StepsBar = ({
  current,
  reached,
  onGo,
}: {
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
          {grantWords.steps[step]}
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
