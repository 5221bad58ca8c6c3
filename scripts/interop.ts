// `npm run interop`: AuthZEN conformance sets against a decision point, as strict as their text. Exits 1 on any difference.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { readSets } from "./interop/read-sets.ts";
import { runCase } from "./interop/run-case.ts";
import type { Target } from "./interop/target.ts";
import { sendOverHttp } from "./interop/send.ts";

const help = `npm run interop -- --data DIR --pdp URL [--token T] [--only NAMES]

Sends every case of the sets in DIR to the AuthZEN decision point (or gateway) at URL and compares status, headers and body.
Sets: files as openid/authzen publishes them (.json) and our own (.yaml, as in scripts/interop/cases).

  --data DIR   folder of the sets
  --pdp URL    base address, e.g. http://localhost:8082
  --token T    bearer token; without it none is sent. INTEROP_TOKEN is read too
  --only NAMES these sets alone, e.g. todo,api-gateway: names of files, with or without their ending
`;

const USAGE = 64;
const DATA = 66;
/** Differences of a set that are told one by one. */
const SHOWN = 10;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const stop = (code: number, line: string): never => {
  process.stderr.write(`${line}\n`);
  process.exit(code);
};

const readArguments = () => {
  try {
    const { values } = parseArgs({
      options: {
        data: { type: "string" },
        pdp: { type: "string" },
        token: { type: "string" },
        only: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
    return values;
  } catch (error) {
    return stop(USAGE, `${(error as Error).message}\n\n${help}`);
  }
};

const given = readArguments();
if (given.help === true) {
  say(help);
  process.exit(0);
}
const { data, pdp } = given;
if (data === undefined || pdp === undefined || !URL.canParse(pdp)) stop(USAGE, help);
const folder = resolve(process.env["SALLYPORT_INVOKED_FROM"] ?? ".", data ?? "");
const read = await readSets(folder).catch((error: unknown) =>
  stop(DATA, `${folder}: ${error instanceof Error ? error.message : String(error)}`),
);
const names = given.only?.split(",");
const isOf = (name: string, file: string): boolean => name === file || name === file.replace(/\.(?:json|yaml)$/, "");
const isNamed = (file: string): boolean => names?.some((name) => isOf(name, file)) ?? true;
const absent = names?.filter(
  (name) => ![...read.cases.map(({ set }) => set), ...read.left.map(({ file }) => file)].some((file) => isOf(name, file)),
);
if (absent?.[0] !== undefined) stop(DATA, `${folder}: holds no set ${absent.join(", ")}`);
const sets = { cases: read.cases.filter(({ set }) => isNamed(set)), left: read.left.filter(({ file }) => isNamed(file)) };
const target: Target = {
  url: (pdp ?? "").replace(/\/$/, ""),
  token: given.token ?? process.env["INTEROP_TOKEN"],
  send: sendOverHttp,
};

const tally = new Map<string, { passed: number; failed: string[] }>();
for (const one of sets.cases) {
  const row = tally.get(one.set) ?? { passed: 0, failed: [] };
  tally.set(one.set, row);
  const issues = await runCase(one, target);
  if (issues.length === 0) row.passed += 1;
  else row.failed.push(`${one.name}: ${issues.join("; ")}`);
}

const width = Math.max(4, ...[...tally.keys(), ...sets.left.map(({ file }) => file)].map((name) => name.length));
const line = (set: string, cases: number | string, passed: number | string, result: string): string =>
  `${set.padEnd(width)}  ${String(cases).padStart(5)}  ${String(passed).padStart(6)}  ${result}`;
say(`AuthZEN at ${target.url}`);
say(line("set", "cases", "passed", "result"));
for (const [set, { passed, failed }] of tally) say(line(set, passed + failed.length, passed, failed.length === 0 ? "pass" : "FAIL"));
for (const { file, why, isIssue } of sets.left) say(line(file, "-", "-", isIssue ? `FAIL: ${why}` : why));
const all = [...tally.values()];
const failed = all.reduce((sum, row) => sum + row.failed.length, 0);
const isPass = failed === 0 && sets.cases.length > 0 && !sets.left.some(({ isIssue }) => isIssue);
say(line("all", sets.cases.length, sets.cases.length - failed, isPass ? "pass" : "FAIL"));
for (const [set, row] of tally) {
  for (const text of row.failed.slice(0, SHOWN)) say(`  ${set} ${text}`);
  if (row.failed.length > SHOWN) say(`  ${set} and ${row.failed.length - SHOWN} more`);
}
process.exitCode = isPass ? 0 : 1;
