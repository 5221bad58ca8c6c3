// `npm run graph -- import|export|generate FILE`: fills the identity graph from a file, writes it to one, makes one up.
import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { Problem } from "#contract/problem.ts";
import { tenantScopeOf } from "#membership/graph/tenant-scope.ts";
import { applyImport } from "#membership/transfer/apply-import.ts";
import { exportGraph } from "#membership/transfer/export-graph.ts";
import { readImport } from "#membership/transfer/read-import.ts";
import { generateGraph } from "./graph/generate.ts";
import { runOnDatabase, USAGE, writeAlone } from "./on-database.ts";
import { openDatabase } from "./open-database.ts";
import { Refusal } from "./refusal.ts";

const help = `npm run graph -- import FILE [--tenant TENANT] [--csv nodes|edges] [--on-conflict upsert|skip|fail] [--roles] [--dry-run] [--reason TEXT] [--data DIR]
npm run graph -- export FILE [--tenant TENANT] [--csv nodes|edges] [--data DIR]
npm run graph -- generate FILE [--scale 1] [--persons N] [--seed 42] [--hostile]

import     writes a whole file as one version of the graph, or nothing of it; every fault is named with its line
export     writes the graph to a file, in the order of ids; delegations, which are acts of persons, are not among it
generate   makes up a graph; the same seed makes the same bytes. Scale 1: 227,840 nodes, 560,650 edges

The database is DATABASE_URL where it is set, else the data folder, whose instance has to be stopped first. No service has to run and nobody's
right is asked: whoever may open the database may do this. The change log names you. Who holds a role changes by a file only through groups
that an administrator marked (provisions_roles), as by one that is sent to the service; to put back an export, say --roles.

  --tenant T       only this tenant's part, as its administrator would; default: all of the graph, with what is shared
  --csv WHAT       the file is a CSV of nodes or of edges; default: NDJSON
  --on-conflict C  what is there already is changed (upsert, the default), left alone (skip), or a fault (fail)
  --roles          the file may say who holds which role: of an export of an instance, whose roles are to be as they were
  --dry-run        only tries it
  --reason TEXT    why, for the change log
  --scale S        of generate: how many times the standard graph; --persons N says the same by its persons
  --hostile        of generate: names with quotes, right-to-left marks, emoji, Turkish letters and patterns; ended edges
  --data DIR       data folder of Sallyport, default .sallyport
`;

/** Exit code of sysexits.h. */
const NO_INPUT = 66;

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        tenant: { type: "string" },
        csv: { type: "string" },
        "on-conflict": { type: "string", default: "upsert" },
        "dry-run": { type: "boolean" },
        roles: { type: "boolean" },
        reason: { type: "string", default: "npm run graph" },
        scale: { type: "string" },
        persons: { type: "string" },
        seed: { type: "string", default: "42" },
        hostile: { type: "boolean" },
        data: { type: "string", default: ".sallyport" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new Refusal(USAGE, `${(error as Error).message}\n\n${help}`);
  }
};
type Values = ReturnType<typeof readArguments>["values"];

const say = (line: string): void => void process.stderr.write(`${line}\n`);
/** One line that is written over, where somebody looks; nothing otherwise. */
const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
};
const endProgress = (): void => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
};

const oneOf = <W extends string>(word: string | undefined, words: readonly W[], option: string): W | undefined => {
  if (word === undefined) return undefined;
  const found = words.find((known) => known === word);
  if (found === undefined) throw new Refusal(USAGE, `--${option} must be one of ${words.join(", ")}.`);
  return found;
};
const numberOf = (text: string | undefined, option: string): number | undefined => {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number) || number < 0) throw new Refusal(USAGE, `--${option} must be a number.`);
  return number;
};
const scopeOf = (values: Values) => tenantScopeOf({ tenant: values.tenant ?? "*" });

class Tried extends Error {}

const importFile = async (file: string, values: Values): Promise<void> => {
  if (!existsSync(file)) throw new Refusal(NO_INPUT, `There is no file ${file}.`);
  const csv = oneOf(values.csv, ["nodes", "edges"], "csv");
  const mode = oneOf(values["on-conflict"], ["upsert", "skip", "fail"], "on-conflict") ?? "upsert";
  const scope = scopeOf(values);
  await using database = await openDatabase(values.data);
  const plan = await readImport(createReadStream(file), { scope, csv, onLines: (lines) => progress(`${lines} lines read`) });
  const rows = plan.nodes.length + plan.edges.length;
  const write = writeAlone(database);
  const by = {
    actor: `operator:${userInfo().username}`,
    source: "import",
    reason: values.reason,
    correlationId: `graph-${randomUUID()}`,
    tenantId: values.tenant ?? null,
    roles: values.roles === true ? "platform" : "directory",
  } as const;
  let dropped = 0;
  try {
    const { value, version } = await write(by, async (tx) => {
      const onRows = (done: number): void => progress(`${done} of ${rows} rows written`);
      const value = await applyImport(tx, scope, plan, { mode, onRows });
      dropped = value.dropped;
      if (values["dry-run"] === true) {
        endProgress();
        say(`${plan.lines} lines are right: ${value.written} would be written, ${value.same} are there so already, ${dropped} would go.`);
        throw new Tried();
      }
      return { value };
    });
    endProgress();
    say(
      `${plan.lines} lines: ${value.written} written, ${value.same} there so already, ${dropped} gone. The graph is at version ${version}.`,
    );
  } catch (error) {
    if (error instanceof Tried) return;
    if (error instanceof Problem && by.roles === "directory" && error.options.errors?.some(({ code }) => code === "access_denied")) {
      endProgress();
      say("Where these are the roles of an export that is put back: --roles.");
    }
    throw error;
  }
};

const exportFile = async (file: string, values: Values): Promise<void> => {
  const csv = oneOf(values.csv, ["nodes", "edges"], "csv");
  await using database = await openDatabase(values.data);
  const { version, parts } = await exportGraph(database, scopeOf(values), { csv, kinds: [] });
  // A file is there whole or not at all.
  const draft = `${file}.${process.pid}`;
  const out = createWriteStream(draft, { mode: 0o600 });
  for (const part of parts) if (!out.write(part)) await once(out, "drain");
  out.end();
  await once(out, "close");
  await rename(draft, file);
  say(`${file}: the graph at version ${version}.`);
};

const generateFile = async (file: string, values: Values): Promise<void> => {
  const scale = numberOf(values.scale, "scale") ?? (numberOf(values.persons, "persons") ?? 100_000) / 100_000;
  const seed = numberOf(values.seed, "seed") ?? 42;
  const out = createWriteStream(file);
  let lines = 0;
  for (const part of generateGraph({ scale, seed, hostile: values.hostile === true })) {
    if (!out.write(part.join(""))) await once(out, "drain");
    lines += part.length;
    progress(`${lines} lines`);
  }
  out.end();
  await once(out, "close");
  endProgress();
  say(`${file}: ${lines} lines.`);
};

const run = async (): Promise<void> => {
  const { values, positionals } = readArguments();
  const [verb, name, ...more] = positionals;
  if (values.help === true) return void process.stderr.write(help);
  const verbs = { import: importFile, export: exportFile, generate: generateFile };
  if (verb === undefined || !Object.hasOwn(verbs, verb) || name === undefined || more.length > 0) throw new Refusal(USAGE, help);
  await verbs[verb as keyof typeof verbs](resolve(process.env["SALLYPORT_INVOKED_FROM"] ?? ".", name), values);
};

await runOnDatabase(run, endProgress);
