// `npm run faults`: the fault tests of workflows, whole, on the embedded database and on PostgreSQL; `npm test` plays a sample of them.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { requireOptions } from "./options.ts";

const USAGE = 64;
const root = join(import.meta.dirname, "..");

/** Their samples are as large as they can be with `FAULTS=all`. */
const files = [
  "src/crud/workflows/engine/crash.test.ts",
  "src/crud/workflows/engine/faults.test.ts",
  "src/crud/workflows/engine/leases.test.ts",
  "src/crud/workflows/tasks/delegation.test.ts",
];

const { values } = requireOptions(
  `npm run faults [-- --only PATH]

Plays every fault of workflows on both databases: a death before and after each database statement and peer call of the
demo workflows, lost commits and leases, and 1,000 approvals that race. Takes tens of minutes.

  --only PATH  one of ${files.join(", ")}
`,
  { only: { type: "string" } },
);
const { only } = values;
const chosen = only === undefined ? files : files.filter((file) => file === only);
if (chosen.length === 0) {
  process.stderr.write(`--only must be one of ${files.join(", ")}.\n`);
  process.exit(USAGE);
}

const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", join(root, "scripts/test.ts"), ...chosen], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, FAULTS: "all" },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child.kill(signal === "SIGHUP" ? "SIGTERM" : signal));
child.on("exit", (code) => process.exit(code ?? 1));
