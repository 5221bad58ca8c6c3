import { z } from "zod";
import type { DraftShape } from "../../session/use-draft.ts";
import { collectFields, collectRaw, valuesOf, type Collected, type FormModel } from "./schema-form.ts";

/** What is filled in for a try: fields or JSON, both as text. */
const kept = z.object({ mode: z.enum(["fields", "json"]), values: z.record(z.string(), z.string()), json: z.string() });
export type TryValue = Readonly<z.infer<typeof kept>>;

export const emptyTry = (model: FormModel): TryValue => ({
  mode: model.kind === "fields" ? "fields" : "json",
  values: model.kind === "fields" ? Object.fromEntries(model.fields.map((field) => [field.name, field.initial])) : {},
  json: "{}",
});

/** Only what fits the form comes back from a draft; secret fields never go in, nor JSON that could hold one. */
export const draftShape = (model: FormModel): DraftShape<TryValue> => ({
  read: (found) => {
    const value = kept.safeParse(found).data;
    if (value === undefined) return undefined;
    return model.kind === "raw" ? { ...value, mode: "json" } : { ...value, values: { ...emptyTry(model).values, ...value.values } };
  },
  keep: (value) => {
    if (model.kind === "raw") return value;
    const secret = new Set(model.fields.filter((field) => field.isSecret).map((field) => field.name));
    return {
      mode: secret.size > 0 ? "fields" : value.mode,
      values: Object.fromEntries(Object.entries(value.values).filter(([name]) => !secret.has(name))),
      json: secret.size > 0 ? "{}" : value.json,
    };
  },
});

export const collect = (model: FormModel, value: TryValue): Collected =>
  model.kind === "fields" && value.mode === "fields" ? collectFields(model.fields, value.values) : collectRaw(value.json);

/** Between fields and JSON what is filled in comes along, as far as it can be read. */
export const switchMode = (model: FormModel, value: TryValue, mode: TryValue["mode"]): TryValue => {
  if (model.kind === "raw" || mode === value.mode) return value;
  const read = collect(model, value);
  if (!("value" in read)) return { ...value, mode };
  if (mode === "json") return { ...value, mode, json: JSON.stringify(read.value, undefined, 2) };
  return { ...value, mode, values: { ...emptyTry(model).values, ...valuesOf(model.fields, read.value) } };
};
