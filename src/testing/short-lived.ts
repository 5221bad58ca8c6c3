/**
 * What a process has of WebAssembly (the embedded database, the engine of policies) is compiled quickly and not a second time for speed; nor is
 * counted at each call what only that would use.
 */
export const compiledQuickly: readonly string[] = ["--liftoff-only", "--no-wasm-inlining"];

/**
 * Arguments of Node for a process that lives for seconds: to compile for speed would cost more than it brings, and its memory may grow by what
 * it needs before garbage is first looked for.
 */
export const shortLived: readonly string[] = [...compiledQuickly, "--initial-old-space-size=256", "--min-semi-space-size=16"];
