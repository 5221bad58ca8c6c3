import { monitorEventLoopDelay } from "node:perf_hooks";

// Loaded into a measured Node program before its own code: answers for its memory and for the delay of its event loop when the
// bench asks. It costs nothing until then, and does not keep the program alive.
const delay = monitorEventLoopDelay({ resolution: 1 });
process.on("message", (asked) => {
  if (asked === "watch") {
    delay.reset();
    delay.enable();
    return;
  }
  if (asked === "delay") {
    delay.disable();
    process.send?.({ p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 });
    return;
  }
  globalThis.gc?.();
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
process.channel?.unref();
