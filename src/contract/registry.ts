import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { searchText } from "./fold-text.ts";
import { secretReference } from "./secret-reference.ts";
import { nodeId, plainText, prose, skipPage, skippedPage, timestamp } from "./ids.ts";
import { anyMembers } from "./json-members.ts";

/** The registry of MCP services, their tools, resources and prompts. */

const MCP = "/api/v1/mcp";
const webUrl = plainText(1, 2048).refine(
  (text) => /^(?:https?|wss?):\/\//.test(text) && URL.canParse(text),
  "must be an http(s) or ws(s) URL",
);
const localName = plainText(1, 128).regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "must be of A-Z a-z 0-9 . _ - and begin with a letter or digit");
const schema = anyMembers;
const transport = z.enum(["streamable-http", "sse", "stdio", "websocket"]);

const serviceMembers = {
  name: localName,
  display_name: plainText(1, 256).optional(),
  description: prose(1, 2000).optional(),
  version: plainText(1, 64).optional(),
  service_type: z.enum(["mcp", "internal", "external"]),
  provider: plainText(1, 128).optional(),
  is_backend: z.boolean().optional(),
  supported_protocols: z.array(transport).max(4).optional(),
  preferred_protocol: transport.optional(),
  url: webUrl.optional(),
  sse_url: webUrl.optional(),
  websocket_url: webUrl.optional(),
  /** Name of a command of the configuration; a command itself is never sent. */
  command_ref: plainText(1, 128).optional(),
  registry_name: plainText(1, 256).optional(),
  owner_id: nodeId.optional(),
  credential_ref: secretReference.optional(),
  /** `pinned`: a capability holds for the definition that was approved alone. */
  trust: z.enum(["operator", "pinned"]).default("pinned"),
  state: z.enum(["active", "suspended", "disabled"]).optional(),
};
export const mcpServiceDraft = z.strictObject({ id: nodeId.optional(), ...serviceMembers, reason });

/** Of a published `server.json` what a registry needs; the rest of what it may say is let pass. */
const published = z.object({ type: transport, url: webUrl.optional() });
export const publishedServer = z.strictObject({
  $schema: plainText(1, 512).optional(),
  name: plainText(3, 128).regex(/^[A-Za-z0-9][A-Za-z0-9.-]*\/[A-Za-z0-9._-]+$/, "must be <reverse domain>/<name>"),
  title: plainText(1, 256).optional(),
  description: prose(1, 2000),
  version: plainText(1, 64),
  remotes: z.array(published).max(100).optional(),
  packages: z
    .array(z.object({ transport: published.omit({ url: true }).optional() }))
    .max(100)
    .optional(),
  repository: z.unknown().optional(),
  websiteUrl: z.unknown().optional(),
  icons: z.unknown().optional(),
  status: z.unknown().optional(),
  _meta: z.unknown().optional(),
  owner_id: serviceMembers.owner_id,
  credential_ref: serviceMembers.credential_ref,
  reason,
});
export type PublishedServer = z.output<typeof publishedServer>;
export const mcpService = z.object({
  ...serviceMembers,
  id: z.string(),
  name: z.string(),
  credential_ref: z.string().optional(),
  trust: z.string(),
  managed_by: z.enum(["crud", "registry"]),
  counts: z.object({ tools: z.number().int(), resources: z.number().int(), prompts: z.number().int() }),
  tenant_id: z.string().nullable(),
  state: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
});
export type McpService = z.output<typeof mcpService>;

const approval = z.enum(["approved", "proposed", "quarantined", "rejected", "retired"]);
const digest = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex");

export const mcpToolDraft = z.strictObject({
  name: localName,
  version: plainText(1, 64).optional(),
  title: plainText(1, 256).optional(),
  description: prose(1, 4000).optional(),
  inputSchema: schema.optional(),
  input_schema: schema.optional(),
  outputSchema: schema.optional(),
  output_schema: schema.optional(),
  annotations: schema.optional(),
  risk: plainText(1, 64).optional(),
  definition_digest: digest.optional(),
  state: approval.optional(),
});
export type McpToolDraft = z.output<typeof mcpToolDraft>;
export const mcpTool = z.object({
  id: z.string(),
  name: z.string(),
  service_id: z.string().optional(),
  version: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: schema.optional(),
  outputSchema: schema.optional(),
  annotations: schema.optional(),
  risk: z.string().optional(),
  definition_digest: z.string().optional(),
  state: z.string(),
  tenant_id: z.string().nullable(),
});
export type McpTool = z.output<typeof mcpTool>;

