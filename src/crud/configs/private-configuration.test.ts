import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { before, describe, test, type TestContext } from "node:test";
import { parse } from "yaml";
import type { EndpointRow } from "#contract/endpoints.ts";
import { endpointTable } from "#contract/endpoints.ts";
import { statement } from "#store/database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { put, sampleOf, samples, schemaOf, type Json } from "#testing/contract-samples.ts";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { sharedInFile } from "#testing/shared.ts";
import { until } from "#testing/until.ts";

const scopes = ["config.read", "config.write", "mcp.tools.discovery", "mcp.tools.invoke"];
/** Administrators of two tenants: the decision point permits them everything, so that only the wall is left. */
const acme = { sub: "person:ada", scopes };
const globex = { sub: "person:eve", tenant: "tenant:globex", scopes };

/** Names, which a caller may have guessed and sent; what belongs to them, which nobody guesses. */
const names = ["quokka.den", "quokka.hill", "quokka.raw", "quokka-den", "quokka-hill", "quokka-view"];
const contents = [
  "Quokka title",
  "quokka-host",
  "group:quokka",
  "quokka-secret",
  "Quokka view",
  "Ask the quokka",
  "Quokka override",
  "Quokka reason",
  "Quokka import",
  "quokka_get",
];

const system = (instance: string, more = ""): string => `apiVersion: systems/v1
provider: quokka
instance: ${instance}
title: Quokka title
owner: group:quokka
tenants: [tenant:acme]
kind: http
baseUrl: "https://quokka-host.example.com"
auth: { type: api_key, in: header, name: X-Api-Key, value: "yaml://secret/quokka-secret#api_key" }
defaults: { dataScope: none }
operations:
  quokka_get: { description: Shows one thing by its id., request: { method: GET, path: "/things" }, input: { type: object } }
${more}`;
const shared = `apiVersion: tools/v1
views:
  - { name: shared, title: For everybody, filters: { tags_include: [hr] } }
`;
const tools = `${shared}  - name: quokka-view # Ask the quokka
    title: Quokka view
    tenants: [tenant:acme]
    instructions: Ask the quokka first.
    filters: { provider: [quokka] }
overrides:
  quokka.den.quokka_get: { title: Quokka override }
`;
const openapi = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "Quokka import", version: "1" },
  servers: [{ url: "https://quokka-host.example.com" }],
  paths: { "/things": { get: { operationId: "quokka_get", responses: { 200: { description: "Things." } } } } },
});

