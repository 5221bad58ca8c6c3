import { z } from "zod";
import { boundedMap } from "#parsing/bounded-map.ts";
import { said } from "#parsing/said.ts";
import { CONNECTION_HEADERS } from "./connection-headers.ts";
import { paginate } from "./paginate.ts";
import { styles, type Style } from "./parameter-styles.ts";
import { requestPath } from "./request-path.ts";
import { responseLimits, retry } from "./system-limits.ts";
import { text, template, schema, output, outputSaid, common } from "./operation-members.ts";

const stylesOf: Readonly<Record<"path" | "query" | "header", readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
};
/** Headers of the connection, and those that say who asks. */
const isOwnHeader = (name: string): boolean => CONNECTION_HEADERS.test(name) || /^(?:authorization|cookie)$/i.test(name);
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
  .refine(({ in: where, name }) => where !== "header" || (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && !isOwnHeader(name)), {
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
    boundedMap(
      text(1, 200),
      z.strictObject({
        input: said(text(1, 200).optional(), "The member of the input; of the same name unless said.", "picture"),
        style: said(style.optional(), "How its value is written in a form.", "form"),
        explode: said(z.boolean().optional(), "Items one by one. Unless said: true for `form`.", true),
        media: said(mediaType.optional(), "Media type of this part.", "image/png"),
        base64: said(z.boolean().optional(), "The text is base64 of the bytes that are sent.", true),
      }),
      200,
    ).default({}),
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

/** Methods that a call of a tool may have. */
export const httpMethod = z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]);

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
      method: said(httpMethod, "The method.", "GET"),
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
        path: said(boundedMap(z.string(), template, 200).optional(), "Values of the path's placeholders.", { id: "${ input.id }" }),
        query: said(boundedMap(z.string(), template, 200).optional(), "Members of the query.", { dept: "${ input.department }" }),
        body: said(template.optional(), "The JSON body.", { salary: "${ input.salary }" }),
      })
      .optional(),
    "How the input becomes the request, by expressions.",
    { query: { dept: "${ input.department }" } },
  ),
  paginate: said(paginate.optional(), "Reads further pages into one answer.", {
    style: "cursor",
    param: "after",
    next: "${ response.body.next }",
    items: "${ response.body.items }",
  }),
  retry: said(retry.optional(), "As in `defaults`, for this operation.", { max: 0 }),
  response: said(responseLimits.optional(), "As in `defaults`, for this operation.", { maxBytes: 1_048_576 }),
});
