import { startInterval, type Interval } from "#http/interval.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";

/** Work that comes round by itself; each task is measured. */
export interface Background {
  every(milliseconds: number, task: string, work: () => Promise<void>): void;
  stop(): Promise<void>;
}

export const createBackground = (parts: Pick<GatewayParts, "metrics" | "log" | "roundsEveryMs">): Background => {
  const loops: Interval[] = [];
  const measured = async (task: string, work: () => Promise<void>): Promise<void> => {
    const started = performance.now();
    let status = "error";
    try {
      await work();
      status = "ok";
    } finally {
      parts.metrics.count("bff_background_tasks_total", { task_type: task, status });
      parts.metrics.observe("bff_background_task_duration_seconds", { task_type: task }, (performance.now() - started) / 1000);
    }
  };
  return {
    every: (everyMs, task, work) => {
      const failed = (cause: unknown): void => parts.log.warn("background_task_failed", { task, cause });
      loops.push(startInterval({ everyMs: parts.roundsEveryMs ?? everyMs, work: () => measured(task, work), failed }));
    },
    stop: async () => void (await Promise.all(loops.map((loop) => loop[Symbol.asyncDispose]()))),
  };
};
