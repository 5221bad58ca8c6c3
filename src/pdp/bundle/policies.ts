import type { PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import { policySetTextToParts, policyToJson } from "#pdp/model/cedar-program.ts";
import { findTooDeep } from "./depth.ts";
import { readsOf, type Reads } from "./expression.ts";
import { noFindings, placeWithin, shownFile, walkPlaces, type Findings } from "./findings.ts";
import { perText } from "./per-text.ts";
import type { PolicyFiles } from "./policy-files.ts";
import { cedarError } from "./schema.ts";

/** One policy of a bundle. */
export interface Policy {
  readonly id: string;
  readonly description: string;
  readonly effect: "permit" | "forbid";
  readonly text: string;
  /** As explanations name it, e.g. `policies/pages.cedar`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly obligations: readonly string[];
  /** What a denial by this forbid is called; `forbidden` unless it says so itself. */
  readonly reason?: string;
  /** Template of the request that may lift a denial. */
  readonly requestable?: string;
  /** What a person may be told beside a denial, by name. */
  readonly advice: readonly string[];
  readonly reads: Reads;
  readonly json: PolicyJson;
}

const known: ReadonlySet<string> = new Set(["id", "description", "obligation", "requestable", "reason", "advice"]);

const names = (text: string | undefined): readonly string[] => (text === undefined ? [] : text.split(",").map((name) => name.trim()));

/** Ids that would hide an endpoint of the administration behind a policy's own. */
const taken: ReadonlySet<string> = new Set(["schema", "rollouts", "validate", "test", "replay"]);

/**
 * Every policy of the `.cedar` files, in order of file and line. Errors: what does not parse. Lint: what lacks its annotations;
 * such a policy is left out.
 */
export const readPolicies = (files: PolicyFiles, findings: Findings): readonly Policy[] => {
  const policies: Policy[] = [];
  for (const [name, text] of Object.entries(files)) {
    if (!name.endsWith(".cedar")) continue;
    const read = readings([name, text], () => readFile(shownFile(name), text));
    policies.push(...read.policies);
    findings.errors.push(...read.findings.errors);
    findings.lint.push(...read.findings.lint);
  }
  return policies;
};

interface ReadFile {
  readonly policies: readonly Policy[];
  readonly findings: Findings;
}
const readings = perText<ReadFile>();

const readFile = (file: string, text: string): ReadFile => {
  const policies: Policy[] = [];
  const findings = noFindings();
  const read = { policies, findings };
  const tooDeep = findTooDeep(text, "policies");
  if (tooDeep !== undefined) {
    findings.errors.push({ path: file, file, ...tooDeep });
    return read;
  }
  const parts = policySetTextToParts(text);
  if (parts.type === "failure") {
    findings.errors.push(...parts.errors.map((error) => cedarError(file, text, error)));
    return read;
  }
  if (parts.policy_templates.length > 0)
    findings.errors.push({ path: file, file, message: "holds a policy with a slot (?principal, ?resource), which nothing links" });
  const placeAt = walkPlaces(text);
  let from = 0;
  for (const part of inOrder(text, parts.policies)) {
    from = text.indexOf(part, from);
    const policy = readPolicy(part, file, placeAt(from), findings);
    from += part.length;
    if (policy !== undefined) policies.push(policy);
  }
  return read;
};

/** The parser gives them in an order of its own; equal texts keep theirs. */
const inOrder = (text: string, parts: readonly string[]): readonly string[] =>
  parts
    .map((part) => ({ part, at: text.indexOf(part) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ part }) => part);

const readPolicy = (
  text: string,
  file: string,
  start: { readonly line: number; readonly column: number },
  findings: Findings,
): Policy | undefined => {
  const read = policyToJson(text);
  if (read.type === "failure") {
    for (const error of read.errors)
      findings.errors.push({ path: file, file, message: error.message, ...placeWithin(start, text, error.sourceLocations?.[0]?.start) });
    return undefined;
  }
  const { annotations = {}, effect } = read.json;
  const id = annotations["id"];
  const description = annotations["description"];
  const before = findings.lint.length;
  const issue = (message: string, hint?: string): void =>
    void findings.lint.push({ path: file, file, ...start, message, policy_id: id, hint });
  if (id === undefined || !/^[a-z][a-z0-9-]{0,63}$/.test(id))
    issue("needs @id, of a-z, 0-9 and -", 'Begin the policy with @id("what-it-allows").');
  else if (taken.has(id)) issue(`has the @id ${id}, which is a word of the policy administration`, "Choose another @id.");
  if (description === undefined || description === "")
    issue("needs @description", 'Say in one sentence whom it allows what: @description("...").');
  for (const name of Object.keys(annotations))
    if (!known.has(name)) issue(`has the unknown annotation @${name}`, `Known are ${[...known].map((one) => `@${one}`).join(", ")}.`);
  let reads: Reads | undefined;
  try {
    reads = readsOf(read.json);
  } catch (error) {
    issue((error as Error).message);
  }
  if (findings.lint.length > before || id === undefined || description === undefined || reads === undefined) return undefined;
  return {
    id,
    description,
    effect,
    text,
    file,
    ...start,
    obligations: names(annotations["obligation"]),
    advice: names(annotations["advice"]),
    reason: annotations["reason"],
    requestable: annotations["requestable"],
    reads,
    json: read.json,
  };
};
