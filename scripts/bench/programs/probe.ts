import { monitorEventLoopDelay } from "node:perf_hooks";

// Loaded into a measured Node program before its own code: answers for its memory and for the delay of its event loop when the
// bench asks. It costs nothing until then, and does not keep the program alive.
const delay = monitorEventLoopDelay({ resolution: 1 });

interface Linear {
  readonly buffer: ArrayBuffer;
}
interface Assembly {
  Instance: new (...given: unknown[]) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly Memory: new (...given: unknown[]) => Linear;
}
const assembly = (globalThis as unknown as { readonly WebAssembly: Assembly }).WebAssembly;
const linear = new Set<Linear>();
// Nobody else tells how much of the memory a WebAssembly program holds; it only ever grows.
assembly.Instance = new Proxy(assembly.Instance, {
  construct: (made, given) => {
    const instance = new made(...(given as unknown[]));
    for (const value of Object.values(instance.exports)) if (value instanceof assembly.Memory) linear.add(value);
    return instance;
  },
});
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
  const webAssembly = [...linear].reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
  process.send?.({ ...process.memoryUsage(), webAssembly });
});
process.channel?.unref();
