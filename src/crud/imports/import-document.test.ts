import assert from "node:assert/strict";
import { test } from "node:test";
import { readSystemText } from "#crud/systems/read-system-text.ts";
import { inspectDocument, makeSystem } from "./import-document.ts";

const prefix = "acme.api.";
const head = {
  apiVersion: "systems/v1",
  provider: "acme",
  instance: "api",
  title: "Imported",
  owner: "group:people-ops",
  kind: "http",
  baseUrl: "https://api.example/v1",
  defaults: { dataScope: "none" },
};
const inspect = (paths: unknown) => {
  const document = { openapi: "3.0.3", info: { title: "T", version: "1" }, servers: [{ url: "https://api.example" }], paths };
  const found = inspectDocument(Buffer.from(JSON.stringify(document)), prefix);
  assert.ok("operations" in found, JSON.stringify(found));
  return found;
};
const get = (more: object = {}) => ({ get: { summary: "Does it for a test", responses: {}, ...more } });
const header = (name: string) => get({ parameters: [{ name, in: "header", schema: { type: "string" } }] });

const longMember = { name: "a", in: "query", schema: { type: "object", properties: { ["k".repeat(300)]: { type: "string" } } } };

/** What a system's document refuses; its path, and what the operation's problem says. */
const unfit: readonly (readonly [path: string, item: object, problem: RegExp])[] = [
  ["/emoji/<emoji>", get(), /request\.path \(\/emoji\/<emoji>\) must be \/ with plain characters/],
  ["/a\\b", get(), /plain characters/],
  ["/a?b=c", get(), /without query/],
  ["/a b", get(), /plain characters/],
  ["/../../etc", get(), /\. or \.\. as a segment/],
  ["/a/.", get(), /\. or \.\. as a segment/],
  ["/a/..;x=1/b", get(), /\. or \.\. as a segment/],
  ["/%2e%2e/etc", get(), /percent-encoding/],
  ["/header", header("X Trace"), /request\.parameters\.0\.name \(X Trace\) is a header that a caller may not send/],
  ["/proto", get({ parameters: [{ name: "__proto__", in: "query", schema: { type: "string" } }] }), /has a member __proto__/],
  ["/long", get({ parameters: [longMember] }), /has a member whose name is longer than 256 characters/],
];

test("an operation that a system's document would refuse is not importable, and the others are published without it", () => {
  const found = inspect({ ...Object.fromEntries(unfit.map(([path, item]) => [path, item])), "/fine/.well-known": get(), "/fine": get() });
  for (const [path, , problem] of unfit) {
    const row = found.operations.find(({ key }) => key === `GET ${path}`);
    assert.equal(row?.importable, false, path);
    assert.match(row.problems[0] ?? "", problem, path);
  }
  const picks = found.operations.flatMap(({ key, importable }) => (importable ? [key] : []));
  assert.deepEqual(picks, ["GET /fine/.well-known", "GET /fine"]);
  const made = makeSystem({ packed: found.packed, prefix, picks, head });
  assert.deepEqual(made.issues, []);
  const read = readSystemText(made.text, "acme.api.yaml");
  assert.ok("value" in read, JSON.stringify(read));
});

const deep = (levels: number): object => (levels === 0 ? { type: "string" } : { type: "object", properties: { in: deep(levels - 1) } });
const post = (schema: object) => ({
  post: { summary: "Does it for a test", responses: {}, requestBody: { required: true, content: { "application/json": { schema } } } },
});

test("an input that is too large to be listed has its body listed open: checked whole, where Sallyport can", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 400 }, (_none, index) => [`member_${index}_${"x".repeat(40)}`, { type: "integer" }]),
  );
  const found = inspect({ "/wide": post({ type: "object", properties }), "/deep": post({ type: "object", properties: { in: deep(40) } }) });
  const problems = found.operations.map((row) => row.problems);
  assert.match(problems[0]?.[0] ?? "", /^the body is one object, listed open and checked whole: the input has \d+ bytes$/);
  assert.deepEqual(problems[1], ["the body is one open object that the upstream alone checks: the schema is nested deeper than 32"]);
});

test("an operation that answers bytes alone gives them as base64; a response that leads nowhere costs nothing", () => {
  const answering = (content: object) => get({ responses: { 200: { content } } });
  const found = inspect({
    "/png": answering({ "image/png": {} }),
    "/both": answering({ "application/pdf": {}, "application/json": {} }),
    "/lost": get({ responses: { 200: { $ref: "#/components/responses/none" } } }),
  });
  const picks = found.operations.map(({ key }) => key);
  const { text } = makeSystem({ packed: found.packed, prefix, picks, head });
  const read = readSystemText(text, "acme.api.yaml");
  assert.ok("value" in read && read.value.kind === "http", JSON.stringify(read));
  assert.deepEqual(
    Object.values(read.value.operations).map(({ output }) => output.binary),
    [true, false, false],
  );
});

