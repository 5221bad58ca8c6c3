import { constants, existsSync, realpathSync } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Issue } from "#contract/problem.ts";
import type { Environment } from "#contract/setting.ts";
import type { CrudConfig } from "#crud/config.ts";
import { readServersDocuments, type WrittenServer } from "#crud/servers/servers-document.ts";
import { createAllowedServers, type AllowedServer, type AllowedServers } from "./allowed-servers.ts";
import { runsAnyProgram } from "./any-program.ts";
import { findInstalledBin, installation, packagesOf } from "./installed-bins.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";

const isProgram = async (path: string): Promise<boolean> => {
  const isFile = (await stat(path).catch(() => undefined))?.isFile() === true;
  return (
    isFile &&
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
  );
};

const resolveCommand = async ({ entry }: WrittenServer): Promise<Pick<AllowedServer, "command" | "reads"> | string> => {
  const { command, args } = entry;
  if (isAbsolute(command)) {
    const file = await realpath(command).catch(() => undefined);
    if (file === undefined || !(await isProgram(file))) return `${command} is no program that this user may start`;
    if (runsAnyProgram(file) && (args.length === 0 || entry.patterns.length > 0))
      return `${command} leads to ${file}, which runs code from its arguments: it takes args, and no patterns`;
    return { command: { file, args: [] }, reads: [file] };
  }
  const script = await findInstalledBin(command);
  if (script === undefined) return `${command} is no bin of a package that this program depends on; name a program by its absolute path`;
  const node = await realpath(process.execPath);
  return { command: { file: node, args: [script] }, reads: [node, ...(await packagesOf(script))] };
};

const real = (path: string): string => (existsSync(path) ? realpathSync(path) : path);
const lies = (path: string, folder: string): boolean => folder === "/" || path === folder || path.startsWith(`${folder}/`);

/** Why a path is nothing that a child may read. */
const readIssue = (path: string, hidden: readonly string[]): string | undefined => {
  if (!existsSync(path)) return `${path} is not there`;
  const found = real(path);
  const closed = [...hidden.map(real), "/proc", "/sys"];
  const secret = closed.find((one) => lies(found, one)) ?? [...closed, "/dev", "/etc", "/root", "/home"].find((one) => lies(one, found));
  return secret === undefined ? undefined : `lies in or holds ${secret}, which no server reads`;
};

export interface OpenedServers {
  readonly servers: AllowedServers;
  /** What stands in the way of a start. */
  readonly issues: readonly Issue[];
  /** What whoever starts it must know. */
  readonly warnings: readonly string[];
}

/**
 * The operator's list, its commands resolved, and the sandbox of its children, tried. The same for a start and for `npm run doctor`. In
 * production no child runs without a sandbox; in dev and test it does where there is none, unless `MCP_STDIO_SANDBOX` asks for one.
 */
export const openServers = async (parts: {
  readonly config: Pick<CrudConfig, "stdioSandbox">;
  readonly environment: Environment;
  readonly configFolders: readonly string[];
  readonly dataFolder: string;
}): Promise<OpenedServers> => {
  const hidden = [parts.dataFolder, ...parts.configFolders];
  const { written, issues: read } = await readServersDocuments(parts.configFolders);
  const issues: Issue[] = [...read];
  const servers = new Map<string, AllowedServer>();
  for (const one of written) {
    const resolved = await resolveCommand(one);
    // What lies there a child may have written.
    const inData = typeof resolved !== "string" && lies(resolved.command.file, real(parts.dataFolder));
    if (typeof resolved === "string") issues.push(one.issue(["command"], resolved));
    else if (inData) issues.push(one.issue(["command"], "lies in the data folder, where servers write"));
    else servers.set(one.name, { entry: one.entry, command: resolved.command, reads: [...resolved.reads, ...one.entry.reads] });
    for (const [index, path] of one.entry.reads.entries()) {
      const message = readIssue(path, hidden);
      if (message !== undefined) issues.push(one.issue(["reads", index], message));
    }
  }
  const opened = (sandbox: Sandbox | undefined, warnings: readonly string[] = []): OpenedServers => ({
    servers: createAllowedServers(servers, sandbox),
    issues,
    warnings,
  });
  if (servers.size === 0) return opened(undefined);
  const names = [...servers.keys()].join(", ");
  const open = `MCP servers (${names}) run without a sandbox: they read what this user reads, the data folder too`;
  const { stdioSandbox: wanted } = parts.config;
  if (wanted === "none") return opened(undefined, [`MCP_STDIO_SANDBOX is none: ${open}`]);
  const found = await openSandbox([...hidden, installation]);
  if ("sandbox" in found) return opened(found.sandbox);
  if (wanted === undefined && parts.environment !== "production") return opened(undefined, [`${found.refusal}: ${open}`]);
  issues.push({
    path: "MCP_STDIO_SANDBOX",
    message: `${names} must run in a sandbox, and ${found.refusal}. Make bubblewrap work, or take the servers out of servers.yaml`,
  });
  return opened(undefined);
};
