import type { GrantForm } from "./grant-draft.ts";

/** What each step of the grant is given. */
export interface StepProps {
  readonly form: GrantForm;
  readonly onChange: (form: GrantForm) => void;
  readonly onNext: () => void;
  readonly onBack?: (() => void) | undefined;
}
