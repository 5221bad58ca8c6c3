import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { Agent, request } from "undici";
import { parse } from "yaml";
import { parseSecretUri } from "#secrets/model/secret-uri.ts";
import { parseSchemeAliases } from "#secrets/model/uri-schemes.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import { silentLog } from "#telemetry/log.ts";
import { startOpenBao } from "#testing/openbao.ts";
import { findProgram } from "#testing/programs.ts";
import { fetchToken } from "../../e2e/tokens.ts";
import { pinning } from "./kit/programs.ts";
import { say } from "./kit/progress.ts";
import type { Figure, Section } from "./kit/report.ts";
import { rate, time } from "./membership/plain.ts";
import { openBench } from "./pdp/world.ts";

export const secretsOptions = {
  // A person may read 600 values a minute: warming up, one at a time, 32 at once and those out of memory stay below that together.
  reads: { type: "string", default: "150" },
  writes: { type: "string", default: "150" },
} as const satisfies ParseArgsOptionsConfig;

/** So few that no minute's share is used up. */
const KEPT_READS = 40;

type Timed = Awaited<ReturnType<typeof time>>;
const agent = new Agent({ connections: 64 });
const text = ({ p50, p99 }: Timed): string => `p50 ${(p50 / 1000).toFixed(2)} ms, p99 ${(p99 / 1000).toFixed(2)} ms`;
const figure = (what: string, own: Timed, reference: Timed, max?: number): Figure => {
  const ratio = own.p50 / reference.p50;
  const target = max === undefined ? {} : { isMet: ratio <= max };
  return {
    what,
    own: text(own),
    reference: text(reference),
    ratio: ratio.toFixed(2),
    target: max === undefined ? "" : `<= ${max} x`,
    ...target,
  };
};

