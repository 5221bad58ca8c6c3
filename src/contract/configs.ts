import { z } from "zod";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { cursorPage, plainText, timestamp } from "./ids.ts";
import { switchedOff } from "./switched-off.ts";

/**
 * The configuration store: systems and the tools document as objects with versions. A person needs the pair of the endpoint and the scope
 * `config.read` or `config.write`. The ETag of an object is `"<version>-<12 hex of the SHA-256 of its bytes>"`; `If-Match` is honoured.
 */

const PART = "[a-z][a-z0-9-]{0,24}";
/** Not in the patterns, which other engines read alike. */
const builtInProviders = ["workflow", "system", "tools"];
const isFree = (provider: string): boolean => !builtInProviders.includes(provider);
const TAKEN = `must not be of ${builtInProviders.join(", ")}, which are Sallyport's own`;
export const instanceName = z.string().regex(new RegExp(`^${PART}$`), `must be ${PART}`);
export const providerName = instanceName.refine(isFree, TAKEN).meta({ not: { enum: builtInProviders } });
/** A system's name is `<provider>.<instance>`. */
export const systemName = z
  .string()
  .regex(new RegExp(`^${PART}\\.${PART}$`), "must be <provider>.<instance>")
  .refine((name) => isFree(name.split(".")[0] ?? ""), TAKEN);
/** A workflow in addresses and names of tools: as in its document, with `_` for `-`, which is taken too. */
export const workflowAddress = z
  .string()
  .regex(/^[a-z]([a-z0-9_-]{0,38}[a-z0-9])?$/, "must be [a-z]([a-z0-9_-]{0,38}[a-z0-9])?")
  .transform((name) => name.replaceAll("_", "-"));
/** As a workflow document has it; the name of its tool has `_` for `-`. */
export const workflowName = z.string().regex(/^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/, "must be [a-z]([a-z0-9-]{0,38}[a-z0-9])?");
/** Not `schema` and `suggest`, which stand in addresses for something else. */
export const formName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, "must be [a-z][a-z0-9_-]{0,62}")
  .refine((name) => name !== "schema" && name !== "suggest", "stands for something else: choose another name");
/** What a text of a form becomes on blur and on submit, before it is validated, in this order. */
export const normalizations = ["nfc", "trim", "lower", "upper"] as const;
/** As it is taken and given: YAML, or JSON, which is YAML. Kept byte for byte. */
const documentMedia = ["application/yaml", "application/json"] as const;

/** Most bytes of one document. */
export const MAX_CONFIG_BYTES = 262_144;
/** Most bytes of a system as JSON with one blank a level, as an import of a large document writes it. */
export const MAX_SYSTEM_BYTES = 8_388_608;

export const configIssue = z.object({
  path: z.string(),
  message: z.string(),
  code: z.string().optional(),
  file: z.string().optional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  hint: z.string().optional(),
});

/** How a tool differs from the one before: what a model reads, what it may send, what it is told to expect, what its calls meet. */
export const definitionChange = z.object({
  /** JSON Pointer into the definition; below `/rules` what a call meets besides. */
  path: z.string(),
  kind: z.enum([
    "text",
    "param_added",
    "param_removed",
    "required_added",
    "required_removed",
    "enum_widened",
    "enum_narrowed",
    "type_changed",
    "hint_flipped",
    "schema",
    "cost",
    "scope",
    "mask_weakened",
    "mask",
    "rule",
    "setting",
  ]),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
  risk: z.enum(["none", "review", "breaking"]),
});
export type DefinitionChange = z.infer<typeof definitionChange>;

