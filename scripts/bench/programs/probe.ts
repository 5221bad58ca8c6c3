// Loaded into a measured Node program before its own code: answers for its memory when the bench asks. It costs nothing
// until then, and does not keep the program alive.
process.on("message", () => {
  globalThis.gc?.();
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
process.channel?.unref();
