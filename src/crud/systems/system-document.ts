import { z } from "zod";
import { UNSEEN } from "#contract/ids.ts";
import { secretReference } from "#contract/secret-reference.ts";
import { duration } from "#crud/documents/duration.ts";
import { basePattern, externalBasePattern, instancePattern, providerPattern } from "#crud/mcp/names.ts";
import { said } from "#documents/said.ts";
import { styles, type Style } from "./parameter-styles.ts";
import { requestPath } from "./request-path.ts";
import { circuit, concurrency, rateLimit, responseLimits, retry } from "./system-limits.ts";

/** The shape of `config/systems/<provider>.<instance>.yaml`. Strict: an unknown key is a fault, a wrong word too. */

const stylesOf: Readonly<Record<"path" | "query" | "header", readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
};
const text = (least: number, most: number) =>
  z.string().min(least, `must have at least ${least} characters`).max(most, `must have at most ${most} characters`);
/** A name for people, which the graph and every list take too. */
const titled = text(1, 80).refine(
  (given) => !UNSEEN.test(given) && given.isWellFormed(),
  "holds a control character or one that does not show",
);
const pointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/, "must be a JSON Pointer");
const template = z.unknown();
const identity = text(1, 200);
const schema = z.record(z.string(), z.unknown());
const usd = z.number().min(0).max(10_000).multipleOf(0.000001, "has at most 6 decimals");

const dataScope = said(
  z.literal("none").or(
    z.strictObject({
      resourceType: said(text(1, 64), "What a row is: the data scope of this type walls the rows.", "employee"),
      rows: said(pointer.default(""), "Where the rows lie in the output; empty: it is one row, or a list of them.", "/items"),
      columns: said(
        z.record(z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/, "is no column name"), pointer),
        "Where each column that a data scope may name lies in a row.",
        { tenant_id: "/tenant", salary: "/salary" },
      ),
      guard: said(
        z
          .strictObject({
            operation: said(text(1, 64), "An operation of this system that reads the row, with rows of its own.", "get_employee"),
            input: said(template, "Its input, with `${ ... }` over the input of this call.", { id: "${ input.id }" }),
          })
          .optional(),
        "A read that runs before a write: what the caller may not see is `not_found`, and the write is never sent.",
        { operation: "get_employee", input: { id: "${ input.id }" } },
      ),
    }),
  ),
  "Which rows of the answer a caller sees: `none`, or where rows and columns lie. Said here or in `defaults`.",
  { resourceType: "employee", rows: "/items", columns: { tenant_id: "/tenant" } },
);
const timeout = duration(100, 300_000);
const retried = "How failures are tried again.";
const answered = "How much an answer may be.";

const defaults = said(
  z
    .strictObject({
      timeout: said(timeout.prefault("PT10S"), "Longest time of one try.", "PT30S"),
      retry: said(retry.prefault({}), retried, { max: 3 }),
      rateLimit: said(rateLimit.optional(), "How often the system may be called; without it, as often as one likes.", {
        rate: 50,
        per: "second",
        burst: 100,
      }),
      concurrency: said(concurrency.prefault({ max: 32 }), "How many calls of a tenant run at once.", { max: 16, queue: 256 }),
      circuit: said(circuit.prefault({}), "When a failing system is left alone for a while.", { failures: 10 }),
      response: said(responseLimits.prefault({}), answered, { maxBytes: 1_048_576 }),
      dataScope: dataScope.optional(),
    })
    .prefault({}),
  "What holds for each operation that says nothing else.",
  { timeout: "PT30S", dataScope: "none" },
);

const annotations = z.strictObject({
  title: said(titled.optional(), "A title for clients that read it here.", "Change a salary"),
  readOnlyHint: said(z.boolean().optional(), "It changes nothing. Unless said: true for GET.", true),
  destructiveHint: said(z.boolean().optional(), "It may destroy what was. Unless said: false.", false),
  idempotentHint: said(z.boolean().optional(), "Twice does no more than once: it may be tried again.", true),
  openWorldHint: said(z.boolean().optional(), "It reaches things outside of the system.", false),
  tags: said(z.array(text(1, 40)).max(20).optional(), "Words by which views choose tools.", ["hr"]),
});
const annotationsSaid = "What clients are told of its effects, and tags for views.";

