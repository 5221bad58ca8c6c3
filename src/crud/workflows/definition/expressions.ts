import { LRUCache } from "lru-cache";
import { isObject } from "#contract/is-object.ts";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { celEnvironment, celInputs, compileCel, toCel, type CelExpression, type CelInputs } from "#parsing/cel.ts";
import type { Condition, Value, WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

/** CEL types of the variables that every expression may read, and of those that some may. Others are loop variables. */
export const variableTypes = {
  input: "map",
  context: "dyn",
  steps: "map",
  run: "map",
  caller: "map",
  now: "google.protobuf.Timestamp",
} as const;
export const localTypes = { error: "map", output: "dyn" } as const;
const types: Readonly<Record<string, string>> = { ...variableTypes, ...localTypes };

/** Variables by name, as JSON; `now` is a `Date`. */
export type Scope = Readonly<Record<string, unknown>>;

const MAX_TEXT = 4096;
const MAX_COMPILED = 2000;

const environment = celEnvironment
  .clone()
  // The first item of a list; null of an empty one.
  .registerFunction("first(list): dyn", (items: unknown) => [...(items as Iterable<unknown>)][0] ?? null, { async: false })
  // The value that a text has as JSON.
  .registerFunction("json(string): dyn", (text: string) => toCel()(parseExactJson(text)), { async: false })
  .registerFunction("days(int): google.protobuf.Duration", (count: bigint) => dayOf(`${count * 24n}h`), { async: false });
const dayOf = (text: string): unknown => celEnvironment.evaluate(`duration("${text}")`);

/** Compiles an expression of a workflow; `members`: of variables whose members are all known. Throws `CelIssue`. */
export const compileWorkflowExpression = (
  text: string,
  variables: Readonly<Record<string, string>>,
  members: Readonly<Record<string, readonly string[]>> = {},
): CelExpression => compileCel(text, variables, { environment, members, maxText: MAX_TEXT, isStrict: true });

/** The text of an expression, if a text is one: exactly `${ ... }`. */
export const expressionIn = (text: string): string | undefined => /^\s*\$\{([\s\S]*)\}\s*$/.exec(text)?.[1]?.trim();

/** Whether a value is an expression, or has one in it. */
export const hasExpression = (value: unknown): boolean => {
  if (typeof value === "string") return expressionIn(value) !== undefined;
  return typeof value === "object" && value !== null && Object.values(value).some(hasExpression);
};

/** An expression that failed; the message says where it stands and may be shown. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

const compiled = new LRUCache<string, CelExpression>({ max: MAX_COMPILED });

const compile = (text: string, scope: Scope): CelExpression => {
  const names = Object.keys(scope).toSorted();
  const key = `${names.join()} ${text}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const made = compileWorkflowExpression(text, Object.fromEntries(names.map((name) => [name, types[name] ?? "dyn"])));
  compiled.set(key, made);
  return made;
};

/**
 * Evaluates the values and conditions of a document. All expressions of one value share one measure of work. Throws `ExpressionError` for a
 * member that is not there, a whole number beyond 2^53, a condition that is no boolean, too much work.
 */
export const expressionsOf = ({ places }: Pick<WorkflowDocument, "places">) => {
  const run = (text: string, scope: Scope, inputs: CelInputs): unknown => {
    try {
      return compile(text, scope)(inputs);
    } catch (cause) {
      const why = cause instanceof Error ? (cause.message.split("\n")[0] ?? "fails") : "fails";
      const place = Object.hasOwn(places, text) ? `${places[text]}: ` : "";
      throw new ExpressionError(`${place}${why}`, { cause });
    }
  };
  return {
    /** The value with what its expressions give in their places. */
    evaluate: (value: Value, scope: Scope): unknown => {
      if (!hasExpression(value)) return value;
      const inputs = inputsOf(scope);
      const replace = (part: unknown): unknown => {
        if (typeof part === "string") {
          const text = expressionIn(part);
          return text === undefined ? part : run(text, scope, inputs);
        }
        if (Array.isArray(part)) return part.map(replace);
        if (!isObject(part)) return part;
        return Object.fromEntries(Object.entries(part).map(([name, item]) => [name, replace(item)]));
      };
      return replace(value);
    },
    isTrue: (condition: Condition, scope: Scope): boolean => {
      const found = run(condition, scope, inputsOf(scope));
      if (typeof found === "boolean") return found;
      const place = Object.hasOwn(places, condition) ? `${places[condition]}: ` : "";
      throw new ExpressionError(`${place}a condition gives true or false`);
    },
  };
};

const inputsOf = (scope: Scope): CelInputs => {
  try {
    return celInputs(scope);
  } catch (cause) {
    throw new ExpressionError(cause instanceof Error ? cause.message : "fails", { cause });
  }
};
