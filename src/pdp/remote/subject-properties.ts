import { Environment, EvaluationError, type ParseResult } from "@marcbachmann/cel-js";
import type { Fault } from "#contract/problem.ts";
import { Problem } from "#contract/problem.ts";
import { ConfigurationRefused } from "#pdp/configuration-file.ts";

export type SubjectProperties = (facts: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/** Longest result of one expression, as JSON. */
const MAX_RESULT = 16_384;

const firstLine = (error: unknown): string => (error instanceof Error ? (error.message.split("\n")[0] ?? "is wrong") : "is wrong");

const environment = (): Environment =>
  new Environment({ homogeneousAggregateLiterals: false, limits: { maxAstNodes: 500, maxDepth: 40 } }).registerVariable("facts", "map");

/** CEL takes every JSON number for a double: whole ones become ints. */
const toCel = (value: unknown): unknown => {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toCel(item)]));
};

const fromCel = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, item]) => [String(name), fromCel(item)]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fromCel(item)]));
};

const compile = (name: string, text: string, path: string, faults: Fault[]): (readonly [string, ParseResult])[] => {
  try {
    const parsed = environment().parse(text);
    const checked = parsed.check();
    if (checked.valid) return [[name, parsed]];
    faults.push({ path, message: firstLine(checked.error) });
  } catch (error) {
    faults.push({ path, message: firstLine(error) });
  }
  return [];
};

/**
 * What a decision point wants to hear of a subject, made of its facts. An expression that reads what is not there leaves its
 * property out; any other fault is `engine_failed`, for a property that is missing unnoticed could open something. Throws
 * `ConfigurationRefused` with every expression that is none.
 */
export const compileSubjectProperties = (texts: Readonly<Record<string, string>>, file: string): SubjectProperties => {
  const faults: Fault[] = [];
  const compiled = Object.entries(texts).flatMap(([name, text]) =>
    compile(name, text, `${file}#/decision_point/subject_properties/${name}`, faults),
  );
  if (faults.length > 0) throw new ConfigurationRefused(faults.map((fault) => ({ ...fault, file })));
  return (facts) => {
    if (compiled.length === 0) return {};
    const inputs = { facts: toCel(facts) };
    const made: Record<string, unknown> = {};
    for (const [name, parsed] of compiled) {
      try {
        const value = fromCel(parsed(inputs));
        if (JSON.stringify(value).length > MAX_RESULT) throw new RangeError(`${name} is longer than ${MAX_RESULT} characters`);
        Object.defineProperty(made, name, { value, enumerable: true });
      } catch (cause) {
        if (cause instanceof EvaluationError && cause.code === "no_such_key") continue;
        throw new Problem("engine_failed", { detail: `The subject property ${name} cannot be made.`, cause });
      }
    }
    return made;
  };
};