const price = "Price of a call in US dollars, at most 6 decimals.";
const cost = usd.or(
  z.strictObject({
    reserve: said(usd, "What is reserved before the call.", 0.05),
    actual: said(z.string(), "What it came to, as `${ ... }` over the response.", "${ response.body.usage.usd }"),
  }),
);
const stepUp = said(
  z.strictObject({
    level: said(z.enum(["strong", "phishing_resistant"]), "How the person must have shown who they are.", "strong"),
    maxAge: said(duration(1000, 3_600_000).prefault("PT5M"), "How long ago at most.", "PT5M"),
  }),
  "A proof of identity that a call needs.",
  { level: "strong", maxAge: "PT5M" },
);

const claimed = "What the question says of it, with expressions.";
const mappedResource = said(
  z.strictObject({
    type: said(text(1, 64), "Type of the resource.", "employee"),
    id: said(z.string().optional(), "Its id, with CEL after `$`.", "$params.arguments.id"),
    properties: said(z.record(z.string(), template).optional(), claimed, { salary: "$params.arguments.salary" }),
  }),
  "What is acted on.",
  { type: "employee", id: "$params.arguments.id" },
);
const mappedAction = said(
  z.strictObject({
    name: said(text(1, 64), "Name of the action.", "update_salary"),
    properties: said(z.record(z.string(), template).optional(), claimed, { reason: "$params.arguments.reason" }),
  }),
  "What is done.",
  { name: "update_salary" },
);
const mappedContext = said(z.record(z.string(), template).optional(), "Circumstances of the question.", {
  reason: "$params.arguments.reason",
});
const mappedSubject = said(
  z
    .strictObject({
      type: said(z.literal("identity"), "Always `identity`.", "identity"),
      id: said(z.string(), "The subject of the call's token.", "$token.sub"),
    })
    .optional(),
  "The subject of a call is that of its token; a mapping may say so, and nothing else.",
  { type: "identity", id: "$token.sub" },
);
const mappedItem = { action: mappedAction, resource: mappedResource, context: mappedContext };

/** AuthZEN's profile for MCP: one question or several, with CEL after `$`. */
const authzenMapping = z
  .strictObject({
    evaluation: said(z.strictObject({ subject: mappedSubject, ...mappedItem }), "One question.", {
      action: { name: "list" },
      resource: { type: "employee" },
    }),
  })
  .or(
    z.strictObject({
      subject: mappedSubject,
      evaluations: said(z.array(z.strictObject(mappedItem)).min(1).max(20), "Several questions; all must be permitted.", [
        { action: { name: "list" }, resource: { type: "employee" } },
      ]),
    }),
  );
export type AuthzenMapping = z.output<typeof authzenMapping>;

const title = said(titled.optional(), "What people read as its name.", "List employees");
const described = text(10, 1024);

const output = {
  select: said(z.string().optional(), "What of the response is the output; the whole body unless said.", "${ response.body.items }"),
  schema: said(schema.optional(), "JSON Schema that the output must meet, or a file beside this one.", { $ref: "./schemas/employee.json" }),
};
const outputSaid = "What becomes of the response.";

