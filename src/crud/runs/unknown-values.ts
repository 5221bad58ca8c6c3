import { isObject } from "#contract/is-object.ts";
import { expressionIn } from "#crud/workflows/definition/expressions.ts";
import type { StepError } from "#crud/workflows/engine/run-rows.ts";
import type { Expressions, Scope } from "#crud/workflows/engine/step-calls.ts";
import { StepFailure } from "#crud/workflows/engine/step-errors.ts";

const SHOWN = "(unknown)";
/** Stands in a simulation for a value that only a real call gives. A function, so that no value of JSON is taken for it. */
export const UNKNOWN: unknown = Object.assign(() => undefined, { toJSON: () => SHOWN, toString: () => SHOWN });

/** Where a value is unknown; a list with an unknown part is unknown itself. */
const unknownPaths = (value: unknown): readonly (readonly string[])[] => {
  if (value === UNKNOWN) return [[]];
  if (Array.isArray(value)) return hasUnknown(value) ? [[]] : [];
  if (!isObject(value) || value instanceof Date) return [];
  return Object.entries(value).flatMap(([name, item]) => unknownPaths(item).map((path) => [name, ...path]));
};

export const hasUnknown = (value: unknown): boolean =>
  value === UNKNOWN || (typeof value === "object" && value !== null && Object.values(value).some(hasUnknown));

/** The value as an answer shows it. */
export const showUnknown = (value: unknown): unknown => {
  if (value === UNKNOWN) return SHOWN;
  if (Array.isArray(value)) return value.map(showUnknown);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, showUnknown(item)])) : value;
};

/** A variable with the members that are read of it; a method is none of them. */
const REFERENCE = /[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*(?!\w*\s*\()|\s*\[\s*(?:"[^"\\]*"|'[^'\\]*')\s*\])*/g;
const MEMBER = /"([^"\\]*)"|'([^'\\]*)'|([A-Za-z_]\w*)/g;

/** What an expression may read that is unknown. */
const unknownRead = (text: string, scope: Scope): string | undefined => {
  const unknown = unknownPaths(scope);
  if (unknown.length === 0) return undefined;
  for (const [reference] of text.matchAll(REFERENCE)) {
    const members = [...reference.matchAll(MEMBER)].map(([, one, other, plain]) => one ?? other ?? plain);
    if (unknown.some((path) => path.every((name, at) => at >= members.length || members[at] === name))) return reference;
  }
  return undefined;
};

/** A step that would read what is unknown to find its way: nothing is guessed. */
export class Undetermined extends Error {
  readonly error: StepError;
  constructor(error: StepError) {
    super(error.detail);
    this.error = error;
  }
}

export const undetermined = (detail: string): StepError => ({ type: "urn:sallyport:error:undetermined", status: 422, detail });

/**
 * Expressions over values of which some are unknown: what reads one is unknown too. A condition, and a text in `deciding`, reports it to
 * `stop` and fails.
 */
export const expressionsWithUnknown = (base: Expressions, deciding: ReadonlySet<string>, stop: (error: StepError) => void): Expressions => {
  const refuse = (read: string): never => {
    const error = undetermined(`It reads ${read}, which is unknown: assume an output.`);
    stop(error);
    throw new StepFailure(error);
  };
  const replace = (part: unknown, scope: Scope): unknown => {
    if (typeof part === "string") {
      const text = expressionIn(part);
      const read = text === undefined ? undefined : unknownRead(text, scope);
      if (read === undefined) return base.evaluate(part, scope);
      return deciding.has(part) ? refuse(read) : UNKNOWN;
    }
    if (Array.isArray(part)) return part.map((item) => replace(item, scope));
    return isObject(part) ? Object.fromEntries(Object.entries(part).map(([name, item]) => [name, replace(item, scope)])) : part;
  };
  return {
    evaluate: replace,
    isTrue: (condition, scope) => {
      const read = unknownRead(condition, scope);
      return read === undefined ? base.isTrue(condition, scope) : refuse(read);
    },
  };
};

/** The value that a schema gives as its example, with the members that have none unknown. */
export const exampleOf = (schema: unknown): unknown => {
  if (!isObject(schema)) return UNKNOWN;
  const { examples, properties } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if ("const" in schema) return schema["const"];
  if (!isObject(properties)) return UNKNOWN;
  const members = Object.entries(properties).map(([name, one]) => [name, exampleOf(one)] as const);
  return members.every(([, value]) => value === UNKNOWN) ? UNKNOWN : Object.fromEntries(members);
};
