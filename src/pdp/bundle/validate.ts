import { validate } from "@cedar-policy/cedar-wasm/nodejs";
import { placeWithin, type Findings } from "./findings.ts";
import type { Policy } from "./policies.ts";
import { hintOf, type Schema } from "./schema.ts";

/**
 * What Cedar's strict validation says against the schema. Its warnings are of policies that can never apply and of look-alike
 * characters: a policy that says nothing, or not what it looks like, is refused by lint.
 */
export const validateStrictly = (schema: Schema, policies: readonly Policy[], findings: Findings): void => {
  const byId = new Map(policies.toReversed().map((policy) => [policy.id, policy]));
  const texts = Object.fromEntries([...byId].map(([id, policy]) => [id, policy.text]));
  const answer = validate({ schema: schema.text, policies: { staticPolicies: texts }, validationSettings: { mode: "strict" } });
  if (answer.type === "failure") {
    for (const error of answer.errors) findings.errors.push({ path: "policies", message: error.message, ...hintOf(error) });
    return;
  }
  for (const [list, told] of [
    [findings.errors, answer.validationErrors],
    [findings.lint, answer.validationWarnings],
  ] as const) {
    for (const { policyId, error } of told) {
      const policy = byId.get(policyId);
      list.push({
        path: policyId,
        policy_id: policyId,
        message: error.message,
        ...(policy === undefined ? {} : { file: policy.file, ...placeWithin(policy, policy.text, error.sourceLocations?.[0]?.start) }),
        ...hintOf(error),
      });
    }
  }
};
