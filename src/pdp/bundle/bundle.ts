import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { readCases, type PolicyCase } from "#pdp/bundle/case.ts";
import { BundleRefused } from "./bundle-refused.ts";
import { noFindings, type Findings } from "./findings.ts";
import { lintPolicies } from "./lint.ts";
import { readNamed, type Named } from "./named-files.ts";
import { readPolicies, type Policy } from "./policies.ts";
import type { PolicyFiles } from "./policy-files.ts";
import { readSchema, schemaFile, type Schema } from "./schema.ts";
import { validateStrictly } from "./validate.ts";

/** Policies that belong together and decide together. Never changes once made. */
export interface Bundle extends Named {
  /** SHA-256 over the files, hexadecimal. */
  readonly digest: string;
  readonly files: PolicyFiles;
  readonly schema: Schema;
  /** By id, in order of file and line. */
  readonly policies: ReadonlyMap<string, Policy>;
  readonly cases: readonly PolicyCase[];
}

/** Digest of a bundle's files: names and texts, each with its length, so that no two bundles share one. */
export const digestOf = (files: PolicyFiles): string => {
  const hash = createHash("sha256");
  for (const [name, text] of Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    for (const part of [name, text]) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest("hex");
};

export interface Inspected {
  readonly findings: Findings;
  /** Absent when there are errors, or a policy had to be left out: a bundle that is only half understood decides nothing. */
  readonly bundle?: Bundle;
}

const inspect = (files: PolicyFiles, digest: string): Inspected => {
  const findings = noFindings();
  const schema = readSchema(files[schemaFile], findings.errors);
  const named = readNamed(files, findings.errors);
  const cases = readCases(files, findings.errors);
  const policies = readPolicies(files, findings);
  const isWhole = findings.lint.length === 0;
  if (schema !== undefined) {
    lintPolicies({ policies, ...named }, findings);
    validateStrictly(schema, policies, findings);
  }
  const byId = new Map(policies.map((policy) => [policy.id, policy]));
  if (schema === undefined || findings.errors.length > 0 || !isWhole || byId.size < policies.length) return { findings };
  return { findings, bundle: { digest, files, schema, policies: byId, cases, ...named } };
};

/** A start looks at the same files several times: before it, as a version, as what decides. */
const recent = new LRUCache<string, Inspected>({ max: 4 });

/**
 * Parses, validates strictly and lints the files of a bundle, and says all that is wrong with them. Cost: up to a second, and little for
 * files that were looked at before; what is given is shared and changed by nobody.
 */
export const inspectBundle = (files: PolicyFiles): Inspected => {
  const digest = digestOf(files);
  const inspected = recent.get(digest) ?? inspect(files, digest);
  recent.set(digest, inspected);
  return inspected;
};

/** The bundle of files that may decide. Throws `BundleRefused` with every error and everything that lint refuses. */
export const readBundle = (files: PolicyFiles): Bundle => {
  const { findings, bundle } = inspectBundle(files);
  const issues = [...findings.errors, ...findings.lint];
  if (bundle === undefined || issues.length > 0) throw new BundleRefused(issues);
  return bundle;
};