/** Calls an address until its answer is wrong, which is an issue of the bench; a right one has the text `having`. */
const caller =
  (
    url: string,
    headers: Readonly<Record<string, string>>,
    { body, having = "" }: { body?: (at: number) => unknown; having?: string } = {},
  ) =>
  async (at: number): Promise<void> => {
    const sent = body === undefined ? {} : { method: "POST" as const, body: JSON.stringify(body(at)) };
    const json = body === undefined ? {} : { "content-type": "application/json" };
    const answer = await request(url, { dispatcher: agent, ...sent, headers: { ...headers, ...json } });
    const said = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${url.split("?")[0]} answered ${answer.statusCode}: ${said.slice(0, 300)}`);
    if (!said.includes(having)) throw new Error(`${url.split("?")[0]} answered without ${having}`);
  };

/** Sum and count of a timing over all its labels, from a text of metrics. */
const timing = (metrics: string, name: string, having = ""): { readonly seconds: number; readonly count: number } => {
  const of = (part: string): number =>
    metrics
      .split("\n")
      .filter((line) => line.startsWith(`${name}_${part}`) && line.includes(having))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  return { seconds: of("sum"), count: of("count") };
};

/** The steps of a governed read that have a clock of their own, in the order they are passed. */
const steps: readonly (readonly [what: string, metric: string, having?: string])[] = [
  ["decision, at the decision point", "pdp_decision_seconds"],
  ["of it facts", "pdp_facts_seconds"],
  ["of it its record", "pdp_record_seconds"],
  ["audit entry opened (committed)", "audit_append_seconds", 'phase="open"'],
  ["audit entry and event closed (committed)", "audit_append_seconds", 'phase="close"'],
  ["from its first step until the store has answered, all but the closing", "secrets_operation_duration_seconds"],
];

const measureGoverned = async (reads: number, writes: number): Promise<readonly Figure[]> => {
  const program = findProgram("bao");
  if (program === undefined) throw new Error("OpenBao is neither on the PATH nor can it be installed with pip");
  await using stack = new AsyncDisposableStack();
  const bao = await startOpenBao({ after: (end) => stack.defer(async () => void (await end())) }, program, { storage: "memory" });
  const bench = stack.use(await openBench());
  const instance = await bench.startInstance([], {
    VAULT_URL: bao.url,
    VAULT_TOKEN: bao.rootToken,
    TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["vaultA+kv2://kv-a","yaml://secret"]}',
  });
  stack.defer(() => instance.stop());
  await bao.ask("POST", "kv-a/data/bench/one", { data: { password: "correct horse battery staple" } });
  const token = await fetchToken(instance.base, { user: "ada", acr: "strong" });
  const own = { authorization: `Bearer ${token}` };
  const bare = { "x-vault-token": bao.rootToken };
  const secrets = `http://localhost:${instance.base + 5}/api/secrets`;
  const uri = (path: string): string => encodeURIComponent(`vaultA+kv2://kv-a/bench/${path}`);

  // Whoever asks so is answered by the store, as everybody is where nothing is kept.
  const fresh = { ...own, "cache-control": "no-cache" };
  const governed = caller(`${secrets}/value?uri=${uri("one")}`, fresh, { having: '"cached":false' });
  const kept = caller(`${secrets}/value?uri=${uri("one")}`, own, { having: '"cached":true' });
  const plain = caller(`${bao.url}/v1/kv-a/data/bench/one`, bare);
  say("reads, one at a time ...");
  const plainRead = await time(reads, plain);
  const metricsOf = async (): Promise<string> => {
    const answer = await request(`http://localhost:${instance.base}/metrics`);
    return answer.body.text();
  };
  const before = await metricsOf();
  const governedRead = await time(reads, governed);
  const after = await metricsOf();
  say("reads, 32 at once ...");
  const many = Math.min(200, reads * 2);
  const [governedRate, plainRate] = [await rate(many, governed), await rate(many, plain)];
  say("reads out of memory ...");
  await caller(`${secrets}/value?uri=${uri("one")}`, own)(0);
  const keptRead = await time(Math.min(KEPT_READS, reads), kept);
  say("writes ...");
  const value = (at: number) => ({ password: `value ${at}` });
  const plainWrite = await time(writes, caller(`${bao.url}/v1/kv-a/data/bench/two`, bare, { body: (at) => ({ data: value(at) }) }));
  const governedWrite = await time(
    writes,
    caller(secrets, own, { body: (at) => ({ uri: "vaultA+kv2://kv-a/bench/three", value: value(at) }) }),
  );
  const ratio = governedRate / plainRate;
  const part = (what: string, milliseconds: number, how: string): Figure => ({
    what: `a governed read: ${what}`,
    own: `${how} ${milliseconds.toFixed(2)} ms`,
    reference: "",
    ratio: `${((milliseconds * 1000) / governedRead.p50).toFixed(2)} of its p50`,
    target: "",
  });
  return [
    figure("governed KVv2 read, new decision each, nothing kept, one at a time", governedRead, plainRead, 4),
    {
      what: "the same, 32 at once, reads a second",
      own: governedRate.toFixed(0),
      reference: plainRate.toFixed(0),
      ratio: ratio.toFixed(2),
      target: ">= 0.15",
      isMet: ratio >= 0.15,
    },
    figure("governed KVv2 read of a kept value, new decision each, one at a time", keptRead, plainRead),
    figure("governed KVv2 write, one at a time", governedWrite, plainWrite),
    ...steps.map(([what, metric, having]): Figure => {
      const [was, is] = [timing(before, metric, having), timing(after, metric, having)];
      return part(what, ((is.seconds - was.seconds) / (is.count - was.count)) * 1000, "mean");
    }),
    part("the store, as the reference asks it", plainRead.p50 / 1000, "p50"),
  ];
};

/** Nanoseconds a call, the best of five rounds: what else the machine does only adds. */
const nanoseconds = (count: number, act: () => unknown): number => {
  const rounds = Array.from({ length: 6 }, () => {
    const started = process.hrtime.bigint();
    for (let at = 0; at < count; at++) act();
    return Number(process.hrtime.bigint() - started) / count;
  });
  return Math.min(...rounds.slice(1));
};

