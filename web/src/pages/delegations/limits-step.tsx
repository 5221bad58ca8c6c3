import { Textarea, TextInput } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { grantWords } from "../../strings/grant.ts";
import { faultyFields, type GrantField, type GrantForm } from "./grant-draft.ts";
import type { StepProps } from "./step-props.ts";
import { StepForm } from "../../ui/step-form.tsx";

const texts: Readonly<Record<"maxSteps" | "budget" | "end" | "purpose", { label: string; hint: string; issue: string }>> = {
  maxSteps: { label: grantWords.maxSteps, hint: grantWords.maxStepsHint, issue: grantWords.maxStepsIssue },
  budget: { label: grantWords.budget, hint: grantWords.budgetHint, issue: grantWords.budgetIssue },
  end: { label: grantWords.end, hint: grantWords.endHint, issue: grantWords.endIssue },
  purpose: { label: grantWords.purpose, hint: grantWords.purposeHint, issue: grantWords.purposeIssue },
};

type Limit = keyof typeof texts;

/** Steps, money, an end and what it is for. Checked when a field is left and when the step is. */
export const LimitsStep = ({ form, onChange, onNext, onBack }: StepProps): ReactElement => {
  const [left, setLeft] = useState<ReadonlySet<GrantField>>(new Set());
  const [hasTried, setTried] = useState(false);
  const wrong = faultyFields("limits", form, new Date());
  const set = (more: Partial<GrantForm>): void => onChange({ ...form, ...more });
  const field = (name: Limit) => ({
    id: `limit-${name}`,
    label: texts[name].label,
    description: texts[name].hint,
    required: true,
    value: form[name],
    error: (hasTried || left.has(name)) && wrong.includes(name) ? texts[name].issue : undefined,
    onBlur: () => setLeft(new Set([...left, name])),
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  return (
    <StepForm
      issues={wrong.map((name) => ({ field: `limit-${name}`, text: texts[name as Limit].issue }))}
      hasTried={hasTried}
      onTried={setTried}
      onNext={onNext}
      onBack={onBack}
    >
      <fieldset className="sp-form sp-bare">
        <legend>{grantWords.limitsLegend}</legend>
        <TextInput {...field("maxSteps")} inputMode="numeric" />
        <TextInput {...field("budget")} inputMode="decimal" />
        <TextInput {...field("end")} type="date" />
        <Textarea {...field("purpose")} rows={2} maxLength={500} />
      </fieldset>
    </StepForm>
  );
};
