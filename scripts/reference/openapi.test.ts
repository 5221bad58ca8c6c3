import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ingressCodes, inputCodes, listenerCodes, problemsOf, statusOf } from "#contract/endpoint-problems.ts";
import { endpointTable } from "#contract/endpoints.ts";
import { openApiFiles } from "./openapi.ts";

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: unknown } } };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Readonly<Record<string, unknown>> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: { readonly Problem: { readonly properties: { readonly code: { readonly enum: readonly string[] } } } };
  };
}

const documents = new Map(
  [...openApiFiles()].map(([name, text]) => [name.replace(/^openapi\/|\.json$/g, ""), JSON.parse(text) as Document] as const),
);
const operations = [...documents.values()].flatMap(({ paths }) => Object.values(paths).flatMap((row) => Object.values(row)));
const operation = (id: string): Operation => {
  const found = operations.find(({ operationId }) => operationId === id);
  assert.ok(found, id);
  return found;
};
const mediaOf = (id: string, status: number): readonly string[] => Object.keys(operation(id).responses[status]?.content ?? {}).toSorted();

/** Every object of a document that may be a schema. */
const walk = function* (value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value as Readonly<Record<string, unknown>>;
  for (const item of Object.values(value)) yield* walk(item);
};

for (const { name, endpoint } of endpointTable) {
  test(`${name} documents each code that it may answer, under its status`, () => {
    const { responses } = operation(name);
    const listed = documents.get(endpoint.service)?.components.schemas.Problem.properties.code.enum ?? [];
    for (const code of problemsOf(endpoint)) {
      assert.ok(listed.includes(code), code);
      assert.match(responses[statusOf(endpoint, code)]?.description ?? "", new RegExp(`\`${code}\``), code);
    }
  });
}

describe("rules of a whole listener", () => {
  for (const { name, endpoint } of endpointTable) {
    const codes: readonly string[] = problemsOf(endpoint);
    test(`${name}: what a listener refuses`, () =>
      assert.deepEqual(
        listenerCodes.filter((code) => !codes.includes(code)),
        [],
      ));
    if (endpoint.service === "gateway")
      test(`${name}: what the ingress refuses`, () =>
        assert.deepEqual(
          ingressCodes.filter((code) => !codes.includes(code)),
          [],
        ));
    else test(`${name}: an unknown parameter`, () => assert.ok(codes.includes(inputCodes[endpoint.service].unknownParameter)));
    if (endpoint.body !== undefined && endpoint.ownBody === undefined)
      test(`${name}: a body that does not fit`, () => assert.ok(codes.includes(inputCodes[endpoint.service].wrongBody)));
  }
});

test("a reservation refuses as a conflict", () => {
  assert.equal(operation("reserve").responses["403"]?.description.includes("steps_exhausted"), false);
  assert.match(operation("reserve").responses["409"]?.description ?? "", /`steps_exhausted`/);
});

test("errors of JSON-RPC are documented as such, beside the problems of the way to it", () => {
  for (const id of ["toolRpc", "viewToolRpc"]) {
    assert.deepEqual(mediaOf(id, 200), ["application/json"]);
    assert.deepEqual(mediaOf(id, 401), ["application/problem+json"]);
    assert.deepEqual(mediaOf(id, 415), ["application/json"]);
    assert.deepEqual(mediaOf(id, 403), ["application/json", "application/problem+json"]);
    assert.deepEqual(mediaOf(id, 429), ["application/json"]);
  }
});

test("an answer that goes wrong with the reply's form is documented with both", () => {
  assert.deepEqual(mediaOf("healthReady", 503), ["application/json", "application/problem+json"]);
  assert.deepEqual(mediaOf("streamHealth", 200), ["application/json", "text/event-stream"]);
  assert.deepEqual(mediaOf("listTools", 304), []);
  assert.deepEqual(mediaOf("writeSecret", 201), ["application/json"]);
});

test("headers that a call needs are parameters, and so is what a refusal of its own asks for", () => {
  const required = (id: string, place: string) =>
    operation(id).parameters?.flatMap((one) => (one.in === place && one.required ? [one.name] : []));
  assert.deepEqual(required("createDelegation", "header"), ["Idempotency-Key"]);
  assert.deepEqual(required("resumeDelegation", "header"), ["If-Match"]);
  assert.deepEqual(required("readSecret", "query"), ["uri"]);
});

test("every whole number that is sent has the bounds by which it is refused", () => {
  for (const { operationId, parameters = [], requestBody } of operations)
    for (const schema of walk([parameters, requestBody])) {
      if (schema["type"] !== "integer") continue;
      assert.ok("maximum" in schema || "exclusiveMaximum" in schema, `${operationId}: ${JSON.stringify(schema)}`);
      assert.ok("minimum" in schema || "exclusiveMinimum" in schema, `${operationId}: ${JSON.stringify(schema)}`);
    }
});

test("patterns are written so that other engines read them alike: no class by property, no look-around, no back reference", () => {
  let count = 0;
  for (const schema of walk([...documents.values()])) {
    const { pattern } = schema;
    if (typeof pattern !== "string") continue;
    count += 1;
    assert.doesNotMatch(pattern, /\\[pP]\{|\(\?<?[=!]|\\[1-9k]/, pattern);
    assert.doesNotThrow(() => new RegExp(pattern), pattern);
  }
  assert.ok(count > 50);
});
