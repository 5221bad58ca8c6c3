import type { Issue } from "./problem.ts";

/** A service cannot start with what it was given. Holds every issue at once; the program says them all and exits 78. */
export class StartIssues extends Error {
  override readonly name = "StartIssues";
  /** sysexits.h: configuration. */
  readonly exitCode = 78;
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(issues.map(issueLine).join("\n"));
    this.issues = issues;
  }
}

/** `file:line:column path: message (hint)`, as editors and people find it. */
export const issueLine = (issue: Omit<Issue, "file"> & { readonly file?: string | undefined }): string => {
  const place = issue.file === undefined ? "" : `${issue.file}:${issue.line ?? 1}:${issue.column ?? 1} `;
  const hint = issue.hint === undefined ? "" : ` (${issue.hint})`;
  return `${place}${issue.path === "" ? "" : `${issue.path}: `}${issue.message}${hint}`;
};