const pastOutcome = z.object({ decision: z.boolean(), reason: z.string().optional() });
/** What the newest recorded calls of the tools that change, at most 200, would be; asked on the facts that they had. */
export const decisionsChanged = z.object({
  evaluated: z.number().int(),
  newly_allowed: z.number().int(),
  newly_denied: z.number().int(),
  /** Denied or permitted as before, but for another reason or with other obligations. */
  changed: z.number().int(),
  not_replayable: z.number().int(),
  /** At most 20; never who asked. */
  examples: z.array(z.object({ decision_id: z.string(), tool: z.string(), before: pastOutcome, after: pastOutcome })),
  /** False: not all tools, or not all records, were looked at. */
  complete: z.boolean(),
});
export type DecisionsChanged = z.infer<typeof decisionsChanged>;

/** What a change would do, or did, to tools that the caller's tenant sees. */
export const configDiff = z.object({
  tools_added: z.array(z.string()),
  tools_removed: z.array(z.string()),
  tools_changed: z.array(
    z.object({
      name: z.string(),
      /** SHA-256 over RFC 8785 of the definition; equal where only rules of the call changed. */
      digest: z.object({ before: z.string(), after: z.string() }),
      changes: z.array(definitionChange),
    }),
  ),
  views_changed: z.array(z.string()),
  /** Of a document that was there before: what differs outside what its tools tell of themselves, by JSON Pointer into it. */
  settings_changed: z.array(definitionChange),
  hosts_added: z.array(z.string()),
  secrets_added: z.array(z.string()),
  /** Of a dry run alone: live delegations that would give a tool no more, until its capability is given anew; at most 1,000. */
  capabilities_affected: z
    .array(z.object({ delegation_id: z.string(), user_id: z.string(), agent_id: z.string(), tool: z.string() }))
    .optional(),
  /** Of a dry run alone. */
  decisions_changed: decisionsChanged.optional(),
});
export type ConfigDiff = z.infer<typeof configDiff>;

export const configWritten = z.object({
  name: z.string(),
  version: z.number().int(),
  etag: z.string(),
  diff: configDiff,
  warnings: z.array(z.string()),
  /** Of a dry run alone: whether it would be taken, and if not, why. */
  valid: z.boolean().optional(),
  errors: z.array(configIssue).optional(),
});
export type ConfigWritten = z.infer<typeof configWritten>;

/** What was taken away is listed where its state is asked for. */
const state = z.enum(["serving", "degraded", "off", "deleted"]);
const degraded = z.object({ errors: z.array(configIssue), serving_version: z.number().int().nullable() });

const object = z.object({
  name: z.string(),
  version: z.number().int(),
  etag: z.string(),
  state,
  author: z.string(),
  reason: z.string(),
  at: timestamp,
  /** The document as JSON; the bytes for `Accept: application/yaml`. */
  document: z.unknown(),
  /** Why the newest version or the file on disk is not what serves. */
  degraded: degraded.optional(),
  /** Of a channel of notifications: what could not be delivered. */
  problems: z.array(configIssue).optional(),
  /** Of a system: the kill switch that keeps it from the caller's tenant. */
  switched_off: switchedOff.optional(),
});

const versionRow = z.object({
  version: z.number().int(),
  hash: z.string(),
  author: z.string(),
  reason: z.string(),
  at: timestamp,
  deleted: z.boolean().optional(),
  restored_from: z.number().int().optional(),
});

const reason = plainText(1, 500);
export const flag = z.enum(["true", "false"]).default("false");
const change = z.strictObject({ dryRun: flag, reason: reason.optional() });
const ifMatch = { "If-Match": z.string().optional(), "If-None-Match": z.string().optional() };
const versionText = z.string().regex(/^[1-9][0-9]{0,8}$/);
const rollbackBody = z.strictObject({ version: z.int().min(1).max(999_999_999), reason: reason.optional() });
const page = z.strictObject(cursorPage);

const base = withoutAgents();
const mayRead = (decision: string) => ({ ...base, scope: ["config.read"], decision });
const mayWrite = (decision: string) => ({ ...base, scope: ["config.write"], decision });
const writeProblems = [
  "stale_version",
  "already_exists",
  "managed_elsewhere",
  "unprocessable",
  "invalid_definition",
  "version_exists",
  "version_not_higher",
  "connector_not_available",
  "cross_tenant",
  "not_found",
  "membership_unavailable",
  "busy",
] as const;

