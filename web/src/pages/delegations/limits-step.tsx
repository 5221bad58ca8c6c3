import { Button, Textarea, TextInput } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { words } from "../../strings/en.ts";
import { faultsOf, type GrantField, type GrantForm } from "./grant-draft.ts";
import type { StepProps } from "./grant-page.tsx";
import { StepForm } from "./step-form.tsx";

const texts: Readonly<Record<"maxSteps" | "budget" | "end" | "purpose", { label: string; hint: string; fault: string }>> = {
  maxSteps: { label: words.grant.maxSteps, hint: words.grant.maxStepsHint, fault: words.grant.maxStepsFault },
  budget: { label: words.grant.budget, hint: words.grant.budgetHint, fault: words.grant.budgetFault },
  end: { label: words.grant.end, hint: words.grant.endHint, fault: words.grant.endFault },
  purpose: { label: words.grant.purpose, hint: words.grant.purposeHint, fault: words.grant.purposeFault },
};

type Limit = keyof typeof texts;

/** Steps, money, an end and what it is for. Checked when a field is left and when the step is. */
export const LimitsStep = ({ form, onChange, onNext, onBack }: StepProps): ReactElement => {
  const [left, setLeft] = useState<ReadonlySet<GrantField>>(new Set());
  const [hasTried, setTried] = useState(false);
  const wrong = faultsOf("limits", form, new Date());
  const set = (more: Partial<GrantForm>): void => onChange({ ...form, ...more });
  const field = (name: Limit) => ({
    id: `limit-${name}`,
    label: texts[name].label,
    description: texts[name].hint,
    required: true,
    value: form[name],
    error: (hasTried || left.has(name)) && wrong.includes(name) ? texts[name].fault : undefined,
    onBlur: () => setLeft(new Set([...left, name])),
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => set({ [name]: event.currentTarget.value }),
  });
  return (
    <StepForm
      faults={wrong.map((name) => ({ field: `limit-${name}`, text: texts[name as Limit].fault }))}
      hasTried={hasTried}
      onSubmit={() => {
        setTried(true);
        if (wrong.length === 0) onNext();
      }}
      {...(onBack === undefined ? {} : { onBack })}
      submit={<Button type="submit">{words.common.next}</Button>}
    >
      <fieldset className="sp-form sp-bare">
        <legend>{words.grant.limitsLegend}</legend>
        <TextInput {...field("maxSteps")} inputMode="numeric" />
        <TextInput {...field("budget")} inputMode="decimal" />
        <TextInput {...field("end")} type="date" />
        <Textarea {...field("purpose")} rows={2} maxLength={500} />
      </fieldset>
    </StepForm>
  );
};
