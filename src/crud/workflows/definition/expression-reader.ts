import { CelIssue } from "#parsing/cel.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { compileWorkflowExpression, expressionIn, localTypes, variableTypes } from "./expressions.ts";
import type { IssueReport, Path } from "./issue-report.ts";

/** What an expression may name at its place. */
export interface Names {
  /** Steps of this list and of those around it that are done. */
  readonly steps: readonly string[];
  /** CEL types of loop variables, of a caught error and of a step's own result. */
  readonly locals: Readonly<Record<string, string>>;
}
export const withOutput = (names: Names): Names => ({ ...names, locals: { ...names.locals, output: localTypes.output } });

const members = { run: ["id", "workflow", "version", "started_at"], caller: ["sub", "agent", "tenant"] };

export interface ExpressionSource {
  readonly yaml: YamlDocument;
  readonly report: IssueReport;
  /** Members of `input`, where its schema lets there be no others. */
  readonly input: readonly string[] | undefined;
}

/** Checks the expressions of a document, and notes where each stands. */
export const createExpressionReader = ({ yaml, report, input }: ExpressionSource) => {
  const places: Record<string, string> = {};
  /** Reports what is wrong; `wanted` are the CEL types that fit. */
  const check = (text: string, path: Path, { wanted, ...names }: Names & { readonly wanted?: readonly string[] }): void => {
    const { line, column } = yaml.placeOf(path);
    if (!Object.hasOwn(places, text)) places[text] = `${yaml.file}:${line}:${column}`;
    try {
      const known = { ...members, steps: names.steps, ...(input === undefined ? {} : { input }) };
      const { type } = compileWorkflowExpression(text, { ...variableTypes, ...names.locals }, known);
      const isFit = wanted === undefined || type === "dyn" || wanted.some((one) => type === one || type.startsWith(`${one}<`));
      if (!isFit) report.add("expression_type", path, `gives ${type}, and must give ${wanted.join(" or ")}`);
    } catch (error) {
      if (!(error instanceof CelIssue)) throw error;
      report.addWith(error.code, path, { message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) });
    }
  };
  const whole = "an expression is the whole value: ${ ... }";
  return {
    places,
    /** All expressions in a value. */
    readValue: (value: unknown, path: Path, names: Names): void => {
      const look = (part: unknown, at: Path): void => {
        if (typeof part === "string") {
          const text = expressionIn(part);
          if (text !== undefined) check(text, at, names);
          else if (part.includes("${")) report.add("expression_syntax", at, whole);
        } else if (Array.isArray(part)) part.forEach((item, index) => look(item, [...at, index]));
        else if (typeof part === "object" && part !== null) for (const [name, item] of Object.entries(part)) look(item, [...at, name]);
      };
      look(value, path);
    },
    /** The text of an expression that must be one, such as a condition; empty where it is none. */
    readExpression: (
      value: string,
      path: Path,
      { wanted = ["bool"], ...names }: Names & { readonly wanted?: readonly string[] },
    ): string => {
      const text = expressionIn(value);
      if (text === undefined) report.add("expression_syntax", path, "must be an expression: ${ ... }");
      else check(text, path, { ...names, wanted });
      return text ?? "";
    },
  };
};
export type ExpressionReader = ReturnType<typeof createExpressionReader>;
