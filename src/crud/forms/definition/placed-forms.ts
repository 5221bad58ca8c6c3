import type { FormDocument } from "./form-document.ts";

const isFor = ({ tenants }: FormDocument, tenant: string): boolean => tenants === null || tenants.includes(tenant);
const isOf = (one: FormDocument["target"], other: FormDocument["target"]): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The forms that serve in this process. */
export const createPlacedForms = () => {
  const placed = new Map<string, FormDocument>();
  return {
    place: (id: string, form: FormDocument | undefined): void => {
      if (form === undefined) placed.delete(id);
      else placed.set(id, form);
    },
    /** Undefined: none that the tenant sees. */
    find: (id: string, tenant: string): FormDocument | undefined => {
      const form = placed.get(id);
      return form !== undefined && isFor(form, tenant) ? form : undefined;
    },
    /** Of several for one target the first by id. */
    findFor: (target: NonNullable<FormDocument["target"]>, tenant: string): FormDocument | undefined =>
      [...placed.values()]
        .filter((form) => isOf(form.target, target) && isFor(form, tenant))
        .toSorted((one, other) => (one.id < other.id ? -1 : 1))[0],
  };
};
export type PlacedForms = ReturnType<typeof createPlacedForms>;
