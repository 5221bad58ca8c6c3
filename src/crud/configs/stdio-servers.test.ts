import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { packArchive } from "./archive.ts";

const configOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  await cp(fileURLToPath(new URL("../../../config/", import.meta.url)), folder, { recursive: true });
  return folder;
};
const head = (instance: string, title = "Notes"): string => `apiVersion: systems/v1
provider: notes
instance: ${instance}
title: ${title}
owner: group:people-ops
tenants: [tenant:acme]
`;
const transport = '{ type: stdio, command: mcp-server-memory, env: { MEMORY_FILE_PATH: "${TENANT_FOLDER}/memory.jsonl" } }';
const server = (instance: string, more: { readonly title?: string; readonly transport?: string; readonly beside?: string } = {}): string =>
  `${head(instance, more.title)}kind: mcp\ntransport: ${more.transport ?? transport}\n${more.beside ?? ""}defaults: { dataScope: none }\n`;
const plain = (instance: string): string => `${head(instance)}kind: http
baseUrl: https://notes.example
defaults: { dataScope: none }
operations:
  now: { description: Tells what time it is., request: { method: GET, path: /now } }
`;

const scopes = ["config.read", "config.write"];
const now = (): number => Math.floor(Date.now() / 1000);
const weak = (): object => ({});
const stale = (): object => ({ acr: "strong", authTime: now() - 400 });
const strong = (): object => ({ acr: "strong", authTime: now() - 10 });

const client =
  (instance: CrudInstance) =>
  async (
    as: object,
    method: string,
    path: string,
    more: { readonly raw?: string; readonly body?: unknown; readonly tar?: Buffer } = {},
  ) => {
    const type = more.tar !== undefined ? "application/x-tar" : more.body === undefined ? "application/yaml" : "application/json";
    const headers = { authorization: `Bearer ${await instance.token({ sub: "person:ada", scopes, ...as })}`, "content-type": type };
    const sent = more.tar ?? more.raw ?? (more.body === undefined ? undefined : JSON.stringify(more.body));
    const body = sent === undefined ? {} : { body: sent };
    const response = await instance.crud.fetch(new Request(`http://sallyport.internal${path}`, { method, headers, ...body }));
    const text = await response.text();
    // oxlint-disable-next-line typescript/no-explicit-any -- bodies of many shapes
    return { status: response.status, headers: response.headers, body: (text.startsWith("{") ? JSON.parse(text) : text) as any };
  };

test("a system that starts a program is published by who has just signed in strongly, whichever way it comes", async (t) => {
  const configFolder = await configOf(t);
  const instance = await crudInstance(t, { configFolder, servers: "away" });
  const ask = client(instance);
  const tar = (title: string): Buffer =>
    packArchive([
      { path: "systems/notes.tar.yaml", text: server("tar", { title }) },
      { path: "systems/notes.plain.yaml", text: plain("plain") },
    ]);
  const ways: readonly (readonly [what: string, done: number, act: (as: object) => ReturnType<typeof ask>])[] = [
    ["a new system", 201, (as) => ask(as, "POST", "/config/systems", { raw: server("one") })],
    ["a new system by name", 201, (as) => ask(as, "PUT", "/config/systems/notes.two", { raw: server("two") })],
    ["a change of its title", 200, (as) => ask(as, "PUT", "/config/systems/notes.two", { raw: server("two", { title: "Other" }) })],
    ["rolling back to it", 200, (as) => ask(as, "POST", "/config/systems/notes.two/rollback", { body: { version: 1, reason: "x" } })],
    ["an archive with it", 200, (as) => ask(as, "POST", "/config/import", { tar: tar("A") })],
    ["an archive that changes it", 200, (as) => ask(as, "POST", "/config/import", { tar: tar("B") })],
    [
      "a file that is taken up",
      200,
      async (as) => {
        await writeFile(join(configFolder, "systems/notes.file.yaml"), server("file"));
        return ask(as, "POST", "/config/reload");
      },
    ],
  ];
  const versions = (): readonly string[] => instance.crud.catalogue.snapshot.order;
  for (const [what, done, act] of ways) {
    for (const as of [weak, stale]) {
      const before = [(await ask(strong(), "GET", "/config/systems")).body, versions()];
      const refused = await act(as());
      assert.deepEqual([refused.status, refused.body.code], [401, "step_up_required"], `${what} ${JSON.stringify(refused.body)}`);
      assert.deepEqual(refused.body.step_up, {
        acr_value: "strong",
        max_age_seconds: 300,
        url: "http://localhost:8080/auth/login?acr_values=strong&max_age=300",
      });
      assert.match(refused.headers.get("www-authenticate") ?? "", /insufficient_user_authentication.*max_age=300/);
      assert.deepEqual([(await ask(strong(), "GET", "/config/systems")).body, versions()], before, `${what}: nothing is changed`);
    }
    const taken = await act(strong());
    assert.equal(taken.status, done, `${what} ${JSON.stringify(taken.body)}`);
  }
  // Where nothing is started, or nothing is changed, a sign-in of any kind does.
  for (const [what, status, method, path, raw] of [
    ["a try", 200, "POST", "/config/systems?dryRun=true", server("try")],
    ["the very same again", 200, "PUT", "/config/systems/notes.one", server("one")],
    ["one without a program", 201, "POST", "/config/systems", plain("three")],
    ["in its place one without", 200, "PUT", "/config/systems/notes.one", plain("one")],
    ["taking it away", 200, "DELETE", "/config/systems/notes.two", undefined],
  ] as const)
    assert.equal((await ask(weak(), method, path, raw === undefined ? {} : { raw })).status, status, what);
  // What else is wrong comes first: nobody signs in again for nothing.
  assert.equal((await ask(weak(), "POST", "/config/systems", { raw: server("bad", { beside: "kid: 1\n" }) })).status, 422);
});

