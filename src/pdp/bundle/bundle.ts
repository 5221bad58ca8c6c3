import { createHash } from "node:crypto";
import type { Fault } from "#contract/problem.ts";
import { BundleRefused } from "./bundle-refused.ts";
import { lintPolicies } from "./lint.ts";
import { readNamed, type ObligationKind, type Template } from "./named-files.ts";
import { readPolicies, type Policy } from "./policies.ts";
import type { PolicyFiles } from "./policy-files.ts";
import { readSchema, type Schema } from "./schema.ts";

/** Policies that belong together and decide together. Never changes once made. */
export interface Bundle {
  /** SHA-256 over the files, hexadecimal. */
  readonly digest: string;
  readonly files: PolicyFiles;
  readonly schema: Schema;
  /** By id, in order of file and line. */
  readonly policies: ReadonlyMap<string, Policy>;
  readonly obligations: ReadonlyMap<string, ObligationKind>;
  readonly templates: ReadonlyMap<string, Template>;
}

/** Digest of a bundle's files: names and texts, each with its length, so that no two bundles share one. */
export const digestOf = (files: PolicyFiles): string => {
  const hash = createHash("sha256");
  for (const [name, text] of Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    for (const part of [name, text]) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest("hex");
};

/**
 * Parses, validates strictly and lints the files of a bundle. Throws `BundleRefused` with every fault found: policies that
 * are only half understood decide nothing. Cost: tens of milliseconds, once a bundle.
 */
export const readBundle = (files: PolicyFiles): Bundle => {
  const faults: Fault[] = [];
  const schema = readSchema(files["schema.cedarschema"], faults);
  const { obligations, templates } = readNamed(files, faults);
  const policies = readPolicies(files, faults);
  if (schema !== undefined) lintPolicies({ schema, policies, obligations, templates }, faults);
  if (schema === undefined || faults.length > 0) throw new BundleRefused(faults);
  return {
    digest: digestOf(files),
    files,
    schema,
    policies: new Map(policies.map((policy) => [policy.id, policy])),
    obligations,
    templates,
  };
};
