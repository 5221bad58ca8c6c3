import assert from "node:assert/strict";
import { appendFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { hostileScim } from "#testing/scim-hostile.ts";
import { hostileTools } from "#testing/hostile-tools.ts";
import { until } from "#testing/until.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** Who sends it; a tenant's administrator is also who writes its systems. */
type CallerKind = "anonymous" | "person" | "agent" | "administrator" | "person of another tenant" | "SCIM client";

interface Request {
  /** Of the listener: 0 gateway, 2 decision point, 3 tools, 4 membership, 5 secrets. */
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}
interface Answer {
  readonly status: number;
  readonly text: string;
}
interface Row {
  readonly what: string;
  readonly caller: CallerKind;
  readonly requests: readonly Request[];
  /** What is logged at the end of what they begin. */
  readonly ends?: string;
  /** What all its answers are together. */
  readonly expects: (answers: readonly Answer[]) => void;
}

const root = fileURLToPath(new URL("..", import.meta.url));

/** The shipped configuration, beside the sources as it expects, and a server that lists and answers as hostile as it may. */
const makeConfig = async (base: string): Promise<string> => {
  const config = join(base, "config");
  await symlink(join(root, "src"), join(base, "src"));
  await cp(join(root, "config"), config, { recursive: true });
  const program = join(root, "src/testing/hostile-server.mjs");
  const folder = join(base, "server");
  await mkdir(folder);
  await writeFile(join(folder, "tools.json"), hostileTools());
  const hostile = { command: process.execPath, args: [program, join(folder, "tools.json")], reads: [folder, dirname(program)] };
  await appendFile(join(config, "demo/servers.yaml"), `  hostile: ${JSON.stringify(hostile)}\n`);
  return config;
};
/** A document of that server. */
const hostile = (title: string): Request => ({
  port: 3,
  method: "PUT",
  path: "/config/systems/hostile.demo",
  body: JSON.stringify({
    apiVersion: "systems/v1",
    provider: "hostile",
    instance: "demo",
    title,
    owner: "person:ada",
    tenants: ["tenant:acme"],
    kind: "mcp",
    transport: { type: "stdio", command: "hostile" },
    quarantineNew: false,
    defaults: { dataScope: "none" },
  }),
  type: "application/yaml",
});
let base = "";
/** Path of a user that the directory made. */
let user = "";

let instance: TestInstance;
const tokens = new Map<CallerKind, string>();
before(async () => {
  // A test of what a tenant may do to others asks more than one person does.
  base = await mkdtemp(join(tmpdir(), "sallyport-loop-"));
  const config = await makeConfig(base);
  instance = await startTestInstance({
    arguments: ["--config", config],
    environment: { NODE_OPTIONS: `--import=${new URL("loop-probe.mjs", import.meta.url).href}` },
  });
  const { port } = instance;
  const ada = await fetchToken(port, { user: "ada", acr: "strong" });
  tokens.set("administrator", ada);
  tokens.set("person", await fetchToken(port, { user: "ben" }));
  tokens.set("agent", await fetchToken(port, { user: "ben", agent: "agent:hr-assistant" }));
  tokens.set("person of another tenant", await fetchToken(port, { user: "eve" }));
  const made = await send({ port: 4, method: "POST", path: "/api/v1/scim-tokens", body: '{"name":"Directory"}' }, ada);
  assert.equal(made.status, 201, made.text);
  const { token } = JSON.parse(made.text) as { readonly token: string };
  tokens.set("SCIM client", token);
  const person = JSON.stringify({ schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: "hostile@acme.example" });
  const added = await send(post(0, "/scim/v2/Users", person, "application/scim+json"), token);
  assert.equal(added.status, 201, added.text);
  user = `/scim/v2/Users/${(JSON.parse(added.text) as { readonly id: string }).id}`;
});
after(async () => {
  assert.equal(await instance.stop(), 0);
  await rm(base, { recursive: true });
});

const send = async ({ port, method, path, body, type = "application/json" }: Request, token?: string): Promise<Answer> => {
  const response = await fetch(`http://localhost:${instance.port + port}${path === USER ? user : path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": type }),
      accept: "application/json, text/event-stream",
    },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, text: await response.text() };
};

/** Stands for the path of the user that the directory made. */
const USER = "{user}";

/** The longest turn of the server's loop since the last time, or nothing where the process has no probe. */
const longestTurn = async (): Promise<string> => {
  const before = instance.output().split("loop_turn_ms=").length;
  instance.process.kill("SIGUSR2");
  for (let waited = 0; waited < 100; waited++) {
    const found = instance.output().split("loop_turn_ms=");
    if (found.length > before) return `${/^\d+/.exec(found.at(-1) ?? "")?.[0] ?? "?"} ms`;
    await sleep(20);
  }
  return "not measured";
};

const post = (port: number, path: string, body: string, type?: string): Request => ({
  port,
  method: "POST",
  path,
  body,
  ...(type === undefined ? {} : { type }),
});
const put: typeof post = (...given) => ({ ...post(...given), method: "PUT" });
const refuses =
  (status: number, code: string) =>
  (answers: readonly Answer[]): void => {
    for (const answer of answers) {
      assert.equal(answer.status, status, answer.text.slice(0, 500));
      assert.match(answer.text, new RegExp(`"(?:code|detail)":"[^"]*${code}`));
      assert.ok(issuesOf(answer.text).length <= 50);
    }
  };
const issuesOf = (text: string): readonly unknown[] => {
  const body = JSON.parse(text) as {
    readonly errors?: readonly unknown[];
    readonly error?: { readonly data?: { readonly errors?: readonly unknown[] } };
  };
  return body.errors ?? body.error?.data?.errors ?? [];
};
const wide = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_none, at) => [`member${at}`, 1])));
const toolCall = (name: string, input: unknown): Request =>
  post(3, "/mcp/jsonrpc", JSON.stringify({ jsonrpc: "2.0", id: "1", method: "tools/call", params: { name, arguments: input } }));

/** Each listener that reads JSON of this caller. */
const readers: readonly (readonly [name: string, port: number, path: string])[] = [
  ["gateway", 0, "/access/v1/evaluation"],
  ["tools", 3, "/mcp/jsonrpc"],
  ["tools' standard endpoint", 3, "/mcp"],
  ["membership", 4, "/api/v1/delegations"],
  ["secrets", 5, "/api/secrets"],
];

/** A system whose operation has one test, tried without being published: what is evaluated and checked is what a call evaluates and checks. */
const tried = (members: Readonly<Record<string, unknown>>, one: Readonly<Record<string, unknown>>): Request =>
  post(
    3,
    "/config/systems?dryRun=true",
    JSON.stringify({
      apiVersion: "systems/v1",
      provider: "hostile",
      instance: "system",
      title: "Hostile",
      owner: "person:ada",
      tenants: ["tenant:acme"],
      kind: "http",
      baseUrl: "https://upstream.example",
      defaults: { dataScope: "none" },
      operations: {
        act: {
          description: "Costs as much as it may.",
          request: { method: "POST", path: "/act" },
          input: { type: "object", additionalProperties: true },
          ...members,
          tests: [{ name: "one", input: {}, mock: { status: 200, body: {} }, expect: { output: null }, ...one }],
        },
      },
    }),
    "application/yaml",
  );
const items = (count: number) => Array.from({ length: count }, (_none, id) => ({ id }));
const whenError = (text: string, input: object): Request =>
  tried(
    { errors: [{ when: `\${ size([${text.replaceAll("input.", "response.body.")}]) == 9 }`, as: "conflict" }] },
    { mock: { status: 200, body: input } },
  );
/** `result`: it is the result alone that is too much. */
const expression = (what: string, text: string, input: object = { list: items(2000), text: "a".repeat(50_000) }, result = false): Row => ({
  what,
  caller: "administrator",
  requests: [
    tried({ bind: { body: { value: `\${ ${text} }` } } }, { input }),
    tried({ output: { select: `\${ ${text.replaceAll("input.", "response.body.")} }` } }, { mock: { status: 200, body: input } }),
    ...(result ? [] : [whenError(text, input)]),
  ],
  expects: (answers) => {
    for (const { text: answer } of answers) assert.match(answer, /gives \{\\"error\\":\\"expression_limit\\"\}/, answer.slice(0, 500));
  },
});
const schema = (what: string, given: { readonly $defs?: object; readonly items?: object }, value: unknown): Row => ({
  what,
  caller: "administrator",
  requests: [
    tried({ input: { type: "object", properties: { value: { ...given, $defs: {} } }, $defs: given.$defs ?? {} } }, { input: { value } }),
    tried({ output: { schema: given } }, { mock: { status: 200, body: value } }),
  ],
  expects: ([argument, output]) => {
    assert.match(argument?.text ?? "", /invalid_arguments[^]*takes too much work/);
    assert.match(output?.text ?? "", /output_invalid[^]*takes too much work/);
  },
});
const doubling = {
  $ref: "#/$defs/A0",
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_none, at) => [
      `A${at}`,
      at === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/A${at + 1}` }, { $ref: `#/$defs/A${at + 1}` }] },
    ]),
  ),
};
const openApi = (operations: number): string =>
  JSON.stringify({
    openapi: "3.1.0",
    info: { title: "Many", version: "1" },
    servers: [{ url: "https://many.example" }],
    paths: Object.fromEntries(
      Array.from({ length: operations }, (_none, at) => [
        `/p${at}`,
        { get: { operationId: `op${at}`, responses: { "200": { description: "ok" } } } },
      ]),
    ),
  });
