import { useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { Icon } from "./icon.tsx";

/** A step, and above it where the person is; steps that were reached can be gone back to. */
export const Steps = <Step extends string>({
  steps,
  labels,
  current,
  reached,
  onGo,
  children,
}: {
  readonly steps: readonly Step[];
  readonly labels: Readonly<Record<Step, string>>;
  readonly current: Step;
  readonly reached: Step;
  readonly onGo: (step: Step) => void;
  readonly children: ReactNode;
}): ReactElement => {
  const panel = useRef<HTMLElement>(null);
  const shown = useRef(current);
  useEffect(() => {
    // The step that was left took the focus with it.
    if (shown.current !== current) panel.current?.focus();
    shown.current = current;
  }, [current]);
  return (
    <>
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
      <section ref={panel} className="sp-panel" tabIndex={-1} aria-label={labels[current]}>
        {children}
      </section>
    </>
  );
};
