import type { Ask } from "#pdp/model/ask.ts";
import type { DecisionPoint, Verdict } from "#pdp/engine/decision-point.ts";

export interface Scan {
  /** The next candidates behind a position, in byte order; fewer than asked for: there are no more. */
  readonly next: (after: string | undefined, limit: number) => Promise<readonly string[]>;
  readonly askOf: (candidate: string) => Ask;
  readonly after: string | undefined;
  readonly limit: number;
  /** Most candidates to look at. */
  readonly max: number;
  /** True for a verdict after which no other candidate can do better, e.g. of a subject that nobody knows. */
  readonly isHopeless?: (verdict: Verdict) => boolean;
}

export interface Scanned {
  readonly found: readonly string[];
  /** The last candidate that was looked at, if there may be more behind it. */
  readonly goOn?: string;
}

const CHUNK = 200;

/**
 * Goes through the candidates in order and keeps those that the policies permit: the same decisions as evaluations, each
 * chunk on the facts of the moment. Looks one result beyond the page, so that the last page says that it is the last.
 */
export const scanCandidates = async (decisionPoint: DecisionPoint, scan: Scan): Promise<Scanned> => {
  const found: string[] = [];
  let { after } = scan;
  for (let left = scan.max; left > 0;) {
    const wanted = Math.min(CHUNK, left);
    const candidates = await scan.next(after, wanted);
    if (candidates.length === 0) return { found };
    const { verdicts } = await decisionPoint.evaluateMany(candidates.map(scan.askOf), "execute_all");
    for (const [index, candidate] of candidates.entries()) {
      const verdict = verdicts[index];
      if (verdict !== undefined && scan.isHopeless?.(verdict) === true) return { found };
      if (verdict?.decision === true) {
        if (found.length === scan.limit) return after === undefined ? { found } : { found, goOn: after };
        found.push(candidate);
      }
      after = candidate;
    }
    if (candidates.length < wanted) return { found };
    left -= candidates.length;
  }
  return after === undefined ? { found } : { found, goOn: after };
};