const shown = {
  headers: { Accept: z.string().optional() },
  reply: object,
  moreMedia: ["application/yaml"],
  problems: ["not_found"],
} as const;
const allVersions = { query: page, reply: z.object({ versions: z.array(versionRow), nextCursor: z.string().optional() }) };
const oneVersion = { reply: z.string(), moreMedia: ["application/yaml"], problems: ["version_not_found"] } as const;
const rollingBack = { query: z.strictObject({ dryRun: flag }), body: rollbackBody, headers: ifMatch, reply: configWritten };
const publishing = {
  query: change,
  textBody: documentMedia,
  headers: ifMatch,
  reply: configWritten,
  moreStatuses: [201],
  problems: writeProblems,
};

/** Most differences that one answer names. */
export const MAX_DIFFERENCES = 1_000;
const versionNumber = z.coerce.number().int().min(1).max(999_999_999).meta({ type: "integer", minimum: 1, maximum: 999_999_999 });
const differences = {
  query: z.strictObject({ from: versionNumber, to: versionNumber }),
  reply: z.object({
    from: z.number().int(),
    to: z.number().int(),
    /** The smallest parts that differ, of the document as it was written; comments are none. */
    changes: z.array(
      z.object({
        path: z.string(),
        op: z.enum(["add", "remove", "replace"]),
        before: z.unknown().optional(),
        after: z.unknown().optional(),
      }),
    ),
    /** Files that the document refers to and that are others, or came or went. */
    files_changed: z.array(z.string()),
    /** There are more. */
    truncated: z.boolean(),
  }),
  problems: ["version_not_found", "unprocessable", "busy"] as const,
};

/** What a list shows of an object. */
const objectRow = z.object({
  name: z.string(),
  kind: z.string().optional(),
  title: z.string().optional(),
  owner: z.string().optional(),
  state,
  version: z.number().int(),
  etag: z.string(),
  author: z.string(),
  at: timestamp,
  degraded: degraded.optional(),
});

interface KindOfOne {
  /** In names of endpoints: `read<Noun>`. */
  readonly noun: string;
  /** In sentences. */
  readonly called: string;
  /** Pairs, `resource/action`. Asked of `*` for all objects; with the resource `config`, of `<kind>:<name>`. */
  readonly view: string;
  readonly edit: string;
}
/** A kind with objects by name, at `/config/<plural>/{name}` and in the folder `<plural>`. */
interface KindOfMany<Plural extends string, Row extends z.ZodType> extends KindOfOne {
  readonly plural: Plural;
  /** Of an object's name, and how people write it. */
  readonly name: z.ZodType<string, string>;
  readonly form: string;
  readonly delete: string;
  readonly row: Row;
  /** Where people who work with its objects find them, besides. */
  readonly served?: {
    readonly path: string;
    readonly name: z.ZodType<string, string>;
    /** For reading; to change one is the same everywhere. */
    readonly scope: string;
    readonly view: string;
  };
  /** Maximum bytes of a document in JSON, where that is more than of one in YAML. */
  readonly maxJsonBytes?: number;
}

