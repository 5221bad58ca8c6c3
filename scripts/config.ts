// `npm run config`: a running instance's systems and tools document from and to a folder, an OpenAPI document as a system, and
// why somebody can or cannot call a tool. All of it is Sallyport's own endpoints; this only packs, asks and prints.
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, posix, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import { configKinds, type ConfigWritten, type DecisionsChanged } from "#contract/configs.ts";
import type { Issue } from "#contract/problem.ts";
import { issueLine } from "#contract/start-issues.ts";
import type { ToolExplanation } from "#contract/tools.ts";
import { visibleText } from "../web/src/strings/format.ts";
import { packArchive, unpackArchive, type ArchivedFile } from "#crud/configs/archive.ts";
import { askInstance, type InstanceRequest } from "./ask-instance.ts";
import { Refusal } from "./refusal.ts";

const help = `npm run config -- export DIR|FILE.tar
npm run config -- import DIR|FILE [--dry-run] [--reason TEXT] [--if-match ETAG]
npm run config -- openapi FILE --provider P --instance I [--pick tag:users] [--base-url URL] [--allow NETWORK] [--auth JSON] [--dry-run] [--out FILE]
npm run config -- explain TOOL --user NAME [--agent AGENT] [--view NAME]

  export           systems and tools document of the running instance, byte for byte, as a configuration folder or as a tar archive of one;
                   files of the folder that Sallyport does not have stay
  import           publishes a configuration folder, a tar archive of one, or one file of it (tools.yaml, <provider>.<instance>.yaml):
                   all or nothing; what Sallyport has besides stays
  openapi          publishes operations of an OpenAPI document (JSON or YAML) as one system
  explain          what each check answers to a call of the tool by that person, and what is missing; nothing is called

  --out FILE       writes the system's file instead of publishing it
  --dry-run        only says what it would change
  --reason TEXT    why, for the versions
  --if-match ETAG  as the export said that it was made of: refused if anything was changed there since
  --pick WHAT      tag:<tag>, or an operation ("GET /users/{id}"); may be repeated. Default: all that can be imported
  --base-url URL   where the operations are; default: the document's first server
  --allow NETWORK  a network that is not public and may be dialled (10.1.0.0/16); may be repeated
  --auth JSON      auth of the system, its credentials as secret URIs: '{"type":"bearer","token":"yaml://secret/pets#token"}'; default: none
  --user NAME      person:NAME; --agent ID acts for that person
  --as NAME        demo person who asks, default ada. Without the demo put an administrator's access token in SALLYPORT_TOKEN, or give --token
  --token TOKEN    an access token for the tool service; other users of this machine can see it while the command runs
  --port N         the gateway's port, default 8080; the tool service listens on the third after it
  --origin URL     the tool service instead

Ends with 0; 1 where the answer is no (a dry run that would be refused, a tool that cannot be called); 64 usage, 65 refused by Sallyport,
66 no such file, 69 no instance answers, 73 a file cannot be written, 77 not permitted.
`;

const TAR = "application/x-tar";
/** Of the tool service, above the gateway's. */
const ABOVE = 3;
const from = process.env["SALLYPORT_INVOKED_FROM"] ?? process.cwd();

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        "dry-run": { type: "boolean", default: false },
        reason: { type: "string" },
        "if-match": { type: "string" },
        provider: { type: "string" },
        instance: { type: "string" },
        pick: { type: "string", multiple: true, default: [] },
        "base-url": { type: "string" },
        allow: { type: "string", multiple: true },
        auth: { type: "string" },
        out: { type: "string" },
        user: { type: "string" },
        agent: { type: "string" },
        view: { type: "string" },
        as: { type: "string", default: "ada" },
        token: { type: "string" },
        port: { type: "string", default: "8080" },
        origin: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new Refusal(64, `${(error as Error).message}\n\n${help}`);
  }
};
type Given = ReturnType<typeof readArguments>["values"];

/** A line, however many its texts of others would be. */
const say = (line: string): void => void process.stdout.write(`${visibleText(line).replaceAll("\n", " ")}\n`);
// Whoever reads only the first lines has closed the pipe.
process.stdout.on("error", () => process.exit());
const ask = (given: Given, request: InstanceRequest): Promise<Response> => askInstance(given, ABOVE, request);
const queryOf = (query: Readonly<Record<string, string | undefined>>): string =>
  new URLSearchParams(Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))).toString();
const bytesOf = (file: string): Promise<Buffer<ArrayBuffer>> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new Refusal(66, `${file} cannot be read (${error.code}).`);
  });

