import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readSystemText } from "./read-system-text.ts";
import { test, type TestContext } from "node:test";
import { noServers } from "#crud/servers/allowed-servers.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { compileHttp } from "#crud/connectors/compile-http.ts";
import { checkSystems } from "#crud/connectors/check-systems.ts";
import { loadSystems } from "./load-systems.ts";
import { readCeiling } from "#crud/upstream/network-rules.ts";

const own = fileURLToPath(new URL("../../../config/systems/", import.meta.url));
const shipped = fileURLToPath(new URL("../../../config/demo/systems/", import.meta.url));

const folderWith = async (t: TestContext, files: Record<string, string>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-systems-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
};
const parts = {
  placeholders: { KNOWN: "http://127.0.0.1:9", UNSET: undefined },
  internalPorts: new Set<number>(),
  ceiling: readCeiling(["0.0.0.0/0", "::/0"]),
  requiresTls: false,
  metrics: createMetrics(),
  now: () => new Date(),
  version: "1",
};
const small = (more: string, base = "http://127.0.0.1:9"): string => `apiVersion: systems/v1
provider: a
instance: b
title: Fixture
owner: group:x
kind: http
baseUrl: ${base}
defaults: { dataScope: none }
operations:
  one:
    description: Does one thing.
    request: { method: GET, path: /one }
${more}`;

test("every shipped system loads without an issue", async () => {
  const loaded = await loadSystems(own, shipped);
  assert.deepEqual(loaded.degraded, []);
  assert.deepEqual(
    loaded.files.map((file) => file.name),
    ["sallyport.local", "memory.demo", "people.demo"],
  );
});

test("all issues of a file are told at once, each with its place and the nearest known word", async (t) => {
  const text = (await readFile(join(shipped, "people.demo.yaml"), "utf8"))
    .replace("owner: group:people-ops", "ownr: group:people-ops")
    .replace('value: "yaml://secret/people/demo#api_key"', "value: plain-text-key")
    .replace("timeout: PT10S", "timeout: 10s")
    .replace("provider: people", "provider: People");
  const folder = await folderWith(t, { "people.demo.yaml": text });
  await cp(join(shipped, "schemas"), join(folder, "schemas"), { recursive: true });
  const { degraded } = await loadSystems(folder);
  const issues = degraded[0]?.issues ?? [];
  const lineOf = (needle: string): number => text.split("\n").findIndex((line) => line.includes(needle)) + 1;
  assert.deepEqual(issues.map((issue) => `${issue.path} ${issue.file ?? ""}:${issue.line ?? 0}`).toSorted(), [
    `/auth/value systems/people.demo.yaml:${lineOf("plain-text-key")}`,
    `/defaults/timeout systems/people.demo.yaml:${lineOf("timeout: 10s")}`,
    "/owner systems/people.demo.yaml:3",
    `/ownr systems/people.demo.yaml:${lineOf("ownr:")}`,
    `/provider systems/people.demo.yaml:${lineOf("provider: People")}`,
  ]);
  const unknown = issues.find((issue) => issue.path === "/ownr");
  assert.deepEqual([unknown?.column, unknown?.hint], [1, "did you mean owner?"]);
  assert.ok(!JSON.stringify(issues).includes("plain-text-key"), "a credential is not echoed");
});

test("an unknown member has the nearest that is known where it stands, at any depth", () => {
  const document = {
    apiVersion: "systems/v1",
    provider: "a",
    instance: "b",
    owner: "group:a",
    kind: "http",
    baseUrl: "https://a.example",
    titel: "A",
    defaults: { dataScop: "none", response: { maxBites: 5 } },
    operations: {
      one: {
        description: "One of all.",
        request: { method: "GET", path: "/one", bdy: {} },
        annotations: { readOnlyHnt: true },
        dataScope: { resourceTyp: "a", columns: {} },
        baseUlr: "/",
      },
    },
  };
  const read = readSystemText(JSON.stringify(document), "a.yaml");
  const hints = "issues" in read ? read.issues.filter(({ code }) => code === "unknown").map(({ path, hint }) => [path, hint]) : [];
  assert.deepEqual(Object.fromEntries(hints), {
    "/titel": "did you mean title?",
    "/defaults/dataScop": "did you mean dataScope?",
    "/defaults/response/maxBites": "did you mean maxBytes?",
    "/operations/one/request/bdy": "did you mean body?",
    "/operations/one/annotations/readOnlyHnt": "did you mean readOnlyHint?",
    "/operations/one/dataScope/resourceTyp": "did you mean resourceType?",
    "/operations/one/baseUlr": undefined,
  });
});

