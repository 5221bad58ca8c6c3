import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { serverUpstream, type ServerUpstream } from "#testing/http-upstream.ts";

const scopes = ["config.read", "config.write", "mcp.tools.discovery", "mcp.tools.invoke"];
const ada = { sub: "person:ada", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

// oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
type Body = any;
const client =
  (instance: CrudInstance) =>
  async (
    method: string,
    path: string,
    more: { readonly raw?: string; readonly body?: unknown; readonly as?: object; readonly type?: string } = {},
  ) => {
    const { type, ...rest } = more;
    const headers: Record<string, string> = more.raw === undefined ? {} : { "content-type": type ?? "application/json" };
    const response = await instance.request(path, { method, as: ada, headers, ...rest });
    return { status: response.status, body: (await response.json()) as Body };
  };

const schema = {
  text: { type: "string" },
  list: { type: "array", items: { type: "string" } },
  map: { type: "object", properties: { R: { type: "integer" }, G: { type: "integer" }, B: { type: "integer" } } },
};
const values = { text: "blue", list: ["blue", "black", "brown"], map: { R: 100, G: 200, B: 150 } };
type Shape = keyof typeof values;

/** The examples of OpenAPI's own table of styles, and what becomes of characters that mean something. */
const styled: readonly (readonly [where: "path" | "query" | "header", style: string, explode: boolean, shape: Shape, sent: string])[] = [
  ["path", "matrix", false, "text", ";color=blue"],
  ["path", "matrix", false, "list", ";color=blue,black,brown"],
  ["path", "matrix", false, "map", ";color=R,100,G,200,B,150"],
  ["path", "matrix", true, "list", ";color=blue;color=black;color=brown"],
  ["path", "matrix", true, "map", ";R=100;G=200;B=150"],
  ["path", "label", false, "text", ".blue"],
  ["path", "label", false, "list", ".blue,black,brown"],
  ["path", "label", false, "map", ".R,100,G,200,B,150"],
  ["path", "label", true, "list", ".blue.black.brown"],
  ["path", "label", true, "map", ".R=100.G=200.B=150"],
  ["path", "simple", false, "text", "blue"],
  ["path", "simple", false, "list", "blue,black,brown"],
  ["path", "simple", false, "map", "R,100,G,200,B,150"],
  ["path", "simple", true, "map", "R=100,G=200,B=150"],
  ["query", "form", false, "text", "color=blue"],
  ["query", "form", false, "list", "color=blue,black,brown"],
  ["query", "form", false, "map", "color=R,100,G,200,B,150"],
  ["query", "form", true, "list", "color=blue&color=black&color=brown"],
  ["query", "form", true, "map", "R=100&G=200&B=150"],
  ["query", "spaceDelimited", false, "list", "color=blue%20black%20brown"],
  ["query", "spaceDelimited", false, "map", "color=R%20100%20G%20200%20B%20150"],
  ["query", "pipeDelimited", false, "list", "color=blue%7Cblack%7Cbrown"],
  ["query", "pipeDelimited", false, "map", "color=R%7C100%7CG%7C200%7CB%7C150"],
  ["query", "deepObject", true, "map", "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
  ["header", "simple", false, "text", "blue"],
  ["header", "simple", false, "list", "blue,black,brown"],
  ["header", "simple", false, "map", "R,100,G,200,B,150"],
  ["header", "simple", true, "map", "R=100,G=200,B=150"],
];

const json = (content: unknown) => ({ required: true, content });
const FORM = "application/x-www-form-urlencoded";
const body = (media: string, own: unknown, encoding?: unknown) =>
  json({ [media]: { schema: own, ...(encoding === undefined ? {} : { encoding }) } });
const person = { type: "object", required: ["name"], properties: { name: schema.text, tags: schema.list, home: schema.map } };
const someone = { name: "Ben & Co", tags: ["a", "b"], home: { R: 1 } };

/** Forms of bodies: what is declared, what is sent in, what arrives. */
const bodies: readonly {
  readonly name: string;
  readonly body: unknown;
  readonly given: unknown;
  readonly type: RegExp;
  readonly sent: string | RegExp;
  readonly method?: string;
}[] = [
  { name: "json", body: body("application/json", person), given: someone, type: /^application\/json$/, sent: JSON.stringify(someone) },
  { name: "any", body: body("*/*", person), given: someone, type: /^application\/json$/, sent: JSON.stringify(someone) },
  {
    name: "suffix",
    body: body("application/vnd.x+json", person),
    given: someone,
    type: /^application\/vnd\.x\+json$/,
    sent: JSON.stringify(someone),
  },
  {
    name: "merge",
    method: "patch",
    body: body("application/merge-patch+json", person),
    given: someone,
    type: /merge-patch/,
    sent: JSON.stringify(someone),
  },
  {
    name: "json_patch",
    method: "patch",
    body: body("application/json-patch+json", { type: "array", items: { type: "object" } }),
    given: { body: [{ op: "remove", path: "/a" }] },
    type: /json-patch/,
    sent: '[{"op":"remove","path":"/a"}]',
  },
  { name: "yaml", body: body("application/yaml", person), given: someone, type: /^application\/yaml$/, sent: JSON.stringify(someone) },
  { name: "text", body: body("text/plain", schema.text), given: { body: "a\nb" }, type: /^text\/plain$/, sent: "a\nb" },
  { name: "bytes", body: body("application/octet-stream", {}), given: { body: "aGVsbG8=" }, type: /octet-stream/, sent: "hello" },
  { name: "list", body: body("application/json", schema.list), given: { body: ["a"] }, type: /json/, sent: '["a"]' },
  {
    name: "delete_with_body",
    method: "delete",
    body: body("application/json", person),
    given: someone,
    type: /json/,
    sent: JSON.stringify(someone),
  },
  {
    name: "form",
    body: body(FORM, person),
    given: someone,
    type: /urlencoded/,
    sent: "name=Ben%20%26%20Co&tags=a&tags=b&home=%7B%22R%22%3A1%7D",
  },
  {
    name: "form_styles",
    body: body(FORM, person, { tags: { style: "spaceDelimited", explode: false }, home: { style: "deepObject", explode: true } }),
    given: someone,
    type: /urlencoded/,
    sent: "name=Ben%20%26%20Co&tags=a%20b&home%5BR%5D=1",
  },
  {
    name: "multipart",
    body: body("multipart/form-data", {
      type: "object",
      properties: { name: schema.text, home: schema.map, photo: { type: "string", format: "binary" } },
    }),
    given: { name: "Ben", home: { R: 1 }, photo: "aGVsbG8=" },
    type: /^multipart\/form-data; boundary=part-[0-9a-f]{32}$/,
    sent: /name="name"\r\n\r\nBen\r\n.*name="home"\r\nContent-Type: application\/json\r\n\r\n\{"R":1\}\r\n.*name="photo"; filename="photo"\r\nContent-Type: application\/octet-stream\r\n\r\nhello\r\n/s,
  },
];

const operation = (id: string, more: object) => ({ operationId: id, summary: `Does ${id} for a test`, responses: {}, ...more });
const styleDocument = (url: string) => ({
  openapi: "3.0.3",
  info: { title: "Styles", version: "1" },
  servers: [{ url }],
  paths: Object.fromEntries([
    ...styled.map(([where, style, explode, shape], index) => [
      `/s${index}${where === "path" ? "/{color}" : ""}`,
      {
        get: operation(`style_${index}`, {
          parameters: [{ name: "color", in: where, style, explode, required: where === "path", schema: schema[shape] }],
        }),
      },
    ]),
    ...bodies.map(({ name, body: requestBody, method = "post" }) => [
      `/b/${name}`,
      { [method]: operation(`body_${name}`, { requestBody }) },
    ]),
    [
      "/odd/{pet-id}",
      {
        get: operation("odd", {
          parameters: [
            { name: "pet-id", in: "path", required: true, schema: schema.text },
            { name: "filter[name]", in: "query", schema: schema.text },
            { name: "where", in: "query", content: { "application/json": { schema: schema.map } } },
            { name: "X-Trace", in: "header", schema: schema.text },
          ],
        }),
      },
    ],
  ]),
});

const imported = async (t: TestContext, document: (url: string) => unknown) => {
  const upstream: ServerUpstream = await serverUpstream(t);
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  const looked = await ask("POST", "/config/imports/openapi?provider=acme&instance=api", { raw: JSON.stringify(document(upstream.url)) });
  assert.equal(looked.status, 201, JSON.stringify(looked.body));
  const accept = (more: object, query = "") =>
    ask("POST", `/config/imports/${looked.body.import_id}/accept${query}`, { body: { allow: ["127.0.0.1/32"], ...more } });
  const call = async (name: string, args: unknown) => {
    const answer = await instance.rpc(
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `acme.api.${name}`, arguments: args } },
      { as: ada },
    );
    return answer.body;
  };
  return { upstream, instance, ask, looked: looked.body, accept, call };
};