test("a header that makes another request of a request is no input, and that it was left out is said", () => {
  const names = ["X-Forwarded-For", "x-forwarded-host", "Forwarded", "X-HTTP-Method-Override", "X-Original-URL", "Content-Length"];
  const header = (name: string) => ({ name, in: "header", schema: { type: "string" } });
  const others = ["X-Forward", "X-Page"].map(header);
  // Of one operation not all that is left out is told by name.
  const found = inspect(Object.fromEntries(names.map((name, at) => [`/a${at}`, get({ parameters: [header(name), ...others] })])));
  const made = makeSystem({ packed: found.packed, prefix, picks: found.operations.map(({ key }) => key), head });
  for (const name of names)
    assert.ok(made.warnings.some((warning) => warning.includes(`left out ${name}: a header`)) && !made.text.includes(name));
  for (const name of ["X-Forward", "X-Page"]) assert.ok(made.text.includes(name), name);
});

test("a parameter that is the credential that the system signs in with is left out, though the document says nothing of it", () => {
  const parameters = ["Passphrase", "q"].map((name) => ({ name, in: "query", schema: { type: "string" } }));
  const found = inspect({ "/a": get({ parameters }) });
  const auth = { type: "api_key", in: "query", name: "passphrase", value: "yaml://secret/pets#key" };
  const made = makeSystem({ packed: found.packed, prefix, picks: ["GET /a"], head: { ...head, auth } });
  assert.deepEqual(made.warnings, ["GET /a: left out Passphrase: a credential"]);
  assert.ok(!made.text.includes("Passphrase"), made.text);
});

test("a short summary is told with its address, and keeps no stop before the colon", () => {
  const found = inspect({ "/b": get({ summary: "One book." }), "/c": get({ summary: "Books" }), "/d": get({ summary: "" }) });
  const made = makeSystem({ packed: found.packed, prefix, picks: ["GET /b", "GET /c", "GET /d"], head });
  for (const text of ["One book: GET /b", "Books: GET /c", "Calls GET /d"]) assert.ok(made.text.includes(text), made.text);
});

test("a hand-written path with a dot segment is refused at its place", () => {
  const document = { ...head, operations: { up: { description: "Leaves the folder", request: { method: "GET", path: "/../etc" } } } };
  const read = readSystemText(JSON.stringify(document), "acme.api.yaml");
  assert.ok("issues" in read);
  assert.deepEqual(
    read.issues.map(({ path, message }) => [path, message.slice(0, 30)]),
    [["/operations/up/request/path", "must not have . or .. as a seg"]],
  );
});

test("a system that would be too large says how large it is, and that fewer are to be picked", () => {
  const description = "x".repeat(1000);
  const found = inspect(Object.fromEntries(Array.from({ length: 7000 }, (_none, index) => [`/p${index}`, get({ description })])));
  const picks = found.operations.map(({ key }) => key);
  const made = makeSystem({ packed: found.packed, prefix, picks, head });
  assert.deepEqual(made.issues.length, 1);
  assert.equal(made.issues[0]?.path, "/pick");
  assert.match(made.issues[0]?.message ?? "", /^makes a system of [89]\.\d+ MiB, of which 8 MiB may be kept: pick fewer/);
  const read = readSystemText(made.text, "acme.api.yaml");
  assert.match(
    "issues" in read ? (read.issues[0]?.message ?? "") : "",
    /^is larger than 0\.25 MiB \(8 MiB as JSON .*\): it has [89]\.\d+ MiB$/,
  );
});

