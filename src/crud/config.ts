import { z } from "zod";
import type { Fault } from "#contract/problem.ts";
import {
  commaList,
  originList,
  flag,
  integer,
  plainAddresses,
  setting,
  type Environment,
  type SettingsOf,
  type SettingTable,
} from "#contract/setting.ts";

/** Settings of systems, tools and the tool protocol. */
export const crudSettings = {
  enableRouter: setting("MCP_ENABLE_ROUTER", flag(), {
    description:
      "List tools by their short names, one entry for all of a name: {tool, arguments}, with one schema of oneOf for each. Calls may name either form.",
    default: "false",
  }),
  maxTools: setting("MCP_MAX_TOOLS", integer(1, 100_000).optional(), {
    description: "Most tools in the catalogue, health counted; the first in order stay, the rest cannot be called. Unset: no cap.",
    unit: "tools",
  }),
  loopbackOnlyHealth: setting("MCP_LOOPBACK_ONLY_HEALTH", flag(), {
    description: "Of this house's own tools give health alone (no workflow.*, no sallyport.local.*).",
    default: "false",
  }),
  protocolLogLevel: setting("MCP_LOG_LEVEL", z.enum(["debug", "info", "warn", "error", "silent"]).optional(), {
    description:
      "Least severe log line of the tool protocol: its events mcp_tools_list_* and mcp_jsonrpc_* are info and warn. Unset: LOG_LEVEL.",
    npmStart: "info",
  }),
  callTimeoutMs: setting("MCP_CALL_TIMEOUT_MS", integer(100, 600_000), {
    description: "Longest that one tool call may take.",
    unit: "ms",
    default: "30000",
  }),
  maxBodyBytes: setting("MCP_MAX_BODY_BYTES", integer(1024, 16_777_216), {
    description: "Largest message of the tool protocol.",
    unit: "bytes",
    default: "1048576",
  }),
  maxCalls: setting("MCP_MAX_CALLS", integer(1, 100_000), {
    description: "Tool calls at once in this process; a tenant gets at most half.",
    unit: "calls",
    default: "512",
  }),
  maxDelegationDepth: setting("MCP_MAX_DELEGATION_DEPTH", integer(1, 8), {
    description: "Most agents that act one for another.",
    unit: "agents",
    default: "3",
  }),
  legacySessions: setting("MCP_LEGACY_SESSIONS", flag(), {
    description: "Sessions and GET streams for clients of the 2025 protocol versions; false: lists and calls only.",
    default: "true",
  }),
  sessionsPerPrincipal: setting("MCP_SESSIONS_PER_PRINCIPAL", integer(1, 10_000), {
    description:
      "Sessions and list subscriptions that one principal (a person with the agents that act for it) may hold in this process. Beyond it the longest unused one ends.",
    unit: "sessions",
    default: "16",
  }),
  publicUrl: setting("MCP_PUBLIC_URL", z.url({ protocol: /^https?$/ }).optional(), {
    description: "Origin under which clients reach /mcp. Unset: the gateway's public origin.",
  }),
  allowedOrigins: setting("MCP_ALLOWED_ORIGINS", originList("https://chat.example"), {
    description: "Origins whose pages may call /mcp besides the public one.",
    default: "",
  }),
  configMode: setting("CONFIG_MODE", z.enum(["database", "files"]), {
    description:
      "Where systems and the tools document are changed. database: by the API; a file of the configuration folders that changed since the last start is taken up as a new version. files: the folders are the truth, for one process alone; the API writes to the first of them, and a file that is changed by hand is taken up at once.",
    default: "database",
  }),
  configRequireIfMatch: setting("CONFIG_REQUIRE_IF_MATCH", flag(), {
    description: "Refuse to change a configuration object without If-Match.",
    default: "false",
  }),
  stdioAllow: setting("MCP_STDIO_ALLOW", commaList().optional(), {
    description:
      "Commands that external MCP systems may start: `node` or a bin of an installed dependency. Unset: in dev and test mcp-server-memory, else none.",
  }),
} satisfies SettingTable;

export type CrudConfig = SettingsOf<typeof crudSettings>;

/** Commands that external systems may start. */
export const allowedCommands = (config: Pick<CrudConfig, "stdioAllow">, environment: Environment): readonly string[] =>
  config.stdioAllow ?? (environment === "production" ? [] : ["mcp-server-memory"]);

/**
 * Programs that run whatever they are told: who may name one of them in a file may run anything. By name, without what a
 * system adds to it (`python3.13`, `bash.exe`).
 */
const runners: ReadonlySet<string> = new Set(
  (
    "sh ash bash dash zsh ksh mksh fish csh tcsh rbash busybox toybox cmd powershell pwsh env nohup nice timeout setsid stdbuf xargs find parallel " +
    "sudo su doas ssh script expect strace gdb watch make awk gawk sed vi vim ed node nodejs deno bun npm npx pnpm pnpx yarn yarnpkg tsx corepack " +
    "python pypy pip pipx uv uvx conda poetry perl ruby gem bundle irb php lua luajit tclsh r rscript julia groovy jshell java jrunscript go cargo dotnet " +
    "osascript docker podman nerdctl kubectl systemd-run vite"
  ).split(" "),
);

const plainName = (command: string): string =>
  (command.split(/[/\\]/).at(-1) ?? "")
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|ps1|js|mjs|cjs)$/, "")
    .replace(/[-._]?\d[\d.]*w?$/, "");

/** What no single row can say. */
export const crudFaults = (config: CrudConfig, environment: Environment): readonly Fault[] => {
  if (environment !== "production") return [];
  const named = (config.stdioAllow ?? []).filter(
    (command) => runners.has(plainName(command)) || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(command),
  );
  return [
    ...named.map((command) => ({
      path: "MCP_STDIO_ALLOW",
      message: `${command} may not be started where ENVIRONMENT is production: name the servers themselves, not a path, a shell or an interpreter that runs anything`,
    })),
    ...plainAddresses({ MCP_PUBLIC_URL: config.publicUrl }, environment),
    ...config.allowedOrigins.flatMap((origin) => plainAddresses({ MCP_ALLOWED_ORIGINS: origin }, environment)),
  ];
};
