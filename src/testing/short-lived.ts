/**
 * Arguments of Node for a process that lives for seconds: what it has of WebAssembly (the embedded database, the engine of policies) is
 * compiled quickly and not a second time for speed, which would cost more than it brings.
 */
export const shortLived: readonly string[] = ["--liftoff-only"];
