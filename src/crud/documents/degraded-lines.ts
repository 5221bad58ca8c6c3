import type { Issue } from "#contract/problem.ts";
import { issueLine } from "#contract/start-issues.ts";

/** A system that does not load: Sallyport starts without it. */
export interface DegradedFile {
  /** `<provider>.<instance>`, as the file is named. */
  readonly name: string;
  readonly issues: readonly Issue[];
}

/** Each issue in a line of its own, with what it takes away. */
export const degradedLines = ({ name, issues }: DegradedFile): readonly string[] =>
  issues.map((issue) => `${issueLine(issue)}; Sallyport starts without the system ${name}`);