test("every style of a parameter and every form of a body arrives as the document says", async (t) => {
  const { upstream, accept, call } = await imported(t, styleDocument);
  const made = await accept({});
  assert.equal(made.status, 201, JSON.stringify(made.body));
  for (const [index, [where, style, explode, shape, sent]] of styled.entries()) {
    const answer = await call(`style_${index}`, { color: values[shape] });
    assert.equal(answer.error, undefined, JSON.stringify(answer));
    const got = upstream.seen.at(-1);
    const arrived =
      where === "header"
        ? got?.headers["color"]
        : where === "path"
          ? got?.url.replace(`/s${index}/`, "")
          : got?.url.replace(`/s${index}?`, "");
    assert.equal(arrived, sent, `${where} ${style} ${explode} ${shape}`);
  }
  for (const { name, given, type, sent, method = "post" } of bodies) {
    const answer = await call(`body_${name}`, given);
    assert.equal(answer.error, undefined, `${name} ${JSON.stringify(answer)}`);
    const got = upstream.seen.at(-1);
    assert.equal(got?.method, method.toUpperCase());
    assert.match(got?.headers["content-type"] ?? "", type, name);
    if (typeof sent === "string") assert.equal(got?.body, sent, name);
    else assert.match(got?.body ?? "", sent, name);
  }
  const odd = await call("odd", { "pet-id": "a/b?c", filter_name_: "x&y=z", where: { R: 1 }, "X-Trace": "t1" });
  assert.equal(odd.error, undefined, JSON.stringify(odd));
  const got = upstream.seen.at(-1);
  assert.equal(got?.url, "/odd/a%2Fb%3Fc?filter%5Bname%5D=x%26y%3Dz&where=%7B%22R%22%3A1%7D");
  assert.equal(got?.headers["x-trace"], "t1");
  const before = upstream.seen.length;
  for (const wrong of [{ "pet-id": ".." }, { "pet-id": "" }, { "pet-id": "a", "X-Trace": "a\r\nHost: b" }, { "pet-id": "\ud800" }])
    assert.equal((await call("odd", wrong)).error?.data.code, "invalid_arguments", JSON.stringify(wrong));
  assert.equal(upstream.seen.length, before);
});