test("an administrator of a tenant gets no code onto the machine, whichever way the document comes", async (t) => {
  const configFolder = await configOf(t);
  const instance = await crudInstance(t, { configFolder });
  const ask = client(instance);
  const env = (text: string): string => `{ type: stdio, command: mcp-server-memory, env: { ${text} } }`;
  const bad: readonly (readonly [what: string, transport: string, path: string])[] = [
    ["a shell", "{ type: stdio, command: /bin/sh, args: [-c, id] }", "/transport/command"],
    ["node", '{ type: stdio, command: node, args: [-e, "1"] }', "/transport/command"],
    ["the server by its path", "{ type: stdio, command: node_modules/.bin/mcp-server-memory }", "/transport/command"],
    ["a name with a zero byte", '{ type: stdio, command: "mcp-server-memory\\0" }', "/transport/command"],
    ["a name in other letters", "{ type: stdio, command: mсp-server-memory }", "/transport/command"],
    ["an argument", '{ type: stdio, command: mcp-server-memory, args: ["--import=data:text/javascript,1"] }', "/transport/args/0"],
    ["code by NODE_OPTIONS", env('NODE_OPTIONS: "--import=data:text/javascript,1"'), "/transport/env/NODE_OPTIONS"],
    ["a library by LD_PRELOAD", env('LD_PRELOAD: "${TENANT_FOLDER}/x.so"'), "/transport/env/LD_PRELOAD"],
    ["modules by NODE_PATH", env('NODE_PATH: "${TENANT_FOLDER}"'), "/transport/env/NODE_PATH"],
    ["a report by NODE_V8_COVERAGE", env("NODE_V8_COVERAGE: /tmp/x"), "/transport/env/NODE_V8_COVERAGE"],
    ["an authority by NODE_EXTRA_CA_CERTS", env("NODE_EXTRA_CA_CERTS: /tmp/x"), "/transport/env/NODE_EXTRA_CA_CERTS"],
    ["a file of the machine", env("MEMORY_FILE_PATH: /etc/passwd"), "/transport/env/MEMORY_FILE_PATH"],
    ["a file of the data folder", env('MEMORY_FILE_PATH: "${TENANT_FOLDER}/../../../keys/instance"'), "/transport/env/MEMORY_FILE_PATH"],
    ["a folder beside its own", env('MEMORY_FILE_PATH: "${TENANT_FOLDER}x/memory.jsonl"'), "/transport/env/MEMORY_FILE_PATH"],
    ["an option of the sandbox", env('MEMORY_FILE_PATH: "${TENANT_FOLDER}/m.jsonl\\0--bind\\0/\\0/"'), "/transport/env/MEMORY_FILE_PATH"],
    ["a setting that is filled in", env('MEMORY_FILE_PATH: "${SESSION_SECRETS}"'), "/transport/env"],
    ["another folder to run in", "{ type: stdio, command: mcp-server-memory, cwd: / }", "/transport/cwd"],
    ["a shell to run in", "{ type: stdio, command: mcp-server-memory, shell: true }", "/transport/shell"],
    ["a very long argument", `{ type: stdio, command: mcp-server-memory, args: ["${"a".repeat(1000)}"] }`, "/transport/args/0"],
    ["a name twice", "{ type: stdio, command: mcp-server-memory, command: sh }", ""],
  ];
  for (const [what, made, path] of bad) {
    const text = server("bad", { transport: made });
    const inTar = packArchive([{ path: "systems/notes.bad.yaml", text }]);
    for (const refused of [
      await ask(strong(), "POST", "/config/systems", { raw: text }),
      await ask(strong(), "PUT", "/config/systems/memory.demo", {
        raw: text.replace("provider: notes\ninstance: bad", "provider: memory\ninstance: demo"),
      }),
      await ask(strong(), "POST", "/config/import", { tar: inTar }),
    ]) {
      assert.equal(refused.status, 422, `${what} ${JSON.stringify(refused.body)}`);
      const [error] = refused.body.errors;
      assert.deepEqual([error.path, error.line >= 1, error.column >= 1], [path, true, true], `${what} ${JSON.stringify(refused.body)}`);
    }
    // As a file of the folder it is told of, and serves nothing.
    await writeFile(join(configFolder, "systems/notes.bad.yaml"), text);
    const reload = await ask(strong(), "POST", "/config/reload");
    assert.deepEqual(
      reload.body.degraded.map(({ name, errors }: { name: string; errors: { path: string }[] }) => `${name} ${errors[0]?.path}`),
      [`notes.bad ${path}`],
      what,
    );
    await rm(join(configFolder, "systems/notes.bad.yaml"));
  }
  // The operator's own file is none of what an archive brings.
  const grabbed = await ask(strong(), "POST", "/config/import", {
    tar: packArchive([{ path: "servers.yaml", text: "apiVersion: servers/v1\n" }]),
  });
  assert.deepEqual([grabbed.status, grabbed.body.errors[0].message.slice(0, 36)], [422, "is no file of a configuration folder"]);
  const started = instance.lines.filter((line) => line["event"] === "mcp_child_started" && line["system"] !== "memory.demo");
  assert.deepEqual(started, []);
});

