import type { Issue } from "#contract/problem.ts";
import { Problem } from "#contract/problem.ts";
import { ABSENT, celInputs, compileCel, type CelExpression } from "#parsing/cel.ts";
import { ConfigurationRefused } from "#pdp/model/configuration-file.ts";

export type SubjectProperties = (facts: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/** Longest result of one expression, as JSON. */
const MAX_RESULT = 16_384;

const compile = (name: string, text: string, path: string, issues: Issue[]): (readonly [string, CelExpression])[] => {
  try {
    return [[name, compileCel(text, { facts: "map" })]];
  } catch (error) {
    issues.push({ path, message: error instanceof Error ? error.message : "is wrong" });
    return [];
  }
};

/**
 * What a decision point wants to hear of a subject, made of its facts. An expression that reads what is not there leaves its
 * property out; any other fault is `engine_failed`, for a property that is missing unnoticed could open something. Throws
 * `ConfigurationRefused` with every expression that is none.
 */
export const compileSubjectProperties = (texts: Readonly<Record<string, string>>, file: string): SubjectProperties => {
  const issues: Issue[] = [];
  const compiled = Object.entries(texts).flatMap(([name, text]) =>
    compile(name, text, `${file}#/decision_point/subject_properties/${name}`, issues),
  );
  if (issues.length > 0) throw new ConfigurationRefused(issues.map((issue) => ({ ...issue, file })));
  return (facts) => {
    if (compiled.length === 0) return {};
    const inputs = celInputs({ facts });
    const made: Record<string, unknown> = {};
    for (const [name, evaluate] of compiled) {
      try {
        const value = evaluate(inputs);
        if (value === ABSENT) continue;
        if (JSON.stringify(value).length > MAX_RESULT) throw new RangeError(`${name} is longer than ${MAX_RESULT} characters`);
        Object.defineProperty(made, name, { value, enumerable: true });
      } catch (cause) {
        throw new Problem("engine_failed", { detail: `The subject property ${name} cannot be made.`, cause });
      }
    }
    return made;
  };
};
