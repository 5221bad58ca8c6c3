import { useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { SECRETS, type Looked } from "../../api/secrets.ts";
import { readStepUp } from "../../session/step-up.ts";
import { secretWords } from "../../strings/secrets.ts";
import { visibleText } from "../../strings/format.ts";
import { ActDialog, type ActDialogProps } from "../../ui/act-dialog.tsx";
import { Chip, Verdict } from "../../ui/chip.tsx";
import { StepUpButton } from "../../ui/failure.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { DecisionLink } from "../../ui/links.tsx";

const text = secretWords.plan;

/** One question that the act will be asked, already answered. */
interface Check {
  readonly what: keyof typeof text.checks;
  readonly uri: string;
  readonly status: number;
  readonly code?: string | undefined;
  readonly decisionId?: string | undefined;
}

/** What an act will do, in sentences, and whether it will be let through. */
export interface Plan {
  readonly lines: readonly string[];
  readonly checks: readonly Check[];
  /** The version that was looked at; the act is refused if another has come since. */
  readonly cas?: number | undefined;
}

const isLetThrough = (plan: Plan | undefined): boolean => plan !== undefined && plan.checks.every(({ status }) => status < 300);

export const checkOf = (looked: Looked, uri: string): Check => ({
  what: looked.op as Check["what"],
  uri: looked.uri ?? uri,
  status: looked.status,
  code: looked.code,
  decisionId: looked.decision_id,
});

const CheckLine = ({ check }: { readonly check: Check }): ReactElement => {
  const isDenied = check.status >= 300;
  const isStepUp = check.code === "step_up_required";
  return (
    <li>
      {isStepUp ? (
        <Verdict of="step_up" />
      ) : (
        <Chip tone={isDenied ? "deny" : "allow"} icon={isDenied ? "cross" : "check"} text={isDenied ? text.denied : text.allowed} />
      )}{" "}
      {text.checks[check.what]} <Foreign text={check.uri} isCode />
      {!isDenied ? null : (
        <span className="sp-small">
          {" "}
          {check.decisionId !== undefined ? (
            <DecisionLink id={check.decisionId}>{text.why}</DecisionLink>
          ) : (
            <span className="sp-dim">{text.codes[check.code ?? ""] ?? text.code(check.code ?? String(check.status))}</span>
          )}
        </span>
      )}
    </li>
  );
};

const PlanView = ({ plan }: { readonly plan: Plan }): ReactElement => {
  const stepUp = plan.checks.some(({ code }) => code === "step_up_required") ? readStepUp({ code: "step_up_required" }) : undefined;
  return (
    <section className="sp-remedy" aria-label={text.title} role="status">
      <h3>{text.title}</h3>
      {isLetThrough(plan) ? (
        <ul className="sp-issue-list">
          {plan.lines.map((line) => (
            <li key={line}>{visibleText(line)}</li>
          ))}
        </ul>
      ) : null}
      <ul className="sp-list">
        {plan.checks.map((check) => (
          <CheckLine key={`${check.what} ${check.uri}`} check={check} />
        ))}
      </ul>
      {stepUp === undefined ? null : (
        <div>
          <StepUpButton stepUp={stepUp} />
        </div>
      )}
    </section>
  );
};

/** What was done, in a sentence, and where it can be looked at. */
export interface Done {
  readonly said: string;
  readonly uri: string;
}

export interface PlannedDialogProps extends Omit<ActDialogProps<unknown>, "onDone" | "rereads" | "size" | "act"> {
  readonly plan: Plan | undefined;
  /** Makes it of what was filled in, at the first press of the button. Without: it is read when the dialog opens. */
  readonly makePlan?: () => Promise<Plan>;
  /** `undefined`: it is no longer true. */
  readonly onPlan?: (plan: Plan | undefined) => void;
  /** False: the focus stays in what has to be filled in. */
  readonly planTakesFocus?: boolean;
  readonly act: () => Promise<Done>;
  readonly onDone: (done: Done) => void;
  readonly children?: ReactNode;
}

/** An act on a secret: first what will happen, asked of Sallyport, then the button that does it. */
export const PlannedDialog = ({
  plan,
  makePlan,
  onPlan,
  planTakesFocus = true,
  act,
  onDone,
  children,
  ...rest
}: PlannedDialogProps): ReactElement => {
  // Around the plan, so that the focus stays in the form when a plan is no longer true: whoever asked for it reads it before the button is pressed again.
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (plan !== undefined && planTakesFocus) place.current?.focus();
  }, [plan, planTakesFocus]);
  const isPlanned = isLetThrough(plan);
  const isAsking = !isPlanned && makePlan !== undefined;
  const perform = async (): Promise<Done> => {
    try {
      return await act();
    } catch (error) {
      // What is there may be another than it was: it is looked at again before the next try.
      onPlan?.(undefined);
      throw error;
    }
  };
  return (
    <ActDialog<Plan | Done>
      {...rest}
      verb={isAsking ? text.show : rest.verb}
      isDangerous={!isAsking && rest.isDangerous === true}
      isReady={rest.isReady !== false && (isPlanned || isAsking)}
      rereads={isAsking ? undefined : SECRETS}
      act={isAsking ? makePlan : perform}
      onDone={(made) => ("said" in made ? onDone(made) : onPlan?.(made))}
    >
      {children}
      <div tabIndex={-1} ref={place}>
        {plan === undefined ? null : <PlanView plan={plan} />}
        {plan === undefined && makePlan === undefined ? (
          <p className="sp-dim" role="status">
            {text.asking}
          </p>
        ) : null}
      </div>
    </ActDialog>
  );
};
