import { tmpdir } from "node:os";
import { Problem } from "#contract/problem.ts";
import type { ServerEntry } from "#crud/servers/servers-document.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { McpDocument } from "#crud/systems/system-document.ts";
import { compileArgument, TENANT_FOLDER } from "./argument-pattern.ts";
import { enterSandbox, type Launch, type Sandbox, type StartCommand } from "./sandbox.ts";

type Transport = McpDocument["transport"];

/** Something of a transport that the operator's list does not permit; `path` is below the transport. */
export interface TransportIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The one way to start a child. */
export interface AllowedServers {
  /** What the operator's list does not permit of this transport; none: it may be started. */
  check(transport: Transport): readonly TransportIssue[];
  /** How it is started, with `folder` for its own. Checks again. Throws `UpstreamError` `not_sent`. */
  launch(transport: Transport, folder: string): Launch;
}

/** An entry, its command resolved. */
export interface AllowedServer {
  readonly entry: ServerEntry;
  readonly command: StartCommand;
  readonly reads: readonly string[];
}

/** Where programs are that a child starts in turn; the sandbox shows no others. */
const SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin";

/** What is wrong with a text that a tenant wrote, whatever pattern it matches. */
const textIssue = (text: string, { tenantFolder }: ServerEntry): string | undefined => {
  if (/\p{Cc}|\p{Cs}/u.test(text)) return "has control characters";
  const parts = text.split(TENANT_FOLDER);
  if (parts.length === 1) return undefined;
  if (!tenantFolder) return `names ${TENANT_FOLDER}, which this server does not have`;
  const isBelow = parts.slice(1).every((part) => part === "" || part.startsWith("/"));
  return isBelow && !/(?:^|[/\\])\.\.(?:[/\\]|$)/.test(text) ? undefined : `leads out of ${TENANT_FOLDER}`;
};

const checkTransport = ({ entry }: AllowedServer, { args, env }: Transport): readonly TransportIssue[] => {
  const patterns = entry.patterns.map(compileArgument);
  const ofArguments = args.flatMap((argument, index) => {
    const message = textIssue(argument, entry) ?? (patterns.some((matches) => matches?.(argument) === true) ? undefined : NO_ARGUMENT);
    return message === undefined ? [] : [{ path: ["args", index], message }];
  });
  const ofVariables = Object.entries(env).flatMap(([name, value]) => {
    const rule = Object.hasOwn(entry.env, name) ? entry.env[name] : undefined;
    const path = ["env", name];
    if (rule === undefined) return [{ path, message: "is no variable that the operator's servers.yaml lets a system set" }];
    if ("value" in rule)
      return value === rule.value ? [] : [{ path, message: "has the operator's value, which no system changes: leave it out" }];
    const message = textIssue(value, entry) ?? (compileArgument(rule.pattern)?.(value) === true ? undefined : NO_VALUE);
    return message === undefined ? [] : [{ path, message }];
  });
  return [...ofArguments, ...ofVariables];
};
const NO_ARGUMENT = "matches no argument pattern of the operator's servers.yaml";
const NO_VALUE = "does not match the pattern of the operator's servers.yaml";

/** Without a sandbox children run as this process does. */
export const createAllowedServers = (servers: ReadonlyMap<string, AllowedServer>, sandbox: Sandbox | undefined): AllowedServers => {
  const check = (transport: Transport): readonly TransportIssue[] => {
    const server = servers.get(transport.command);
    if (server !== undefined) return checkTransport(server, transport);
    const message = `${transport.command.slice(0, 100)} is no server of the operator's servers.yaml`;
    return [{ path: ["command"], message: message.replaceAll(/\p{Cc}/gu, " ") }];
  };
  return {
    check,
    launch: (transport, folder) => {
      const [issue] = check(transport);
      const server = servers.get(transport.command);
      if (issue !== undefined || server === undefined) {
        const detail = `The server may not be started: ${issue?.path.join(".")} ${issue?.message}.`;
        throw new UpstreamError(new Problem("upstream_error", { detail }), "not_sent");
      }
      const { entry, command, reads } = server;
      const fill = (text: string): string => text.replaceAll(TENANT_FOLDER, () => folder);
      const own = Object.entries(entry.env).flatMap(([name, rule]) => ("value" in rule ? [[name, fill(rule.value)]] : []));
      const launch: Launch = {
        command: { file: command.file, args: [...command.args, ...[...entry.args, ...transport.args].map(fill)] },
        env: {
          HOME: folder,
          LANG: "C.UTF-8",
          PATH: sandbox === undefined ? (process.env["PATH"] ?? "") : SANDBOX_PATH,
          TMPDIR: sandbox === undefined ? tmpdir() : "/tmp",
          ...Object.fromEntries(Object.entries(transport.env).map(([name, value]) => [name, fill(value)])),
          ...Object.fromEntries(own),
        },
      };
      return sandbox === undefined ? launch : enterSandbox(sandbox, launch, { network: entry.network, folder, reads });
    },
  };
};

/** None may be started. */
export const noServers: AllowedServers = createAllowedServers(new Map(), undefined);
