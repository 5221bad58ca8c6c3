import { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { duration } from "./documents/duration.ts";
import { secretReference } from "#contract/secret-reference.ts";
import { readNetwork } from "#http/addresses.ts";
import { readCeiling, type NetworkCeiling } from "./upstream/network-rules.ts";
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
    description:
      "Most tools that a tenant sees in the catalogue, health counted: those of several tenants first, then its own, each in their order; the rest cannot be called. Unset: no cap.",
    unit: "tools",
  }),
  loopbackOnlyHealth: setting("MCP_LOOPBACK_ONLY_HEALTH", flag(), {
    description: "Of this deployment's own tools give health alone (no workflow.*, no sallyport.local.*).",
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
  maxAnswerBytes: setting("MCP_MAX_ANSWER_BYTES", integer(1_048_576, 68_719_476_736), {
    description:
      "Bytes of upstream answers, as sent and unpacked, of all tool calls under way in this process, and of documents that are imported by their address; a tenant gets at most a quarter.",
    unit: "bytes",
    default: "268435456",
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
  networkCeiling: setting(
    "TOOLS_NETWORK_CEILING",
    commaList()
      .refine(
        (items) => items.every((item) => item.includes("/") && readNetwork(item) !== undefined),
        "must be networks: 10.1.0.0/16,fd00:1::/32",
      )
      .optional(),
    {
      description:
        "Networks (CIDR) that are not public and that systems may dial; a system's network.allow only narrows them. Unset: none, in dev and test those of loopback.",
    },
  ),
  stdioSandbox: setting("MCP_STDIO_SANDBOX", z.enum(["bubblewrap", "none"]).optional(), {
    description:
      "How the MCP servers of servers.yaml run apart from this process. Unset: bubblewrap; where it does not work, a start in production is refused if a server is allowed, and dev and test go without, with a warning. none: refused in production.",
  }),
  workflowEngine: setting("WORKFLOW_ENGINE", z.enum(["on", "off"]), {
    description: "Whether this process runs workflows; off: it starts, shows and answers them, and another process runs them.",
    default: "on",
  }),
  workflowWorkers: setting("WORKFLOW_WORKERS", integer(1, 256).optional(), {
    description: "Runs of workflows that this process takes on at once. Unset: 8, on PGlite 4.",
    unit: "runs",
  }),
  workflowLeaseSeconds: setting("WORKFLOW_LEASE_SECONDS", integer(5, 300), {
    description: "After how long another process takes over the runs of one that died.",
    unit: "s",
    default: "30",
  }),
  workflowPollMs: setting("WORKFLOW_POLL_MS", integer(100, 60_000), {
    description: "How often due runs are looked for where no notice of them came.",
    unit: "ms",
    default: "1000",
  }),
  workflowDeniedGraceMs: setting("WORKFLOW_DENIED_GRACE", duration(0, 365 * 86_400_000), {
    description: "How long a denied step waits for a right that comes, before it fails: an ISO 8601 duration.",
    default: "P1D",
  }),
  workflowRetentionDays: setting("WORKFLOW_RETENTION_DAYS", integer(1, 3650), {
    description: "How long ended runs of workflows are kept; never of audit entries.",
    unit: "days",
    default: "90",
  }),
  workflowPayloadDays: setting("WORKFLOW_PAYLOAD_DAYS", integer(1, 3650), {
    description: "How long the values of ended runs are kept.",
    unit: "days",
    default: "30",
  }),
  workflowIdempotencyDays: setting("WORKFLOW_IDEMPOTENCY_DAYS", integer(1, 3650), {
    description: "How long the key of a start, or of an answer to a task, gives the same run or answer.",
    unit: "days",
    default: "7",
  }),
  smtpUrl: setting("SMTP_URL", z.url({ protocol: /^smtps?$/ }).optional(), {
    description:
      "Mail server for notifications, smtp (STARTTLS) or smtps; a user before the host signs in. Outside dev and test nothing is sent without TLS. Unset: no mail.",
  }),
  smtpPasswordUri: setting("SMTP_PASSWORD_URI", secretReference.optional(), {
    description: "Secret URI of the password at the mail server, at a place of the operator's tenant or of the platform.",
  }),
  mailFrom: setting("MAIL_FROM", z.string().min(3).max(320).optional(), {
    description: "Sender of mail: an address, or `Name <address>`.",
  }),
} satisfies SettingTable;

export type CrudConfig = SettingsOf<typeof crudSettings>;

export const ceilingOf = ({ networkCeiling }: Pick<CrudConfig, "networkCeiling">, environment: Environment): NetworkCeiling =>
  readCeiling(networkCeiling ?? (environment === "production" ? [] : ["127.0.0.0/8", "::1/128"]));

const mailIssues = ({ smtpUrl, smtpPasswordUri, mailFrom }: CrudConfig): readonly Issue[] => {
  const url = smtpUrl === undefined ? undefined : new URL(smtpUrl);
  const isKept = url === undefined || url.password === "";
  return [
    ...(isKept ? [] : [{ path: "SMTP_URL", message: "must hold no password: SMTP_PASSWORD_URI names the secret" }]),
    ...(url !== undefined && mailFrom === undefined ? [{ path: "MAIL_FROM", message: "is needed with SMTP_URL" }] : []),
    ...(url !== undefined && (url.username === "") !== (smtpPasswordUri === undefined)
      ? [{ path: "SMTP_PASSWORD_URI", message: "and the user of SMTP_URL are needed together" }]
      : []),
  ];
};

/** What no single row can say. */
export const crudIssues = (config: CrudConfig, environment: Environment): readonly Issue[] => {
  const mail = mailIssues(config);
  if (environment !== "production") return mail;
  const sandbox =
    "must not be none where ENVIRONMENT is production: what a server of a tenant's system runs would read what this program reads";
  return [
    ...mail,
    ...(config.stdioSandbox === "none" ? [{ path: "MCP_STDIO_SANDBOX", message: sandbox }] : []),
    ...plainAddresses({ MCP_PUBLIC_URL: config.publicUrl }, environment),
    ...config.allowedOrigins.flatMap((origin) => plainAddresses({ MCP_ALLOWED_ORIGINS: origin }, environment)),
  ];
};
