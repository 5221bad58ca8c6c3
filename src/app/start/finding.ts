import type { Issue } from "#contract/problem.ts";
import { issueLine } from "#contract/start-issues.ts";

/** One thing that was looked at. A note is worth knowing and stops no start; with a warning a start goes without what it names. */
export interface Finding {
  readonly area: string;
  readonly status: "ok" | "note" | "warn" | "fault";
  readonly text: string;
  /** Of an issue, as in sysexits.h: 78 configuration, 73 the data folder, 69 a server that is away. */
  readonly exitCode: number;
}

const CONFIGURATION = 78;

const finding =
  (status: Finding["status"]) =>
  (area: string, text: string, exitCode = CONFIGURATION): Finding => ({ area, status, text, exitCode });

export const ok = finding("ok");
export const note = finding("note");
export const warn = finding("warn");
export const fault = finding("fault");

/** What was thrown while an area was looked at, as issues: each that it holds, or its one sentence. */
export const thrownIssues = (area: string, error: unknown): readonly Finding[] => {
  const { issues, message, exitCode } = error as { issues?: readonly Issue[]; message?: string; exitCode?: unknown };
  const code = typeof exitCode === "number" ? exitCode : CONFIGURATION;
  if (issues !== undefined) return issues.map((one) => fault(area, issueLine(one), code));
  return [fault(area, typeof exitCode === "number" && message !== undefined ? message : String(error), code)];
};

/** Looks, and turns what is thrown into issues of the area. */
export const guarded = async (area: string, look: () => Promise<Finding | readonly Finding[]>): Promise<readonly Finding[]> => {
  try {
    return [await look()].flat();
  } catch (error) {
    return thrownIssues(area, error);
  }
};
