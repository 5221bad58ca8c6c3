import { z } from "zod";
import { secretSchemePattern } from "#contract/secret-schemes.ts";
import { duration } from "#crud/documents/duration.ts";
import { basePattern, externalBasePattern, isInstance, isProvider } from "#crud/mcp/names.ts";
import { styles, type Style } from "./parameter-styles.ts";
import { circuit, concurrency, rateLimit, responseLimits, retry } from "./system-limits.ts";

/** The shape of `config/systems/<provider>.<instance>.yaml`. Strict: an unknown key is a fault, a wrong word too. */

const stylesOf: Readonly<Record<"path" | "query" | "header", readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
};
const text = (least: number, most: number) =>
  z.string().min(least, `must have at least ${least} characters`).max(most, `must have at most ${most} characters`);
const pointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/, "must be a JSON Pointer");
const secretUri = z.string().regex(new RegExp(String.raw`^(?:${secretSchemePattern})://[^\s#?]+#[^\s#?]+(?:\?version=\d+)?$`, "i"), {
  error: "must be a secret URI with a key: a credential is never written here",
});
const template = z.unknown();
const identity = text(1, 200);
const schema = z.record(z.string(), z.unknown());
const usd = z.number().min(0).max(10_000).multipleOf(0.000001, "has at most 6 decimals");

const dataScope = z.literal("none").or(
  z.strictObject({
    resourceType: text(1, 64),
    rows: pointer.default(""),
    columns: z.record(z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/, "is no column name"), pointer),
    guard: z.strictObject({ operation: text(1, 64), input: template }).optional(),
  }),
);
const timeout = duration(100, 300_000);

const defaults = z.strictObject({
  timeout: timeout.prefault("PT10S"),
  retry: retry.prefault({}),
  rateLimit: rateLimit.optional(),
  concurrency: concurrency.prefault({ max: 32 }),
  circuit: circuit.prefault({}),
  response: responseLimits.prefault({}),
  dataScope: dataScope.optional(),
});

const annotations = z.strictObject({
  title: text(1, 80).optional(),
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
  tags: z.array(text(1, 40)).max(20).optional(),
});

const cost = usd.or(z.strictObject({ reserve: usd, actual: z.string() }));
const stepUp = z.strictObject({ level: z.enum(["strong", "phishing_resistant"]), maxAge: duration(1000, 3_600_000).prefault("PT5M") });

const mappedResource = z.strictObject({
  type: text(1, 64),
  id: z.string().optional(),
  properties: z.record(z.string(), template).optional(),
});
const mappedAction = z.strictObject({ name: text(1, 64), properties: z.record(z.string(), template).optional() });
const mappedContext = z.record(z.string(), template).optional();
// The subject of a call is that of its token; a mapping may say so, and nothing else.
const mappedSubject = z.strictObject({ type: z.literal("identity"), id: z.string() }).optional();
const mappedItem = { action: mappedAction, resource: mappedResource, context: mappedContext };

/** AuthZEN's profile for MCP: one question or several, with CEL after `$`. */
const authzenMapping = z
  .strictObject({ evaluation: z.strictObject({ subject: mappedSubject, ...mappedItem }) })
  .or(z.strictObject({ subject: mappedSubject, evaluations: z.array(z.strictObject(mappedItem)).min(1).max(20) }));
export type AuthzenMapping = z.output<typeof authzenMapping>;

const common = {
  title: text(1, 80).optional(),
  description: text(10, 1024),
  input: schema.optional(),
  output: z.strictObject({ select: z.string().optional(), schema: schema.optional() }).prefault({}),
  dataScope: dataScope.optional(),
  mask: z
    .array(
      z.strictObject({ path: pointer, action: z.enum(["drop", "null", "hash", "last4", "year"]), unlessAllowed: text(1, 64).optional() }),
    )
    .max(50)
    .default([]),
  annotations: annotations.prefault({}),
  scopes: z.array(text(1, 100)).max(50).default([]),
  authz: z
    .strictObject({
      resource: text(1, 64),
      action: text(1, 64),
      id: z.string().optional(),
      properties: z.record(z.string(), template).optional(),
    })
    .optional(),
  "x-authzen-mapping": authzenMapping.optional(),
  cost_usd: cost.default(0),
  errors: z
    .array(
      z.strictObject({
        when: z.string(),
        as: z.enum(["not_found", "conflict", "invalid_arguments", "rate_limited", "upstream_error"]),
        retryable: z.boolean().default(false),
      }),
    )
    .max(20)
    .default([]),
  stepUp: stepUp.optional(),
  timeout: timeout.optional(),
  approval: z.literal("none", { error: "approvals are not available; the decision point alone decides" }).default("none"),
};

/** Headers that the house sends itself, or that are no caller's to choose. */
const ownHeaders =
  /^(?:accept|accept-encoding|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|x-correlation-id)$/i;
