import { ABSENT, type CelInputs } from "#documents/cel.ts";
import { compileExpression, expressionText, type Names } from "./expression.ts";

/** A value of a system file whose `${ ... }` are compiled. An expression that reads an absent member leaves its member out. */
export type Template = (inputs: CelInputs) => unknown;

export type TemplateFault = (path: readonly (string | number)[], message: string) => void;

/** Compiles every expression in a value; `tell` gets the faults, all of them. */
export const compileTemplate = (value: unknown, names: Names, path: readonly (string | number)[], tell: TemplateFault): Template => {
  if (typeof value === "string") return compileText(value, names, path, tell);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => compileTemplate(item, names, [...path, index], tell));
    return (inputs) => items.map((item) => item(inputs)).filter((item) => item !== ABSENT);
  }
  if (typeof value !== "object" || value === null) return () => value;
  const members = Object.entries(value).map(([name, item]) => [name, compileTemplate(item, names, [...path, name], tell)] as const);
  return (inputs) => Object.fromEntries(members.map(([name, item]) => [name, item(inputs)] as const).filter(([, item]) => item !== ABSENT));
};

const compileText = (value: string, names: Names, path: readonly (string | number)[], tell: TemplateFault): Template => {
  const text = expressionText(value);
  if (text === undefined) {
    if (value.includes("${")) tell(path, "an expression is the whole value: ${ ... } with blanks inside the braces");
    return () => value;
  }
  try {
    const expression = compileExpression(text, names);
    return (inputs) => expression.evaluate(inputs);
  } catch (error) {
    tell(path, error instanceof Error ? error.message : "is wrong");
    return () => ABSENT;
  }
};