const measureParse = (): readonly Figure[] => {
  const { schemes } = parseSchemeAliases([], "SECRET_SCHEME_ALIASES");
  const uri = "vaultA+kv2://kv-a/people/payroll/europe/north/database#password!";
  const refused = (input: string) => () => {
    try {
      parseSecretUri(input, schemes);
    } catch {
      return;
    }
    throw new Error("garbage was taken");
  };
  const own = nanoseconds(50_000, () => parseSecretUri(uri.slice(0, -1), schemes));
  const reference = nanoseconds(50_000, () => new URL(uri.slice(0, -1)));
  const large = nanoseconds(200, refused(`yaml://${"\u0000%zz/".repeat(262_144).slice(0, 1_048_576)}`));
  const small = nanoseconds(2_000, refused(`yaml://${"\u0000%zz/".repeat(512).slice(0, 2_041)}`));
  const row = (what: string, mine: number, other: number, ratio: number, target: string, isMet: boolean): Figure => ({
    what,
    own: `${(mine / 1000).toFixed(2)} us`,
    reference: `${(other / 1000).toFixed(2)} us`,
    ratio: ratio.toFixed(2),
    target,
    isMet,
  });
  return [
    row("parsing a URI of 63 bytes, beside `new URL`", own, reference, reference / own, ">= 2 times as fast", reference / own >= 2),
    row("refusing 1 MiB of garbage, beside refusing 2 KiB", large, small, large / small, "<= 2 x", large / small <= 2),
  ];
};

const measureFile = async (folder: string): Promise<readonly Figure[]> => {
  const path = join(folder, "secrets.yaml");
  const lines = Array.from({ length: 1_000 }, (_, at) => `  app${at}:\n    password: "value ${at}"\n    user: "u${at}"`);
  await writeFile(path, `bench:\n${lines.join("\n")}\n`, { mode: 0o600 });
  const provider = await createYamlProvider({ path, environment: "test", log: silentLog, now: () => new Date() });
  const { schemes } = parseSchemeAliases([], "SECRET_SCHEME_ALIASES");
  const ref = { ...parseSecretUri("yaml://secret/bench/app500", schemes), tenant: "tenant:acme" };
  const own = await time(5_000, () => provider.read(ref));
  const reference = await time(20, async () => parse(await readFile(path, "utf8")) as unknown);
  const ratio = reference.p50 / own.p50;
  return [
    {
      what: "reading of a YAML file of 1,000 secrets, beside parsing it for each read",
      own: `p50 ${own.p50.toFixed(1)} us`,
      reference: `p50 ${(reference.p50 / 1000).toFixed(1)} ms`,
      ratio: ratio.toFixed(0),
      target: ">= 500 times shorter",
      isMet: ratio >= 500,
    },
  ];
};

/** A governed read and write beside the bare ones on the same OpenBao, and what the module does alone. `--reads 150`, `--writes 150`. */
export const benchSecrets = async (argv: readonly string[]): Promise<Section> => {
  const { values } = parseArgs({ args: [...argv], options: secretsOptions });
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  const figures = [...measureParse(), ...(await measureFile(folder))];
  await rm(folder, { recursive: true });
  figures.unshift(...(await measureGoverned(Number(values.reads), Number(values.writes))));
  return {
    title: "Secrets",
    conditions: [
      `Load average of the machine when the run ended: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(", ")} on ${cpus().length} cores.`,
      `The demo instance in one process on PostgreSQL, bearer token of an administrator, asked at the secrets service; OpenBao in dev mode on the other cores; ${pinning}.`,
      `Reference: the same calls of KVv2 by the same client (undici), ${values.reads} reads and ${values.writes} writes each after as many that do not count; writes go to a path of their own.`,
      `Reads go to the store (\`Cache-Control: no-cache\`), those of a kept value (${KEPT_READS}) into the memory of Sallyport.`,
      "Steps of a read: means of Sallyport's own metrics over the reads of the store and their warming up.",
    ],
    figures,
  };
};