const common = {
  title,
  description: said(described, "What it does and when to use it, for people and models.", "Lists employees of your tenant, newest first."),
  input: said(schema.optional(), "JSON Schema of the arguments; an object that says nothing of `additionalProperties` takes no others.", {
    type: "object",
    properties: { limit: { type: "integer", minimum: 1 } },
  }),
  output: said(z.strictObject(output).prefault({}), outputSaid, { select: "${ response.body.items }" }),
  dataScope: dataScope.optional(),
  mask: said(
    z
      .array(
        z.strictObject({
          path: said(pointer, "A member of the output; `*` stands for every item.", "/items/*/salary"),
          action: said(z.enum(["drop", "null", "hash", "last4", "year"]), "What is shown instead.", "null"),
          unlessAllowed: said(text(1, 64).optional(), "The action on the data scope's resource type that lifts the mask.", "read_salary"),
        }),
      )
      .max(50)
      .default([]),
    "Members of the output that are hidden.",
    [{ path: "/items/*/salary", action: "null", unlessAllowed: "read_salary" }],
  ),
  annotations: said(annotations.prefault({}), annotationsSaid, { readOnlyHint: true, tags: ["hr"] }),
  scopes: said(
    z.array(text(1, 100)).max(50).default([]),
    "Scopes that the caller's chain to the application of `requires` must hold; without `requires` they ask for nothing.",
    ["people.read"],
  ),
  authz: said(
    z
      .strictObject({
        resource: said(text(1, 64), "Type of the resource.", "employee"),
        action: said(text(1, 64), "Name of the action.", "list"),
        id: said(z.string().optional(), "Id of the resource, as `${ ... }` over the call.", "${ input.id }"),
        properties: said(z.record(z.string(), template).optional(), claimed, { salary: "${ input.salary }" }),
      })
      .optional(),
    "A question that is decided beside the one about the call.",
    { resource: "employee", action: "list" },
  ),
  "x-authzen-mapping": said(authzenMapping.optional(), "The same by AuthZEN's profile for MCP, with CEL after `$`.", {
    evaluation: { action: { name: "list" }, resource: { type: "employee" } },
  }),
  cost_usd: said(cost.default(0), `${price} A number, or what is reserved and what it came to.`, 0.002),
  errors: said(
    z
      .array(
        z.strictObject({
          when: said(z.string(), "A condition on the response.", "${ response.status == 404 }"),
          as: said(
            z.enum(["not_found", "conflict", "invalid_arguments", "rate_limited", "upstream_error"]),
            "The code that callers get.",
            "not_found",
          ),
          retryable: said(z.boolean().default(false), "Whether a caller may try again.", false),
        }),
      )
      .max(20)
      .default([]),
    "What refusals of the upstream mean, the first that fits.",
    [{ when: "${ response.status == 404 }", as: "not_found" }],
  ),
  stepUp: stepUp.optional(),
  timeout: said(timeout.optional(), "As in `defaults`.", "PT30S"),
  approval: said(
    z.literal("none", { error: "approvals are not available; the decision point alone decides" }).default("none"),
    "Who must approve a call: nobody; the decision point alone decides.",
    "none",
  ),
};

/** Headers that the house sends itself, or that are no caller's to choose. */
const ownHeaders =
  /^(?:accept|accept-encoding|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|x-correlation-id)$/i;