const yaml = { accept: "application/yaml" };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}
type Send = (
  as: object,
  method: string,
  path: string,
  raw?: string,
  type?: string,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

const clientOf =
  (instance: CrudInstance): Send =>
  async (as, method, path, raw, type = "application/yaml", headers = {}) => {
    const response = await instance.request(path, {
      as,
      method,
      headers: { ...(raw === undefined ? {} : { "content-type": type }), ...headers },
      ...(raw === undefined ? {} : { raw }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

/** All that a stream ever tells, as text. */
const listenTo = async (t: Pick<TestContext, "after">, instance: CrudInstance, path: string): Promise<() => string> => {
  const response = await instance.request(path, { as: globex });
  assert.equal(response.status, 200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  cleanUp(t, () => reader.cancel());
  let text = "";
  const decoder = new TextDecoder();
  void (async () => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) text += decoder.decode(step.value, { stream: true });
  })().catch(() => undefined);
  return () => text;
};

const plantedInstance = async (t: Pick<TestContext, "after">) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-private-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  await cp(fileURLToPath(new URL("../../../config/", import.meta.url)), folder, { recursive: true });
  await writeFile(join(folder, "systems", "quokka.raw.yaml"), system("raw", "nonsense: [Quokka title]"));
  await writeFile(join(folder, "tools.yaml"), shared);
  const instance = await crudInstance(t, { realEvents: true, configFolder: folder });
  instance.membership.owners = [...instance.membership.owners, "group:quokka"];
  const send = clientOf(instance);
  const streams = await Promise.all(["/configs/stream", "/events/config", "/events/activity"].map((path) => listenTo(t, instance, path)));
  const publish = async (method: string, path: string, raw: string, type?: string): Promise<Answer> => {
    const answer = await send(acme, method, path, raw, type);
    assert.ok(answer.status < 300, `${path}: ${answer.text}`);
    return answer;
  };
  await publish("POST", "/config/systems?reason=Quokka+reason", system("den"));
  await publish("POST", "/config/systems", system("hill"));
  await publish("PUT", "/config/tools?reason=Quokka+reason", tools);
  await send(acme, "DELETE", "/config/systems/quokka.hill?reason=Quokka+reason");
  await publish("PUT", "/config/kill-switches/view:quokka-view", JSON.stringify({ reason: "Quokka reason" }), "application/json");
  const imported = await publish("POST", "/config/imports/openapi?provider=quokka&instance=imported", openapi, "application/json");
  return { instance, send, streams, importId: (JSON.parse(imported.text) as { import_id: string }).import_id };
};

type World = Awaited<ReturnType<typeof plantedInstance>>;
const world = sharedInFile(plantedInstance);

/** What is asked for in a path, a query or a body, by the name of the member; and one of the same form that never was. */
const askedFor = (row: EndpointRow, importId: string): Readonly<Record<string, readonly [string, string]>> => ({
  name: ["quokka.den", "quokka.dxn"],
  system: ["quokka.den", "quokka.dxn"],
  tool: ["quokka.den.quokka_get", "quokka.dxn.quokka_get"],
  view: ["quokka-view", "quokka-vixw"],
  scope: ["view:quokka-view", "view:quokka-vixw"],
  uri: ["yaml://secret/quokka-secret#api_key", "yaml://secret/quokka-sxcret#api_key"],
  id: [importId, "00000000-0000-4000-8000-000000000000"],
  import_id: [importId, "00000000-0000-4000-8000-000000000000"],
  version: [row.name === "toolsDocumentVersion" ? "2" : "1", row.name === "toolsDocumentVersion" ? "2" : "1"],
  from: ["1", "1"],
  to: ["2", "2"],
});

const texts: Readonly<Record<string, string>> = {
  createSystem: system("mine")
    .replaceAll(/Quokka title|quokka-host|quokka-secret|quokka_get/g, "mine")
    .replaceAll("group:quokka", "person:ada")
    .replaceAll("tenant:acme", "tenant:globex"),
  putSystem: system("den")
    .replaceAll(/Quokka title|quokka-host|quokka-secret|quokka_get/g, "mine")
    .replaceAll("group:quokka", "person:ada")
    .replaceAll("tenant:acme", "tenant:globex"),
  putToolsDocument: "apiVersion: tools/v1\nviews: []\noverrides: {}\n",
};

const ask = async ({ send, importId }: World, row: EndpointRow, which: 0 | 1): Promise<Answer & { readonly sent: string }> => {
  const { endpoint } = row;
  const values = askedFor(row, importId);
  const valueOf = (name: string): string | undefined => values[name]?.[which];
  const path = endpoint.path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => encodeURIComponent(valueOf(name) ?? "x"));
  const query = new URLSearchParams();
  for (const name of Object.keys(endpoint.query === undefined ? {} : (schemaOf(endpoint.query).properties ?? {}))) {
    const value = valueOf(name);
    if (value !== undefined) query.set(name, value);
  }
  let body: string | undefined = texts[row.name];
  if (endpoint.body !== undefined) {
    const schema = schemaOf(endpoint.body);
    const filled = Object.keys(schema.properties ?? {}).filter((name) => valueOf(name) !== undefined && name !== "version");
    const least = (samples[row.name] ?? sampleOf(schema, "")) as Json;
    body = JSON.stringify(
      row.name.endsWith("Rpc")
        ? { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: valueOf("tool"), arguments: {} } }
        : filled.reduce<unknown>((value, name) => put(value, [name], valueOf(name)), least),
    );
  }
  const type = endpoint.body === undefined ? (endpoint.textBody?.[0] ?? "application/yaml") : "application/json";
  if (body === undefined && endpoint.method !== "GET" && endpoint.method !== "DELETE") body = "";
  const url = query.size === 0 ? path : `${path}?${query.toString()}`;
  const answer = await send(globex, endpoint.method, url, endpoint.method === "GET" ? undefined : body, type);
  return { ...answer, sent: `${decodeURIComponent(url)} ${body ?? ""}` };
};

const leakedIn = (text: string, sent = ""): readonly string[] => [
  ...contents.filter((mark) => text.includes(mark) && !sent.includes(mark)),
  ...names.filter((mark) => text.includes(mark) && !sent.includes(mark)),
];
/** What differs from answer to answer by its nature. */
const still = (text: string): string =>
  text
    .replaceAll(/"(correlation_id|decision_id|call_id)":"[^"]*"/g, "")
    .replaceAll(/"duration_ms":\d+/g, "")
    .replaceAll(/d_\d+/g, "");

describe("an administrator of another tenant finds nothing of a tenant's private configuration", () => {
  let planted: World;
  before(async () => {
    planted = await world();
  });
  const rows = endpointTable.filter(({ endpoint }) => endpoint.service === "crud");
  const inOrder = [
    ...rows.filter(({ endpoint }) => endpoint.method === "GET"),
    ...rows.filter(({ endpoint }) => endpoint.method !== "GET"),
  ];
  for (const row of inOrder)
    test(`${row.endpoint.method} ${row.endpoint.path} (${row.name})`, async () => {
      const real = await ask(planted, row, 0);
      assert.deepEqual(leakedIn(`${real.text} ${JSON.stringify([...real.headers])}`, real.sent), [], real.text.slice(0, 1000));
      assert.ok(real.status < 500 || real.status === 501, real.text);
      const invented = await ask(planted, row, 1);
      // Names are one for all: who makes something by a name that is taken hears that it is.
      if (row.name === "createSystem" || row.name === "putSystem") return;
      assert.equal(invented.status, real.status);
      const same = still(invented.text)
        .replaceAll("quokka.dxn", "quokka.den")
        .replaceAll("quokka-vixw", "quokka-view")
        .replaceAll("sxcret", "secret");
      if (real.status >= 400) assert.equal(same, still(real.text));
    });

  test("the streams of configuration and activity, while it was made and changed", async () => {
    const { send, streams } = planted;
    const { text } = await send(globex, "GET", "/config/tools", undefined, undefined, yaml);
    const raw = text.replace("views:\n", "views:\n  - { name: globex-streamed, tenants: [tenant:globex] }\n");
    const put = await send(globex, "PUT", "/config/tools", raw);
    assert.equal(put.status, 200, put.text);
    const [objects, events, activity] = streams;
    assert.ok(objects !== undefined && events !== undefined && activity !== undefined);
    await until(() => objects().includes("globex-streamed"));
    await until(() => events().includes('"kind":"tools"'));
    for (const reported of streams) assert.deepEqual(leakedIn(reported()), []);
  });

  test("and its owner still has all of it, whatever the other one wrote", async () => {
    const { text } = await planted.send(acme, "GET", "/config/tools", undefined, undefined, { accept: "application/yaml" });
    const { views, overrides } = parse(text) as { views: { name: string; instructions?: string }[]; overrides: object };
    assert.deepEqual(views.find(({ name }) => name === "quokka-view")?.instructions, "Ask the quokka first.");
    assert.deepEqual(Object.keys(overrides), ["quokka.den.quokka_get"]);
    assert.equal((await planted.send(acme, "GET", "/config/systems/quokka.den")).status, 200);
  });
});

test("a document in part has an entity tag of what is seen, and a change of it leaves the rest as it is", async (t) => {
  const { send } = await plantedInstance(t);
  const read = async (as: object) => send(as, "GET", "/config/tools", undefined, undefined, yaml);
  const versions = async (as: object) =>
    (JSON.parse((await send(as, "GET", "/config/tools/versions")).text) as { versions: { version: number; author: string }[] }).versions;
  const whole = await read(acme);
  const part = await read(globex);
  assert.equal(whole.text, tools);
  assert.deepEqual(parse(part.text), {
    apiVersion: "tools/v1",
    views: [{ name: "shared", title: "For everybody", filters: { tags_include: ["hr"] } }],
    overrides: {},
  });
  const tag = part.headers.get("etag") ?? "";

  // What was read, sent back, changes nothing at all.
  const back = await send(globex, "PUT", "/config/tools", part.text, undefined, { "if-match": tag });
  assert.equal(back.status, 200, back.text);
  assert.equal((await read(acme)).text, tools);
  assert.equal((await read(acme)).headers.get("etag"), whole.headers.get("etag"));

  // A change that the reader does not see is none for it: tag and versions stay.
  await send(acme, "PUT", "/config/tools", tools.replace("Ask the quokka first.", "Ask the quokka twice."));
  assert.equal((await read(globex)).headers.get("etag"), tag);
  assert.deepEqual([(await versions(acme)).length, (await versions(globex)).length], [3, 1]);

  // Its own view comes beside those of others.
  const own = `${part.text.replace("overrides: {}\n", "")}overrides: {}\n`.replace(
    "views:\n",
    "views:\n  - { name: globex-own, tenants: [tenant:globex] } # ours\n",
  );
  const published = await send(globex, "PUT", "/config/tools", own, undefined, { "if-match": tag });
  assert.equal(published.status, 200, published.text);
  const seen = await read(globex);
  assert.equal(published.headers.get("etag"), seen.headers.get("etag"));
  assert.deepEqual(
    (parse(seen.text) as { views: { name: string }[] }).views.map(({ name }) => name),
    ["globex-own", "shared"],
  );
  const after = parse((await read(acme)).text) as { views: { name: string; instructions?: string }[]; overrides: object };
  assert.deepEqual(
    after.views.map(({ name }) => name),
    ["shared", "quokka-view"],
  );
  assert.equal(after.views[1]?.instructions, "Ask the quokka twice.");
  assert.deepEqual(Object.keys(after.overrides), ["quokka.den.quokka_get"]);
  assert.equal((await send(globex, "PUT", "/config/tools", own, undefined, { "if-match": tag })).status, 412);

  // Rolled back to before its view: the others' newest parts stay.
  const [, second] = await versions(globex);
  const rolled = await send(globex, "POST", "/config/tools/rollback", JSON.stringify({ version: second?.version }), "application/json");
  assert.equal(rolled.status, 200, rolled.text);
  assert.match((await read(acme)).text, /Ask the quokka twice\./);
});

for (const [what, text, path, message] of [
  [
    "a view by a name that another tenant has",
    "views: [{ name: quokka-view, tenants: [tenant:globex] }]",
    "/views/0/name",
    /taken already/,
  ],
  ["a view for another tenant", "views: [{ name: mine, tenants: [tenant:acme] }]", "/views/0/tenants", /other tenants/],
  [
    "an override of another tenant's tool",
    "overrides: { quokka.den.quokka_get: { enabled: false } }",
    "/overrides/quokka.den.quokka_get",
    /no system that you see/,
  ],
  [
    "an override of a tool that another tenant may publish",
    "overrides: { quokka.dxn.quokka_get: { enabled: false } }",
    "/overrides/quokka.dxn.quokka_get",
    /no system that you see/,
  ],
] as const)
  test(`no tenant publishes ${what}`, async () => {
    const { send } = await world();
    const answer = await send(globex, "PUT", "/config/tools", `apiVersion: tools/v1\n${text}\n`);
    assert.equal(answer.status, 422, answer.text);
    const { errors } = JSON.parse(answer.text) as { errors: { path: string; message: string }[] };
    const issue = errors.find((one) => one.path === path);
    assert.match(issue?.message ?? JSON.stringify(errors), message);
  });

test("a view without prefix names no system of another tenant", async () => {
  const { send } = await world();
  const raw = "apiVersion: tools/v1\nviews: [{ name: short, tenants: [tenant:globex], prefix: none }]\n";
  const answer = await send(globex, "PUT", "/config/tools?dryRun=true", raw);
  assert.match(answer.text, /needs tools of one system alone/);
  assert.deepEqual(leakedIn(answer.text), []);
});

/** An instance on a folder of its own, with files beside the shipped ones, in which nobody holds the platform's role until a test says so. */
const instanceWith = async (t: TestContext, files: Readonly<Record<string, string>>) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-private-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  await cp(fileURLToPath(new URL("../../../config/", import.meta.url)), folder, { recursive: true });
  const write = async (name: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const instance = await crudInstance(t, { realEvents: true, configFolder: folder });
  instance.membership.owners = [...instance.membership.owners, "group:quokka"];
  return { instance, write, send: clientOf(instance) };
};

test("issues of a private view are told to its tenant alone, whether the file never loaded or another version serves", async (t) => {
  const faulty = `apiVersion: tools/v1
views:
  - { name: quokka-view, tenants: [tenant:acme], quokka_member: 1 }
  - { name: quokka-text, tenants: tenant:acme }
  - { name: globex-view, tenants: [tenant:globex], globex_member: 1 }
  - { name: all-view, all_member: 1 }
`;
  const { send, write } = await instanceWith(t, { "tools.yaml": faulty });
  const reported = async (as: object): Promise<readonly string[]> => {
    const { degraded } = JSON.parse((await send(as, "GET", "/config/tools")).text) as { degraded: { errors: { path: string }[] } };
    return degraded.errors.map(({ path }) => path);
  };
  const check = async (what: string): Promise<void> => {
    assert.deepEqual(await reported(globex), ["/views/2/globex_member", "/views/3/all_member"], what);
    assert.deepEqual(await reported(acme), ["/views/0/quokka_member", "/views/1/tenants", "/views/3/all_member"], what);
  };
  await check("never loaded");
  await write("tools.yaml", shared);
  assert.equal((await send(acme, "POST", "/config/reload")).status, 200);
  await write("tools.yaml", faulty);
  const reloaded = await send(globex, "POST", "/config/reload");
  assert.deepEqual(leakedIn(reloaded.text), []);
  await check("another version serves");
});

test("a faulty file that names no tenant that can be read is shown to who runs the deployment alone", async (t) => {
  const file = "nonsense: [Quokka title]\n";
  const { instance, send } = await instanceWith(t, { "systems/quokka.raw.yaml": file });
  const names = async (as: object): Promise<readonly string[]> =>
    (JSON.parse((await send(as, "GET", "/config/systems")).text) as { systems: { name: string }[] }).systems.map(({ name }) => name);
  const mend = system("raw").replaceAll("tenant:acme", "tenant:globex").replace("group:quokka", "person:ada");
  for (const as of [acme, globex]) {
    assert.ok(!(await names(as)).includes("quokka.raw"));
    for (const [method, path, raw] of [
      ["GET", "/config/systems/quokka.raw"],
      ["GET", "/config/systems/quokka.raw/versions"],
      ["PUT", "/config/systems/quokka.raw", mend],
      ["DELETE", "/config/systems/quokka.raw"],
    ] as const) {
      const { status, text } = await send(as, method, path, raw);
      assert.deepEqual([method, path, status], [method, path, 404], text);
    }
    assert.ok(!(await send(as, "GET", "/config/export")).text.includes("quokka"));
  }
  for (const verdict of [true, "step_up_required"] as const) {
    instance.verdicts.set("deployment:edit_systems", verdict);
    assert.deepEqual(await names(acme), ["memory.demo", "people.demo", "quokka.raw", "sallyport.local"]);
    const read = JSON.parse((await send(acme, "GET", "/config/systems/quokka.raw")).text) as { state: string; degraded: object };
    assert.equal(read.state, "degraded");
  }
});

test("a name that a document's view of another tenant has is taken; one of another's system is free, and nothing shows of it", async (t) => {
  const { send } = await instanceWith(t, { "systems/quokka.den.yaml": system("den"), "tools.yaml": tools });
  const errorsOf = async (name: string): Promise<readonly unknown[]> => {
    const raw = `${shared}  - { name: ${name}, tenants: [tenant:globex] }\n`;
    const { text } = await send(globex, "PUT", "/config/tools", raw);
    return (JSON.parse(text) as { errors?: readonly unknown[] }).errors ?? [];
  };
  const taken = await errorsOf("quokka-view");
  assert.match(JSON.stringify(taken), /is taken already.*"code":"already_exists"/);
  // Those of a system and of its provider exist by themselves: each tenant finds its own by the name.
  for (const name of ["quokka", "quokka-den", "quokka-free"]) assert.deepEqual(await errorsOf(name), [], name);
});

test("no tenant reads a file of the folders that a system of another one refers to", async (t) => {
  const schema = '{"type":"object","properties":{"quokka-secret":{"type":"string"}}}';
  const refers = (text: string, path: string): string =>
    text.replace("input: { type: object } }", `input: { type: object }, output: { schema: { $ref: "${path}" } } }`);
  const { instance, send } = await instanceWith(t, {
    "systems/quokka.den.yaml": refers(system("den"), "./schemas/quokka.json"),
    "systems/schemas/quokka.json": schema,
    "systems/schemas/nobodys.json": schema,
  });
  const own = (path: string): string =>
    refers(system("mine"), path)
      .replace('api_key, in: header, name: X-Api-Key, value: "yaml://secret/quokka-secret#api_key"', "none")
      .replaceAll("tenant:acme", "tenant:globex")
      .replace("group:quokka", "person:ada");
  const absent = await send(globex, "POST", "/config/systems", own("./schemas/qxokka.json"));
  for (const path of ["./schemas/quokka.json", "./schemas/nobodys.json", "./schemas/../schemas/quokka.json"]) {
    const refused = await send(globex, "POST", "/config/systems", own(path));
    assert.deepEqual([path, refused.status], [path, 422], refused.text);
    assert.equal(still(refused.text), still(absent.text), path);
    const tried = await send(globex, "POST", "/config/systems?dryRun=true", own(path));
    assert.deepEqual(leakedIn(tried.text, own(path)), [], path);
  }
  assert.ok(!(await send(globex, "GET", "/config/export")).text.includes("quokka-secret"));
  const seen = refers(system("mine"), "./schemas/quokka.json").replaceAll("quokka_get", "mine");
  assert.equal((await send(acme, "POST", "/config/systems", seen)).status, 201, "who sees a system that refers to it");
  instance.verdicts.set("deployment:edit_systems", true);
  const other = refers(system("other"), "./schemas/nobodys.json").replaceAll("quokka_get", "mine");
  assert.equal((await send(acme, "POST", "/config/systems", other)).status, 201, "and who runs the deployment");
});

test("who wrote a version of what several tenants share, and why, is for the operator's tenant alone", async (t) => {
  const { send, instance } = await plantedInstance(t);
  const sign = "update crud.config_version set author = 'person:ada', reason = 'Quokka reason', tenants = null where kind = 'tools'";
  await instance.database.run(statement("test.sign_versions", sign));
  const signatures = async (as: object) => {
    const { versions } = JSON.parse((await send(as, "GET", "/config/tools/versions")).text) as {
      versions: { author: string; reason: string }[];
    };
    return [...new Set(versions.map(({ author, reason }) => `${author} ${reason}`))];
  };
  assert.deepEqual(await signatures(acme), ["person:ada Quokka reason"]);
  assert.deepEqual(await signatures(globex), [" "]);
});
