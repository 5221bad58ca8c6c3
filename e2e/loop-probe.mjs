import { monitorEventLoopDelay } from "node:perf_hooks";

// Loaded into the server before its own code: on SIGUSR2 it prints the longest turn of the event loop since the last time, milliseconds.
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on("SIGUSR2", () => {
  process.stderr.write(`loop_turn_ms=${Math.round(delay.max / 1e6)}\n`);
  delay.reset();
});