const style = z.enum(styles);
const mediaType = z.string().regex(/^[a-z]+\/[A-Za-z0-9!#$&^_.+-]{1,100}(?:; ?[a-z-]+=[A-Za-z0-9_.-]{1,60})?$/, "must be a media type");

/** Where a member of the input goes, as OpenAPI says it. */
const parameter = z
  .strictObject({
    name: said(text(1, 200), "Its name in the request.", "dept"),
    in: said(z.enum(["path", "query", "header"]), "Where it goes.", "query"),
    input: said(text(1, 200).optional(), "The member of the input; of the same name unless said.", "department"),
    style: said(
      style.optional(),
      "How its value is written: `simple` in paths and headers, `form` in queries unless said.",
      "pipeDelimited",
    ),
    explode: said(z.boolean().optional(), "Items one by one. Unless said: true for `form`, else false.", false),
    allowReserved: said(z.boolean().default(false), "Reserved characters of a query stay as they are.", true),
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
  media: said(mediaType.default("application/json"), "Its media type.", "application/x-www-form-urlencoded"),
  input: said(
    text(1, 200).optional(),
    "The member of the input that is the whole body; unless said, the members that no parameter takes are its members.",
    "document",
  ),
  base64: said(z.boolean().default(false), "The text is base64 of the bytes that are sent.", true),
  encoding: said(
    z
      .record(
        text(1, 200),
        z.strictObject({
          input: said(text(1, 200).optional(), "The member of the input; of the same name unless said.", "picture"),
          style: said(style.optional(), "How its value is written in a form.", "form"),
          explode: said(z.boolean().optional(), "Items one by one. Unless said: true for `form`.", true),
          media: said(mediaType.optional(), "Media type of this part.", "image/png"),
          base64: said(z.boolean().optional(), "The text is base64 of the bytes that are sent.", true),
        }),
      )
      .default({}),
    "Members of a form, or of any body those that have another name in the input.",
    { file: { input: "picture", base64: true } },
  ),
});

const operationTest = z.strictObject({
  name: said(text(1, 80), "What it shows.", "two"),
  input: said(z.record(z.string(), z.unknown()).default({}), "The arguments of the call.", { limit: 2 }),
  mock: said(
    z.strictObject({
      status: said(z.int().min(100).max(599).default(200), "The status.", 200),
      headers: said(z.record(z.string().regex(/^[a-z0-9-]{1,100}$/), text(0, 1000)).default({}), "Headers, in small letters.", {
        etag: '"1"',
      }),
      body: said(z.unknown().default(null), "The body, as it was read.", { items: [{ id: "e1" }] }),
    }),
    "What the upstream is taken to answer.",
    { status: 200, body: { items: [{ id: "e1" }] } },
  ),
  expect: said(
    z
      .strictObject({ output: said(z.unknown(), "The answer of the tool.", { items: [{ id: "e1" }] }) })
      .or(z.strictObject({ error: said(z.string(), "The code of its refusal.", "not_found") })),
    "What the tool gives then: its `output`, or the code of its `error`.",
    { output: { items: [{ id: "e1" }] } },
  ),
});

export const httpOperation = z.strictObject({
  ...common,
  output: said(
    z
      .strictObject({
        ...output,
        binary: said(
          z.boolean().default(false),
          "Answers that are neither JSON nor text are given as base64 with their media type; expressions read `mime_type` and `bytes` of them.",
          true,
        ),
      })
      .prefault({}),
    outputSaid,
    { select: "${ response.body.items }" },
  ),
  inputCheck: said(
    schema.optional(),
    "A second JSON Schema that the arguments must meet and no list shows: of an input that is too large to be read by models.",
    { properties: { body: { type: "object", required: ["name"] } } },
  ),
  tests: said(
    z.array(operationTest).max(20).default([]),
    "What the tool gives for an answer of its upstream; run as the system is published, and by `POST /config/systems/{name}/test`. Nothing is sent.",
    [{ name: "one", input: { id: "e1" }, mock: { body: { id: "e1" } }, expect: { output: { id: "e1" } } }],
  ),
  request: said(
    z.strictObject({
      method: said(z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]), "The method.", "GET"),
      path: said(requestPath, "The path below `baseUrl`, with `{placeholders}`.", "/employees/{id}"),
      parameters: said(
        z.array(parameter).max(200).optional(),
        "Where members of the input go. Without it, without `body` and without `bind` they go by name: placeholders of the path, then the query (GET, DELETE) or the JSON body.",
        [{ name: "dept", in: "query", input: "department" }],
      ),
      body: said(requestBody.optional(), "How the body is made.", { media: "application/x-www-form-urlencoded" }),
      idempotencyHeader: said(
        z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9-]{0,60}$/)
          .optional(),
        "A header that carries the call's id in every try: the call may then be tried again.",
        "Idempotency-Key",
      ),
    }),
    "What is sent.",
    { method: "GET", path: "/employees/{id}" },
  ),
  bind: said(
    z
      .strictObject({
        path: said(z.record(z.string(), template).optional(), "Values of the path's placeholders.", { id: "${ input.id }" }),
        query: said(z.record(z.string(), template).optional(), "Members of the query.", { dept: "${ input.department }" }),
        body: said(template.optional(), "The JSON body.", { salary: "${ input.salary }" }),
      })
      .optional(),
    "How the input becomes the request, by expressions.",
    { query: { dept: "${ input.department }" } },
  ),
  paginate: said(
    z
      .strictObject({
        style: said(z.literal("cursor", { error: "only cursor is available" }), "How pages follow each other.", "cursor"),
        param: said(text(1, 64), "The member of the query that takes the cursor.", "after"),
        next: said(z.string(), "The next cursor; null or empty at the end.", "${ response.body.next }"),
        items: said(z.string(), "The items of a page.", "${ response.body.items }"),
        size: said(
          z
            .strictObject({
              param: said(text(1, 64), "The member of the query that takes the size of a page.", "limit"),
              default: said(z.int().min(1), "The size that is asked for.", 100),
              max: said(z.int().min(1), "The largest size that the upstream takes.", 200),
            })
            .optional(),
          "How large a page is.",
          { param: "limit", default: 100, max: 200 },
        ),
        maxPages: said(z.int().min(1).max(100).default(5), "Most pages that are read.", 10),
      })
      .optional(),
    "Reads further pages into one answer.",
    { style: "cursor", param: "after", next: "${ response.body.next }", items: "${ response.body.items }" },
  ),
  retry: said(retry.optional(), "As in `defaults`, for this operation.", { max: 0 }),
  response: said(responseLimits.optional(), "As in `defaults`, for this operation.", { maxBytes: 1_048_576 }),
});

const loopbackOperation = z.strictObject({
  ...common,
  request: said(
    z.strictObject({ endpoint: said(text(1, 64), "Name of an endpoint of this house.", "search_identities") }),
    "What is called, as the caller.",
    { endpoint: "search_identities" },
  ),
});

