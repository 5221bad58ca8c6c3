import { issueLine } from "#contract/start-issues.ts";
import type { Issue } from "#contract/problem.ts";

/** Policies that may not decide. Carries every issue with its file, line, column and hint; as a start-up issue it exits 78. */
export class BundleRefused extends Error {
  override readonly name = "BundleRefused";
  readonly exitCode = 78;
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(
      issues
        .map((issue) =>
          issueLine(issue.line === undefined ? { ...issue, path: issue.file ?? issue.path, file: undefined } : { ...issue, path: "" }),
        )
        .join("\n"),
    );
    this.issues = issues;
  }
}
