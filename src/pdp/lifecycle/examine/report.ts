import type { PolicyReport } from "#contract/policies.ts";
import { inspectBundle } from "#pdp/bundle/bundle.ts";
import type { Finding, Findings } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { runCases } from "#pdp/lifecycle/cases/run-cases.ts";
import { sharedEngine, type Engine } from "#pdp/engine/engine.ts";
import { findLockout } from "./lockout.ts";

/** Files that were looked at. */
export interface Looked {
  readonly findings: Findings;
  /** Absent where they cannot be understood whole. */
  readonly engine: Engine | undefined;
}

/** Cost: up to a second for large sets. */
export const lookAt = (files: PolicyFiles): Looked => {
  const { findings, bundle } = inspectBundle(files);
  return { findings, engine: bundle === undefined ? undefined : sharedEngine(bundle) };
};

/** Most that is listed of one kind: beyond it an issue is another's echo. */
const MAX_LISTED = 200;

const listed = (findings: readonly Finding[]): PolicyReport["errors"] => findings.slice(0, MAX_LISTED).map((finding) => ({ ...finding }));

/** Everything that can be said of files before they decide: errors, lint, warnings, cases. Cost: up to a second for large sets. */
export const makeReport = async ({ findings, engine: read }: Looked, active: Engine | undefined): Promise<PolicyReport> => {
  const lint = [...findings.lint];
  const engine = lint.length > 0 ? undefined : read;
  const lockout = engine === undefined || active === undefined ? undefined : findLockout(active, engine);
  if (lockout !== undefined) lint.push(lockout);
  const warnings = [...findings.warnings];
  if (read?.bundle.cases.length === 0)
    warnings.push({
      path: "policies/cases",
      message: "there are no cases",
      hint: "Say in policies/cases/*.yaml what the policies are meant to decide.",
    });
  const cases = engine === undefined ? { passed: 0, failed: [] } : await runCases(engine, engine.bundle.cases);
  const valid = findings.errors.length === 0 && lint.length === 0;
  return { valid, errors: listed(findings.errors), warnings: listed(warnings), lint: listed(lint), cases };
};

/** The issues of a report that keep a version from deciding, failing cases among them. */
export const reportIssues = ({ errors, lint, cases }: PolicyReport): readonly Finding[] =>
  [
    ...errors,
    ...lint,
    ...cases.failed.map((one) => ({
      path: one.name,
      file: one.file,
      message: `the case fails: ${one.name}`,
      hint: `expected ${JSON.stringify(one.expected)}, got ${JSON.stringify(one.got)}`,
    })),
  ] as readonly Finding[];