const pets =
  (more: object = {}, paths: object = {}) =>
  (url: string) => ({
    swagger: "2.0",
    info: { title: "Pets", version: "1" },
    host: new URL(url).host,
    schemes: ["http"],
    securityDefinitions: { key: { type: "apiKey", in: "header", name: "X-Pet-Key" } },
    definitions: {
      Pet: {
        type: "object",
        required: ["name"],
        properties: { id: { type: "integer", readOnly: true }, name: { type: "string" }, mother: { $ref: "#/definitions/Pet" } },
      },
    },
    paths: {
      "/pets": {
        get: operation("listPets", {
          tags: ["read"],
          parameters: [
            { name: "tags", in: "query", type: "array", items: { type: "string" }, collectionFormat: "multi" },
            { name: "X-Pet-Key", in: "header", type: "string", required: true },
          ],
        }),
        post: operation("addPet", {
          tags: ["write"],
          parameters: [{ name: "body", in: "body", required: true, schema: { $ref: "#/definitions/Pet" } }],
        }),
        head: operation("headPets", {}),
      },
      "/pets/{id}": {
        get: operation("getPet", { tags: ["read"], parameters: [{ name: "id", in: "path", required: true, type: "integer" }] }),
      },
      ...paths,
    },
    ...more,
  });

