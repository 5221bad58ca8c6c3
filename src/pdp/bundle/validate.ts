import type { ValidationError } from "@cedar-policy/cedar-wasm/nodejs";
import { validate } from "#pdp/cedar-program.ts";
import { inPieces } from "#pdp/in-pieces.ts";
import { soleActions } from "./expression.ts";
import { placeWithin, type Findings } from "./findings.ts";
import type { Policy } from "./policies.ts";
import { hintOf, type Schema } from "./schema.ts";

/** Policies that are validated at once: Cedar looks at each of them under each action, and reads the types anew each time. */
const AT_ONCE = 16;

interface Part {
  readonly schema: Parameters<typeof validate>[0]["schema"];
  readonly policies: readonly Policy[];
}

/** Policies with the part of the schema that they speak of. Those that may speak of any action go together, with all of it. */
const partsOf = (schema: Schema, policies: readonly Policy[]): readonly Part[] => {
  const wide: Policy[] = [];
  const narrow: { readonly policy: Policy; readonly actions: readonly string[] }[] = [];
  for (const policy of policies) {
    const actions = soleActions(policy.json);
    // What is unknown is told best by who knows all that it could have been.
    if (actions === undefined || actions.length === 0 || !actions.every((action) => schema.actions.has(action))) wide.push(policy);
    else narrow.push({ policy, actions });
  }
  // Also without any of them: it is here that the schema as a whole is looked at.
  const parts: Part[] = [{ schema: schema.text, policies: wide }];
  for (const some of inPieces(narrow, AT_ONCE)) {
    const actions = [...new Set(some.flatMap((one) => one.actions))];
    parts.push({ schema: schema.withActions(actions) ?? schema.text, policies: some.map(({ policy }) => policy) });
  }
  return parts;
};

/**
 * What Cedar's strict validation says against the schema. Its warnings are of policies that can never apply and of look-alike
 * characters: a policy that says nothing, or not what it looks like, is refused by lint.
 */
export const validateStrictly = (schema: Schema, policies: readonly Policy[], findings: Findings): void => {
  const byId = new Map(policies.toReversed().map((policy) => [policy.id, policy]));
  const single = [...byId.values()].toReversed();
  const errors: ValidationError[] = [];
  const warnings: ValidationError[] = [];
  for (const part of partsOf(schema, single)) {
    const texts = Object.fromEntries(part.policies.map((policy) => [policy.id, policy.text]));
    const answer = validate({ schema: part.schema, policies: { staticPolicies: texts }, validationSettings: { mode: "strict" } });
    if (answer.type === "failure") {
      for (const error of answer.errors) findings.errors.push({ path: "policies", message: error.message, ...hintOf(error) });
      return;
    }
    errors.push(...answer.validationErrors);
    warnings.push(...answer.validationWarnings);
  }
  const order = new Map(single.map((policy, index) => [policy.id, index]));
  const rank = ({ policyId }: ValidationError): number => order.get(policyId) ?? single.length;
  for (const [list, told] of [
    [findings.errors, errors],
    [findings.lint, warnings],
  ] as const) {
    for (const { policyId, error } of told.toSorted((one, other) => rank(one) - rank(other))) {
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
