/** The member `step_up` of a refusal for want of a sign-in: how strong and how fresh it must be, and where it is made. */
export interface StepUp {
  readonly acr_value: string;
  readonly max_age_seconds: number;
  readonly url: string;
}
