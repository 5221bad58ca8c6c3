import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { shortLived } from "#testing/short-lived.ts";

type Command = readonly [file: string, ...args: string[]];
type Environment = Readonly<Record<string, string | undefined>>;

const nodeCommand = (file: string, args: readonly string[]): Command => [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  ...shortLived,
  join(import.meta.dirname, "..", file),
  ...args,
];

/** A script of `scripts/` as its npm command runs it, in a process that lives for seconds. */
export const scriptCommand = (name: string, args: readonly string[]): Command => nodeCommand(`scripts/${name}`, args);

/** The program itself, likewise. */
export const startCommand = (args: readonly string[]): Command => nodeCommand("src/main.ts", args);

/** Runs a command to its end. `environment`: beside our own. `began`: told of the process. */
export const runCommand = async (
  [file, ...args]: Command,
  environment: Environment = {},
  began: (child: ChildProcess) => void = () => {},
) => {
  const child = spawn(file, args, {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  began(child);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
};

export const runScript = (name: string, args: readonly string[], environment?: Environment) =>
  runCommand(scriptCommand(name, args), environment);