export const mcpResourceDraft = z.strictObject({
  uri: plainText(1, 2048),
  name: plainText(1, 256).optional(),
  description: prose(1, 4000).optional(),
  mimeType: plainText(1, 128).optional(),
  mime_type: plainText(1, 128).optional(),
  size: z.number().int().min(0).optional(),
  etag: plainText(1, 256).optional(),
  last_modified: timestamp.optional(),
  annotations: schema.optional(),
  definition_digest: digest.optional(),
  state: approval.optional(),
});
export type McpResourceDraft = z.output<typeof mcpResourceDraft>;
export const mcpPromptDraft = z.strictObject({
  name: plainText(1, 256),
  version: plainText(1, 64).default("1"),
  description: prose(1, 4000).optional(),
  arguments: z.array(schema).max(100).prefault([]),
  content: prose(1, 8192).optional(),
  definition_digest: digest.optional(),
  state: approval.optional(),
});
export type McpPromptDraft = z.output<typeof mcpPromptDraft>;
const providedMembers = { id: z.string(), name: z.string(), service_id: z.string(), state: z.string(), definition_digest: z.string() };
const mcpResource = z.object({
  ...providedMembers,
  uri: z.string(),
  description: z.string().optional(),
  mime_type: z.string().optional(),
  size: z.number().int().optional(),
  etag: z.string().optional(),
  last_modified: timestamp.optional(),
  annotations: schema.optional(),
});
export type McpResource = z.output<typeof mcpResource>;
const mcpPrompt = z.object({
  ...providedMembers,
  description: z.string().optional(),
  version: z.string(),
  arguments: z.array(schema),
  content: z.string().optional(),
});
export type McpPrompt = z.output<typeof mcpPrompt>;

const reading = withoutAgents({ scope: ["membership.read"], decision: "registry/view" });
const editing = withoutAgents({ scope: ["membership.registry"], decision: "registry/edit" });
const writeProblems = [
  "not_found",
  "already_exists",
  "conflict",
  "unprocessable",
  "access_denied",
  "cross_tenant",
  "edge_not_allowed",
  "managed_elsewhere",
] as const;
const definitionProblems = [...writeProblems, "digest_mismatch", "schema_refused"] as const;
const paged = { total: z.number().int(), ...skippedPage };
const service = z.object({ service_id: plainText(1, 1024) });
const tool = z.object({ tool_id: plainText(1, 1024) });
const found = { ...reading, problems: ["not_found"] } as const;
/** Something that a service provides: all of it, and what is sent to define it. */
const provided = { params: service, query: z.strictObject(skipPage), ...found };
const defining = { params: service, moreStatuses: [201], ...editing, problems: definitionProblems };
/** One, or up to 500 at once under the name of the list. */
const orMany = <N extends string, S extends z.core.$ZodLooseShape>(name: N, one: z.ZodObject<S, z.core.$strict>) =>
  z.union([
    z.strictObject({ [name]: z.array(one).min(1).max(500), reason } as { [K in N]: z.ZodArray<typeof one> } & { reason: typeof reason }),
    z.strictObject({ ...one.shape, reason } as S & { reason: typeof reason }),
  ]);

export const registerMcpService = endpoint("membership", "POST", `${MCP}/services`, {
  body: z.union([mcpServiceDraft, publishedServer]),
  reply: mcpService,
  moreStatuses: [201],
  ...editing,
  problems: writeProblems,
  summary: "Register a service, or change it: by id, else by the tenant's name for it. A published server.json is read too.",
});

export const listMcpServices = endpoint("membership", "GET", `${MCP}/services`, {
  query: z.strictObject({
    service_type: serviceMembers.service_type.optional(),
    provider: plainText(1, 128).optional(),
    is_backend: z.enum(["true", "false"]).optional(),
    search: searchText.optional(),
    state: plainText(1, 32).optional(),
    ...skipPage,
  }),
  reply: z.object({ services: z.array(mcpService), ...paged }),
  ...reading,
  summary: "Registered services, by their properties.",
});

export const getMcpService = endpoint("membership", "GET", `${MCP}/services/{service_id}`, {
  params: service,
  reply: mcpService,
  ...found,
  summary: "One service.",
});

export const getMcpServiceByName = endpoint("membership", "GET", `${MCP}/services/by-name/{name}`, {
  params: z.object({ name: plainText(1, 1024) }),
  reply: mcpService,
  ...found,
  summary: "The service of that name: the tenant's own, else a shared one.",
});

export const deleteMcpService = endpoint("membership", "DELETE", `${MCP}/services/{service_id}`, {
  params: service,
  ...removal,
  query: z.strictObject({ force: z.enum(["true", "false"]).default("false"), reason }),
  ...editing,
  problems: [...writeProblems, "in_use", "has_edges"],
  summary: "Take a service away with all that it provides, in one version.",
});

