import type * as topic from "#contract/forms.ts";
import type { Probes } from "./probe.ts";

export const probes: Probes<typeof topic> = {
  formSchema: { read: { query: { form: "update_salary" } }, sample: { form: "update_salary" } },
  formSuggestions: { read: { query: { form: "update_salary", field: "/id" } }, sample: { form: "update_salary", field: "/id" } },
  listForms: {},
  submitForm: {},
  validateForm: {},
};