const inspect = (instance: string, operations: number): Request =>
  post(3, `/config/imports/openapi?provider=many&instance=${instance}`, openApi(operations), "application/json");

const LONG = "k".repeat(100_000);
const badPatterns = Object.fromEntries(Array.from({ length: 400 }, (_none, at) => [`p${at}`, { type: "string", pattern: "(" }]));
const words = Array.from({ length: 80 }, (_none, at) => `people.${at}`);
const manyViews = JSON.stringify({
  apiVersion: "tools/v1",
  views: Array.from({ length: 200 }, (_none, at) => ({ name: `v${at}`, tenants: ["tenant:acme"], filters: { name_prefix: words } })),
});

/** New hostile inputs are rows here. What is asserted is counted: status, code and number of issues; the turn of the loop is printed. */
const rows: readonly Row[] = [
  {
    what: "a body without end for whoever asks",
    caller: "anonymous",
    requests: [post(0, "/access/v1/evaluation", wide(20_000)), post(2, "/access/v1/evaluation", wide(20_000))],
    expects: (answers) => answers.forEach(({ status }) => assert.equal(status, 401)),
  },
  ...readers.flatMap(([name, port, path]): readonly Row[] => [
    {
      what: `10,001 members for ${name}`,
      caller: "person",
      requests: [post(port, path, wide(10_001))],
      expects: (answers) => answers.forEach(({ status }) => assert.equal(status, 413)),
    },
    {
      what: `thousands of unknown members for ${name}`,
      caller: "person",
      requests: [post(port, path, wide(9_000))],
      expects: (answers) => answers.forEach(({ text }) => assert.ok(text === "" || issuesOf(text).length <= 50)),
    },
  ]),
  {
    what: "arguments of 10,000 values, of the greatest depth and of unknown members",
    caller: "agent",
    requests: [
      toolCall("people.demo.get_employee", { id: items(4_900) }),
      toolCall("people.demo.get_employee", { id: JSON.parse("[".repeat(40) + "]".repeat(40)) }),
      toolCall("people.demo.get_employee", Object.fromEntries(items(4_900).map(({ id }) => [`m${id}`, id]))),
    ],
    expects: refuses(200, "invalid_arguments"),
  },
  {
    what: "50,001 members for SCIM",
    caller: "SCIM client",
    requests: [post(0, "/scim/v2/Users", wide(50_001), "application/scim+json")],
    expects: (answers) => answers.forEach(({ status }) => assert.ok(status === 413 || status === 400, String(status))),
  },
  ...hostileScim.map(({ what, method, body, status }): Row => ({
    what,
    caller: "SCIM client",
    requests: [{ port: 0, method, path: USER, body: JSON.stringify(body), type: "application/scim+json" }],
    expects: ([answer]) => assert.equal(answer?.status, status, answer?.text ?? ""),
  })),
  {
    what: "80,000 values that an expression is given",
    caller: "administrator",
    requests: [
      tried(
        { output: { select: "${ size(response.body.list) }" } },
        { mock: { status: 200, body: { list: Array.from({ length: 80_000 }, () => 0) } }, expect: { output: 80_000 } },
      ),
    ],
    expects: (answers) => answers.forEach(({ status, text }) => assert.equal(status, 200, text.slice(0, 500))),
  },
  expression("a macro that concatenates", "input.list.map(i, input.list + input.list)"),
  expression("macros in macros", "input.list.map(a, input.list.filter(b, a == b))"),
  expression("failures that a quantifier forgives", "input.list.exists(a, input.list.exists(b, b.nope == 1))"),
  expression(
    "a text that doubles",
    "cel.bind(a, input.text + input.text, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, cel.bind(e, d + d, cel.bind(f, e + e, f + f))))))",
  ),
  expression("shared parts that multiply", "input.list.map(i, input.list)", undefined, true),
  expression("a long text in each item", "input.list.map(i, input.text)", undefined, true),
  expression("splitting in each item", "input.list.map(i, input.text.split(''))"),
  expression("a pattern of the caller's over a long text", "input.list.map(i, input.text.matches(input.pattern))", {
    list: items(2000),
    text: "a".repeat(50_000),
    pattern: "^(a|aa|b{900})+$",
  }),
  expression("a duration of digits", "[duration(input.digits)]", { digits: "1".repeat(2000) }),
  expression("time zones", "input.list.map(i, now.getHours('Europe/Berlin'))"),
  {
    what: "a pattern that would backtrack for years",
    caller: "administrator",
    requests: [
      tried(
        { output: { select: "${ {'fits': response.body.text.matches('^(a+)+$')} }" } },
        { mock: { status: 200, body: { text: `${"a".repeat(40)}!` } }, expect: { output: { fits: false } } },
      ),
      tried(
        { input: { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } } },
        { input: { text: `${"a".repeat(40)}!` }, expect: { error: "invalid_arguments" } },
      ),
    ],
    expects: (answers) => answers.forEach(({ status, text }) => assert.equal(status, 200, text.slice(0, 500))),
  },
  schema("references that double", doubling, "x"),
  schema(
    "branches of branches over many items",
    {
      items: {
        oneOf: Array.from({ length: 20 }, () => ({
          oneOf: Array.from({ length: 20 }, (_none, at) => ({ required: [`x${at}`], minProperties: at })),
        })),
      },
    },
    [...items(4000), ...items(4000)],
  ),
  {
    what: "equal items and long lists of values",
    caller: "administrator",
    requests: [
      tried({ output: { schema: { uniqueItems: true } } }, { mock: { status: 200, body: items(4900) }, expect: { output: items(4900) } }),
      tried(
        { output: { schema: { items: { enum: items(1500) } } } },
        { mock: { status: 200, body: items(1500) }, expect: { output: items(1500) } },
      ),
    ],
    expects: (answers) => answers.forEach(({ status, text }) => assert.equal(status, 200, text.slice(0, 500))),
  },
  {
    what: "a server whose list costs as much as a list may, and more",
    caller: "administrator",
    requests: [hostile("Hostile")],
    ends: "mcp_tools_refused",
    expects: ([answer]) => {
      assert.equal(answer?.status, 201, answer?.text ?? "");
      assert.deepEqual((JSON.parse(answer?.text ?? "") as { readonly warnings: unknown }).warnings, []);
    },
  },
  {
    what: "what of it does not serve",
    caller: "administrator",
    requests: [{ port: 3, method: "GET", path: "/config/systems/hostile.demo" }],
    expects: ([answer]) => {
      const { state, degraded } = JSON.parse(answer?.text ?? "") as {
        readonly state: string;
        readonly degraded: { readonly errors: readonly { readonly message: string }[] };
      };
      assert.deepEqual([state, degraded.errors.length], ["degraded", 51]);
      assert.ok(degraded.errors.some(({ message }) => message.includes("the schemas of its list take too much work together")));
    },
  },
  {
    what: "another document of that server, and lists of its tools",
    caller: "administrator",
    requests: [
      hostile("Hostile still"),
      { port: 3, method: "GET", path: "/mcp/tools/list" },
      post(3, "/mcp", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    ],
    expects: (answers) => answers.forEach(({ status, text }) => assert.equal(status, 200, text.slice(0, 500))),
  },
  {
    what: "its tools given to somebody",
    caller: "administrator",
    requests: ["large", "deep", "wide", "many"].map((name) => ({
      port: 4,
      method: "PUT",
      path: `/api/v1/edges/GRANTS_ACCESS/person:ada/hostile.demo.${name}`,
      body: "{}",
    })),
    expects: (answers) => answers.forEach(({ status, text }) => assert.ok(status === 201 || status === 200, text.slice(0, 500))),
  },
  {
    what: "answers that are large, deep, wide and many, each with word that the list has changed, in which every pattern is another",
    caller: "administrator",
    ends: "mcp_tools_refused",
    requests: ["large", "deep", "wide", "many", "many", "many"].map((name) => toolCall(`hostile.demo.${name}`, {})),
    expects: (answers) =>
      assert.deepEqual(
        answers.map(({ text }) => /"code":"([a-z_]+)"/.exec(text)?.[1] ?? "ok"),
        ["output_too_large", "output_too_large", "output_too_large", "ok", "ok", "ok"],
      ),
  },
  {
    what: "names nearly as long as their documents, with thousands of members below",
    caller: "administrator",
    requests: [
      tried({ bind: { body: { [LONG]: JSON.parse(wide(5000)) } } }, {}),
      tried({ input: { type: "object", properties: { [LONG]: { type: "object", properties: badPatterns } } } }, {}),
      tried({ [LONG]: JSON.parse(wide(5000)) }, {}),
    ],
    expects: (answers) => {
      for (const { status, text } of answers) {
        assert.equal(status, 200, text.slice(0, 500));
        assert.match(text, /"valid":false[^]*"too_long"/);
        assert.ok(text.length < 20_000 && issuesOf(text).length <= 2, text.slice(0, 500));
      }
    },
  },
  {
    what: "two hundred views of eighty words",
    caller: "administrator",
    requests: [put(3, "/config/tools?dryRun=true", manyViews, "application/yaml")],
    expects: ([answer]) => assert.match(answer?.text ?? "", /"valid":true/),
  },
  {
    what: "more documents to import at once than wait",
    caller: "administrator",
    requests: Array.from({ length: 12 }, () => inspect("flood", 300)),
    expects: (answers) => {
      const refused = answers.filter(({ status }) => status === 429);
      assert.ok(
        refused.length > 0 && answers.every(({ status }) => status === 201 || status === 429),
        answers.map(({ status }) => status).join(),
      );
      refuses(429, "rate_limited")(refused);
    },
  },
  {
    what: "what is not theirs to import",
    caller: "person of another tenant",
    requests: [inspect("calm", 3)],
    expects: (answers) => answers.forEach(({ status, text }) => assert.equal(status, 403, text.slice(0, 500))),
  },
];

test("no input, however formed, is given more work than its caller's share", { timeout: 600_000 }, async (t) => {
  await longestTurn();
  await sleep(500);
  t.diagnostic(`quiet: longest turn ${await longestTurn()}`);
  const count = (event: string): number => instance.output().split(event).length;
  for (const { what, caller, requests, ends, expects } of rows)
    await t.test(`${caller}: ${what}`, async (own) => {
      const token = tokens.get(caller);
      const before = ends === undefined ? 0 : count(ends);
      const answers = await Promise.all(requests.map((request) => send(request, token)));
      expects(answers);
      if (ends !== undefined) await until(() => count(ends) > before);
      own.diagnostic(`longest turn ${await longestTurn()}`);
      assert.equal((await send({ port: 0, method: "GET", path: "/api/v1/health/live" })).status, 200);
    });
});
