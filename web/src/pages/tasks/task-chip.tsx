import type { ReactElement } from "react";
import type { Task } from "#contract/tasks.ts";
import { formatMoment, formatRelative } from "../../strings/format.ts";
import { taskWords } from "../../strings/tasks.ts";
import { Chip, type ChipProps } from "../../ui/chip.tsx";
import { useClock } from "../../ui/timers.ts";

const looks: Readonly<Record<Task["status"], Omit<ChipProps, "text">>> = {
  PENDING: { tone: "stepup", icon: "clock" },
  COMPLETED: { tone: "allow", icon: "check" },
  REJECTED: { tone: "deny", icon: "cross" },
  EXPIRED: { tone: "quiet", icon: "clock" },
  CANCELLED: { tone: "quiet", icon: "minus" },
};

/** When a task is due, or what became of it. */
export const TaskChip = ({ task: { status, overdue, due_at: due } }: { readonly task: Task }): ReactElement => {
  const now = useClock(30_000);
  if (status === "PENDING" && overdue) return <Chip tone="deny" icon="warning" text={taskWords.overdue} />;
  if (status !== "PENDING" || due === null) return <Chip {...looks[status]} text={taskWords.statuses[status]} />;
  return (
    <span title={formatMoment(due)}>
      <Chip tone="stepup" icon="clock" text={taskWords.dueIn(formatRelative(due, now))} />
    </span>
  );
};
