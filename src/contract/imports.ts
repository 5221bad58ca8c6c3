import { z } from "zod";
import { configWritten, flag, instanceName, providerName, systemName } from "./configs.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { cursorPage, nodeId, plainText, timestamp } from "./ids.ts";

/**
 * Import of an OpenAPI document: looked at first, then what is picked becomes operations of a system. A person needs the pairs and scopes of
 * configuration; an import is seen by its tenant alone and kept seven days.
 */

/** Most bytes of a document. */
export const MAX_IMPORT_BYTES = 33_554_432;

const importId = z.string().regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "is not the id of an import");
const operationKey = plainText(1, 500);
const network = plainText(1, 60);
const picks = z.array(operationKey).min(1).max(5000);

export const importedOperation = z.object({
  /** Method and path: what it is picked by. */
  key: z.string(),
  operation_id: z.string().optional(),
  /** Of the tool that it would be. */
  name: z.string(),
  title: z.string().optional(),
  tags: z.array(z.string()),
  hints: z.object({ read_only: z.boolean(), destructive: z.boolean(), idempotent: z.boolean() }),
  importable: z.boolean(),
  /** Why it cannot be imported, or what of it is left out. */
  problems: z.array(z.string()),
});
export type ImportedOperation = z.output<typeof importedOperation>;

export const importOpenApi = endpoint("crud", "POST", "/config/imports/openapi", {
  query: z.strictObject({
    provider: providerName,
    instance: instanceName,
    /** Fetched instead of a body: https, from a public address unless `allow` names its network. */
    url: plainText(1, 2000).optional(),
    allow: network.optional(),
  }),
  textBody: ["application/json", "application/yaml", "text/yaml", "application/octet-stream"],
  reply: z.object({
    import_id: z.string(),
    title: z.string(),
    /** As the document says it. */
    openapi: z.string(),
    servers: z.array(z.string()),
    /** How the document says that callers are known: what the system's `auth` has to be. */
    security: z.array(
      z.object({
        name: z.string(),
        type: z.string(),
        in: z.string().optional(),
        parameter: z.string().optional(),
        /** Of OAuth 2.0 with client credentials. */
        tokenUrl: z.string().optional(),
        scopes: z.array(z.string()).optional(),
      }),
    ),
    operations: z.number().int(),
    importable: z.number().int(),
    /** Why operations cannot be imported, and what of others is left out, each with its key; at most 50. */
    warnings: z.array(z.string()),
    tags: z.array(z.object({ name: z.string(), operations: z.number().int() })),
    sha256: z.string(),
    expires_at: timestamp,
  }),
  status: 201,
  ...withoutAgents({ scope: ["config.write"], decision: "system/edit" }),
  problems: ["unprocessable", "upstream_error", "upstream_timeout", "busy"],
  summary: "Look at an OpenAPI document (3.0, 3.1 or Swagger 2.0; JSON or YAML of at most 32 MiB): nothing becomes a tool yet.",
});

export const importedOperations = endpoint("crud", "GET", "/config/imports/{id}/operations", {
  params: z.object({ id: importId }),
  query: z.strictObject({
    tag: plainText(1, 100).optional(),
    /** Within key, name, title or id. */
    q: plainText(1, 100).optional(),
    ...cursorPage,
  }),
  reply: z.object({ operations: z.array(importedOperation), total: z.number().int(), nextCursor: z.string().optional() }),
  ...withoutAgents({ scope: ["config.read"], decision: "system/view" }),
  problems: ["not_found", "invalid_cursor"],
  summary: "Operations of a document in its order: what each would be, or why it cannot be imported.",
});

const secretUri = plainText(1, 1024);
const scopes = z.array(plainText(1, 200)).max(50);
const auth = z
  .record(plainText(1, 40), secretUri.or(scopes))
  .describe("As `auth` of a system: its `type`, and its credentials as secret URIs.");

const written = configWritten.extend({
  /** Operations of the system that the document has no more; they are taken out. */
  gone: z.array(z.string()).optional(),
  /** Operations of the document that the system has not, at most 500. */
  fresh: z.array(z.string()).optional(),
  /** The system's file as it would be published, where it was asked for. */
  document: z.string().optional(),
});

export const acceptImport = endpoint("crud", "POST", "/config/imports/{id}/accept", {
  params: z.object({ id: importId }),
  query: z.strictObject({ dryRun: flag, document: flag }),
  body: z.strictObject({
    pick: picks.optional().describe("Keys; without them and `tags` all that can be imported."),
    tags: z.array(plainText(1, 100)).min(1).max(100).optional().describe("All importable operations of these tags."),
    /** The first server of the document unless said. */
    baseUrl: plainText(1, 2000).optional(),
    auth: auth.optional(),
    owner: nodeId.optional().describe("Who the system belongs to; whoever imports it unless said."),
    title: plainText(1, 80).optional(),
    tenants: z.array(nodeId).min(1).max(100).optional().describe("The importer's own unless said."),
    allow: z.array(network).max(20).optional().describe("Networks that are not public and may be dialled, as `network.allow` of a system."),
  }),
  maxMembers: 20_000,
  reply: written,
  moreStatuses: [201],
  ...withoutAgents({ scope: ["config.write"], decision: "system/edit" }),
  problems: ["not_found", "unprocessable", "already_exists", "managed_elsewhere", "cross_tenant", "busy", "membership_unavailable"],
  summary: "Publish what is picked as one system; its tools can be called at once. With dryRun=true only say what it would be.",
});

export const reimportSystem = endpoint("crud", "POST", "/config/systems/{name}/reimport", {
  params: z.object({ name: systemName }),
  query: z.strictObject({ dryRun: flag }),
  body: z.strictObject({ import_id: importId, pick: picks.optional().describe("Keys of operations to add.") }),
  maxMembers: 20_000,
  headers: { "If-Match": z.string().optional() },
  reply: written,
  ...withoutAgents({ scope: ["config.write"], decision: "system/edit" }),
  problems: ["not_found", "unprocessable", "stale_version", "managed_elsewhere", "cross_tenant", "busy", "membership_unavailable"],
  summary:
    "Bring an imported system up to a newer document: requests and inputs follow it; names, texts, masks and prices that a person changed stay.",
});
