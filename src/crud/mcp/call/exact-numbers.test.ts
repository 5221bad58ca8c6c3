import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { agent, crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { serverUpstream, type ServerUpstream } from "#testing/http-upstream.ts";

const BIG = "9007199254740993";
const NEAR = "9007199254740992";
const HUGE = "1000000000000000000000";
const FINE = "0.1234567890123456789";
const int64 = { type: "integer", format: "int64" };

const at = (name: string, where: "path" | "query" | "header", more: object = {}) => ({ name, in: where, ...more });
const input = (properties: object, required: readonly string[] = []) => ({ type: "object", required, properties });
const reads = (path: string, more: object = {}) => ({ description: "Reads something.", request: { method: "GET", path }, ...more });
const sends = (request: object, properties: object) => ({
  description: "Sends something.",
  request: { method: "POST", path: "/echo", ...request },
  input: input(properties),
});
const ids = { type: "array", items: int64 };
const scope = { resourceType: "employee", rows: "", columns: { tenant_id: "/tenant", salary: "/salary" } };
const operations = {
  patch_it: {
    description: "Changes a record.",
    request: { method: "PATCH", path: "/echo/{id}", parameters: [at("id", "path")], body: {} },
    input: input({ id: int64, age: { type: "integer" } }, ["id"]),
  },
  bound: {
    description: "Changes a record.",
    request: { method: "PATCH", path: "/echo/{id}" },
    input: input({ id: int64, age: { type: "integer" } }),
    bind: { path: { id: "${ input.id }" }, body: { id: "${ input.id }", next: "${ input.id + 1 }", is: `\${ input.id == ${BIG} }` } },
  },
  queried: reads("/echo", {
    request: { method: "GET", path: "/echo", parameters: [at("id", "query"), at("deep", "query", { style: "deepObject" })] },
    input: input({ id: ids, deep: { type: "object" } }),
  }),
  named: reads("/echo", { input: input({ id: int64 }) }),
  header: reads("/echo", {
    request: { method: "GET", path: "/echo", parameters: [at("x-id", "header")] },
    input: input({ "x-id": int64 }),
  }),
  json: sends({ body: {} }, { id: int64, ids, nested: { type: "object" }, rate: { type: "number" } }),
  form: sends({ body: { media: "application/x-www-form-urlencoded" } }, { id: int64, ids }),
  multipart: sends({ body: { media: "multipart/form-data" } }, { id: int64 }),
  bounded: sends(
    { body: {} },
    {
      percent: { type: "number", maximum: 100 },
      one: { enum: [1] },
      ids: { ...ids, uniqueItems: true },
    },
  ),
  keyed: { ...sends({ body: {} }, {}), input: { type: "object", additionalProperties: ids } },
  either: sends({ body: {} }, { id: { anyOf: [int64, { type: "string" }] } }),
  answers: reads("/answer"),
  selected: reads("/answer", { output: { select: "${ {'first': response.body.items[0], 'is': response.body.id == 9007199254740993} }" } }),
  masked: reads("/answer", { mask: [{ path: "/id", action: "last4" }] }),
  checked: reads("/answer", { output: { schema: input({ id: int64 }) } }),
  paged: reads("/pages", {
    paginate: { style: "cursor", param: "after", next: "${ response.body.next }", items: "${ response.body.items }", maxPages: 3 },
  }),
  scoped: reads("/row", { dataScope: scope }),
  guarded: {
    description: "Changes a row.",
    request: { method: "POST", path: "/echo" },
    input: input({ id: int64 }),
    dataScope: { ...scope, guard: { operation: "row_of", input: { id: "${ input.id }" } } },
  },
  row_of: reads("/rows/{id}", { input: input({ id: int64 }), dataScope: scope }),
};

describe("numbers of a tool call keep every digit", () => {
  let instance: CrudInstance;
  let upstream: ServerUpstream;
  let answer = "";
  const cleanups: (() => Promise<void> | void)[] = [];
  const hooks = { after: (work: () => Promise<void>) => void cleanups.push(work) } as never;
  before(async () => {
    instance = await crudInstance(hooks);
    upstream = await serverUpstream(hooks);
    upstream.answer = ({ url = "" }, response) => {
      const page = `{"items":[{"id":${BIG}}]${url.includes("after") ? "" : `,"next":${BIG}`}}`;
      const row = `{"id":${BIG},"tenant":"tenant:acme","salary":${BIG}}`;
      const text = url.startsWith("/pages") ? page : url.startsWith("/answer") ? answer : row;
      response.writeHead(200, { "content-type": "application/json" }).end(text);
    };
    const made = await instance.request("/config/systems", {
      as: { sub: "person:ada", scopes: ["config.read", "config.write"] },
      method: "POST",
      raw: JSON.stringify({
        apiVersion: "systems/v1",
        provider: "case",
        instance: "c05",
        title: "Numbers",
        owner: "group:people-ops",
        kind: "http",
        tenants: ["tenant:acme"],
        baseUrl: upstream.url,
        network: { allow: ["127.0.0.1/32"] },
        defaults: { dataScope: "none" },
        operations,
      }),
      headers: { "content-type": "application/json" },
    });
    assert.equal(made.status, 201, await made.text());
    instance.membership.capabilities = Object.keys(operations).map((name) => `case.c05.${name}`);
    instance.membership.dataScope = { tenant_ids: ["tenant:acme"], row_filter_sql: "tenant_id IN ('tenant:acme')", column_mask: {} };
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  beforeEach(() => {
    upstream.seen.length = 0;
    answer = `{"id":${BIG},"items":[{"id":1234567890123456789}],"rate":${FINE},"one":1.0}`;
  });

  /** Both dialects and `/execute`: the text of the whole answer, digits and all. */
  const ways: Readonly<Record<string, (name: string, args: string, key?: string) => Promise<string>>> = {
    contract: async (name, args, key) => {
      const meta = key === undefined ? "" : `,"_meta":{"sallyport/idempotencyKey":"${key}"}`;
      const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"case.c05.${name}","arguments":${args}${meta}}}`;
      return (await send("/mcp/jsonrpc", raw)).replaceAll('\\"', '"');
    },
    standard: async (name, args) => {
      const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"case.c05.${name}","arguments":${args}}}`;
      return send("/mcp", raw);
    },
    execute: (name, args) => send("/execute", `{"tool":"case.c05.${name}","arguments":${args}}`),
  };
  const send = async (path: string, raw: string): Promise<string> => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    return (await instance.request(path, { as: agent, method: "POST", raw, headers })).text();
  };
  const sent = () =>
    upstream.seen.map(({ url, body, headers }) => `${url} ${String(headers["x-id"] ?? "")} ${body.replaceAll("\r\n", " ")}`).join("\n");

  for (const [way, call] of Object.entries(ways)) {
    for (const [name, args, arrives] of [
      ["patch_it", `{"id":${BIG},"age":1}`, `/echo/${BIG}  {"age":1}`],
      ["patch_it", `{"id":"${BIG}","age":1}`, `/echo/${BIG}  {"age":1}`],
      ["bound", `{"id":${BIG}}`, `/echo/${BIG}  {"id":${BIG},"next":9007199254740994,"is":true}`],
      ["queried", `{"id":[${BIG},"${BIG}"],"deep":{"a":{"b":${BIG}}}}`, `/echo?id=${BIG}&id=${BIG}&deep%5Ba%5D%5Bb%5D=${BIG}  `],
      ["named", `{"id":${BIG}}`, `/echo?id=${BIG}  `],
      ["header", `{"x-id":${BIG}}`, `/echo ${BIG} `],
      ["json", `{"id":18446744073709551615,"rate":${FINE}}`, `/echo  {"id":18446744073709551615,"rate":${FINE}}`],
      [
        "json",
        `{"ids":[${BIG},"${BIG}",1],"nested":{"a":[{"b":${BIG}}]}}`,
        `/echo  {"ids":[${BIG},${BIG},1],"nested":{"a":[{"b":${BIG}}]}}`,
      ],
      ["json", `{"rate":-1e400}`, `/echo  {"rate":-1e400}`],
      ["form", `{"id":${BIG},"ids":["${BIG}",${BIG}]}`, `/echo  id=${BIG}&ids=${BIG}&ids=${BIG}`],
      ["either", `{"id":"${BIG}"}`, `/echo  {"id":"${BIG}"}`],
      ["bounded", `{"percent":99.99999999999999999999,"one":1.0}`, `/echo  {"percent":99.99999999999999999999,"one":1}`],
      ["patch_it", `{"id":${HUGE},"age":1}`, `/echo/${HUGE}  {"age":1}`],
      ["patch_it", `{"id":1e21,"age":${BIG}.0}`, `/echo/${HUGE}  {"age":${BIG}}`],
      ["queried", `{"id":[${HUGE},"${HUGE}"],"deep":{"a":-12e22}}`, `/echo?id=${HUGE}&id=${HUGE}&deep%5Ba%5D=-${120n * 10n ** 21n}  `],
      ["named", `{"id":1.5e30}`, `/echo?id=15${"0".repeat(29)}  `],
      ["header", `{"x-id":${HUGE}}`, `/echo ${HUGE} `],
      [
        "json",
        `{"id":${HUGE},"nested":{"a":[1e23]},"rate":1.5e-7}`,
        `/echo  {"id":${HUGE},"nested":{"a":[1${"0".repeat(23)}]},"rate":1.5e-7}`,
      ],
      ["form", `{"id":${HUGE},"ids":["${HUGE}",1e22]}`, `/echo  id=${HUGE}&ids=${HUGE}&ids=${HUGE}0`],
      ["bounded", `{"ids":[${BIG},${NEAR}]}`, `/echo  {"ids":[${BIG},${NEAR}]}`],
    ] as const)
      test(`${way}: ${name} ${args} arrives as it is`, async () => {
        const shown = await call(name, args);
        assert.equal(sent(), arrives, shown);
      });

    test(`${way}: thousands of ids as texts arrive as the numbers`, async () => {
      const numbers = Array.from({ length: 5_000 }, (_none, at) => `900719925475${1000 + at}`);
      await call("json", `{"ids":[${numbers.map((id) => `"${id}"`).join()}]}`);
      assert.equal(sent(), `/echo  {"ids":[${numbers.join()}]}`);
    });

    test(`${way}: thousands of ids as texts below a long name arrive as the numbers`, async () => {
      const [name, numbers] = ["~".repeat(150_000), Array.from({ length: 4_000 }, (_none, at) => `900719925475${1000 + at}`)];
      await call("keyed", `{"${name}":[${numbers.map((id) => `"${id}"`).join()}]}`);
      assert.equal(sent(), `/echo  {"${name}":[${numbers.join()}]}`);
    });

    test(`${way}: a part of a multipart form is the number, as plain text`, async () => {
      await call("multipart", `{"id":${BIG}}`);
      assert.match(sent(), new RegExp(`name="id" {2}${BIG} --`));
    });

    for (const [name, shows] of [
      ["answers", [`"id":${BIG}`, `"items":[{"id":1234567890123456789}]`, `"rate":${FINE}`, `"one":1}`]],
      ["selected", [`{"first":{"id":1234567890123456789},"is":true}`]],
      ["masked", [`"id":"****0993"`, `"rate":${FINE}`]],
      ["checked", [`"id":${BIG}`]],
      ["paged", [`{"items":[{"id":${BIG}},{"id":${BIG}}]}`]],
      ["scoped", [`"id":${BIG}`, `"salary":${BIG}`]],
    ] as const)
      test(`${way}: what ${name} answers comes back as it is`, async () => {
        const shown = await call(name, "{}");
        for (const part of shows) assert.ok(shown.includes(part), `${part} in ${shown}`);
        assert.ok(!shown.includes(NEAR) && !shown.includes("1234567890123456800") && !shown.includes("rawJSON"), shown);
        if (name === "paged") assert.ok(sent().includes(`/pages?after=${BIG}`), sent());
      });

    test(`${way}: the row that guards a write is read by the very id`, async () => {
      await call("guarded", `{"id":${BIG}}`);
      assert.equal(sent(), `/rows/${BIG}  \n/echo  {"id":${BIG}}`);
    });

    for (const [name, args, path] of [
      ["patch_it", `{"id":${BIG}.5e-1}`, "/id"],
      ["patch_it", `{"id":"${BIG}x"}`, "/id"],
      ["patch_it", `{"id":1,"age":"12"}`, "/age"],
      ["patch_it", `{"id":1,"age":{"n":${BIG}}}`, "/age"],
      ["patch_it", `{"id":${BIG}.5}`, "/id"],
      ["bounded", `{"percent":100.000000000000000001}`, "/percent"],
      ["bounded", `{"one":1.0000000000000000001}`, "/one"],
      ["bounded", `{"ids":[${BIG},"${BIG}"]}`, "/ids"],
    ] as const)
      test(`${way}: ${name} ${args} is refused at ${path}`, async () => {
        const shown = await call(name, args);
        assert.ok(shown.includes("invalid_arguments") && shown.includes(path), shown);
        assert.equal(sent(), "");
      });

    test(`${way}: a number in place of the arguments is refused`, async () => {
      const shown = await call("either", BIG);
      assert.match(shown, /"error"|"code":"/);
      assert.equal(sent(), "");
    });
  }

  test("two ids that one double stands for have two digests, a number and its text have one", async () => {
    const digests = async (args: string) => {
      instance.entries.length = 0;
      await ways["contract"]?.("json", args);
      return instance.entries.map(({ draft }) => (draft.data as { arguments_digest?: string } | undefined)?.arguments_digest).find(Boolean);
    };
    const [big, near, text] = [await digests(`{"id":${BIG}}`), await digests(`{"id":${NEAR}}`), await digests(`{"id":"${BIG}"}`)];
    assert.ok(big !== undefined && big !== near);
    assert.equal(big, text);
  });

  test("a stored answer is given again as it was", async () => {
    const call = ways["contract"];
    const [first, second] = [await call?.("answers", "{}", "once"), await call?.("answers", "{}", "once")];
    assert.equal(upstream.seen.length, 1);
    assert.equal(second, first);
  });

  test("an id of a message that no double holds is refused, not answered to another", async () => {
    const shown = await send("/mcp/jsonrpc", `{"jsonrpc":"2.0","id":${BIG},"method":"tools/list"}`);
    assert.deepEqual([JSON.parse(shown).id, JSON.parse(shown).error.code], [null, -32_600]);
    const standard = await send("/mcp", `{"jsonrpc":"2.0","id":${BIG},"method":"tools/list"}`);
    assert.match(standard, /\/id is a number that no double holds/);
  });

  test("the official client is shown the digits in the text", async () => {
    const listening = await instance.listen();
    try {
      const client = new Client({ name: "test", version: "1" });
      const headers = { authorization: `Bearer ${await instance.token(agent)}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${listening.port}/mcp`), { requestInit: { headers } }),
      );
      const result = await client.callTool({ name: "case.c05.patch_it", arguments: { id: BIG } });
      assert.ok((result.content[0] as { text: string }).text.includes(BIG));
      assert.ok(sent().startsWith(`/echo/${BIG}`));
      answer = BIG;
      assert.equal(((await client.callTool({ name: "case.c05.answers" })).content[0] as { text: string }).text, BIG);
      await client.close();
    } finally {
      await listening.close(0);
    }
  });
});
