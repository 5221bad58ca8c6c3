import type { DecisionRecord } from "#contract/decisions.ts";
import type { Policy } from "#pdp/bundle/policies.ts";

type Check = NonNullable<DecisionRecord["checks"]>[number];

const member = (path: string): RegExp => new RegExp(`\\bcontext\\s*\\.\\s*${path.replaceAll(".", "\\s*\\.\\s*")}\\b`);

/** By what in a policy's text each check is asked for: the member of the context it reads, and how that is written. */
const conditions = {
  delegation: { reads: "delegation", text: member("delegation.(?:active|status)") },
  capability: { reads: "capability", text: member("capability") },
  chain: { reads: "chain", text: member("chain") },
  steps: { reads: "delegation", text: member("delegation.steps_left") },
  budget: { reads: "delegation", text: member("delegation.budget_left") },
  "step-up": { reads: "mfa", text: member("mfa") },
} as const;

/** Strings and comments blanked, so that only code is found; every place stays where it is. */
const codeOf = (text: string): string => text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*/g, (part) => part.replace(/[^\n]/g, " "));

const lineOf = (policy: Policy, pattern: RegExp): number | undefined => {
  const code = codeOf(policy.text);
  const at = code.search(pattern);
  return at === -1 ? undefined : policy.line + code.slice(0, at).split("\n").length - 1;
};

const placeIn = (policies: readonly Policy[], pattern: RegExp): Check["source"] => {
  for (const policy of policies) {
    const line = lineOf(policy, pattern);
    if (line !== undefined) return { file: policy.file, line };
  }
  return undefined;
};

/**
 * Which line of which policy a check is of: one that decided before one that would have, before any other of the action. `undefined`:
 * no policy asks for it; Sallyport does, or it was not looked at.
 */
export const sourceOf = (
  { name, outcome }: Pick<Check, "name" | "outcome">,
  deciding: readonly Policy[],
  ofAction: readonly Policy[],
): Check["source"] => {
  if (outcome === "skipped") return undefined;
  if (name === "policy") {
    const [first] = deciding;
    return first === undefined ? undefined : { file: first.file, line: first.line };
  }
  if (name === "data-scope")
    return placeIn(
      deciding.filter(({ obligations }) => obligations.includes(name)),
      /@obligation\b/,
    );
  if (name === "subject") return undefined;
  const { reads, text } = conditions[name];
  return placeIn(
    [...deciding, ...ofAction].filter((policy) => policy.reads.context.has(reads)),
    text,
  );
};