test("files that are not plain YAML are refused by their tokens, however deep or strange", async (t) => {
  const cases: [string, string, RegExp][] = [
    ["an anchor", small("x: &a 1\ny: *a"), /anchors/],
    ["a tag", small("x: !!js/function 1"), /tags/],
    ["a key twice", small("").replace("title: Fixture", "title: Fixture\ntitle: Again"), /unique/i],
    ["deep flow", `a: ${"[".repeat(50_000)}`, /nested deeper/],
    ["deep dashes", `${"- ".repeat(5000)}a`, /nested deeper/],
    ["deep keys", Array.from({ length: 200 }, (_unused, index) => `${" ".repeat(index)}a:`).join("\n"), /nested deeper/],
    ["too large", `a: "${"x".repeat(300_000)}"`, /larger than/],
    ["no YAML", "a: [", /./],
    ["a planned kind", small("").replace("kind: http", "kind: sql"), /no connector/],
    ["an unknown kind", small("").replace("kind: http", "kind: ftp"), /must be one of/],
    ["another file's name", small(""), /file's name/],
  ];
  for (const [name, text, message] of cases) {
    const folder = await folderWith(t, { "c.d.yaml": text });
    const { degraded, files } = await loadSystems(folder);
    assert.equal(files.length, 0, name);
    assert.match(degraded[0]?.issues.map((issue) => issue.message).join("\n") ?? "", message, name);
    for (const issue of degraded[0]?.issues ?? []) assert.equal(issue.file, "systems/c.d.yaml");
  }
});

test("one bad file costs only itself", async (t) => {
  const folder = await folderWith(t, { "a.b.yaml": small(""), "bad.file.yaml": "{" });
  const { files, degraded } = await loadSystems(folder);
  assert.deepEqual([files.map((file) => file.name), degraded.map((file) => file.name)], [["a.b"], ["bad.file"]]);
  assert.deepEqual(await loadSystems(join(folder, "absent")), { files: [], degraded: [] });
});

test("a schema reference stays in the folder", async (t) => {
  const folder = await folderWith(t, { "outside.json": "{}" });
  await mkdir(join(folder, "systems"));
  await symlink(join(folder, "outside.json"), join(folder, "systems", "link.json"));
  // Documents of systems are nobody's schema, in JSON neither.
  await mkdir(join(folder, "systems", "more"));
  for (const name of ["other.yaml", "other.YML"]) await writeFile(join(folder, "systems", "more", name), "{}");
  await symlink(join(folder, "systems", "more", "other.yaml"), join(folder, "systems", "other.json"));
  for (const reference of [
    "../outside.json",
    "./../outside.json",
    "/etc/hostname",
    "./link.json",
    "./absent.json",
    "./more/other.yaml",
    "./more/other.YML",
    "./other.json",
    "https://example.com/x.json",
  ]) {
    await writeFile(join(folder, "systems", "a.b.yaml"), small(`    output: { schema: { $ref: "${reference}" } }`));
    const { degraded } = await loadSystems(join(folder, "systems"));
    assert.match(degraded[0]?.issues[0]?.message ?? "", /a file of this folder/, reference);
  }
});

test("what only compiling can tell is told with its place too", async (t) => {
  const compiled = async (text: string) => {
    const folder = await folderWith(t, { "a.b.yaml": text });
    const [file] = (await loadSystems(folder)).files;
    assert.ok(file?.document.kind === "http", text);
    return compileHttp({ ...file, document: file.document }, parts);
  };
  const issuesOf = async (text: string): Promise<string[]> => {
    const result = await compiled(text);
    assert.equal(result.kind, "degraded", text);
    return result.kind === "degraded" ? result.issues.map((issue) => `${issue.path} ${issue.message}`) : [];
  };
  const cases: [string, RegExp][] = [
    [small("    authz: { resource: employee, action: fire }"), /\/operations\/one\/authz employee\/fire is no pair that is decided/],
    [
      small("    x-authzen-mapping: { evaluation: { action: { name: fire }, resource: { type: employee } } }"),
      /\/operations\/one\/x-authzen-mapping\/evaluation employee\/fire is no pair/,
    ],
    [small('    bind: { query: { a: "${ inpt.x }" } }'), /\/operations\/one\/bind\/query\/a Unknown variable: inpt/],
    [small("    bind: { query: { a: \"${ 1 + 'x' }\" } }"), /no such overload/],
    [small('    bind: { query: { a: "${ input.a" } }'), /the whole value/],
    [small('    bind: { query: { a: "x${ input.a }" } }'), /the whole value/],
    [small('    bind: { query: { a: "${ response.body }" } }'), /Unknown variable: response/],
    [
      small('    output: { select: "${ items.map(a, items.map(b, items.map(c, items.map(d, d)))) }" }'),
      /more than 3 macros one inside another/,
    ],
    [
      small("    output: { select: \"${ items.filter(i, i.id.matches('(?=x)')) }\" }"),
      /operations\/one\/output\/select matches\(\) at character 30: .*invalid/,
    ],
    [small("    output: { select: items }"), /must be an expression/],
    [small('    bind: { path: { id: "${ input.id }" } }'), /is no placeholder/],
    [small("").replace("path: /one", 'path: "/one/{id}"'), /nothing fills \{id\}/],
    [
      small('    paginate: { style: link, items: "${ response.body }" }').replace("GET", "POST"),
      /paginate\/style link follows addresses, which only a GET can/,
    ],
    [
      small("    response: { onExceed: truncate }\n    input: { type: object, properties: { cursor: { type: string } } }"),
      /input\/properties\/cursor is what a truncated answer goes on by/,
    ],
    [small('    paginate: { style: page, param: p, items: "${ respons.body }" }'), /paginate\/items Unknown variable: respons/],
    [small("").replace("{ dataScope: none }", "{}"), /says nothing of dataScope/],
    [small("    input: { type: object, properties: { a: { $ref: 'https://x.example/y' } } }"), /within the schema/],
    [small("    input: { type: object, properties: { a: { type: string, pattern: '(?=x)' } } }"), /operations\/one\/input/],
    [small("").replace("baseUrl: http://127.0.0.1:9", "baseUrl: http://127.0.0.1:9\nnetwork: { allow: [0.0.0.0/0] }"), /is no network/],
  ];
  for (const [text, message] of cases) assert.match((await issuesOf(text)).join("\n"), message);
  for (const base of [
    "ftp://x",
    "http://u:p@x.example",
    "http://x.example?q=1",
    "http://x.example#f",
    "x.example",
    "http://x.example/a/../b",
    "http://x.example/%2e%2e",
    '"${ input.host }"',
    "http://x.example/ b",
  ]) {
    const folder = await folderWith(t, { "a.b.yaml": small("", base) });
    const [file] = (await loadSystems(folder)).files;
    if (file?.document.kind !== "http") continue;
    const result = await compileHttp({ ...file, document: file.document }, parts);
    assert.equal(result.kind, "degraded", base);
  }
  assert.equal((await compiled(small("", '"${KNOWN}/api"'))).kind, "tools");
  assert.deepEqual(await compiled(small("", '"${UNSET}/api"')), { kind: "off", name: "UNSET" });
  assert.match((await issuesOf(small("", '"${HOME}/api"'))).join(), /names HOME, which no setting fills/);
});

test("a mapping declares no subject inside an item", async (t) => {
  const loaded = async (mapping: string) =>
    (await loadSystems(await folderWith(t, { "a.b.yaml": small(`    x-authzen-mapping: ${mapping}`) }))).degraded[0]?.issues ?? [];
  const item = "action: { name: list }, resource: { type: employee }";
  assert.deepEqual(await loaded(`{ evaluation: { ${item} } }`), []);
  assert.deepEqual(await loaded(`{ subject: { type: identity, id: $token.sub }, evaluations: [{ ${item} }] }`), []);
  assert.equal((await loaded(`{ evaluations: [{ subject: { type: identity, id: $token.sub }, ${item} }] }`)).length, 1);
});

test("answers are cut over HTTP alone", async (t) => {
  const text = small("")
    .replace("kind: http\nbaseUrl: http://127.0.0.1:9", "kind: loopback")
    .replace("method: GET, path: /one", "endpoint: search_identities")
    .replace("{ dataScope: none }", "{ dataScope: none, response: { onExceed: truncate } }");
  const { degraded, loaded } = await checkSystems({
    folders: [await folderWith(t, { "a.b.yaml": text })],
    settings: { ...parts, servers: noServers, withLoopback: true },
  });
  assert.deepEqual(
    [loaded, degraded.flatMap(({ issues }) => issues.map(({ path, message }) => [path, message]))],
    [[], [["/defaults/response/onExceed", "truncate is there for systems over http alone"]]],
  );
});
