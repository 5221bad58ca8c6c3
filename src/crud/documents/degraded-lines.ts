import type { Fault } from "#contract/problem.ts";
import { faultLine } from "#contract/start-faults.ts";

/** A configuration object that does not load: the house starts without it. */
export interface Degraded {
  /** `system`, `tools` or `ui`. */
  readonly kind: string;
  readonly name: string;
  readonly faults: readonly Fault[];
}

/** Each fault in a line of its own, with what it takes away; at a start and by `npm run doctor` in the same words. */
export const degradedLines = ({ kind, name, faults }: Degraded): readonly string[] => {
  const lost = kind === name ? `${name}.yaml` : `the ${kind} ${name}`;
  return faults.map((fault) => `${faultLine(fault)}; the house starts without ${lost}`);
};
