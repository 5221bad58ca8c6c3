import type { ReactElement } from "react";
import type { Rollout } from "#contract/rollouts.ts";
import { policyWords } from "../../strings/policies.ts";
import { Chip } from "../../ui/chip.tsx";

const looks = {
  draft: { tone: "quiet", icon: "question" },
  shadow: { tone: "stepup", icon: "clock" },
  active: { tone: "allow", icon: "check" },
  retired: { tone: "quiet", icon: "pause" },
} as const;

/** Where a version, or a rule in it, stands. */
export const StateChip = ({ state }: { readonly state: Rollout["state"] }): ReactElement => (
  <Chip {...looks[state]} text={policyWords.states[state]} />
);

const effects = {
  permit: { tone: "allow", icon: "check", text: policyWords.permit },
  forbid: { tone: "deny", icon: "cross", text: policyWords.forbid },
} as const;

export const EffectChip = ({ effect }: { readonly effect: "permit" | "forbid" }): ReactElement => <Chip {...effects[effect]} />;
