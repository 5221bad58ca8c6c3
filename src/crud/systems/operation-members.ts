import { z } from "zod";
import { maskKinds } from "#contract/data-scope.ts";
import { UNSEEN } from "#contract/ids.ts";
import { duration } from "#crud/documents/duration.ts";
import { boundedMap } from "#parsing/bounded-map.ts";
import { said } from "#parsing/said.ts";
import { circuit, concurrency, rateLimit, responseLimits, retry } from "./system-limits.ts";

/** What operations of every kind of system may say of themselves. */

export const text = (least: number, max: number) =>
  z.string().min(least, `must have at least ${least} characters`).max(max, `must have at most ${max} characters`);
/** A name for people, which the graph and every list take too. */
export const titled = text(1, 80).refine(
  (given) => !UNSEEN.test(given) && given.isWellFormed(),
  "holds a control character or one that does not show",
);
const pointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/, "must be a JSON Pointer");
export const template = z.unknown();
export const identity = text(1, 200);
export const schema = z.record(z.string(), z.unknown());
export const usd = z.number().min(0).max(10_000).multipleOf(0.000001, "has at most 6 decimals");

const dataScope = said(
  z.literal("none").or(
    z.strictObject({
      resourceType: said(text(1, 64), "What a row is: the data scope of this type walls the rows.", "employee"),
      rows: said(pointer.default(""), "Where the rows lie in the output; empty: it is one row, or a list of them.", "/items"),
      columns: said(
        boundedMap(z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/, "is no column name"), pointer, 200),
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
export const timeout = duration(100, 300_000);
const retried = "How failures are tried again.";
const answered = "How much an answer may be.";

export const defaults = said(
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

export const annotations = z.strictObject({
  title: said(titled.optional(), "A title for clients that read it here.", "Change a salary"),
  readOnlyHint: said(z.boolean().optional(), "It changes nothing. Unless said: true for GET.", true),
  destructiveHint: said(z.boolean().optional(), "It may destroy what was. Unless said: false.", false),
  idempotentHint: said(z.boolean().optional(), "Twice does no more than once: it may be tried again.", true),
  openWorldHint: said(z.boolean().optional(), "It reaches things outside of the system.", false),
  tags: said(z.array(text(1, 40)).max(20).optional(), "Words by which views choose tools.", ["hr"]),
});
export const annotationsSaid = "What clients are told of its effects, and tags for views.";

export const price = "Price of a call in US dollars, at most 6 decimals.";
const cost = usd.or(
  z.strictObject({
    reserve: said(usd, "What is reserved before the call.", 0.05),
    actual: said(z.string(), "What it came to, as `${ ... }` over the response.", "${ response.body.usage.usd }"),
  }),
);
export const stepUp = said(
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
    properties: said(boundedMap(z.string(), template, 200).optional(), claimed, { salary: "$params.arguments.salary" }),
  }),
  "What is acted on.",
  { type: "employee", id: "$params.arguments.id" },
);
const mappedAction = said(
  z.strictObject({
    name: said(text(1, 64), "Name of the action.", "update_salary"),
    properties: said(boundedMap(z.string(), template, 200).optional(), claimed, { reason: "$params.arguments.reason" }),
  }),
  "What is done.",
  { name: "update_salary" },
);
const mappedContext = said(boundedMap(z.string(), template, 200).optional(), "Circumstances of the question.", {
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

export const title = said(titled.optional(), "What people read as its name.", "List employees");
export const described = text(10, 1024);

export const output = {
  select: said(z.string().optional(), "What of the response is the output; the whole body unless said.", "${ response.body.items }"),
  schema: said(schema.optional(), "JSON Schema that the output must meet, or a file beside this one.", { $ref: "./schemas/employee.json" }),
};
export const outputSaid = "What becomes of the response.";

export const common = {
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
          action: said(z.enum(maskKinds), "What is shown instead.", "null"),
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
        properties: said(boundedMap(z.string(), template, 200).optional(), claimed, { salary: "${ input.salary }" }),
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
