import { workflowWords } from "../../strings/workflows.ts";
import type { ChipProps } from "../../ui/chip.tsx";

const looks = { serving: { tone: "allow", icon: "check" }, degraded: { tone: "stepup", icon: "warning" } } as const;

/** How the state of a workflow looks and reads. */
export const statusLook = (status: keyof typeof looks): ChipProps => ({ ...looks[status], text: workflowWords.statuses[status] });