test("a version that the operator has since forbidden is not put in force again, and does not serve on", async (t) => {
  const configFolder = await configOf(t);
  const file = join(configFolder, "demo/servers.yaml");
  const allowed = await readFile(file, "utf8");
  const first = await crudInstance(t, { configFolder });
  assert.equal((await client(first)(strong(), "POST", "/config/systems", { raw: server("one") })).status, 201);
  assert.equal((await client(first)(strong(), "PUT", "/config/systems/notes.one", { raw: plain("one") })).status, 200);
  assert.equal((await client(first)(strong(), "POST", "/config/systems", { raw: server("two") })).status, 201);
  await writeFile(file, allowed.replace("[a-z]{1,40}", "[0-9]"));
  const second = await crudInstance(t, { configFolder, beside: first });
  const ask = client(second);
  const back = await ask(strong(), "POST", "/config/systems/notes.one/rollback", { body: { version: 1, reason: "as before" } });
  assert.deepEqual([back.status, back.body.errors[0].path], [422, "/transport/env/MEMORY_FILE_PATH"]);
  const { systems } = (await ask(strong(), "GET", "/config/systems")).body as { systems: { name: string; state: string }[] };
  assert.deepEqual(
    systems.map(({ name, state }) => `${name} ${state}`),
    ["memory.demo degraded", "notes.one serving", "notes.two degraded", "people.demo serving", "sallyport.local serving"],
  );
  assert.deepEqual(
    second.lines.filter(({ event }) => event === "mcp_child_started"),
    [],
  );
});
