import { createHash } from "node:crypto";
import type { z } from "zod";
import { canonicalJson } from "#contract/canonical-json.ts";
import { Problem } from "#contract/problem.ts";
import type { McpPromptDraft, McpResourceDraft, mcpServiceDraft, McpToolDraft, PublishedServer } from "#contract/registry.ts";
import { shortHash } from "#membership/graph/foreign-id.ts";
import type { EdgeKind } from "#membership/model/kinds.ts";
import { present, type NodeDraft, type NodeRow } from "#membership/graph/put-node.ts";

/** SHA-256 over RFC 8785, hex; members that are not there are left out. */
const digestOf = (definition: Readonly<Record<string, unknown>>): string =>
  createHash("sha256")
    .update(canonicalJson(definition) ?? "")
    .digest("hex");

const SCHEMA_BYTES = 65_536;
const SCHEMA_DEPTH = 32;

const schemaIssue = (value: unknown, depth = 0): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > SCHEMA_DEPTH) return `is nested deeper than ${SCHEMA_DEPTH}`;
  for (const [name, member] of Object.entries(value)) {
    if (name === "$ref" && typeof member === "string" && !member.startsWith("#")) return "refers to something outside of itself";
    const issue = schemaIssue(member, depth + 1);
    if (issue !== undefined) return issue;
  }
  return undefined;
};

/** Throws `schema_refused`: a schema of somebody else's is read where it is, and never fetched. */
const requireSchema = (schema: unknown, path: string): void => {
  if (schema === undefined) return;
  const issue = JSON.stringify(schema).length > SCHEMA_BYTES ? "is longer than 64 KiB" : schemaIssue(schema);
  if (issue !== undefined) throw new Problem("schema_refused", { errors: [{ path, message: issue }] });
};

/** What a service provides, as a node and the digest of what was defined. A prop that is there without a value is one that the definition has no more. */
interface Defined {
  readonly draft: NodeDraft;
  readonly edge: EdgeKind;
  /** Member that its id is made of. */
  readonly key: "name" | "uri";
}

const defined = (
  sent: { readonly definition_digest?: string | undefined; readonly state?: string | undefined },
  service: NodeRow,
  edge: EdgeKind,
  definition: Readonly<Record<string, unknown>>,
  draft: Pick<NodeDraft, "id" | "kind" | "name"> & { readonly props: Readonly<Record<string, unknown>> },
): Defined => {
  const digest = digestOf(definition);
  if (sent.definition_digest !== undefined && sent.definition_digest !== digest)
    throw new Problem("digest_mismatch", {
      errors: [{ path: "/definition_digest", message: `is not the definition's: that is ${digest}` }],
    });
  return {
    edge,
    key: edge === "PROVIDES_RESOURCE" ? "uri" : "name",
    draft: {
      ...draft,
      tenant_id: service.tenant_id,
      system: service.name.slice(0, 64),
      state: sent.state,
      digest,
      props: { ...draft.props, definition_digest: digest },
    },
  };
};

/** A tool's id is its dotted name, and begins with its service's. */
export const definedTool = (service: NodeRow, sent: McpToolDraft): Defined => {
  const input = sent.inputSchema ?? sent.input_schema;
  const output = sent.outputSchema ?? sent.output_schema;
  requireSchema(input, "/inputSchema");
  requireSchema(output, "/outputSchema");
  const id = sent.name.startsWith(`${service.name}.`) ? sent.name : `${service.name}.${sent.name}`;
  const { title, description, annotations, version, risk } = sent;
  const definition = present({ name: id, title, description, inputSchema: input, outputSchema: output, annotations });
  return defined(sent, service, "PROVIDES", definition, {
    id,
    kind: "Tool",
    name: id,
    props: {
      service_id: service.id,
      title,
      description,
      input_schema: input,
      output_schema: output,
      annotations,
      ...present({ version, risk }),
    },
  });
};

export const definedResource = (service: NodeRow, sent: McpResourceDraft): Defined => {
  const mimeType = sent.mimeType ?? sent.mime_type;
  const { uri, description, size, etag, last_modified, annotations } = sent;
  const name = sent.name ?? uri.slice(0, 256);
  return defined(sent, service, "PROVIDES_RESOURCE", present({ uri, name, mimeType, description }), {
    id: `mcpres:${shortHash(service.id, uri)}`,
    kind: "MCPResource",
    name,
    props: { uri, mime_type: mimeType, description, ...present({ size, etag, last_modified, annotations }) },
  });
};

export const definedPrompt = (service: NodeRow, sent: McpPromptDraft): Defined => {
  const { name, version, description, content } = sent;
  return defined(sent, service, "OFFERS_PROMPT", present({ name, description, arguments: sent.arguments }), {
    id: `mcpprompt:${shortHash(service.id, name, version)}`,
    kind: "MCPPrompt",
    name,
    props: { version, description, arguments: sent.arguments, ...present({ content }) },
  });
};

/**
 * A `server.json`, as servers are published by, as a service of the registry. Its name keeps its domain, so that two of one name are two;
 * headers, arguments and packages are how somebody may start or call it, which is configured where it is called.
 */
export const serviceOfPublished = (sent: PublishedServer): z.output<typeof mcpServiceDraft> => {
  const { name, title, description, version, remotes = [], packages = [], owner_id, credential_ref, reason } = sent;
  const urlOf = (type: string): string | undefined => remotes.find((remote) => remote.type === type)?.url;
  const types = [...remotes.map(({ type }) => type), ...packages.flatMap(({ transport }) => transport?.type ?? [])];
  return {
    name: name.replace("/", "."),
    registry_name: name,
    display_name: title,
    description,
    version,
    service_type: "external",
    supported_protocols: types.length === 0 ? undefined : [...new Set(types)],
    url: urlOf("streamable-http"),
    sse_url: urlOf("sse"),
    websocket_url: urlOf("websocket"),
    trust: "pinned",
    owner_id,
    credential_ref,
    reason,
  };
};
