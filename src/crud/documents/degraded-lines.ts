import type { Fault } from "#contract/problem.ts";
import { faultLine } from "#contract/start-faults.ts";

/** A system that does not load: Sallyport starts without it. */
export interface DegradedFile {
  /** `<provider>.<instance>`, as the file is named. */
  readonly name: string;
  readonly faults: readonly Fault[];
}

/** Each fault in a line of its own, with what it takes away. */
export const degradedLines = ({ name, faults }: DegradedFile): readonly string[] =>
  faults.map((fault) => `${faultLine(fault)}; Sallyport starts without the system ${name}`);
