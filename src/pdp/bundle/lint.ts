import { reasons } from "#contract/authzen.ts";
import type { Findings } from "./findings.ts";
import { shownFile } from "./findings.ts";
import { isMonotone, turnsLimitsRound } from "./expression.ts";
import type { Named } from "./named-files.ts";
import { isBuiltInObligation, lintObligations } from "./obligation-kinds.ts";
import type { Policy } from "./policies.ts";

interface Linted extends Named {
  readonly policies: readonly Policy[];
}

type Issue = (message: string, hint?: string) => void;

/** Circumstances that tool lists take as met: more of them must never permit less. */
const takenAsMet = ["mfa", "approved"] as const;

/** What a policy of this deployment must not do, of single policies and of the whole set. */
export const lintPolicies = (linted: Linted, findings: Findings): void => {
  const seen = new Map<string, Policy>();
  for (const policy of linted.policies) {
    const { id, file, line, column } = policy;
    const issue: Issue = (message, hint) =>
      void findings.lint.push({ path: id, policy_id: id, file, line, column, message: `${id} ${message}`, hint });
    const first = seen.get(id);
    if (first === undefined) seen.set(id, policy);
    else issue(`repeats an @id; the first stands in ${first.file}:${first.line}`, "Give each policy an @id of its own.");
    lintNames(policy, linted, issue);
    if (policy.effect === "permit") lintPermit(policy, issue);
    lintMonotone(policy, issue);
  }
  lintObligations(linted.obligations, findings.lint);
  lintDeclared(linted, findings);
};

const lintNames = (policy: Policy, linted: Linted, issue: Issue): void => {
  const declare = (kind: string, file: string, name: string): void =>
    issue(`names the unknown ${kind} ${name}`, `Declare it in ${shownFile(file)}, or name another.`);
  for (const name of policy.obligations) if (!linted.obligations.has(name)) declare("obligation", "obligations.yaml", name);
  for (const name of policy.advice) if (!linted.advice.has(name)) declare("advice", "advice.yaml", name);
  if (policy.requestable !== undefined && !linted.templates.has(policy.requestable))
    declare("template", "templates.yaml", policy.requestable);
  if (policy.requestable !== undefined && !policy.reads.context.has("approved"))
    issue("is @requestable, but no approval would change it", "Let its condition read context.approved.");
  if (policy.reason !== undefined && !(reasons as readonly string[]).includes(policy.reason))
    issue(`has the unknown reason ${policy.reason}`, `Reasons are ${reasons.join(", ")}.`);
};

const lintPermit = (policy: Policy, issue: Issue): void => {
  const { principal, action, resource } = policy.json;
  if (policy.reason !== undefined) issue("is a permit with a @reason, which only a denial has", "Take @reason away.");
  if (policy.reads.context.has("claimed"))
    issue(
      "is a permit that reads context.claimed: what the subject says of itself opens nothing",
      "Only a forbid may read claims; let the permit stand without it.",
    );
  if (principal.op === "All" && action.op === "All" && resource.op === "All")
    issue("permits every action: name the action, the subject or the resource", 'Write e.g. action == Action::"pages:view".');
};

const lintMonotone = (policy: Policy, issue: Issue): void => {
  const hint = "Tool lists are asked with assurance, approval and ample limits: more of them may only permit more.";
  for (const member of takenAsMet) {
    if (!isMonotone(policy.json, member)) issue(`permits less the more of context.${member} there is, or too entangled to tell`, hint);
  }
  if (turnsLimitsRound(policy.json)) issue("permits less the more steps or budget a delegation has left, or too entangled to tell", hint);
};

/** What is declared and no policy names. Sallyport's own obligations are words that policies may use: nothing is amiss with one at rest. */
const lintDeclared = (linted: Linted, findings: Findings): void => {
  const named = (pick: (policy: Policy) => readonly string[]): ReadonlySet<string> => new Set(linted.policies.flatMap(pick));
  for (const [file, declared, used] of [
    ["obligations.yaml", linted.obligations, named((policy) => policy.obligations)],
    ["templates.yaml", linted.templates, named((policy) => (policy.requestable === undefined ? [] : [policy.requestable]))],
    ["advice.yaml", linted.advice, named((policy) => policy.advice)],
  ] as const) {
    for (const name of declared.keys())
      if (!used.has(name) && !(declared === linted.obligations && isBuiltInObligation(name)))
        findings.warnings.push({ path: name, file: shownFile(file), message: `${name} is named by no policy` });
  }
};
