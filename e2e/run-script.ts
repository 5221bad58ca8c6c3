import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A script of `scripts/` as its npm command runs it, to its end. */
export const runScript = async (name: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
  const file = join(import.meta.dirname, "../scripts", name);
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", file, ...args], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
};
