import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { packArchive, unpackArchive, type ArchivedFile } from "./archive.ts";

const scopes = ["config.read", "config.write"];
const ada = { sub: "person:ada", scopes };

const system = (instance: string, more = ""): ArchivedFile => ({
  path: `systems/staff.${instance}.yaml`,
  text: `# Written by hand; this line stays.
apiVersion: systems/v1
provider: staff
instance: ${instance}
title: Staff ${instance}
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
network: { allow: [127.0.0.1/32] }
auth: { type: api_key, in: header, name: X-Api-Key, value: "yaml://secret/people/demo#api_key" }
defaults: { dataScope: none }
operations:
  get_one:
    description: Shows one employee by id.
    request: { method: GET, path: "/employees/{id}" }
    input: { type: object, required: [id], properties: { id: { type: string } } }
    ${more === "" ? "" : `output: { schema: { $ref: ${more} } }`}
`,
});
const schema: ArchivedFile = { path: "systems/schemas/one.json", text: '{ "type": "object" }' };

const emptyInstance = async (t: TestContext, more: Parameters<typeof crudInstance>[1] = {}): Promise<CrudInstance> => {
  const configFolder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(configFolder, { recursive: true }));
  return crudInstance(t, { realEvents: true, configFolder, ...more });
};
const send = async (
  instance: CrudInstance,
  method: string,
  path: string,
  bytes?: Uint8Array<ArrayBuffer>,
  as: object = ada,
  more: Readonly<Record<string, string>> = {},
) => {
  const headers = {
    authorization: `Bearer ${await instance.token(as)}`,
    ...(bytes === undefined ? {} : { "content-type": "application/x-tar" }),
    ...more,
  };
  const response = await instance.crud.fetch(new Request(`http://localhost:8083${path}`, { method, headers, body: bytes ?? null }));
  const body = Buffer.from(await response.arrayBuffer());
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
  return { status: response.status, headers: response.headers, bytes: body, json: (): any => JSON.parse(body.toString()) };
};
const put = (instance: CrudInstance, files: readonly ArchivedFile[], query = "", as?: object, more?: Readonly<Record<string, string>>) =>
  send(instance, "POST", `/config/import${query}`, Uint8Array.from(packArchive(files)), as, more);
const namesOf = async (instance: CrudInstance): Promise<readonly string[]> =>
  (await send(instance, "GET", "/config/systems")).json().systems.map(({ name }: { name: string }) => name);

test("what an instance exports an empty instance imports, and exports the same bytes; the same again changes nothing", async (t) => {
  const alone = { tenants: ["tenant:acme"] };
  const [from, to] = [await crudInstance(t, { realEvents: true, ...alone }), await emptyInstance(t, { ...alone, servers: "away" })];
  // Systems for every tenant are among them.
  to.verdicts.set("deployment:edit_systems", true).set("deployment:edit_views", true);
  const exported = await send(from, "GET", "/config/export");
  assert.deepEqual([exported.status, exported.headers.get("content-type")], [200, "application/x-tar"]);
  const paths = unpackArchive(exported.bytes).map(({ path }) => path);
  assert.ok(paths.includes("systems/people.demo.yaml") && paths.includes("systems/schemas/employees.json"), paths.join());

  assert.deepEqual(await namesOf(to), []);
  const tried = await send(to, "POST", "/config/import?dryRun=true", Uint8Array.from(exported.bytes));
  assert.deepEqual([tried.status, tried.json().valid, tried.json().errors], [200, true, []], tried.bytes.toString());
  assert.deepEqual(await namesOf(to), []);

  // One of its systems starts a program.
  const strong = { ...ada, acr: "strong", authTime: Math.floor(Date.now() / 1000) };
  const made = await send(to, "POST", "/config/import?reason=moved", Uint8Array.from(exported.bytes), strong);
  assert.equal(made.status, 200, made.bytes.toString());
  assert.ok((await send(to, "GET", "/config/export")).bytes.equals(exported.bytes), "another archive came out than went in");
  const row = (await send(to, "GET", "/config/systems/people.demo/versions")).json().versions[0];
  assert.deepEqual([row.author, row.reason, row.version], ["person:ada", "moved", 1]);
  assert.ok(to.crud.catalogue.snapshot.tools.has("people.demo.get_employee"));

  const again = (await send(to, "POST", "/config/import", Uint8Array.from(exported.bytes))).json();
  assert.deepEqual([again.changed, again.unchanged], [[], made.json().changed.length]);
});

