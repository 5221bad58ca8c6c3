import { isObject } from "#contract/is-object.ts";
import { canonicalText } from "#crud/model/digest.ts";

type Schema = Readonly<Record<string, unknown>>;
/** Something of a form that its target's schema forbids: where in the form's schema. */
export type ReportLooser = (at: readonly string[], message: string) => void;

const larger = ["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties", "minContains"];
const smaller = ["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties", "maxContains"];
/** Keywords that are compared by no rule: what the target has stays beside what the form has. */
const combined = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired", "propertyNames"];
const parts = ["patternProperties", "prefixItems", "contains", "unevaluatedProperties", "unevaluatedItems"];
const same = ["pattern", "multipleOf", "const", "uniqueItems", ...parts];

const equals = (one: unknown, other: unknown): boolean => canonicalText(one) === canonicalText(other);
const typesOf = (type: unknown): readonly unknown[] => (Array.isArray(type) ? type : [type]);
const isWithin = (type: unknown, of: unknown): boolean =>
  typesOf(type).every((one) => typesOf(of).includes(one) || (one === "integer" && typesOf(of).includes("number")));
const schemaOf = (value: unknown): Schema => (isObject(value) ? value : {});
const namesOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((name) => typeof name === "string") : []);

/**
 * The schema of a form: what it leaves out is as in its target's, and what is looser there is reported and taken from the target's. Whether
 * the target takes the data is checked against its own schema besides.
 */
export const narrowSchema = (target: unknown, form: unknown, report: ReportLooser = () => undefined): Schema => {
  const narrow = (wide: Schema, own: Schema, at: readonly string[]): Schema => {
    const made: Record<string, unknown> = { ...wide, ...own };
    const looser = (word: string, message: string): void => {
      report([...at, word], message);
      made[word] = wide[word];
    };
    const has = (word: string): boolean => Object.hasOwn(wide, word) && Object.hasOwn(own, word);
    if (has("type") && !isWithin(own["type"], wide["type"])) looser("type", `must be ${typesOf(wide["type"]).join(" or ")}`);
    for (const word of larger)
      if (has(word) && Number(own[word]) < Number(wide[word])) looser(word, `is looser than ${String(wide[word])} of the target`);
    for (const word of smaller)
      if (has(word) && Number(own[word]) > Number(wide[word])) looser(word, `is looser than ${String(wide[word])} of the target`);
    for (const word of same) if (has(word) && !equals(own[word], wide[word])) looser(word, "must be as the target has it, or left out");
    if (has("enum")) {
      const allowed = Array.isArray(wide["enum"]) ? (wide["enum"] as unknown[]) : [];
      const given = Array.isArray(own["enum"]) ? (own["enum"] as unknown[]) : [];
      if (!given.every((one) => allowed.some((other) => equals(one, other)))) looser("enum", "has values that the target does not take");
    }
    const beside = Object.fromEntries(combined.flatMap((word) => (Object.hasOwn(wide, word) ? [[word, wide[word]]] : [])));
    if (Object.keys(beside).length > 0 && combined.some((word) => Object.hasOwn(own, word))) {
      for (const word of combined) if (Object.hasOwn(wide, word) && !Object.hasOwn(own, word)) delete made[word];
      const { allOf = [], ...others } = made as { allOf?: unknown[] };
      return inner({ ...others, allOf: [...allOf, beside] }, { wide, own, at });
    }
    return inner(made, { wide, own, at });
  };
  /** Members and items. */
  const inner = (
    made: Record<string, unknown>,
    { wide, own, at }: { readonly wide: Schema; readonly own: Schema; readonly at: readonly string[] },
  ): Schema => {
    if (isObject(wide["items"]) && isObject(own["items"])) made["items"] = narrow(wide["items"], own["items"], [...at, "items"]);
    const required = [...new Set([...namesOf(own["required"]), ...namesOf(wide["required"])])];
    if (required.length > 0) made["required"] = required;
    if (!isObject(own["properties"])) return made;
    const known = schemaOf(wide["properties"]);
    const properties = Object.entries(own["properties"]).map(([name, given]) => {
      const isKnown = Object.hasOwn(known, name);
      if (!isKnown && wide["additionalProperties"] === false) report([...at, "properties", name], "is not known to the target");
      const part = isKnown ? known[name] : wide["additionalProperties"];
      return [name, narrow(schemaOf(part), schemaOf(given), [...at, "properties", name])];
    });
    for (const name of namesOf(wide["required"]))
      if (!Object.hasOwn(own["properties"], name)) report([...at, "properties"], `lacks ${name}, which the target requires`);
    if (wide["additionalProperties"] === false && own["additionalProperties"] !== undefined && own["additionalProperties"] !== false)
      report([...at, "additionalProperties"], "must be false, as in the target");
    const isClosed = wide["additionalProperties"] === false || own["additionalProperties"] === false;
    return {
      ...made,
      properties: Object.fromEntries(properties),
      ...(isClosed ? { additionalProperties: false } : {}),
    };
  };
  return narrow(schemaOf(target), schemaOf(form), []);
};
