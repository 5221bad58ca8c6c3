import { LRUCache } from "lru-cache";
import type { CaseResults, PolicyReport } from "#contract/policies.ts";
import { digestOf } from "#pdp/bundle/bundle.ts";
import type { Finding } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import type { PolicyCase } from "#pdp/bundle/case.ts";
import { runCases } from "#pdp/lifecycle/cases/run-cases.ts";
import { askMatrix, type Matrix } from "#pdp/lifecycle/matrix/matrix.ts";
import { matrixDecisionFacts, matrixDecisions, openMatrixFacts } from "#pdp/lifecycle/matrix/matrix-facts.ts";
import { findLockout } from "#pdp/lifecycle/examine/lockout.ts";
import { lookAt, makeReport, type Looked } from "#pdp/lifecycle/examine/report.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { packBundle, type PackedBundle } from "./packed-bundle.ts";

/** The version that is looked at, and the one beside it. Large ones are hundreds of megabytes each. */
const MAX_HELD = 2;
const held = new LRUCache<string, Looked>({ max: MAX_HELD });

const look = (files: PolicyFiles): Looked => {
  const digest = digestOf(files);
  const looked = held.get(digest) ?? lookAt(files);
  held.set(digest, looked);
  return looked;
};

const issuesIn = ({ findings }: Looked): readonly Finding[] => [...findings.errors, ...findings.lint];

interface Files {
  readonly files: PolicyFiles;
}
type OrIssues<T> = T | { readonly issues: readonly Finding[] };

/** All that is computed about policies and not for a decision, as the thread does it. Pure: what was begun may be begun anew. */
export const examinations = {
  /** As `makeReport`, beside the files that decide. */
  report: ({ files, active }: Files & { readonly active: PolicyFiles }): Promise<PolicyReport> =>
    makeReport(look(files), look(active).engine),

  /** Why files may not decide again: they cannot be read, or lock everybody out. No case has to pass. */
  loadIssues: async ({ files, active }: Files & { readonly active: PolicyFiles }): Promise<readonly Finding[]> => {
    const next = look(files);
    const { engine } = look(active);
    if (next.engine === undefined) return issuesIn(next);
    const lockout = engine === undefined ? undefined : findLockout(engine, next.engine);
    return lockout === undefined ? [] : [lockout];
  },

  /** How cases come out; those of the files unless given. */
  cases: async ({
    files,
    cases,
  }: Files & { readonly cases: readonly PolicyCase[] | undefined }): Promise<OrIssues<{ readonly results: CaseResults }>> => {
    const looked = look(files);
    if (looked.engine === undefined) return { issues: issuesIn(looked) };
    return { results: await runCases(looked.engine, cases ?? looked.engine.bundle.cases) };
  },

  /** The matrix on the kept facts of the demo world. */
  matrix: async ({ files, now }: Files & { readonly now: Date }): Promise<OrIssues<{ readonly matrix: Matrix }>> => {
    const looked = look(files);
    const { engine } = looked;
    if (engine === undefined) return { issues: issuesIn(looked) };
    const decisionPoint = createCedar({
      engines: { current: () => ({ version: "matrix", engine }) },
      facts: await openMatrixFacts(),
      decisions: matrixDecisionFacts,
      metrics: createMetrics(),
      now: () => now,
    });
    return { matrix: await askMatrix(decisionPoint, matrixDecisions, () => now) };
  },

  /** The bundle of files, to be decided by elsewhere. */
  bundle: async ({ files }: Files): Promise<OrIssues<PackedBundle>> => {
    const looked = look(files);
    return looked.engine === undefined ? { issues: issuesIn(looked) } : packBundle(looked.engine.bundle);
  },
};

export type Examinations = typeof examinations;
export type ExaminationName = keyof Examinations;
export type Asked<Name extends ExaminationName> = Parameters<Examinations[Name]>[0];
export type Examined<Name extends ExaminationName> = Awaited<ReturnType<Examinations[Name]>>;
