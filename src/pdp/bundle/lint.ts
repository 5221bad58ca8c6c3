import { validate } from "@cedar-policy/cedar-wasm/nodejs";
import { reasons } from "#contract/authzen.ts";
import type { Fault } from "#contract/problem.ts";
import { isMonotone } from "./expression.ts";
import type { ObligationKind, Template } from "./named-files.ts";
import { lintObligations } from "./obligation-kinds.ts";
import type { Policy } from "./policies.ts";
import type { Schema } from "./schema.ts";

interface Linted {
  readonly schema: Schema;
  readonly policies: readonly Policy[];
  readonly obligations: ReadonlyMap<string, ObligationKind>;
  readonly templates: ReadonlyMap<string, Template>;
}

/** Circumstances that tool lists take as met: more of them must never permit less. */
const takenAsMet = ["mfa", "approved"] as const;

/** Faults of single policies, of the whole set, and what Cedar's strict validation says against the schema. */
export const lintPolicies = (linted: Linted, faults: Fault[]): void => {
  const seen = new Map<string, Policy>();
  for (const policy of linted.policies) {
    const fault = (message: string): void =>
      void faults.push({ path: policy.id, file: policy.file, line: policy.line, message: `${policy.id} ${message}` });
    const first = seen.get(policy.id);
    if (first === undefined) seen.set(policy.id, policy);
    else fault(`repeats an @id; the first stands in ${first.file}:${first.line}`);
    lintPolicy(policy, linted, fault);
  }
  lintObligations(linted.obligations, faults);
  validateStrictly(linted.schema, seen, faults);
};

const lintPolicy = (policy: Policy, linted: Linted, fault: (message: string) => void): void => {
  const { principal, action, resource } = policy.json;
  for (const id of policy.obligations) if (!linted.obligations.has(id)) fault(`names the unknown obligation ${id}`);
  if (policy.requestable !== undefined && !linted.templates.has(policy.requestable))
    fault(`names the unknown template ${policy.requestable}`);
  if (policy.requestable !== undefined && !policy.reads.context.has("approved")) fault("is @requestable, but no approval would change it");
  if (policy.reason !== undefined && !(reasons as readonly string[]).includes(policy.reason))
    fault(`has the unknown reason ${policy.reason}`);
  if (policy.effect === "permit") {
    if (policy.reason !== undefined) fault("is a permit with a @reason, which only a denial has");
    if (policy.reads.context.has("claimed")) fault("is a permit that reads context.claimed: what the subject says of itself opens nothing");
    if (principal.op === "All" && action.op === "All" && resource.op === "All")
      fault("permits every action: name the action, the subject or the resource");
  }
  for (const member of takenAsMet) {
    if (!isMonotone(policy.json, member)) fault(`permits less the more of context.${member} there is, or too entangled to tell`);
  }
};

const validateStrictly = (schema: Schema, policies: ReadonlyMap<string, Policy>, faults: Fault[]): void => {
  const texts = Object.fromEntries([...policies].map(([id, policy]) => [id, policy.text]));
  const answer = validate({ schema: schema.text, policies: { staticPolicies: texts }, validationSettings: { mode: "strict" } });
  if (answer.type === "failure") {
    for (const error of answer.errors) faults.push({ path: "policies", message: error.message });
    return;
  }
  // Its warnings are of policies that can never apply and of look-alike characters: a policy that says nothing is a fault too.
  for (const { policyId, error } of [...answer.validationErrors, ...answer.validationWarnings]) {
    const policy = policies.get(policyId);
    faults.push({
      path: policyId,
      message: error.message,
      ...(policy === undefined ? {} : { file: policy.file, line: policy.line }),
      ...(error.help === null ? {} : { hint: error.help }),
    });
  }
};