export const putMcpTools = endpoint("membership", "POST", `${MCP}/services/{service_id}/tools`, {
  ...defining,
  body: orMany("tools", mcpToolDraft),
  maxMembers: 200_000,
  keepsDigits: true,
  reply: z.union([mcpTool, z.object({ tools: z.array(mcpTool) })]),
  summary: "Register a tool of a service, or up to 500, by name.",
});

export const listMcpTools = endpoint("membership", "GET", `${MCP}/services/{service_id}/tools`, {
  ...provided,
  reply: z.object({ tools: z.array(mcpTool), ...paged }),
  summary: "Tools of a service.",
});

export const getMcpTool = endpoint("membership", "GET", `${MCP}/tools/{tool_id}`, {
  params: tool,
  reply: mcpTool,
  ...found,
  summary: "One tool.",
});

export const getMcpToolByName = endpoint("membership", "GET", `${MCP}/tools/by-name/{tool_name}`, {
  params: z.object({ tool_name: plainText(1, 1024) }),
  reply: mcpTool,
  ...reading,
  problems: ["not_found", "ambiguous_name"],
  summary: "The tool of that name, with dots or with underscores.",
});

export const deleteMcpTool = endpoint("membership", "DELETE", `${MCP}/tools/{tool_id}`, {
  params: tool,
  ...removal,
  query: z.strictObject({ purge: z.enum(["true", "false"]).default("false"), reason }),
  ...editing,
  problems: [...writeProblems, "has_edges"],
  summary: "Retire a tool: its edges stay, to be explained. purge=true takes it away.",
});

/** Most tools that are retired at once. */
export const MAX_RETIRED = 5_000;
export const retireMcpTools = endpoint("membership", "POST", `${MCP}/tools/retire`, {
  body: z.strictObject({ tool_ids: z.array(nodeId).min(1).max(MAX_RETIRED), reason }),
  /** Those that are there and the caller's own; retired before or by this. */
  reply: z.object({ retired: z.array(z.string()) }),
  ...editing,
  problems: writeProblems,
  summary: "Retire tools in one version: their edges stay, to be explained. Ids of no tool are passed over.",
});

/** Most delegations that one answer names. */
export const MAX_AFFECTED = 1_000;
const affectedCapability = z.object({ delegation_id: z.string(), user_id: z.string(), agent_id: z.string(), tool_id: z.string() });
export type AffectedCapability = z.output<typeof affectedCapability>;
export const MAX_ASKED_TOOLS = 2_000;
export const affectedCapabilities = endpoint("membership", "POST", `${MCP}/tools/affected`, {
  body: z.strictObject({
    /** What each would become: the digest of its next definition; null: it is retired. */
    tools: z
      .array(z.strictObject({ tool_id: nodeId, definition_digest: digest.nullable() }))
      .min(1)
      .max(MAX_ASKED_TOOLS),
  }),
  reply: z.object({
    affected: z.array(affectedCapability),
    /** There are more. */
    truncated: z.boolean(),
  }),
  // It names delegations of anybody.
  ...withoutAgents({ scope: ["membership.read"], decision: "registry/edit" }),
  summary:
    "Live delegations that give one of these tools now and would not: the capability of their agent is pinned to another definition.",
});

export const putMcpResources = endpoint("membership", "POST", `${MCP}/services/{service_id}/resources`, {
  ...defining,
  body: orMany("resources", mcpResourceDraft),
  maxMembers: 100_000,
  reply: z.union([mcpResource, z.object({ resources: z.array(mcpResource) })]),
  summary: "Register a resource of a service, or up to 500, by URI.",
});

export const listMcpResources = endpoint("membership", "GET", `${MCP}/services/{service_id}/resources`, {
  ...provided,
  reply: z.object({ resources: z.array(mcpResource), ...paged }),
  summary: "Resources of a service.",
});

export const listMcpPrompts = endpoint("membership", "GET", `${MCP}/services/{service_id}/prompts`, {
  ...provided,
  reply: z.object({ prompts: z.array(mcpPrompt), ...paged }),
  summary: "Prompts of a service.",
});

export const putMcpPrompts = endpoint("membership", "POST", `${MCP}/services/{service_id}/prompts`, {
  ...defining,
  body: orMany("prompts", mcpPromptDraft),
  maxMembers: 100_000,
  reply: z.union([mcpPrompt, z.object({ prompts: z.array(mcpPrompt) })]),
  summary: "Register a prompt of a service, or up to 500, by name and version.",
});
