import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** Work that comes round by itself; each task is measured, and none runs over itself. */
export interface Background {
  every(milliseconds: number, task: string, work: () => Promise<void>): void;
  stop(): Promise<void>;
}

export const createBackground = (parts: { readonly metrics: Metrics; readonly log: Log }): Background => {
  const timers = new Set<NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  const run = async (task: string, work: () => Promise<void>): Promise<void> => {
    const started = performance.now();
    let status = "ok";
    await work().catch((cause: unknown) => {
      status = "error";
      parts.log.warn("background_task_failed", { task, cause });
    });
    parts.metrics.count("bff_background_tasks_total", { task_type: task, status });
    parts.metrics.observe("bff_background_task_duration_seconds", { task_type: task }, (performance.now() - started) / 1000);
  };
  return {
    every: (milliseconds, task, work) => {
      let isRunning = false;
      const timer = setInterval(() => {
        if (isRunning) return;
        isRunning = true;
        const round = run(task, work).finally(() => {
          isRunning = false;
          running.delete(round);
        });
        running.add(round);
      }, milliseconds);
      timer.unref();
      timers.add(timer);
    },
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running);
    },
  };
};
