import { z } from "zod";
import { pathMarks } from "#gateway/model/canonical-path.ts";
import { rateClasses } from "#gateway/model/rate-classes.ts";

/** The words of the route table file, as they are written there. What they may mean together is checked in `route-table.ts`. */

const rowMethods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
export type RowMethod = (typeof rowMethods)[number];

const method = z.enum(rowMethods, { error: `must be one of ${rowMethods.join(", ")}` });
const word = z.string().regex(/^[A-Za-z0-9._:/-]{1,128}$/, "must be 1-128 of A-Z a-z 0-9 . _ : / -");
export const serviceName = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, "must be 1-64 of a-z 0-9 _ - and begin with a letter");
const milliseconds = z.int().min(1).max(86_400_000);
const origin = z
  .string()
  .refine((text) => URL.canParse(text) && new URL(text).origin === text, "must be an origin, e.g. https://app.example");

/** How one method of a path becomes a question to the decision point. */
const mappingShape = z.strictObject({
  resource: word,
  action: word,
  /** A literal id. */
  id: z.string().min(1).max(1024).optional(),
  /** A template of captures, e.g. `{id}`. */
  id_from: z.string().min(1).max(1024).optional(),
  /** Values: literals, templates of captures, or `$.a.b[0]` of the JSON body. */
  props: z.record(z.string().min(1).max(128), z.string().max(1024)).optional(),
});
export type Mapping = z.infer<typeof mappingShape>;

export const mappingsShape = z.partialRecord(method, mappingShape);

const timeouts = z.strictObject({
  connect_ms: milliseconds.default(1000),
  headers_ms: milliseconds.default(15_000),
  idle_ms: milliseconds.default(30_000),
  total_ms: milliseconds.default(60_000),
});

export const rowShape = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9._-]{0,63}$/, "must be 1-64 of a-z 0-9 . _ - and begin with a letter"),
  description: z.string().optional(),
  path: z.string(),
  target_service: z.string().optional(),
  internal: z.boolean().optional(),
  upstream_path: z.string().optional(),
  preserve_path: z.boolean().default(false),
  methods: z
    .array(method)
    .min(1, "names no method")
    .refine((list) => new Set(list).size === list.length, "names a method twice"),
  auth: z.enum(["session", "bearer", "none"], { error: "must be session, bearer or none" }),
  /** With auth: none: the upstream has credentials of its own, so Authorization goes on as it came. */
  own_credential: z.boolean().default(false),
  authz: z.enum(["none", "pdp"], { error: "must be none or pdp" }),
  authz_map: mappingsShape.optional(),
  streaming: z.boolean().default(false),
  bearer: z
    .strictObject({
      audiences: z.array(z.string().min(1)).min(1).optional(),
      scopes: z.array(z.string().min(1)).default([]),
      resource: z.string().min(1).optional(),
    })
    .optional(),
  cors_origins: z.array(origin).default([]),
  hosts: z.array(z.string().min(1)).min(1).optional(),
  csrf: z.enum(["headers", "origin"]).optional(),
  timeouts: timeouts.prefault({}),
  body_limit: z
    .int()
    .min(0)
    .max(1_073_741_824)
    .default(10 * 1_048_576),
  content_types: z
    .array(z.string().regex(/^(?:[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+|\*\/\*)$/, "must be a media type in lower case"))
    .default(["application/json"]),
  retry: z.enum(["never", "safe", "idempotent"], { error: "must be never, safe or idempotent" }).default("safe"),
  rate: z.enum(rateClasses, { error: `must be one of ${rateClasses.join(", ")}` }).optional(),
  token_policy: z
    .strictObject({
      mode: z.enum(["session_passthrough", "service_token", "on_behalf_of"]),
      /** Whom the token is for: a key of `services`, or a name of its own for what only `audience` tells. */
      service: serviceName.optional(),
      audience: z.string().optional(),
      scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope: no space, no quote")).optional(),
      /** Seconds; the token's own life is the other limit. */
      cache_ttl: z.int().min(0).max(86_400).optional(),
    })
    .optional(),
  allow_encoded: z.array(z.enum(pathMarks)).default([]),
  delete_body: z.boolean().default(false),
});
export type RowShape = z.infer<typeof rowShape>;

export const DEFAULT_POOL = 64;
export const DEFAULT_QUEUE = 256;

export const serviceShape = z.strictObject({
  base_urls: z.array(z.string()).min(1, "names no address").max(64),
  audience: z.string().optional(),
  ca_file: z.string().optional(),
  client_cert_file: z.string().optional(),
  client_key_file: z.string().optional(),
  pool: z.int().min(1).max(1024).default(DEFAULT_POOL),
  queue: z.int().min(0).max(100_000).default(DEFAULT_QUEUE),
});
export type ServiceShape = z.infer<typeof serviceShape>;

/** The file's frame. Services and rows are read one by one, so that an issue of one hides none of another. */
export const routeFileShape = z.strictObject({
  version: z.literal(1, { error: "must be 1" }),
  services: z.record(z.string(), z.unknown()).default({}),
  audiences: z.array(z.string()).default([]),
  routes: z.array(z.unknown()),
});