const textOf = async (file: string): Promise<string> => {
  const bytes = await bytesOf(file);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal(65, `${file} is no UTF-8 text.`);
  }
};
const written = (file: string, bytes: string | Uint8Array): Promise<void> =>
  mkdir(dirname(file), { recursive: true })
    .then(() => writeFile(file, bytes))
    .catch((error: NodeJS.ErrnoException) => {
      throw new Refusal(73, `${file} cannot be written (${error.code}).`);
    });

const outcomeText = ({ decision, reason }: { readonly decision: boolean; readonly reason?: string | undefined }): string =>
  decision ? "permitted" : `denied (${reason ?? "no reason"})`;
/** What the last recorded calls would be. */
const tellDecisions = (decisions: DecisionsChanged): void => {
  const { evaluated, newly_denied: denied, newly_allowed: allowed, changed, not_replayable: lost, complete, examples } = decisions;
  if (evaluated === 0) return;
  const untold = lost === 0 ? "" : `, ${lost} cannot be told`;
  say(
    `  of the last ${evaluated} decisions${complete ? "" : " looked at"}: ${denied} newly denied, ${allowed} newly permitted, ${changed} otherwise changed${untold}`,
  );
  for (const { decision_id: id, tool, before, after } of examples)
    say(`    ${id} ${tool}: ${outcomeText(before)} -> ${outcomeText(after)}`);
};

/** What a change did, or would do, a line each. */
const tell = (name: string, { version, diff, warnings }: Omit<ConfigWritten, "name" | "etag">): void => {
  const count = (sign: string, names: readonly unknown[]): string => `${sign}${names.length}`;
  const tools = [count("+", diff.tools_added), count("-", diff.tools_removed), count("~", diff.tools_changed)].join(" ");
  say(`${name}  version ${version}, tools ${tools}`);
  for (const { path, before, after } of diff.settings_changed)
    say(`  changed: ${path} ${[before, after].map((value) => (value === undefined ? "nothing" : JSON.stringify(value))).join(" -> ")}`);
  for (const secret of diff.secrets_added) say(`  new secret: ${secret}`);
  for (const host of diff.hosts_added) say(`  new address: ${host}`);
  for (const { delegation_id: delegation, user_id: person, agent_id: agent, tool } of diff.capabilities_affected ?? [])
    say(
      `  switched off: ${tool} for ${agent} of ${person} (${delegation}), ${diff.tools_removed.includes(tool) ? "as the tool goes" : "until it is given the tool anew"}`,
    );
  if (diff.decisions_changed !== undefined) tellDecisions(diff.decisions_changed);
  for (const warning of warnings) say(`  warning: ${warning}`);
};
const tellFaults = (valid: boolean | undefined, errors: readonly Issue[] = []): void => {
  for (const issue of errors) say(issueLine(issue));
  if (valid !== false) return;
  say("It would be refused.");
  process.exitCode = 1;
};

const exportTo = async (given: Given, target: string): Promise<void> => {
  const answer = await ask(given, { method: "GET", path: "/config/export" });
  const archive = Buffer.from(await answer.arrayBuffer());
  say(`ETag ${answer.headers.get("etag") ?? ""}`);
  if (target.endsWith(".tar")) {
    await written(target, archive);
    return say(`${target}: ${unpackArchive(archive).length} files`);
  }
  // Each path is one of a configuration folder, or unpacking refuses it.
  const files = unpackArchive(archive);
  for (const { path, text } of files) await written(join(target, path), text);
  say(`${target}: ${files.length} files`);
};

/** What of a configuration folder the store has: files, and folders with a slash behind. */
const places = Object.entries(configKinds).map(([kind, row]) => ("plural" in row ? `${row.plural}/` : `${kind}.yaml`));
const isConfiguration = (path: string): boolean =>
  places.some((place) => path === place || (place.endsWith("/") && path.startsWith(place)));

/** The files of a folder that are configuration, as paths of an archive. */
const filesOf = async (folder: string): Promise<readonly ArchivedFile[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: ArchivedFile[] = [];
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join(posix.sep);
    if (entry.isDirectory() || !isConfiguration(path)) continue;
    files.push({ path, text: await textOf(join(folder, path)) });
  }
  if (files.length === 0) throw new Refusal(66, `${folder} holds none of ${places.join(", ")}.`);
  return files;
};
const archiveOf = async (source: string): Promise<Uint8Array<ArrayBuffer>> => {
  const found = await stat(source).catch(() => undefined);
  if (found === undefined) throw new Refusal(66, `${source} is not there.`);
  if (found.isDirectory()) return Uint8Array.from(packArchive(await filesOf(source)));
  if (!source.endsWith(".yaml")) return bytesOf(source);
  const name = basename(source);
  return Uint8Array.from(packArchive([{ path: places.includes(name) ? name : `systems/${name}`, text: await textOf(source) }]));
};

