import { ABSENT, type CelInputs } from "#parsing/cel.ts";
import { compileExpression, expressionText, type Expression, type Names } from "./expression.ts";

/** A value of a system file whose `${ ... }` are compiled. An expression that reads an absent member leaves its member out. */
export type Template = (inputs: CelInputs) => unknown;

export type TemplateError = (path: readonly (string | number)[], message: string) => void;

type Path = readonly (string | number)[];

/** Compiles an expression at a place of the file; what is wrong with it is told, and it is undefined then. */
export const compileAt = (text: string, names: Names, path: Path, tell: TemplateError): Expression | undefined => {
  try {
    return compileExpression(text, names);
  } catch (error) {
    tell(path, error instanceof Error ? error.message : "is wrong");
    return undefined;
  }
};

/** Compiles all texts in a value by `compileText`; a text that is `ABSENT` leaves its member out. */
export const compileTexts = (value: unknown, path: Path, compileText: (text: string, path: Path) => Template): Template => {
  if (typeof value === "string") return compileText(value, path);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => compileTexts(item, [...path, index], compileText));
    return (inputs) => items.map((item) => item(inputs)).filter((item) => item !== ABSENT);
  }
  if (typeof value !== "object" || value === null) return () => value;
  const members = Object.entries(value).map(([name, item]) => [name, compileTexts(item, [...path, name], compileText)] as const);
  return (inputs) => Object.fromEntries(members.map(([name, item]) => [name, item(inputs)] as const).filter(([, item]) => item !== ABSENT));
};

/** Compiles every expression in a value; `tell` gets the issues, all of them. */
export const compileTemplate = (value: unknown, names: Names, path: Path, tell: TemplateError): Template =>
  compileTexts(value, path, (text, at) => {
    const inner = expressionText(text);
    if (inner === undefined) {
      if (text.includes("${")) tell(at, "an expression is the whole value: ${ ... } with blanks inside the braces");
      return () => text;
    }
    const expression = compileAt(inner, names, at, tell);
    return (inputs) => (expression === undefined ? ABSENT : expression.evaluate(inputs));
  });
