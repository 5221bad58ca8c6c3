import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { shortLived } from "./short-lived.ts";

/** A Node process of its own that runs a few lines; for what only another process, or the death of one, can show. */
export interface Child {
  readonly process: ChildProcess;
  /** The next line it printed. Throws when it ended instead. */
  line(): Promise<string>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Exit code, once it ends by itself. */
  ended(): Promise<number | null>;
}

/** `code` is an ES module; it may import `#module/file.ts`-paths as `import(new URL("<module>/<file>.ts", src))`. `env` is added to its environment. */
export const startChild = (code: string, env: Readonly<Record<string, string>> = {}): Child => {
  const preamble = `const src = ${JSON.stringify(new URL("../", import.meta.url).href)};\n`;
  const child = spawn(process.execPath, [...shortLived, "--input-type=module", "--eval", `${preamble}${code}`], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
  const lines: string[] = [];
  let wake = (): void => undefined;
  let over = false;
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    wake();
  });
  const exit = once(child, "exit").then(([code]) => {
    over = true;
    wake();
    return code as number | null;
  });
  return {
    process: child,
    line: async () => {
      for (;;) {
        const line = lines.shift();
        if (line !== undefined) return line;
        if (over) throw new Error("the child process ended");
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    kill: async () => {
      child.kill("SIGKILL");
      await exit;
    },
    ended: () => exit,
  };
};
