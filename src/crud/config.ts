import { z } from "zod";
import { commaList, flag, integer, setting, type SettingTable } from "#contract/setting.ts";

/** Not part of this version: a switch that did nothing would mislead. */
const notYet = (): z.ZodType<boolean> => flag().refine((value) => !value, "is not available in this version");

/** Settings of systems, tools and the tool protocol. */
export const crudSettings = {
  enableRouter: setting("MCP_ENABLE_ROUTER", notYet(), { description: "List short names with one oneOf schema each.", default: "false" }),
  maxTools: setting("MCP_MAX_TOOLS", integer(1, 100_000).optional(), {
    description: "Most tools in the catalogue, health not counted; the first in order stay, the rest cannot be called. Unset: no cap.",
    unit: "tools",
  }),
  loopbackOnlyHealth: setting("MCP_LOOPBACK_ONLY_HEALTH", flag(), {
    description: "Of this house's own tools give health alone (no workflow.*, no sallyport.local.*).",
    default: "false",
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
  publicUrl: setting("MCP_PUBLIC_URL", z.url({ protocol: /^https?$/ }).optional(), {
    description: "Origin under which clients reach /mcp. Unset: the gateway's public origin.",
  }),
  allowedOrigins: setting("MCP_ALLOWED_ORIGINS", commaList(), {
    description: "Origins whose pages may call /mcp besides the public one.",
    default: "",
  }),
  stdioAllow: setting("MCP_STDIO_ALLOW", commaList().optional(), {
    description:
      "Commands that external MCP systems may start: `node` or a bin of an installed dependency. Unset: in dev and test mcp-server-memory, else none.",
  }),
} satisfies SettingTable;