const style = z.enum(styles);
const mediaType = z.string().regex(/^[a-z]+\/[A-Za-z0-9!#$&^_.+-]{1,100}(?:; ?[a-z-]+=[A-Za-z0-9_.-]{1,60})?$/, "must be a media type");

/** Where a member of the input goes, as OpenAPI says it. */
const parameter = z
  .strictObject({
    name: text(1, 200),
    in: z.enum(["path", "query", "header"]),
    /** Member of the input; of the same name unless said. */
    input: text(1, 200).optional(),
    /** `simple` in paths and headers, `form` in queries unless said. */
    style: style.optional(),
    /** True for `form` unless said, else false. */
    explode: z.boolean().optional(),
    allowReserved: z.boolean().default(false),
  })
  .refine(
    ({ in: where, style: how }) => how === undefined || how === "json" || stylesOf[where].includes(how),
    "has a style that does not stand there",
  )
  .refine(({ in: where, name }) => where !== "header" || (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && !ownHeaders.test(name)), {
    error: "is a header that a caller may not send",
    path: ["name"],
  });

const requestBody = z.strictObject({
  media: mediaType.default("application/json"),
  /** The member that is the whole body; unless said the members that no parameter takes are its members. */
  input: text(1, 200).optional(),
  /** The text is base64 of the bytes that are sent. */
  base64: z.boolean().default(false),
  /** Members of a form, or of any body those that have another name in the input. */
  encoding: z
    .record(
      text(1, 200),
      z.strictObject({
        input: text(1, 200).optional(),
        style: style.optional(),
        explode: z.boolean().optional(),
        media: mediaType.optional(),
        base64: z.boolean().optional(),
      }),
    )
    .default({}),
});

const httpOperation = z.strictObject({
  ...common,
  request: z.strictObject({
    method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    path: z.string().regex(/^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|\{[^{}/?#\s]{1,200}\})*$/, "must be a path without query"),
    parameters: z.array(parameter).max(200).optional(),
    body: requestBody.optional(),
    idempotencyHeader: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,60}$/)
      .optional(),
  }),
  bind: z
    .strictObject({
      path: z.record(z.string(), template).optional(),
      query: z.record(z.string(), template).optional(),
      body: template.optional(),
    })
    .optional(),
  paginate: z
    .strictObject({
      style: z.literal("cursor", { error: "only cursor is available" }),
      param: text(1, 64),
      next: z.string(),
      items: z.string(),
      size: z.strictObject({ param: text(1, 64), default: z.int().min(1), max: z.int().min(1) }).optional(),
      maxPages: z.int().min(1).max(100).default(5),
    })
    .optional(),
  retry: retry.optional(),
  response: responseLimits.optional(),
});

const loopbackOperation = z.strictObject({ ...common, request: z.strictObject({ endpoint: text(1, 64) }) });

const override = z.strictObject({
  base: z.string().regex(externalBasePattern).optional(),
  title: text(1, 80).optional(),
  description: text(10, 1024).optional(),
  cost_usd: usd.optional(),
  stepUp: stepUp.optional(),
  timeout: timeout.optional(),
  annotations: annotations.optional(),
});

const head = {
  apiVersion: z.literal("systems/v1"),
  provider: z.string().refine(isProvider, "must be [a-z][a-z0-9-]{0,24} and not workflow, system or tools"),
  instance: z.string().refine(isInstance, "must be [a-z][a-z0-9-]{0,24}"),
  env: z.enum(["dev", "test", "prod"]).optional(),
  title: text(1, 80),
  owner: identity,
  tenants: z.array(identity).min(1).optional(),
};

const auth = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("none") }),
  z.strictObject({ type: z.literal("bearer"), token: secretUri }),
  z.strictObject({
    type: z.literal("api_key"),
    in: z.enum(["header", "query"]),
    name: z.string().regex(/^[A-Za-z][A-Za-z0-9-_]{0,60}$/),
    value: secretUri,
  }),
  z.strictObject({ type: z.literal("basic"), username: secretUri, password: secretUri }),
]);

const operations = <T extends z.ZodType>(operation: T) =>
  z
    .record(z.string().regex(basePattern, "must be [a-z][a-z0-9_-]*"), operation)
    .refine((map) => Object.keys(map).length > 0, "needs an operation");

const httpDocument = z.strictObject({
  ...head,
  kind: z.literal("http"),
  baseUrl: z.string(),
  network: z
    .strictObject({
      allow: z.array(z.string()).default([]),
      redirects: z.literal("none", { error: "only none is available" }).default("none"),
    })
    .prefault({}),
  requires: z.strictObject({ app: identity }).optional(),
  auth: auth.prefault({ type: "none" }),
  defaults: defaults.prefault({}),
  operations: operations(httpOperation),
});

const loopbackDocument = z.strictObject({
  ...head,
  kind: z.literal("loopback"),
  defaults: defaults.prefault({}),
  operations: operations(loopbackOperation),
});

const mcpDocument = z.strictObject({
  ...head,
  kind: z.literal("mcp"),
  transport: z.strictObject({
    type: z.literal("stdio", { error: "only stdio is available" }),
    command: text(1, 200),
    args: z.array(z.string().max(1000)).max(50).default([]),
    env: z.record(z.string().regex(/^[A-Z][A-Z0-9_]{0,60}$/), z.string().max(2000)).default({}),
  }),
  tools: z
    .strictObject({
      include: z.array(text(1, 128)).default(["*"]),
      exclude: z.array(text(1, 128)).default([]),
      overrides: z.record(z.string(), override).default({}),
    })
    .prefault({}),
  isolation: z.enum(["shared", "per_tenant", "per_principal"]).default("per_tenant"),
  interaction: z.strictObject({ elicitation: z.literal(false).default(false), sampling: z.literal(false).default(false) }).prefault({}),
  trustAnnotations: z.boolean().default(false),
  quarantineNew: z.boolean().default(true),
  defaults: defaults.prefault({}),
});

export type HttpDocument = z.output<typeof httpDocument>;
export type LoopbackDocument = z.output<typeof loopbackDocument>;
export type McpDocument = z.output<typeof mcpDocument>;
export type SystemDocument = HttpDocument | LoopbackDocument | McpDocument;

export const documentKinds = { http: httpDocument, loopback: loopbackDocument, mcp: mcpDocument } as const;
/** Named by the format, but without a connector here. */
export const plannedKinds: readonly string[] = ["sql", "static", "ldap", "scim"];

export type AuthRules = z.output<typeof auth>;