const objectEndpoints = <Names extends z.ZodRawShape>(
  path: string,
  names: Names,
  { called, view, edit, scope = "config.read" }: Pick<KindOfOne, "called" | "view" | "edit"> & { readonly scope?: string },
) => {
  const mayView = { ...base, scope: [scope], decision: view };
  // Where a kind has one object, nothing is to be named.
  const params = (Object.keys(names).length === 0 ? {} : { params: z.object(names) }) as { readonly params: z.ZodObject<Names> };
  const numbered = z.object({ ...names, version: versionText }) as unknown as z.ZodObject<Names & { version: typeof versionText }>;
  return {
    read: endpoint("crud", "GET", path, {
      ...params,
      ...shown,
      ...mayView,
      summary: `Read ${called}: its bytes, or with Accept: application/json its document, version and issues.`,
    }),
    put: endpoint("crud", "PUT", path, {
      ...params,
      ...publishing,
      ...mayWrite(edit),
      summary: `Publish the next version of ${called}; dryRun=true only reports what it would change.`,
    }),
    versions: endpoint("crud", "GET", `${path}/versions`, {
      ...params,
      ...allVersions,
      ...mayView,
      problems: ["invalid_cursor", "not_found"],
      summary: `Versions of ${called}, newest first.`,
    }),
    version: endpoint("crud", "GET", `${path}/versions/{version}`, {
      params: numbered,
      ...oneVersion,
      ...mayView,
      summary: "The bytes of one version.",
    }),
    diff: endpoint("crud", "GET", `${path}/diff`, {
      ...params,
      ...differences,
      ...mayView,
      summary: `How two versions of ${called} differ, by JSON Pointer.`,
    }),
    rollBack: endpoint("crud", "POST", `${path}/rollback`, {
      ...params,
      ...rollingBack,
      ...mayWrite(edit),
      problems: [...writeProblems, "version_not_found"],
      summary: `Publish an earlier version of ${called} as a new one.`,
    }),
  };
};

const kindOfOne = <Kind extends string>(kind: Kind, row: KindOfOne) => ({
  ...row,
  endpoints: objectEndpoints(`/config/${kind}`, {}, row),
});

const namedEndpoints = <Names extends z.ZodRawShape>(
  all: string,
  names: Names,
  row: Parameters<typeof objectEndpoints>[2] & { readonly delete: string },
) => ({
  ...objectEndpoints(`${all}/{name}`, names, row),
  create: endpoint("crud", "POST", all, {
    ...publishing,
    ...mayWrite(row.edit),
    summary: `Publish ${row.called} by the name in its document; it serves at once.`,
  }),
  remove: endpoint("crud", "DELETE", `${all}/{name}`, {
    params: z.object(names),
    query: change,
    headers: ifMatch,
    reply: configWritten,
    ...mayWrite(row.delete),
    problems: writeProblems,
    summary: `Delete ${row.called}; it can be rolled back to its versions.`,
  }),
});

const kindOfMany = <Plural extends string, Row extends z.ZodType>(row: KindOfMany<Plural, Row>) => {
  const all = `/config/${row.plural}`;
  const rows = { [row.plural]: z.array(row.row) } as Record<Plural, z.ZodArray<Row>>;
  const { served } = row;
  return {
    ...row,
    endpoints: {
      ...namedEndpoints(all, { name: row.name }, row),
      list: endpoint("crud", "GET", all, {
        query: page.extend({ state: state.optional() }),
        reply: z.object({
          ...rows,
          /** Raised by every change of any object. */
          set_version: z.number().int(),
          nextCursor: z.string().optional(),
        }),
        ...mayRead(row.view),
        problems: ["invalid_cursor"],
        summary: `All ${row.plural} of the caller's tenant, by name.`,
      }),
    },
    servedEndpoints: served === undefined ? undefined : namedEndpoints(served.path, { name: served.name }, { ...row, ...served }),
  };
};