const override = z.strictObject({
  base: said(z.string().regex(externalBasePattern).optional(), "The last part of its name here.", "search"),
  title,
  description: said(described.optional(), "What it does, instead of what the server says.", "Searches the notes of your tenant."),
  cost_usd: said(usd.optional(), price, 0.001),
  stepUp: stepUp.optional(),
  timeout: said(timeout.optional(), "As in `defaults`.", "PT30S"),
  annotations: said(annotations.optional(), annotationsSaid, { readOnlyHint: true }),
});

const head = {
  apiVersion: said(z.literal("systems/v1"), "The version of this format.", "systems/v1"),
  provider: said(
    z.string().regex(providerPattern, "must be [a-z][a-z0-9-]{0,24} and not workflow, system or tools"),
    "First part of its tools' names; not `workflow`, `system` or `tools`. With the instance it is the file's name.",
    "people",
  ),
  instance: said(z.string().regex(instancePattern, "must be [a-z][a-z0-9-]{0,24}"), "Second part of its tools' names.", "demo"),
  env: said(z.enum(["dev", "test", "prod"]).optional(), "Which of its environments it is; shown with each tool.", "prod"),
  title: said(titled, "What people read as its name.", "People directory"),
  owner: said(identity, "Who answers for it: an id of the graph.", "group:hr"),
  tenants: said(z.array(identity).min(1).optional(), "Tenants that it is there for; without it, all.", ["tenant:example"]),
};
const kind = <T extends string>(name: T, description: string) => said(z.literal(name), description, name);

const auth = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: said(z.literal("none"), "How the house shows who it is.", "none") }),
    z.strictObject({
      type: said(z.literal("bearer"), "How the house shows who it is.", "bearer"),
      token: said(secretReference, "Secret URI of the token.", "yaml://secret/people/demo#token"),
    }),
    z.strictObject({
      type: said(z.literal("api_key"), "How the house shows who it is.", "api_key"),
      in: said(z.enum(["header", "query"]), "Where the key goes.", "header"),
      name: said(z.string().regex(/^[A-Za-z][A-Za-z0-9-_]{0,60}$/), "Name of the header, or of the member of the query.", "X-Api-Key"),
      value: said(secretReference, "Secret URI of the key.", "yaml://secret/people/demo#api_key"),
    }),
    z.strictObject({
      type: said(z.literal("basic"), "How the house shows who it is.", "basic"),
      username: said(secretReference, "Secret URI of the name.", "yaml://secret/people/demo#user"),
      password: said(secretReference, "Secret URI of the password.", "yaml://secret/people/demo#password"),
    }),
    z.strictObject({
      type: said(z.literal("oauth2_client"), "How the house shows who it is.", "oauth2_client"),
      tokenUrl: said(
        z.string(),
        "Where an access token is had by client credentials; it is kept until half a minute before its end. `network.allow` holds for it too.",
        "https://login.people.example/oauth2/token",
      ),
      clientId: said(secretReference, "Secret URI of the client's id.", "yaml://secret/people/demo#client_id"),
      clientSecret: said(secretReference, "Secret URI of the client's secret.", "yaml://secret/people/demo#client_secret"),
      scopes: said(
        z
          .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, "is no scope"))
          .max(50)
          .default([]),
        "Scopes that are asked for.",
        ["people.read"],
      ),
    }),
  ],
  { error: "must be none, bearer, api_key, basic or oauth2_client; mtls and token_exchange are not available" },
);
/** Members of `auth` that are secret URIs. */
export const credentialMembers: ReadonlySet<string> = new Set(["token", "value", "username", "password", "clientId", "clientSecret"]);

const operations = <T extends z.ZodType>(operation: T, example: unknown) =>
  said(
    z
      .record(z.string().regex(basePattern, "must be [a-z][a-z0-9_-]*"), operation)
      .refine((map) => Object.keys(map).length > 0, "needs an operation")
      .meta({ minProperties: 1 }),
    "Its tools, by the last part of their names; a whole name has at most 64 characters.",
    example,
  );