test("what is picked is looked at, tried, published, called, and brought up to a newer document without losing what a person changed", async (t) => {
  const { upstream, instance, ask, looked, accept, call } = await imported(t, pets());
  assert.deepEqual([looked.title, looked.openapi, looked.operations, looked.importable], ["Pets", "2.0", 4, 3]);
  assert.deepEqual(looked.tags, [
    { name: "read", operations: 2 },
    { name: "write", operations: 1 },
  ]);
  assert.deepEqual(looked.security, [{ name: "key", type: "apiKey", in: "header", parameter: "X-Pet-Key" }]);
  assert.deepEqual(looked.warnings, ["GET /pets: left out X-Pet-Key: a credential", "HEAD /pets: HEAD is no call of a tool"]);
  const listed = `/config/imports/${looked.import_id}/operations`;
  const first = await ask("GET", `${listed}?limit=1&tag=read`);
  assert.deepEqual(
    first.body.operations.map((row: Body) => [row.key, row.name, row.problems]),
    [["GET /pets", "acme.api.list_pets", ["left out X-Pet-Key: a credential"]]],
  );
  const second = await ask("GET", `${listed}?limit=1&tag=read&cursor=${encodeURIComponent(first.body.nextCursor)}`);
  assert.deepEqual(
    second.body.operations.map((row: Body) => row.key),
    ["GET /pets/{id}"],
  );
  assert.equal(second.body.nextCursor, undefined);
  assert.deepEqual((await ask("GET", `${listed}?q=HEAD`)).body.operations[0].problems, ["HEAD is no call of a tool"]);
  assert.equal((await ask("GET", listed, { as: eve })).status, 404);

  const unfit = await accept({ pick: ["HEAD /pets", "GET /none"] });
  assert.deepEqual([unfit.status, unfit.body.errors.map((row: Body) => row.path).toSorted()], [422, ["/pick/0", "/pick/1"]]);
  const tried = await accept({ pick: ["GET /pets", "POST /pets"] }, "?dryRun=true");
  assert.deepEqual(
    [tried.status, tried.body.valid, tried.body.diff.tools_added],
    [200, true, ["acme.api.add_pet", "acme.api.list_pets"]],
    JSON.stringify(tried.body),
  );
  const auth = { type: "api_key", in: "header", name: "X-Pet-Key", value: "yaml://secret/people/demo#api_key" };
  const made = await accept({ pick: ["GET /pets", "POST /pets"], auth, owner: "group:people-ops" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal((await accept({ pick: ["GET /pets"] })).body.code, "already_exists");

  await call("list_pets", { tags: ["a", "b"] });
  assert.equal(upstream.seen.at(-1)?.url, "/pets?tags=a&tags=b");
  assert.notEqual(upstream.seen.at(-1)?.headers["x-pet-key"], undefined);
  assert.equal((await call("add_pet", { name: "Rex", id: 1 })).error?.data.code, "invalid_arguments");
  await call("add_pet", { name: "Rex", mother: { name: "Bella" } });
  assert.equal(upstream.seen.at(-1)?.body, '{"name":"Rex","mother":{"name":"Bella"}}');

  // The same document again changes no byte; a person's text and price stay where the document goes on.
  const again = await ask("POST", "/config/systems/acme.api/reimport", { body: { import_id: looked.import_id } });
  assert.deepEqual([again.status, again.body.version, again.body.fresh], [200, 1, ["GET /pets/{id}"]], JSON.stringify(again.body));
  const read = await instance.request("/config/systems/acme.api", { as: ada, headers: { accept: "application/yaml" } });
  const edited = (await read.text()).replace(
    "Does listPets for a test\n    annotations",
    "Names every pet of the shop\n    cost_usd: 0.01\n    annotations",
  );
  const put = await ask("PUT", "/config/systems/acme.api", { raw: edited, type: "application/yaml" });
  assert.equal(put.body.version, 2, JSON.stringify(put.body));
  const newer = pets(
    {},
    {
      "/pets": {
        get: operation("listPets", {
          summary: "Another text of the document",
          parameters: [{ name: "limit", in: "query", type: "integer" }],
        }),
      },
    },
  )(upstream.url);
  const next = await ask("POST", "/config/imports/openapi?provider=acme&instance=api", { raw: JSON.stringify(newer) });
  const moved = await ask("POST", "/config/systems/acme.api/reimport", {
    body: { import_id: next.body.import_id, pick: ["GET /pets/{id}"] },
  });
  assert.deepEqual(
    [moved.status, moved.body.gone, moved.body.diff.tools_removed, moved.body.diff.tools_added],
    [200, ["POST /pets"], ["acme.api.add_pet"], ["acme.api.get_pet"]],
    JSON.stringify(moved.body),
  );
  const tool = instance.crud.catalogue.snapshot.tools.get("acme.api.list_pets");
  assert.deepEqual(
    [tool?.definition.description, tool?.definition.title, tool?.rules.reserveMicro],
    ["Names every pet of the shop", "Another text of the document", 10_000n],
  );
  assert.deepEqual(Object.keys(tool?.definition.inputSchema["properties"] ?? {}), ["limit"]);
  const other = await ask("POST", "/config/imports/openapi?provider=acme&instance=other", { raw: JSON.stringify(newer) });
  assert.equal((await ask("POST", "/config/systems/acme.api/reimport", { body: { import_id: other.body.import_id } })).status, 422);
});

test("operations are paged in the order of the document, whatever they hold, and picked by their tags", async (t) => {
  const count = 1234;
  const odd = `${"x".repeat(99)}\u{1f600}`;
  const paths = Object.fromEntries(
    Array.from({ length: count }, (_none, index) => [
      `/things/${index}`,
      {
        get: {
          operationId: index === 7 ? `odd\0${odd}` : `thing${index}`,
          tags: [index % 3 === 0 ? "Third" : "rest", odd, "a\0b"],
          summary: `Thing ${index}`,
          responses: { 200: { description: "ok" } },
        },
      },
    ]),
  );
  const { ask, looked, accept } = await imported(t, () => ({
    openapi: "3.0.3",
    info: { title: `${"t".repeat(199)}\u{1f600}`, version: "1" },
    servers: [{ url: "https://things.example" }],
    paths,
  }));
  assert.deepEqual([looked.operations, looked.importable], [count, count]);
  const listed = `/config/imports/${looked.import_id}/operations`;
  const all = async (query: string): Promise<{ readonly keys: readonly string[]; readonly totals: ReadonlySet<number> }> => {
    const keys: string[] = [];
    const totals = new Set<number>();
    for (let cursor = ""; ;) {
      const page = await ask("GET", `${listed}?limit=500${query}${cursor}`);
      assert.equal(page.status, 200, JSON.stringify(page.body));
      keys.push(...page.body.operations.map((row: Body) => row.key));
      totals.add(page.body.total);
      if (page.body.nextCursor === undefined) return { keys, totals };
      cursor = `&cursor=${encodeURIComponent(page.body.nextCursor)}`;
    }
  };
  const every = Object.keys(paths).map((path) => `GET ${path}`);
  assert.deepEqual(await all(""), { keys: every, totals: new Set([count]) });
  const third = every.filter((_key, index) => index % 3 === 0);
  assert.deepEqual(await all("&tag=Third"), { keys: third, totals: new Set([third.length]) });
  assert.deepEqual(
    (await all("&q=THING+12")).keys,
    every.filter((key) => key.startsWith("GET /things/12")),
  );
  assert.deepEqual(await all("&q=%25"), { keys: [], totals: new Set([0]) });
  const tried = await accept({ tags: ["Third"], pick: ["GET /things/1"] }, "?dryRun=true");
  const added = tried.body.diff.tools_added.filter((name: string) => name.startsWith("acme.api."));
  assert.deepEqual([tried.status, added.length], [200, third.length + 1]);
});

test("a body that is listed open is checked whole before it is sent, also after the document changed", async (t) => {
  const member = { type: "integer", maximum: 5, description: "x".repeat(80) };
  const members = Object.fromEntries(Array.from({ length: 400 }, (_none, index) => [`member_${index}`, member]));
  const wide = (more: object) => (url: string) => ({
    openapi: "3.0.3",
    info: { title: "Wide", version: "1" },
    servers: [{ url }],
    paths: {
      "/wide/{id}": {
        put: operation("wide", {
          parameters: [{ name: "id", in: "path", required: true, schema: schema.text }],
          requestBody: body("application/json", {
            type: "object",
            required: ["member_1"],
            properties: { ...members, ...more },
            additionalProperties: false,
          }),
        }),
      },
    },
  });
  const long = { long: { enum: Array.from({ length: 2000 }, (_none, index) => `value ${index}`) } };
  const { upstream, instance, ask, accept, call } = await imported(t, wide(long));
  const made = await accept({});
  assert.match(made.body.warnings.join(), /listed open and checked whole/);
  const listed = instance.crud.catalogue.snapshot.tools.get("acme.api.wide")?.definition.inputSchema["properties"];
  assert.deepEqual(listed, { id: { type: "string" }, body: { type: "object" } });
  const wrong = await call("wide", { id: "a", body: { member_2: 6, other: 1 } });
  assert.deepEqual(
    wrong.error?.data.errors?.map(({ path }: { path: string }) => path).toSorted(),
    ["/body/member_1", "/body/member_2", "/body/other"],
    JSON.stringify(wrong),
  );
  assert.equal(upstream.seen.length, 0);
  assert.equal((await call("wide", { id: "a", body: { member_1: 1, long: "value 7" } })).error, undefined);
  assert.equal(upstream.seen.at(-1)?.body, '{"member_1":1,"long":"value 7"}');
  const newer = wide({})(upstream.url);
  const looked = await ask("POST", "/config/imports/openapi?provider=acme&instance=api", { raw: JSON.stringify(newer) });
  const moved = await ask("POST", "/config/systems/acme.api/reimport", { body: { import_id: looked.body.import_id } });
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
  assert.ok(
    moved.body.diff.tools_changed[0].changes.some(({ path }: { path: string }) => path === "/rules/input_check"),
    JSON.stringify(moved.body.diff),
  );
  assert.equal(instance.crud.catalogue.snapshot.tools.get("acme.api.wide")?.rules.inputCheck, undefined);
});

test("what a person renamed, masked and remarked stays through a newer document", async (t) => {
  const { upstream, instance, ask, accept, call } = await imported(t, pets());
  assert.equal((await accept({ pick: ["GET /pets", "GET /pets/{id}"] })).status, 201);
  const read = await instance.request("/config/systems/acme.api", { as: ada, headers: { accept: "application/yaml" } });
  const edited = `# Belongs to the pet shop.\n${await read.text()}`.replace(
    "  list_pets:\n",
    "  # The name that everybody knows.\n  all_pets:\n    mask: [{ path: /*/mother, action: drop }] # private\n",
  );
  assert.equal((await ask("PUT", "/config/systems/acme.api", { raw: edited, type: "application/yaml" })).body.version, 2);
  const parameters = [{ name: "limit", in: "query", type: "integer" }];
  const newer = pets(
    {},
    { "/pets": { get: operation("listPets", { summary: "Another text of the document", parameters }) } },
  )(upstream.url);
  const next = await ask("POST", "/config/imports/openapi?provider=acme&instance=api", { raw: JSON.stringify(newer) });
  const moved = await ask("POST", "/config/systems/acme.api/reimport", { body: { import_id: next.body.import_id } });
  assert.equal(moved.body.version, 3, JSON.stringify(moved.body));
  assert.deepEqual([moved.body.gone, moved.body.diff.tools_removed, moved.body.diff.tools_added, moved.body.warnings], [[], [], [], []]);
  const tool = instance.crud.catalogue.snapshot.tools.get("acme.api.all_pets");
  assert.equal(tool?.definition.title, "Another text of the document");
  assert.deepEqual(tool?.rules.masks, [{ pointer: ["*", "mother"], kind: "drop", unlessAllowed: undefined }]);
  assert.equal(instance.crud.catalogue.snapshot.tools.has("acme.api.list_pets"), false);
  assert.equal((await call("all_pets", { limit: 3 })).error, undefined);
  assert.equal(upstream.seen.at(-1)?.url, "/pets?limit=3");
  const kept = await (await instance.request("/config/systems/acme.api", { as: ada, headers: { accept: "application/yaml" } })).text();
  for (const remark of ["# Belongs to the pet shop.", "# The name that everybody knows.", "# private"])
    assert.ok(kept.includes(remark), kept);
});

test("a document that knows its callers by client credentials becomes a system with a token of its own, which no answer shows", async (t) => {
  const { upstream, accept, looked, call } = await imported(t, (url) => ({
    openapi: "3.0.3",
    info: { title: "Known", version: "1" },
    servers: [{ url }],
    components: {
      securitySchemes: {
        own: { type: "oauth2", flows: { clientCredentials: { tokenUrl: `${url}/token`, scopes: { "pets.read": "Reads pets" } } } },
      },
    },
    paths: { "/pets": { get: operation("listPets", {}) } },
  }));
  assert.deepEqual(looked.security, [{ name: "own", type: "oauth2", tokenUrl: `${upstream.url}/token`, scopes: ["pets.read"] }]);
  upstream.answer = ({ url, headers }, response) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(
        JSON.stringify(
          url === "/token" ? { access_token: "very-secret-token", token_type: "bearer", expires_in: 60 } : { said: headers.authorization },
        ),
      );
  const [own] = looked.security;
  const secret = "yaml://secret/people/demo#api_key";
  const auth = { type: "oauth2_client", tokenUrl: own.tokenUrl, scopes: own.scopes, clientId: secret, clientSecret: secret };
  const made = await accept({ auth });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(made.body.diff.hosts_added, [upstream.url, `${upstream.url}/token`]);
  assert.deepEqual(made.body.diff.secrets_added, [secret]);
  const answer = JSON.stringify(await call("list_pets", {}));
  assert.equal(upstream.seen.at(-1)?.headers.authorization, "Bearer very-secret-token");
  assert.ok(answer.includes("[redacted]") && !answer.includes("very-secret-token"), answer);
});

/** YAML of about so many MiB: a second and a half of work each. */
const largeYaml = (mebibytes: number): string => {
  const operation = (at: number): string =>
    `  /p${at}: {get: {operationId: op${at}, description: "${"x".repeat(1000)}", responses: {"200": {description: ok}}}}\n`;
  const count = Math.ceil((mebibytes * 1_048_576) / operation(1000).length);
  const paths = Array.from({ length: count }, (_none, at) => operation(at)).join("");
  return `openapi: 3.1.0\ninfo: {title: Large, version: "1"}\nservers: [{url: "https://large.example"}]\npaths:\n${paths}`;
};
const smallDocument = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Small", version: "1" },
  servers: [{ url: "https://small.example" }],
  paths: { "/a": { get: { responses: { "200": { description: "ok" } } } } },
});
const inspectAs =
  (instance: CrudInstance) =>
  (as: object, raw: string, more: { readonly signal?: AbortSignal } = {}): Promise<Response> =>
    instance.request("/config/imports/openapi?provider=acme&instance=api", {
      method: "POST",
      as,
      raw,
      headers: { "content-type": raw.startsWith("{") ? "application/json" : "application/yaml" },
      ...more,
    });

