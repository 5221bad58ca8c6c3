import { isObject } from "#contract/is-object.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import type { z } from "zod";
import { ERROR_TYPES, type Retry, type WorkflowError } from "#crud/workflows/model/workflow-document.ts";
import type { ExpressionReader, Names } from "./expression-reader.ts";
import { hintOf, type IssueReport, type Path } from "./issue-report.ts";
import { declared, type ErrorText, type RetryText } from "./task-shapes.ts";

const OLDER_TYPES = "https://serverlessworkflow.io/spec/1.0.0/errors/";
const DEFAULT_ATTEMPTS = 5;

/** The type of an error by its present name. */
export const errorType = (type: string): string =>
  type.startsWith(OLDER_TYPES) ? `${ERROR_TYPES}${type.slice(OLDER_TYPES.length)}` : type;

/** What a document declares in `use`, and what refers to it. */
export const createPolicyReader = (report: IssueReport, expressions: ExpressionReader, use: unknown) => {
  /** Those of one member of `use`, and where each stands. */
  const read = <T>(member: keyof typeof declared, shape: z.ZodType<T>) => {
    const all = isObject(use) && isObject(use[member]) ? use[member] : {};
    return new Map(
      Object.entries(all).map(([name, value]) => {
        const path: Path = ["use", member, name];
        return [name, { value: report.parse(shape, value, path), path }] as const;
      }),
    );
  };
  const known = {
    retries: read("retries", declared.retries),
    errors: read("errors", declared.errors),
    timeouts: read("timeouts", declared.timeouts),
  };
  /** A policy that stands there, or that a name refers to, with its place. */
  const resolve = <Member extends keyof typeof known, T>(member: Member, given: T | string, path: Path) => {
    if (typeof given !== "string") return { value: given, path };
    const all = known[member] as ReadonlyMap<string, { readonly value: T | undefined; readonly path: Path }>;
    const found = all.get(given);
    if (found !== undefined) return found;
    const near = nearestWord(given, [...all.keys()]);
    report.addWith("unknown_variable", path, { message: `names ${given}, which is none of use.${member}`, ...hintOf(near) });
    return { value: undefined, path };
  };
  return {
    timeoutOf: (given: { readonly after: number } | string, path: Path): number | undefined =>
      resolve<"timeouts", { readonly after: number }>("timeouts", given, path).value?.after,
    errorOf: (given: ErrorText | string, at: Path, names: Names): WorkflowError => {
      const { value, path } = resolve<"errors", ErrorText>("errors", given, at);
      if (value === undefined) return { type: "", status: 500 };
      for (const member of ["type", "title", "detail"] as const) expressions.readValue(value[member], [...path, member], names);
      return { ...value, type: errorType(value.type) };
    },
    retryOf: (given: RetryText | string, at: Path, names: Names): Retry | undefined => {
      const { value, path } = resolve<"retries", RetryText>("retries", given, at);
      if (value === undefined) return undefined;
      const { when, exceptWhen, delay, backoff, limit, jitter } = value;
      const kind = backoff.linear !== undefined ? "linear" : backoff.exponential !== undefined ? "exponential" : "constant";
      return {
        ...(when === undefined ? {} : { when: expressions.readExpression(when, [...path, "when"], names) }),
        ...(exceptWhen === undefined ? {} : { exceptWhen: expressions.readExpression(exceptWhen, [...path, "exceptWhen"], names) }),
        delayMs: delay,
        backoff: { kind, factor: backoff.exponential?.factor ?? 1, incrementMs: backoff.linear?.increment ?? delay },
        maxAttempts: limit?.attempt?.count ?? DEFAULT_ATTEMPTS,
        ...(limit?.duration === undefined ? {} : { maxDurationMs: limit.duration }),
        ...(limit?.attempt?.duration === undefined ? {} : { maxAttemptMs: limit.attempt.duration }),
        ...(jitter === undefined ? {} : { jitter: { fromMs: jitter.from, toMs: jitter.to } }),
      };
    },
  };
};
export type PolicyReader = ReturnType<typeof createPolicyReader>;
