import type { PolicyReport } from "#contract/policies.ts";
import { inspectBundle, type Bundle } from "#pdp/bundle/bundle.ts";
import type { Finding } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { runCases } from "#pdp/cases/run-cases.ts";
import { createEngine, type Engine } from "#pdp/engine.ts";
import { findLockout } from "./lockout.ts";

export interface Reported {
  readonly report: PolicyReport;
  /** Present when it may be asked things: no errors, nothing that lint refuses. */
  readonly ready?: { readonly bundle: Bundle; readonly engine: Engine };
}

/** Most that is listed of one kind: beyond it a fault is another's echo. */
const MOST_LISTED = 200;

const listed = (findings: readonly Finding[]): PolicyReport["errors"] => findings.slice(0, MOST_LISTED).map((finding) => ({ ...finding }));

/** Everything that can be said of files before they decide: errors, lint, warnings, cases. Cost: up to a second for large sets. */
export const makeReport = async (files: PolicyFiles, active: Engine | undefined): Promise<Reported> => {
  const { findings, bundle } = inspectBundle(files);
  const lint = [...findings.lint];
  const engine = bundle === undefined || lint.length > 0 ? undefined : createEngine(bundle);
  const lockout = engine === undefined || active === undefined ? undefined : findLockout(active, engine);
  if (lockout !== undefined) lint.push(lockout);
  const warnings = [...findings.warnings];
  if (bundle !== undefined && bundle.cases.length === 0)
    warnings.push({
      path: "policies/cases",
      message: "there are no cases",
      hint: "Say in policies/cases/*.yaml what the policies are meant to decide.",
    });
  const cases = bundle === undefined || engine === undefined ? { passed: 0, failed: [] } : await runCases(engine, bundle.cases);
  const valid = findings.errors.length === 0 && lint.length === 0;
  return {
    report: { valid, errors: listed(findings.errors), warnings: listed(warnings), lint: listed(lint), cases },
    ...(valid && bundle !== undefined && engine !== undefined ? { ready: { bundle, engine } } : {}),
  };
};

/** The faults of a report that keep a version from deciding, failing cases among them. */
export const faultsOf = ({ errors, lint, cases }: PolicyReport): readonly Finding[] =>
  [
    ...errors,
    ...lint,
    ...cases.failed.map((one) => ({
      path: one.name,
      ...(one.file === undefined ? {} : { file: one.file }),
      message: `the case fails: ${one.name}`,
      hint: `expected ${JSON.stringify(one.expected)}, got ${JSON.stringify(one.got)}`,
    })),
  ] as readonly Finding[];
