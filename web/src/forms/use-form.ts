import { useMemo } from "react";
import { z } from "zod";
import { useDraft } from "../session/use-draft.ts";
import { emptyValue, hintsOf, readForm, storable, type FieldHint, type FormValue, type Hints, type ReadForm } from "./form-data.ts";
import { formModel, type FormModel } from "./form-model.ts";
import type { Data } from "./schema-places.ts";

/** A form that is being filled in. It lives with what sends it; `SchemaForm` draws it. */
export interface FormState {
  readonly model: FormModel;
  readonly hints: Hints;
  readonly value: FormValue;
  readonly change: (next: FormValue) => void;
  /** Begins again, and forgets the draft. */
  readonly forget: () => void;
  /** The data as it would be sent now, unchecked. */
  readonly read: () => ReadForm;
}

const stored = z.object({ mode: z.enum(["fields", "json"]), data: z.record(z.string(), z.unknown()), json: z.string() });

/**
 * The state of a form made of a JSON Schema, with a draft that survives a reload or a sign-in and holds no secret field. A component
 * that uses it has a `key` by what the form is of.
 */
export const useForm = (of: {
  /** Of the draft. */
  readonly name: string;
  readonly schema: unknown;
  readonly fields?: readonly FieldHint[] | undefined;
  /** What is filled in before. */
  readonly data?: Data | undefined;
}): FormState => {
  const model = useMemo(() => formModel(of.schema), [of.schema]);
  const hints = useMemo(() => hintsOf(of.fields), [of.fields]);
  const initial = useMemo(() => emptyValue(model, hints, of.data), [model, hints, of.data]);
  const shape = useMemo(
    () => ({
      read: (found: unknown): FormValue | undefined => {
        const value = stored.safeParse(found).data;
        return value && (model.kind === "raw" ? { ...value, mode: "json" } : value);
      },
      keep: (value: FormValue) => storable(model, value, hints),
    }),
    [model, hints],
  );
  const { value, change, forget } = useDraft(of.name, initial, shape);
  return { model, hints, value, change, forget, read: () => readForm(model, value, hints) };
};
