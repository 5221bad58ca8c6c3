import type { z } from "zod";
import { MAX_ISSUES, type Issue } from "#contract/problem.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { knownMembers } from "#parsing/known-members.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { unsupportedWords } from "./task-shapes.ts";

export type Path = readonly (string | number)[];

/** What can be wrong with a workflow; what the last five say is found only beside the tools and the graph, as it is published. */
export type IssueCode =
  | "syntax"
  | "unknown_key"
  | "missing_key"
  | "wrong_type"
  | "unsupported"
  | "bad_name"
  | "duplicate_task"
  | "backward_jump"
  | "unreachable"
  | "no_default"
  | "expression_syntax"
  | "expression_type"
  | "unknown_variable"
  | "limit"
  | "unknown_tool"
  | "unknown_form"
  | "bad_argument"
  | "owner_unknown";

interface IssueText {
  readonly message: string;
  readonly hint?: string;
  readonly onKey?: boolean;
}

export const hintOf = (near: string | undefined): Pick<IssueText, "hint"> => (near === undefined ? {} : { hint: `did you mean ${near}?` });

/** Collects the issues of one document. */
export const createIssueReport = (yaml: YamlDocument) => {
  const issues: Issue[] = [];
  const addWith = (code: IssueCode, path: Path, { message, ...more }: IssueText): void => {
    issues.push(yaml.issue(path, message, { code, ...more }));
  };
  const addUnknown = (path: Path, known: readonly string[]): string | undefined => {
    const name = String(path.at(-1));
    const near = nearestWord(name, known);
    if (near === undefined && unsupportedWords.has(name))
      addWith("unsupported", path, { message: `${name} is not supported`, onKey: true });
    else addWith("unknown_key", path, { message: "is not known here", onKey: true, ...hintOf(near) });
    return near;
  };
  return {
    issues,
    /** At a value. */
    add: (code: IssueCode, path: Path, message: string): void => addWith(code, path, { message }),
    /** At the name of a member. */
    addAtKey: (code: IssueCode, path: Path, message: string): void => addWith(code, path, { message, onKey: true }),
    addWith,
    addUnknown,
    /** A part of the document by its shape; undefined where it misses that. A misspelt key is one issue: what it stands for is not missing. */
    parse: <T>(shape: z.ZodType<T>, value: unknown, path: Path): T | undefined => {
      const parsed = shape.safeParse(value);
      if (parsed.success) return parsed.data;
      const found = shapeIssues(yaml, parsed.error, { under: path, shape });
      const meant = new Set<string>();
      for (const issue of found) {
        if (issue.code !== "unknown") continue;
        const place = parsePointer(issue.path);
        const near = addUnknown(place, knownMembers(shape, place.slice(path.length, -1)));
        if (near !== undefined) meant.add([...place.slice(0, -1), near].join("/"));
      }
      for (const issue of found) {
        if (issue.code === "unknown" || meant.has(parsePointer(issue.path).join("/"))) continue;
        issues.push({ ...issue, code: issue.message === "is required" ? "missing_key" : "wrong_type" });
      }
      return undefined;
    },
    /** In the order of the file, each once. */
    sorted: (): readonly Issue[] =>
      [...new Map(issues.map((issue) => [`${issue.path} ${issue.message}`, issue])).values()]
        .toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0))
        .slice(0, MAX_ISSUES),
  };
};
export type IssueReport = ReturnType<typeof createIssueReport>;