/** Kinds of objects, with their endpoints. A kind whose documents name objects of another one stands behind it. */
export const configKinds = {
  system: kindOfMany({
    noun: "System",
    called: "a system",
    plural: "systems",
    name: systemName,
    form: "<provider>.<instance>",
    view: "system/view",
    edit: "system/edit",
    delete: "system/delete",
    row: objectRow.extend({
      /** The kill switch that keeps it from the caller's tenant. */
      switched_off: switchedOff.optional(),
      tools: z.number().int(),
    }),
    maxJsonBytes: MAX_SYSTEM_BYTES,
  }),
  workflow: kindOfMany({
    noun: "Workflow",
    called: "a workflow",
    plural: "workflows",
    name: workflowName,
    form: "<name>",
    view: "config/read",
    edit: "config/write",
    delete: "config/write",
    row: objectRow,
    served: { path: "/workflows", name: workflowAddress, scope: "workflows.read", view: "workflows/view_all" },
  }),
  form: kindOfMany({
    noun: "Form",
    called: "a form",
    plural: "forms",
    name: formName,
    form: "<id>",
    view: "config/read",
    edit: "config/write",
    delete: "config/write",
    row: objectRow,
    served: { path: "/forms", name: formName, scope: "forms.read", view: "forms/view" },
  }),
  notifications: kindOfMany({
    noun: "NotificationChannel",
    called: "a channel of notifications",
    plural: "notifications",
    name: workflowName,
    form: "<name>",
    view: "config/read",
    edit: "config/write",
    delete: "config/write",
    row: objectRow.extend({ problems: z.array(configIssue).optional() }),
  }),
  tools: kindOfOne("tools", { noun: "ToolsDocument", called: "the tools document", view: "config/read", edit: "config/write" }),
};
export type ConfigObjectKind = keyof typeof configKinds;
export const configObjectKinds = Object.keys(configKinds) as [ConfigObjectKind, ...ConfigObjectKind[]];
export const isConfigObjectKind = (kind: string): kind is ConfigObjectKind => Object.hasOwn(configKinds, kind);

export const testSystem = endpoint("crud", "POST", "/config/systems/{name}/test", {
  params: z.object({ name: systemName }),
  body: z.strictObject({ operation: z.string().max(64).optional().describe("Its tests alone.") }),
  reply: z.object({
    tests: z.array(
      z.object({ operation: z.string(), name: z.string(), passed: z.boolean(), message: z.string().optional(), ms: z.number() }),
    ),
  }),
  ...mayRead("system/test"),
  problems: ["not_found"],
  summary: "Run the tests that a system's document holds; the upstream's answers are those of the document, and nothing is sent.",
});

/** Most bytes of an archive of configuration. */
export const MAX_ARCHIVE_BYTES = 33_554_432;

export const exportConfig = endpoint("crud", "GET", "/config/export", {
  reply: z.unknown(),
  moreMedia: ["application/x-tar"],
  ...mayRead("config/read"),
  summary:
    "Systems and tools document of the caller's tenant and those that it shares as a tar archive of a configuration folder; of the same configuration the same bytes. Its ETag is for If-Match of an import.",
});

export const importConfig = endpoint("crud", "POST", "/config/import", {
  query: change,
  textBody: ["application/x-tar"],
  headers: { "If-Match": z.string().optional() },
  reply: z.object({
    /** Objects that are not as the archive has them, by kind and name. */
    changed: z.array(configWritten.extend({ kind: z.enum(configObjectKinds) })),
    unchanged: z.number().int(),
    /** Of a dry run alone. */
    valid: z.boolean().optional(),
    errors: z.array(configIssue).optional(),
  }),
  ...mayWrite("config/write"),
  problems: writeProblems.filter((code) => code !== "cross_tenant" && code !== "not_found"),
  summary:
    "Publish the systems and the tools document of a tar archive (at most 32 MiB), all or nothing. What the archive lacks stays. If-Match names the export that it was made of.",
});

export const reloadConfig = endpoint("crud", "POST", "/config/reload", {
  reply: z.object({
    set_version: z.number().int(),
    /** `<kind>/<name>` of what changed on disk and now serves; what is gone from there is among them. */
    taken: z.array(z.string()),
    degraded: z.array(z.object({ name: z.string(), errors: z.array(configIssue) })),
  }),
  ...mayWrite("deployment/reload_config"),
  summary: "Take up what changed in the configuration folders, as a start would.",
});