test("all of an archive is published or nothing, and what it lacks stays", async (t) => {
  const instance = await emptyInstance(t);
  assert.equal((await put(instance, [system("kept")])).status, 200);
  const bad = { ...system("bad"), text: system("bad").text.replace("kind: http", "kind: htp") };
  const refused = await put(instance, [system("good", "./schemas/one.json"), schema, bad]);
  assert.equal(refused.status, 422, refused.bytes.toString());
  const [issue] = refused.json().errors;
  assert.deepEqual([issue.file, issue.line, issue.path], ["systems/staff.bad.yaml", 8, "/kind"], refused.bytes.toString());
  assert.deepEqual(await namesOf(instance), ["staff.kept"]);

  const tried = (await put(instance, [system("good", "./schemas/one.json"), schema, bad], "?dryRun=true")).json();
  assert.deepEqual([tried.valid, tried.errors[0].file], [false, "systems/staff.bad.yaml"]);

  const made = await put(instance, [system("good", "./schemas/one.json"), schema]);
  assert.equal(made.status, 200, made.bytes.toString());
  assert.deepEqual([made.json().changed[0].name, made.json().changed[0].version], ["staff.good", 1]);
  assert.deepEqual(await namesOf(instance), ["staff.good", "staff.kept"]);
  const files = unpackArchive((await send(instance, "GET", "/config/export")).bytes);
  assert.deepEqual(
    files,
    [schema, system("good", "./schemas/one.json"), system("kept")].toSorted((one, other) => (one.path < other.path ? -1 : 1)),
  );
});

test("an archive sets up the tools of the systems that it brings, which are its sender's own, and no others", async (t) => {
  const instance = await emptyInstance(t);
  const tools: ArchivedFile = {
    path: "tools.yaml",
    text: "apiVersion: tools/v1\nviews: [{ name: ours, tenants: [tenant:acme] }]\noverrides: { staff.one.get_one: { title: Ours } }\n",
  };
  const alone = await put(instance, [tools]);
  assert.equal(alone.status, 422, alone.bytes.toString());
  assert.match(alone.bytes.toString(), /no system that you see/);
  const others = { ...tools, text: tools.text.replace("staff.one", "staff.two") };
  assert.equal((await put(instance, [system("one"), others])).status, 422);
  assert.deepEqual(await namesOf(instance), []);
  const both = await put(instance, [system("one"), tools]);
  assert.equal(both.status, 200, both.bytes.toString());
  assert.deepEqual(await namesOf(instance), ["staff.one"]);
});

test("a tools document that never loaded is nobody's own: who runs the deployment replaces it", async (t) => {
  const configFolder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(configFolder, { recursive: true }));
  await writeFile(join(configFolder, "tools.yaml"), "apiVersion: tools/v1\nviews: 7\n");
  const instance = await emptyInstance(t, { configFolder });
  const text = "apiVersion: tools/v1\nviews: [{ name: ours, tenants: [tenant:acme] }]\n";
  const publish = () =>
    instance.request("/config/tools", { method: "PUT", as: ada, raw: text, headers: { "content-type": "application/yaml" } });
  instance.verdicts.set("deployment:edit_views", false);
  const refused = await publish();
  assert.deepEqual([refused.status, ((await refused.json()) as { readonly code: string }).code], [422, "cross_tenant"]);
  instance.verdicts.set("deployment:edit_views", true);
  const published = await publish();
  assert.ok(published.ok, await published.text());
});

const rows: readonly (readonly [what: string, files: readonly ArchivedFile[], status: number, code: string, issue: RegExp])[] = [
  ["a system under another's name", [{ ...system("one"), path: "systems/staff.two.yaml" }], 422, "unprocessable", /staff\.two/],
  ["a file that nothing refers to", [system("one"), schema], 422, "unprocessable", /is referred to by nothing here/],
  ["a system whose file is missing", [system("one", "./schemas/one.json")], 422, "unprocessable", /must name a file of this folder/],
  [
    "a system for everybody",
    [{ ...system("one"), text: system("one").text.replace("tenants: [tenant:acme]\n", "") }],
    422,
    "unprocessable",
    /every tenant/,
  ],
];
for (const [what, files, status, code, issue] of rows)
  test(`an archive is refused: ${what}`, async (t) => {
    const instance = await emptyInstance(t, { tenants: ["tenant:acme", "tenant:globex"] });
    const answer = await put(instance, files);
    assert.deepEqual([answer.status, answer.json().code], [status, code], answer.bytes.toString());
    assert.match(JSON.stringify(answer.json().errors), issue);
    assert.deepEqual(await namesOf(instance), []);
  });