const httpDocument = z.strictObject({
  ...head,
  kind: kind("http", "Operations over HTTP."),
  baseUrl: said(
    z.string(),
    "What paths stand below: scheme, host and port, without user, query and fragment; `${SETTING}` stands for a setting. In production https, unless on loopback.",
    "https://people.example/api",
  ),
  network: said(
    z
      .strictObject({
        allow: said(z.array(z.string()).default([]), "Networks (CIDR) that may be dialled though they are not public.", ["10.1.0.0/16"]),
        redirects: said(
          z.literal("none", { error: "only none is available" }).default("none"),
          "Which redirects are followed: none.",
          "none",
        ),
      })
      .prefault({}),
    "Where it may lead to.",
    { allow: ["10.1.0.0/16"] },
  ),
  requires: said(
    z.strictObject({ app: said(identity, "The application of the graph that a caller needs an account of.", "saas:hr") }).optional(),
    "What a caller needs beside the right to the tool.",
    { app: "saas:hr" },
  ),
  auth: said(auth.prefault({ type: "none" }), "The system's own credential, by secret URI; never written here.", {
    type: "bearer",
    token: "yaml://secret/people/demo#token",
  }),
  defaults,
  operations: operations(httpOperation, {
    now: { description: "Tells what time it is.", request: { method: "GET", path: "/now" }, dataScope: "none" },
  }),
});

const loopbackDocument = z.strictObject({
  ...head,
  kind: kind("loopback", "Endpoints of this house, always as the person who calls."),
  defaults,
  operations: operations(loopbackOperation, {
    search_identities: { description: "Searches the identity graph.", request: { endpoint: "search_identities" }, dataScope: "none" },
  }),
});

const mcpDocument = z.strictObject({
  ...head,
  kind: kind("mcp", "Tools of an MCP server."),
  transport: said(
    z.strictObject({
      type: said(z.literal("stdio", { error: "only stdio is available" }), "A process of this machine.", "stdio"),
      command: said(text(1, 200), "An installed program.", "mcp-server-memory"),
      args: said(z.array(z.string().max(1000)).max(50).default([]), "Its arguments; `${TENANT_FOLDER}` is a folder of its own.", [
        "--root",
        "${TENANT_FOLDER}",
      ]),
      env: said(
        z.record(z.string().regex(/^[A-Z][A-Z0-9_]{0,60}$/), z.string().max(2000)).default({}),
        "Variables that it gets; no others of the house.",
        { MEMORY_FILE_PATH: "${TENANT_FOLDER}/memory.jsonl" },
      ),
    }),
    "How the server is reached.",
    { type: "stdio", command: "mcp-server-memory" },
  ),
  tools: said(
    z
      .strictObject({
        include: said(z.array(text(1, 128)).default(["*"]), "Tools that are taken, by the server's names; `*` stands for any text.", [
          "read_*",
        ]),
        exclude: said(z.array(text(1, 128)).default([]), "Of these, tools that are left out.", ["*_raw"]),
        overrides: said(z.record(z.string(), override).default({}), "What is said otherwise, by the server's name of the tool.", {
          search_nodes: { base: "search" },
        }),
      })
      .prefault({}),
    "Which of its tools are served, and what is said of them.",
    { include: ["read_*"] },
  ),
  isolation: said(
    z.enum(["shared", "per_tenant", "per_principal"]).default("per_tenant"),
    "Who shares a process and its folder.",
    "per_principal",
  ),
  interaction: said(
    z
      .strictObject({
        elicitation: said(z.literal(false).default(false), "Questions of the server to the person: not available.", false),
        sampling: said(z.literal(false).default(false), "Questions of the server to the client's model: not available.", false),
      })
      .prefault({}),
    "What the server may ask of its client.",
    {},
  ),
  trustAnnotations: said(z.boolean().default(false), "Whether hints of the server count; else those of `overrides` alone.", true),
  quarantineNew: said(
    z.boolean().default(true),
    "Tools that were never seen wait for an approval; false takes their first definition for approved. A changed definition always waits.",
    false,
  ),
  defaults,
});

export type HttpDocument = z.output<typeof httpDocument>;
export type LoopbackDocument = z.output<typeof loopbackDocument>;
export type McpDocument = z.output<typeof mcpDocument>;
export type SystemDocument = HttpDocument | LoopbackDocument | McpDocument;

export const documentKinds = { http: httpDocument, loopback: loopbackDocument, mcp: mcpDocument } as const;
/** Named by the format, but without a connector here. */
export const plannedKinds: readonly string[] = ["sql", "static", "ldap", "scim"];

export type AuthRules = z.output<typeof auth>;
