import { createHash } from "node:crypto";
import type { ValidationError } from "@cedar-policy/cedar-wasm/nodejs";
import { validate } from "#pdp/model/cedar-program.ts";
import { inPieces } from "#pdp/model/in-pieces.ts";
import { soleActions } from "./expression.ts";
import { placeWithin, type Findings } from "./findings.ts";
import type { Policy } from "./policies.ts";
import { perText } from "./per-text.ts";
import { hintOf, type Schema } from "./schema.ts";

/** Policies that are validated at once: Cedar looks at each of them under each action, and reads the types anew each time. */
const AT_ONCE = 16;

interface Part {
  /** Whose types are told: all, unless these are named. */
  readonly actions?: readonly string[];
  readonly policies: readonly Policy[];
}

const validations = perText<ReturnType<typeof validate>>();

/** Policies with the part of the schema that they speak of. Those that may speak of any action go with all of it. */
const partsOf = (schema: Schema, policies: readonly Policy[]): readonly Part[] => {
  const wide: Policy[] = [];
  const narrow: { readonly policy: Policy; readonly actions: readonly string[] }[] = [];
  for (const policy of policies) {
    const actions = soleActions(policy.json);
    // What is unknown is told best by who knows all that it could have been.
    if (actions === undefined || actions.length === 0 || !actions.every((action) => schema.actions.has(action))) wide.push(policy);
    else narrow.push({ policy, actions });
  }
  return [
    // Also without any of them: it is here that the schema as a whole is looked at.
    { policies: wide },
    // Those of one file, some at a time: what was said of one file still holds when another changes.
    ...[...Map.groupBy(narrow, ({ policy }) => policy.file).values()]
      .flatMap((ofFile) => inPieces(ofFile, AT_ONCE))
      .map((some) => ({ actions: [...new Set(some.flatMap((one) => one.actions))], policies: some.map(({ policy }) => policy) })),
  ];
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
  // Not the schema itself beside each part: large ones would leave no room for others.
  const types = createHash("sha256").update(schema.text).digest("base64");
  for (const { actions, policies: some } of partsOf(schema, single)) {
    const answer = validations([types, JSON.stringify(actions ?? null), ...some.flatMap(({ id, text }) => [id, text])], () =>
      validate({
        schema: (actions === undefined ? undefined : schema.withActions(actions)) ?? schema.text,
        policies: { staticPolicies: Object.fromEntries(some.map(({ id, text }) => [id, text])) },
        validationSettings: { mode: "strict" },
      }),
    );
    if (answer.type === "failure") {
      for (const error of answer.errors) findings.errors.push({ path: "policies", message: error.message, ...hintOf(error) });
      return;
    }
    errors.push(...answer.validationErrors);
    warnings.push(...answer.validationWarnings);
  }
  const order = new Map(single.map((policy, index) => [policy.id, index]));
  const rank = ({ policyId }: ValidationError): number => order.get(policyId) ?? single.length;
  for (const [list, reported] of [
    [findings.errors, errors],
    [findings.lint, warnings],
  ] as const) {
    for (const { policyId, error } of reported.toSorted((one, other) => rank(one) - rank(other))) {
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