test("where a change must name what it was made of, an import names its export: what was changed since is not written over", async (t) => {
  const instance = await emptyInstance(t, { settings: { CONFIG_REQUIRE_IF_MATCH: "true" } });
  const [one, two] = [system("one"), system("two")];
  const newOne = { ...one, text: one.text.replace("title: Staff one", "title: Staff first") };
  assert.equal((await put(instance, [one, two])).status, 200, "what is new needs no tag");

  /** What a dry run says and what the import answers, which agree. */
  const both = async (files: readonly ArchivedFile[], ifMatch?: string) => {
    const headers: Record<string, string> = ifMatch === undefined ? {} : { "if-match": ifMatch };
    const [tried, made] = [await put(instance, files, "?dryRun=true", ada, headers), await put(instance, files, "", ada, headers)];
    const { valid, errors = [] } = tried.json();
    const isRefused = tried.status !== 200 || valid === false;
    assert.equal(isRefused, made.status !== 200, `${tried.bytes.toString()} ${made.bytes.toString()}`);
    if (tried.status === 200 && isRefused) assert.deepEqual(errors, made.json().errors);
    return [made.status, made.status === 200 ? made.json().unchanged : made.json().code];
  };
  const exported = await send(instance, "GET", "/config/export");
  const tag = exported.headers.get("etag") ?? "";
  assert.deepEqual(await both(unpackArchive(exported.bytes)), [200, 2]);
  assert.deepEqual(await both([newOne, two, system("three")]), [412, "stale_version"]);
  assert.deepEqual(await both([newOne, two], '"another"'), [412, "stale_version"]);
  assert.deepEqual(await both([newOne, two], tag), [200, 1]);
  assert.deepEqual(await both([one, two], tag), [412, "stale_version"], "it was changed since");
  assert.deepEqual(await both([one, two], "*"), [200, 1], "whatever is there");
});

test("who may neither read nor write configuration, and another media type", async (t) => {
  const instance = await emptyInstance(t);
  instance.verdicts.set("config:write import", false);
  assert.equal((await put(instance, [system("one")])).status, 403);
  instance.verdicts.set("config:read export", false);
  assert.equal((await send(instance, "GET", "/config/export")).status, 403);
  assert.equal((await put(instance, [system("one")], "", { sub: "person:ada", scopes: ["config.read"] })).status, 403);
  instance.verdicts.clear();
  const response = await instance.request("/config/import", {
    method: "POST",
    as: ada,
    raw: "x",
    headers: { "content-type": "application/yaml" },
  });
  assert.equal(response.status, 415);
  // Another tenant's is neither exported nor said to be there.
  assert.equal((await put(instance, [system("one")])).status, 200);
  const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };
  assert.deepEqual(unpackArchive((await send(instance, "GET", "/config/export", undefined, eve)).bytes), []);
});

const heavy: Readonly<Record<string, () => readonly ArchivedFile[]>> = {
  "systems and files that nothing refers to": () => [
    ...Array.from({ length: 500 }, (_, at) => {
      const { path, text } = system(`n${at}`);
      return { path, text: `${text}# ${"x".repeat(11_000)}\n` };
    }),
    ...Array.from({ length: 500 }, (_, at) => ({ path: `systems/files/${at}.json`, text: "{}" })),
  ],
  "systems of no kind": () => {
    const text = Array.from({ length: 500 }, (_, at) => `a${at}: [1]\n`).join("");
    return Array.from({ length: 100 }, (_, at) => ({ path: `systems/staff.n${at}.yaml`, text }));
  },
};
for (const [what, files] of Object.entries(heavy))
  test(`others have their turn while an archive is looked at: ${what}`, async (t) => {
    const instance = await emptyInstance(t);
    const archive = Uint8Array.from(packArchive(files()));
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const answer = await send(instance, "POST", "/config/import?dryRun=true", archive);
    assert.ok([200, 422].includes(answer.status), answer.bytes.toString());
    assert.ok(delay.max < 1e9, `${delay.max / 1e6} ms at a stretch`);
  });