test("parameters that many paths share are bounded in number and name, and what is left out is told in few words", () => {
  const cookies = (count: number, name: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({ name: name(at), in: "cookie", schema: { type: "string" } }));
  const inspect = (parameters: readonly object[], paths: number) => {
    const shared = { parameters, get: { operationId: "list", responses: {} } };
    const document = {
      openapi: "3.1.0",
      info: { title: "Many", version: "1" },
      paths: Object.fromEntries(Array.from({ length: paths }, (_, at) => [`/p${at}`, { $ref: "#/components/pathItems/shared" }])),
      components: { pathItems: { shared } },
    };
    return inspectDocument(Buffer.from(JSON.stringify(document)), "a.b.");
  };
  const problemsOf = (found: ReturnType<typeof inspectDocument>): readonly string[] =>
    "issues" in found ? found.issues.map(({ message }) => message) : (found.operations[0]?.problems ?? []);
  assert.deepEqual(problemsOf(inspect(cookies(3000, String), 9900)), ["has more than 200000 parameters in all operations"]);
  assert.deepEqual(problemsOf(inspect(cookies(3000, String), 2)), ["has more than 500 parameters"]);
  assert.deepEqual(
    problemsOf(
      inspect(
        cookies(1, () => "n".repeat(501)),
        1,
      ),
    ),
    ["has a parameter whose name has more than 500 characters"],
  );
  const left = problemsOf(
    inspect(
      cookies(400, (at) => `${at}${"n".repeat(400)}`),
      1,
    ),
  );
  assert.deepEqual(
    [left.length, left.at(-1)],
    [6, "395 more parameters that callers do not send"].map((one, at) => (at === 1 ? `left out ${one}` : one)),
  );
  assert.ok(left.every((text) => text.length < 100));
});

test("what does not show is in no title, no member's name and no value that is offered", () => {
  const turned = "\u202e";
  const post = (schema: object) => ({
    post: { summary: `Book${turned} a room\n`, requestBody: { content: { "application/json": { schema } } } },
  });
  const document = {
    openapi: "3.1.0",
    info: { title: `Book${turned}ings\n`, version: "1" },
    paths: {
      "/value": post({ type: "object", properties: { a: { type: "string", enum: ["x\n", `y${turned}`] }, b: { default: `z${turned}` } } }),
      "/name": post({ type: "object", properties: { [`a${turned}`]: { type: "string" } } }),
    },
  };
  const found = inspectDocument(Buffer.from(JSON.stringify(document)), "a.b.");
  assert.ok("operations" in found, JSON.stringify(found));
  assert.equal(found.title, "Book ings");
  assert.deepEqual(
    found.operations.map(({ importable, title, problems }) => [importable, title, problems]),
    [
      [true, "Book a room", ["left out enum with characters that do not show", "left out default with characters that do not show"]],
      [false, undefined, ["has a member a, whose name holds characters that do not show"]],
    ],
  );
});

test("a member named twice is refused in either form, with its place", () => {
  for (const text of ['{"openapi":"3.0.3",\n"paths":{},"paths":{}}', "openapi: 3.0.3\npaths: {}\npaths: {}\n"]) {
    const found = inspectDocument(Buffer.from(text), prefix);
    assert.ok("issues" in found, text);
    assert.match(JSON.stringify(found.issues), /must be unique.*"line":[23]/, text);
  }
});

test("a document in JSON is taken 200 deep, and no deeper", () => {
  const deep = (levels: number): string => '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
  const text = (levels: number) => `{"openapi":"3.0.3","info":{"title":"T","version":"1"},"paths":{},"x-deep":${deep(levels)}}`;
  assert.ok("operations" in inspectDocument(Buffer.from(text(150)), prefix));
  const found = inspectDocument(Buffer.from(text(201)), prefix);
  assert.match(JSON.stringify(found), /is nested deeper than 200/);
});

test("numbers that no double holds: bounds become the nearest, what names one is left out and reported", () => {
  const properties = `{"id":{"type":"integer","format":"int64","maximum":9223372036854775807,"minimum":-9223372036854775808},
    "kind":{"type":"integer","enum":[1,9007199254740993]},"from":{"type":"integer","default":9007199254740993}}`;
  const body = `{"content":{"application/json":{"schema":{"type":"object","properties":${properties}}}}}`;
  const text = `{"openapi":"3.0.3","info":{"title":"T","version":"1"},"servers":[{"url":"https://a.example"}],"paths":{"/a":{"post":{
    "operationId":"a","summary":"Does things","requestBody":${body},"responses":{"200":{"description":"ok"}}}}}}`;
  for (const written of [text, `# YAML\n${text}`]) {
    const found = inspectDocument(Buffer.from(written), "a.b.");
    assert.ok("operations" in found, JSON.stringify(found));
    assert.deepEqual(found.operations[0]?.problems, [
      "left out enum with a number beyond 2^53",
      "left out default with a number beyond 2^53",
    ]);
    const made = makeSystem({ packed: found.packed, prefix: "a.b.", picks: ["POST /a"], head: { ...head, provider: "a", instance: "b" } });
    assert.deepEqual(made.issues, []);
    const read = readSystemText(made.text, "a.b.yaml");
    assert.ok("value" in read, JSON.stringify("issues" in read ? read.issues : ""));
    assert.match(
      JSON.stringify(read.value),
      /"id":\{"type":"integer","format":"int64","minimum":-9223372036854776000,"maximum":9223372036854776000\}/,
    );
  }
});
