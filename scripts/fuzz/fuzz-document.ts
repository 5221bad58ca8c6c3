import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceName } from "#contract/endpoint.ts";
import { allowedRefusals, leftOut, mayBeBehind } from "./exceptions.ts";

export interface FuzzRun {
  readonly program: string;
  readonly service: ServiceName;
  /** Where the service listens, e.g. `http://localhost:8082`. */
  readonly url: string;
  /** Folder for what the run writes. */
  readonly folder: string;
  readonly seed: number;
  /** Generated requests an operation. */
  readonly examples: number;
  /** Its endpoints that are asked, by name. */
  readonly operations: readonly string[];
  /** Every service but the gateway is asked with it. */
  readonly token?: string;
  /** Ends the run; what was found until then counts. */
  readonly signal: AbortSignal;
  /** A browser session, at the gateway: its cookie and the headers of its own page. */
  readonly session?: { readonly name: string; readonly value: string; readonly headers: Readonly<Record<string, string>> };
}

const text = (value: string): string => JSON.stringify(value);

/** 501 is what Sallyport has not with these parts. */
const EXPECTED = '"2xx", "3xx", "4xx", 501';

/** The settings of a run, as Schemathesis reads them. */
const settingsOf = (run: FuzzRun): string => {
  const { operations, seed, examples, token, session } = run;
  const lines = [
    `seed = ${seed}`,
    `base-url = ${text(run.url)}`,
    `hooks = ${text(join(import.meta.dirname, "good_data.py"))}`,
    "continue-on-failure = true",
    "request-timeout = 20.0",
    "max-redirects = 0",
    'suppress-health-check = ["all"]',
    "[warnings]",
    "enabled = false",
    "[checks.not_a_server_error]",
    `expected-statuses = [${EXPECTED}]`,
    // A target or a body that is too long is wrong too.
    "[checks.negative_data_rejection]",
    "expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, 431]",
    // `good_data.py` makes it.
    "[checks.positive_data_acceptance]",
    "enabled = false",
    "[generation]",
    `max-examples = ${examples}`,
    'database = "none"',
    "[phases.stateful]",
    "enabled = false",
    // Which example comes next must not hang on what was answered before.
    "[phases.fuzzing.extra-data-sources]",
    "responses = false",
    "[phases.fuzzing.error-feedback]",
    "enabled = false",
    "[phases.coverage.extra-data-sources]",
    "responses = false",
  ];
  if (token !== undefined) lines.push("[auth.openapi.bearer]", `bearer = ${text(token)}`);
  if (session !== undefined) lines.push("[auth.openapi.session]", `api_key = ${text(session.value)}`, "[headers]");
  for (const [name, value] of Object.entries(session?.headers ?? {})) lines.push(`${text(name)} = ${text(value)}`);
  for (const name of operations) {
    const own = leftOut.filter((row) => row.operations.includes(name));
    const isBehind = mayBeBehind.includes(name);
    if (own.length === 0 && !isBehind) continue;
    lines.push("[[operations]]", `include-operation-id = ${text(name)}`);
    if (isBehind) lines.push(`checks.not_a_server_error.expected-statuses = [${EXPECTED}, 503]`);
    for (const { check } of own) lines.push(`checks.${check}.enabled = false`);
  }
  return `${lines.join("\n")}\n`;
};

/** The published document; over plain HTTP on loopback the session's cookie has another name. */
const documentOf = ({ service, session }: FuzzRun): string => {
  const published = readFileSync(join(import.meta.dirname, `../../docs/reference/openapi/${service}.json`), "utf8");
  return session === undefined ? published : published.replaceAll("__Host-Http-sid", session.name);
};

export interface FuzzResult {
  /** Tests of an operation: one of systematic requests, one of generated ones. */
  readonly passed: number;
  /** With an issue, or not made at all. */
  readonly failed: number;
}

const countOf = (report: string, name: string): number => Number(new RegExp(`<testsuites[^>]* ${name}="(\\d+)"`).exec(report)?.[1] ?? 0);

/** Fuzzes one service by its document; what it finds is printed. */
export const fuzzDocument = async (run: FuzzRun): Promise<FuzzResult> => {
  const at = (name: string): string => join(run.folder, `${run.service}.${name}`);
  writeFileSync(at("toml"), settingsOf(run));
  writeFileSync(at("json"), documentOf(run));
  const args = ["--config-file", at("toml"), "run", at("json"), "--no-color", "--report-junit-path", at("xml")];
  for (const name of run.operations) args.push("--include-operation-id", name);
  const codes = allowedRefusals.flatMap(({ code, operations = ["*"], text = "" }) =>
    operations.map((operation) => ({ operation, code, text })),
  );
  const env = { ...process.env, NO_PROXY: "*", FUZZ_CODES: JSON.stringify(codes) };
  rmSync(at("xml"), { force: true });
  const code = await new Promise<number>((resolve) => {
    spawn(run.program, args, { stdio: ["ignore", "inherit", "inherit"], cwd: run.folder, env, signal: run.signal })
      .on("error", () => resolve(1))
      .on("exit", (status) => resolve(status ?? 1));
  });
  const report = existsSync(at("xml")) ? readFileSync(at("xml"), "utf8") : "";
  const total = countOf(report, "tests");
  const failed = countOf(report, "failures") + countOf(report, "errors");
  // A run that broke off, or tested nothing, found nothing.
  return { passed: total - failed, failed: failed > 0 || (code === 0 && total > 0) ? failed : 1 };
};
