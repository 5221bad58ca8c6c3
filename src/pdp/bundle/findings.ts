import type { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import { readYaml, type YamlDocument, type YamlLimits } from "#parsing/yaml-document.ts";

/** One thing wrong with a bundle, with its place in the files. */
export interface Finding extends Issue {
  readonly policy_id?: string;
}

/** What was found in a bundle: errors and lint keep it from deciding, warnings do not. */
export interface Findings {
  /** It cannot be read, or Cedar's strict validation refuses it. */
  readonly errors: Finding[];
  /** It can be read, but does what a policy of this deployment must not. */
  readonly lint: Finding[];
  readonly warnings: Finding[];
}

export const noFindings = (): Findings => ({ errors: [], lint: [], warnings: [] });

/** Name of a bundle's file as everybody outside sees it. */
export const shownFile = (name: string): string => `policies/${name}`;

/** A file of the bundle as YAML; `undefined`, with findings, where it cannot be read. */
export const readBundled = (name: string, text: string, found: Finding[], limits?: YamlLimits): YamlDocument | undefined => {
  const { document, issues } = readYaml(text, shownFile(name), limits);
  found.push(...issues.map((issue) => ({ ...issue, path: shownFile(name) })));
  return document;
};

/** How a file's value, or the part of it at `under`, misses its shape. */
export const shapeFindings = (document: YamlDocument, error: z.ZodError, under: readonly PropertyKey[] = []): readonly Finding[] =>
  shapeIssues(document, error, { under }).map((issue) => ({
    ...issue,
    path: `${document.file}${issue.path}`,
    message: `${issue.path} ${issue.message}`,
  }));

/** Line and column (from 1) of an offset in bytes, as Cedar counts them. */
export const placeInText = (text: string, offset: number | undefined): { readonly line?: number; readonly column?: number } => {
  if (offset === undefined) return {};
  const before = Buffer.from(text).subarray(0, offset).toString().split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
};

/** Places of a text, asked from its beginning towards its end: one pass for all of them. */
export const walkPlaces = (text: string): ((at: number) => { readonly line: number; readonly column: number }) => {
  let line = 1;
  let lineStart = 0;
  let lineEnd = text.indexOf("\n");
  return (at) => {
    while (lineEnd !== -1 && lineEnd < at) {
      line += 1;
      lineStart = lineEnd + 1;
      lineEnd = text.indexOf("\n", lineStart);
    }
    return { line, column: at - lineStart + 1 };
  };
};

/** As `placeInText`, where the text is a part of a file that begins at a place of its own. */
export const placeWithin = (
  start: { readonly line: number; readonly column: number },
  text: string,
  offset: number | undefined,
): { readonly line: number; readonly column: number } => {
  const { line, column } = placeInText(text, offset);
  if (line === undefined || column === undefined) return { line: start.line, column: start.column };
  return { line: start.line + line - 1, column: line === 1 ? start.column + column - 1 : column };
};
