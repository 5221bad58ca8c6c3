import type { ReactElement } from "react";
import type { SystemRow } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { Chip } from "../../ui/chip.tsx";
import { OffChip } from "../../ui/switched-off.tsx";

const looks = {
  serving: { tone: "allow", icon: "check" },
  degraded: { tone: "deny", icon: "warning" },
  off: { tone: "quiet", icon: "pause" },
  deleted: { tone: "quiet", icon: "cross" },
} as const;

type Standing = Pick<SystemRow, "state" | "switched_off">;

/** As a list is filtered by: what is switched off is called so, whatever else holds of it. */
export const standingOf = ({ state, switched_off: off }: Standing): SystemRow["state"] | "switched_off" =>
  off === undefined || state === "deleted" ? state : "switched_off";

/** Whether a system serves. */
export const StateChip = ({ system }: { readonly system: Standing }): ReactElement =>
  standingOf(system) === "switched_off" ? <OffChip /> : <Chip {...looks[system.state]} text={systemWords.states[system.state]} />;
