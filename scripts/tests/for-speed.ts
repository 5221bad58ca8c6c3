import { spawn } from "node:child_process";
import { compiledQuickly } from "#testing/short-lived.ts";

/**
 * Runs a file of tests in a process whose WebAssembly is compiled for speed, in the place of this one. Not by setting the flags of V8 here: Node
 * keeps compiled code for the flags that a process began with, and would throw away and compile anew all that the others have kept.
 */
export const runForSpeed = (file: string): void => {
  const flags = process.execArgv.filter((flag) => !compiledQuickly.includes(flag));
  const child = spawn(process.execPath, [...flags, file], { stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => process.exit(code ?? 1));
};
