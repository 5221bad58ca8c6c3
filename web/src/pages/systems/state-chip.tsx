import type { ReactElement } from "react";
import type { SystemRow } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { Chip } from "../../ui/chip.tsx";

const looks = {
  serving: { tone: "allow", icon: "check" },
  degraded: { tone: "deny", icon: "warning" },
  off: { tone: "quiet", icon: "pause" },
} as const;

/** Whether a system serves. */
export const StateChip = ({ state }: { readonly state: SystemRow["state"] }): ReactElement => (
  <Chip {...looks[state]} text={systemWords.states[state]} />
);
