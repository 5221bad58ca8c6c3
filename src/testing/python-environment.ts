import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const cache = join(import.meta.dirname, "../../.cache");
const isWindows = process.platform === "win32";

/** Oldest that the pinned packages run on. */
const probe = "import sys, venv, ensurepip; sys.exit(0 if sys.version_info >= (3, 11) else 1)";

const findPython = (): string | undefined => ["python3", "python"].find((name) => spawnSync(name, ["-c", probe]).status === 0);

/**
 * Where the programs of a virtual environment under `.cache/<name>` are, made from a pinned list once for each state of it.
 * `undefined` without a Python 3.11 that has `venv`. Throws when the packages cannot be installed.
 */
export const openPythonEnvironment = (name: string, requirements: string, say: (line: string) => void): string | undefined => {
  const folder = join(cache, name);
  const bin = join(folder, isWindows ? "Scripts" : "bin");
  const marker = join(folder, "installed");
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === digest) return bin;
  const python = findPython();
  if (python === undefined) return undefined;
  say(`Installing packages from PyPI into ${folder} (once) ...`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [command, args] of [
    [python, ["-m", "venv", folder]],
    [join(bin, "python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", requirements]],
  ] as const) {
    const { status } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
    if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}`);
  }
  writeFileSync(marker, digest);
  return bin;
};