test("a small document does not wait for a large one, whoever sent it first", async (t) => {
  const inspect = inspectAs(await crudInstance(t));
  const order: string[] = [];
  const large = inspect(ada, largeYaml(3)).then((response) => order.push(`large ${response.status}`));
  const small = inspect(eve, smallDocument).then((response) => order.push(`small ${response.status}`));
  await Promise.all([large, small]);
  assert.deepEqual(order, ["small 201", "large 201"]);
});

test("a small document does not wait for a system made of a large one, however well that one packs", async (t) => {
  const instance = await crudInstance(t);
  const inspect = inspectAs(instance);
  const { import_id: id } = (await (await inspect(ada, largeYaml(4))).json()) as { readonly import_id: string };
  const order: string[] = [];
  const making = instance
    .request(`/config/imports/${id}/accept?dryRun=true`, { method: "POST", as: ada, body: { pick: ["GET /p1"] } })
    .then(({ status }) => order.push(`made ${status}`));
  // Sent once the document of the other is with its thread.
  await new Promise((resolve) => setTimeout(resolve, 200));
  await inspect(ada, smallDocument).then(({ status }) => order.push(`small ${status}`));
  await making;
  assert.deepEqual(order, ["small 201", "made 200"]);
});

test("a large document does not wait for another tenant's", async (t) => {
  const inspect = inspectAs(await crudInstance(t));
  const order: string[] = [];
  const seen = (as: object, mebibytes: number, name: string) =>
    inspect(as, largeYaml(mebibytes)).then((response) => order.push(`${name} ${response.status}`));
  await Promise.all([seen(ada, 4, "first"), seen(ada, 1.2, "second of the same"), seen(eve, 1.2, "other's")]);
  assert.deepEqual(order, ["other's 201", "first 201", "second of the same 201"]);
});

test("of one tenant so many documents wait, the next is told when to come again, and another tenant's is read", async (t) => {
  const inspect = inspectAs(await crudInstance(t));
  const answers = Promise.all(Array.from({ length: 12 }, () => inspect(ada, smallDocument)));
  const other = await inspect(eve, smallDocument);
  const refused = (await answers).filter(({ status }) => status !== 201);
  assert.equal(other.status, 201);
  assert.ok(refused.length > 0 && refused.every(({ status, headers }) => status === 429 && Number(headers.get("retry-after")) > 1));
  for (const one of refused) assert.equal(((await one.json()) as { readonly code: string }).code, "rate_limited");
});

test("a document is read no further once its sender is gone", async (t) => {
  const inspect = inspectAs(await crudInstance(t));
  const gone = new AbortController();
  const left = inspect(ada, largeYaml(8), { signal: gone.signal });
  const waits = inspect(eve, largeYaml(1.5));
  setTimeout(() => gone.abort(), 500);
  assert.equal((await left).status, 422);
  assert.equal((await waits).status, 201);
});
