import { spawn } from "node:child_process";
import { join } from "node:path";

/** One check: a tool, its arguments, and what mends most of what it finds. */
export interface Step {
  readonly name: "format" | "lint" | "types" | "types-web" | "unused" | "docs" | "markdown" | "figures";
  /** Program below node_modules, run by this Node; or a script of ours. */
  readonly script: string;
  readonly arguments: readonly string[];
  readonly mend: string;
  /** What it prints is shown although it passed. */
  readonly isShown?: true;
}

export const steps: readonly Step[] = [
  { name: "format", script: "node_modules/oxfmt/bin/oxfmt", arguments: ["--check", "."], mend: "npm run fix" },
  {
    name: "lint",
    script: "node_modules/oxlint/bin/oxlint",
    arguments: ["--type-aware", "--deny-warnings"],
    mend: "npm run fix mends some",
  },
  { name: "types", script: "node_modules/typescript/bin/tsc", arguments: ["--noEmit", "-p", "."], mend: "" },
  { name: "types-web", script: "node_modules/typescript/bin/tsc", arguments: ["--noEmit", "-p", "web"], mend: "" },
  { name: "unused", script: "node_modules/knip/bin/knip.js", arguments: ["--no-progress"], mend: "remove it, or use it" },
  { name: "docs", script: "scripts/docs.ts", arguments: ["--check"], mend: "npm run docs" },
  { name: "markdown", script: "scripts/checks/markdown.ts", arguments: [], mend: "" },
  { name: "figures", script: "scripts/checks/figures.ts", arguments: [], mend: "", isShown: true },
];

export interface Outcome {
  readonly name: Step["name"];
  readonly passed: boolean;
  readonly seconds: number;
  readonly output: string;
}

/** Runs one tool in the folder and keeps what it says. */
export const runStep = (step: Step, root: string): Promise<Outcome> =>
  new Promise((resolve) => {
    const started = performance.now();
    const chunks: Buffer[] = [];
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", join(root, step.script), ...step.arguments], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, NODE_OPTIONS: undefined },
    });
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    const end = (code: number | null, issue = ""): void =>
      resolve({
        name: step.name,
        passed: code === 0,
        seconds: (performance.now() - started) / 1000,
        output: `${Buffer.concat(chunks).toString("utf8")}${issue}`,
      });
    child.on("error", (error) => end(1, String(error)));
    child.on("close", (code) => end(code));
  });
