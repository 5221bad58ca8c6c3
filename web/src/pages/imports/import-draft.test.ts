import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acceptBody,
  emptyImport,
  faultyFields,
  importShape,
  withLooked,
  type ImportDraft,
  type ImportFields,
  type Step,
} from "./import-draft.ts";

const looked = {
  import_id: "0b7e5a52-7c0c-4b63-9c58-0f4d3cf7c3d5",
  title: "Petstore",
  openapi: "3.0.2",
  servers: ["https://pets.example/v2"],
  security: [{ name: "key", type: "apiKey", in: "header", parameter: "api_key" }],
  operations: 20,
  importable: 19,
  warnings: [],
  tags: [{ name: "pet", operations: 8 }],
  sha256: "aa",
  expires_at: "2999-01-01T00:00:00.000Z",
};
const begun = withLooked(emptyImport("pets.store"), looked);
const filled = (fields: Partial<ImportFields>, picks: readonly string[] = []): ImportDraft => ({
  ...begun,
  fields: { ...begun.fields, value: "yaml://secret/pets#key", ...fields },
  picks,
});

test("a document's own address and sign-in are what one begins with", () => {
  assert.deepEqual(
    [begun.fields.baseUrl, begun.fields.auth, begun.fields.in, begun.fields.name, begun.fields.provider],
    ["https://pets.example/v2", "api_key", "header", "api_key", "pets"],
  );
  const plain = withLooked(emptyImport(undefined), { ...looked, servers: ["https://{region}.example"], security: [] });
  assert.deepEqual([plain.fields.baseUrl, plain.fields.auth], ["", "none"]);
  const security = [{ name: "own", type: "oauth2", tokenUrl: "https://pets.example/token", scopes: ["read", "write"] }];
  const client = withLooked(emptyImport(undefined), { ...looked, security });
  assert.deepEqual(faultyFields("connect", client, false, false), ["clientId", "clientSecret"]);
  const fields = { ...client.fields, clientId: "yaml://secret/pets#id", clientSecret: "yaml://secret/pets#secret" };
  assert.deepEqual(acceptBody({ ...client, fields }).auth, {
    type: "oauth2_client",
    tokenUrl: "https://pets.example/token",
    scopes: ["read", "write"],
    clientId: "yaml://secret/pets#id",
    clientSecret: "yaml://secret/pets#secret",
  });
});

for (const [name, step, draft, isUpdate, wanted] of [
  ["nothing is given", "document", emptyImport(undefined), false, ["provider", "instance", "text"]],
  ["Sallyport's own name", "document", filled({ provider: "tools", instance: "demo", text: "{}" }), false, ["provider"]],
  ["a URL that is none", "document", filled({ how: "url", url: "pets" }), false, ["url"]],
  ["a file that was not chosen", "document", filled({ how: "file" }), false, ["file"]],
  ["nothing is picked", "pick", filled({ takes: "some" }), false, ["picks"]],
  ["all is taken", "pick", filled({}), false, []],
  ["no credential", "connect", begun, false, ["value"]],
  ["a credential as it is", "connect", filled({ value: "s3cret" }), false, ["value"]],
  ["no address", "connect", filled({ baseUrl: "" }), false, ["baseUrl"]],
  ["a system that is there keeps its own", "connect", begun, true, []],
] as const satisfies readonly (readonly [string, Step, ImportDraft, boolean, readonly string[]])[])
  test(`fields that are wrong: ${name}`, () => {
    assert.deepEqual(faultyFields(step, draft, false, isUpdate), wanted);
  });

test("what is sent holds what was chosen and nothing else", () => {
  assert.deepEqual(acceptBody(filled({ takes: "some", networks: "10.1.0.0/16, 127.0.0.1/32" }, ["GET /pet"])), {
    pick: ["GET /pet"],
    baseUrl: "https://pets.example/v2",
    title: "Petstore",
    allow: ["10.1.0.0/16", "127.0.0.1/32"],
    auth: { type: "api_key", in: "header", name: "api_key", value: "yaml://secret/pets#key" },
  });
  assert.deepEqual(acceptBody(filled({ auth: "none", title: " " })), { baseUrl: "https://pets.example/v2", auth: { type: "none" } });
});

test("a kept form is read again; an import that is over is not", () => {
  assert.deepEqual(importShape.read(JSON.parse(JSON.stringify(begun))), begun);
  const over = { ...begun, looked: { ...looked, expires_at: "2000-01-01T00:00:00.000Z" } };
  assert.equal(importShape.read(over)?.looked, undefined);
  for (const kept of [undefined, null, "x", { fields: {} }]) assert.equal(importShape.read(kept), undefined);
});