const importFrom = async (given: Given, source: string): Promise<void> => {
  const body = await archiveOf(source);
  const query = queryOf({ dryRun: String(given["dry-run"]), reason: given.reason });
  const answer = await ask(given, { method: "POST", path: `/config/import?${query}`, body, type: TAR, ifMatch: given["if-match"] });
  const imported = (await answer.json()) as {
    readonly changed: readonly (ConfigWritten & { readonly kind: string })[];
    readonly unchanged: number;
    readonly valid?: boolean;
    readonly errors?: Issue[];
  };
  for (const one of imported.changed) tell(`${one.kind} ${one.name}`, one);
  say(`${imported.unchanged} as they were`);
  tellFaults(imported.valid, imported.errors);
};

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(64, "--auth must be JSON.");
  }
};

/** How a document says that its callers are known. */
interface Security {
  readonly name: string;
  readonly type: string;
  readonly in?: string;
  readonly parameter?: string;
}

const importOpenApi = async (given: Given, file: string): Promise<void> => {
  const { provider, instance, pick, out } = given;
  const isTried = given["dry-run"] || out !== undefined;
  const auth = given.auth === undefined ? undefined : jsonOf(given.auth);
  if (provider === undefined || instance === undefined) throw new Refusal(64, `Name the system with --provider and --instance.\n\n${help}`);
  const type = /\.ya?ml$/.test(file) ? "application/yaml" : "application/json";
  const looked = await ask(given, {
    method: "POST",
    path: `/config/imports/openapi?${queryOf({ provider, instance })}`,
    body: await bytesOf(file),
    type,
  });
  const found = (await looked.json()) as { import_id: string; title: string; operations: number; importable: number; security: Security[] };
  say(`${found.title}: ${found.operations} operations, ${found.importable} can be imported`);
  for (const { name, type, in: where, parameter } of found.security)
    say(`  its callers are known by: ${[name, type, where, parameter].filter((part) => part !== undefined).join(" ")}`);
  const tags = pick.flatMap((one) => (one.startsWith("tag:") ? [one.slice(4)] : []));
  const keys = pick.filter((one) => !one.startsWith("tag:"));
  const answer = await ask(given, {
    method: "POST",
    path: `/config/imports/${found.import_id}/accept?${queryOf({ dryRun: String(isTried), document: out === undefined ? undefined : "true" })}`,
    body: JSON.stringify({
      ...(keys.length > 0 ? { pick: keys } : {}),
      ...(tags.length > 0 ? { tags } : {}),
      baseUrl: given["base-url"],
      allow: given.allow,
      auth,
    }),
    type: "application/json",
  });
  const made = (await answer.json()) as ConfigWritten & { readonly document?: string };
  tell(`system ${made.name}`, made);
  for (const name of made.diff.tools_added) say(`  + ${name}`);
  tellFaults(made.valid, made.errors);
  if (out === undefined || made.valid === false) return;
  const target = resolve(from, out);
  await written(target, made.document ?? "");
  say(`${target}: written, nothing is published`);
};

const explain = async (given: Given, tool: string): Promise<void> => {
  const { user, agent, view } = given;
  if (user === undefined) throw new Refusal(64, `Say for whom, with --user.\n\n${help}`);
  const query = queryOf({ tool, user_id: user.includes(":") ? user : `person:${user}`, agent_id: agent, view });
  const imported = (await (await ask(given, { method: "GET", path: `/mcp/tools/explain?${query}` })).json()) as ToolExplanation;
  say(`${imported.tool}  listed: ${imported.listed ? "yes" : "no"}  callable: ${imported.callable}`);
  for (const { step, outcome, reason, remedy } of imported.steps)
    say([`  ${step.padEnd(14)} ${outcome.padEnd(8)}`, reason, remedy].filter((part) => part !== undefined).join("  "));
  for (const { step, who, how } of imported.missing) say(`  missing: ${step} (${who}): ${how}`);
  if (imported.callable === "no") process.exitCode = 1;
};

try {
  const { values, positionals } = readArguments();
  const [verb, what, ...more] = positionals;
  const verbs: Readonly<Record<string, (given: Given, what: string) => Promise<void>>> = {
    export: (given, target) => exportTo(given, resolve(from, target)),
    import: (given, source) => importFrom(given, resolve(from, source)),
    openapi: (given, file) => importOpenApi(given, resolve(from, file)),
    explain,
  };
  const run = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (values.help === true) process.stdout.write(help);
  else if (run === undefined || what === undefined || more.length > 0) throw new Refusal(64, help);
  else if (!/^[0-9]{1,5}$/.test(values.port) || Number(values.port) + ABOVE > 65_535)
    throw new Refusal(64, "--port must be a port number.");
  else await run(values, what);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
