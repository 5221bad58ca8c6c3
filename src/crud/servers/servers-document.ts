import { isAbsolute } from "node:path";
import { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { readConfigFiles } from "#parsing/config-files.ts";
import { said } from "#parsing/said.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { runsAnyProgram } from "#crud/servers/any-program.ts";
import { compileArgument, TENANT_FOLDER } from "#crud/servers/argument-pattern.ts";
import { isLoaderVariable } from "#crud/servers/loader-variable.ts";

const text = z
  .string()
  .max(2000)
  .refine((value) => !/\p{Cc}/u.test(value), "has control characters");

const variable = z.union([
  z.strictObject({ value: said(text, "The value that it always has: the operator's.", "production") }),
  z.strictObject({
    pattern: said(text, "A system chooses the value: it matches this pattern (RE2) as a whole.", "[a-z]{2}-[a-z]+-[0-9]"),
  }),
]);

const server = z.strictObject({
  command: said(
    text,
    "A bin of a package that this program depends on, or the absolute path of a program. Resolved once, at the start.",
    "/opt/notes/bin/notes-server",
  ),
  args: said(
    z.array(text).max(50).default([]),
    "Arguments that it always gets, first; `${TENANT_FOLDER}` is the folder of whoever calls.",
    ["--stdio"],
  ),
  patterns: said(
    z.array(text).max(50).default([]),
    "Arguments that a system may add: each matches one of these patterns (RE2) as a whole. Never for a program that runs code from its arguments.",
    ["--limit=[0-9]{1,4}"],
  ),
  env: said(
    z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,60}$/), variable).default({}),
    "Variables that it gets. Those that load code or redirect a loader, never with `pattern`.",
    { NOTES_FILE: { pattern: "${TENANT_FOLDER}/[a-z]+" } },
  ),
  network: said(z.enum(["none", "host"]).default("none"), "The network that it has in the sandbox: none, or this machine's.", "host"),
  tenantFolder: said(z.boolean().default(false), "Whether values and arguments of a system may name paths below `${TENANT_FOLDER}`.", true),
  reads: said(
    z.array(text.refine(isAbsolute, "must be an absolute path")).max(50).default([]),
    "Files and folders that it may read in the sandbox, beside itself and the system's programs.",
    ["/opt/notes"],
  ),
});

/** The shape of `servers.yaml`. */
export const serversDocument = z.strictObject({
  apiVersion: said(z.literal("servers/v1"), "The version of this format.", "servers/v1"),
  servers: said(
    z.record(z.string().regex(/^[a-z][a-z0-9._-]{0,63}$/, "must be [a-z][a-z0-9._-]{0,63}"), server).default({}),
    "Programs that systems of `kind: mcp` may start, by the name that `transport.command` has.",
    { notes: { command: "/opt/notes/bin/notes-server" } },
  ),
});

export type ServerEntry = z.output<typeof server>;

/** An entry, and where it stands. */
export interface WrittenServer {
  readonly name: string;
  readonly entry: ServerEntry;
  /** `path` is below the entry. */
  readonly issue: (path: readonly PropertyKey[], message: string, more?: { readonly onKey?: boolean }) => Issue;
}

const entryIssues = ({ entry, issue }: WrittenServer): readonly Issue[] => {
  const issues: Issue[] = [];
  const requirePattern = (pattern: string, path: readonly PropertyKey[]): void => {
    if (compileArgument(pattern) === undefined) issues.push(issue(path, "is no pattern of RE2"));
  };
  const requireFolder = (value: string, path: readonly PropertyKey[]): void => {
    if (!entry.tenantFolder && value.includes(TENANT_FOLDER)) issues.push(issue(path, `needs tenantFolder: true for ${TENANT_FOLDER}`));
  };
  for (const [index, pattern] of entry.patterns.entries()) {
    requirePattern(pattern, ["patterns", index]);
    requireFolder(pattern, ["patterns", index]);
  }
  for (const [index, argument] of entry.args.entries()) requireFolder(argument, ["args", index]);
  for (const [name, rule] of Object.entries(entry.env)) {
    const [member, value] = "pattern" in rule ? (["pattern", rule.pattern] as const) : (["value", rule.value] as const);
    requireFolder(value, ["env", name, member]);
    if (member === "value") continue;
    requirePattern(value, ["env", name, member]);
    if (isLoaderVariable(name))
      issues.push(issue(["env", name], "loads code or redirects a loader: only the operator sets it, with value", { onKey: true }));
  }
  if (!runsAnyProgram(entry.command)) return issues;
  if (entry.patterns.length > 0)
    issues.push(issue(["patterns"], `${entry.command} runs code from its arguments: it takes args alone, or name a program of its own`));
  if (entry.args.length === 0)
    issues.push(
      issue(["command"], `${entry.command} runs code from its arguments: args must name a program, or name a program of its own`),
    );
  return issues;
};

/** Reads the `servers.yaml` of each folder; a name that an earlier one has is an issue of the later. All issues of all files. */
export const readServersDocuments = async (
  folders: readonly string[],
): Promise<{ readonly written: readonly WrittenServer[]; readonly issues: readonly Issue[] }> => {
  const { files, issues: unread } = await readConfigFiles(folders, "servers.yaml", serversDocument);
  const written = new Map<string, WrittenServer>();
  const issues: Issue[] = [...unread];
  const at =
    (yaml: YamlDocument, name: string): WrittenServer["issue"] =>
    (path, message, more) =>
      yaml.issue(["servers", name, ...path], message, more);
  for (const { yaml, value } of files)
    for (const [name, entry] of Object.entries(value.servers)) {
      const one: WrittenServer = { name, entry, issue: at(yaml, name) };
      issues.push(...entryIssues(one));
      if (written.has(name)) issues.push(one.issue([], "names a server that another folder has", { onKey: true }));
      else written.set(name, one);
    }
  return { written: [...written.values()], issues };
};
