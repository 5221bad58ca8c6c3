import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { agent, crudInstance } from "#testing/crud-instance.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { runScript } from "../e2e/run-script.ts";

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-command-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};
/** A served instance, and the command as an administrator of it runs it. */
const commandOn = async (t: TestContext, ...more: Parameters<typeof crudInstance>[1][]) => {
  const instance = await crudInstance(t, { realEvents: true, tenants: ["tenant:acme"], ...more[0] });
  const { port, close } = await instance.listen();
  cleanUp(t, () => close(0));
  const scopes = ["config.read", "config.write", "mcp.tools.discovery"];
  const token = await instance.token({ sub: "person:ada", scopes, acr: "strong", authTime: Math.floor(Date.now() / 1000) });
  return {
    instance,
    run: (...given: readonly string[]) =>
      runScript("config.ts", [...given, "--origin", `http://127.0.0.1:${port}`], { SALLYPORT_TOKEN: token }),
  };
};

test("an instance's configuration goes to a folder and an archive, and from there into another instance", async (t) => {
  const folder = await folderOf(t);
  const [dir, tar] = [join(folder, "out"), join(folder, "out.tar")];
  const from = await commandOn(t);
  const to = await commandOn(t, { configFolder: await folderOf(t), servers: "away" });
  // Systems for every tenant are among them.
  to.instance.verdicts.set("deployment:edit_systems", true).set("deployment:edit_views", true);
  for (const target of [dir, tar]) {
    const { code, out, err } = await from.run("export", target);
    assert.equal(code, 0, err);
    assert.match(out, /: \d+ files\n$/);
  }
  const people = await readFile(join(dir, "systems/people.demo.yaml"), "utf8");
  assert.equal(people, await readFile(join(import.meta.dirname, "../config/demo/systems/people.demo.yaml"), "utf8"));

  const tried = await to.run("import", dir, "--dry-run");
  assert.deepEqual([tried.code, /^system people\.demo {2}version 1, tools \+3 -0 ~0$/m.test(tried.out)], [0, true], tried.out + tried.err);
  assert.equal(to.instance.crud.catalogue.snapshot.tools.has("people.demo.get_employee"), false);
  const done = await to.run("import", tar, "--reason", "moved");
  assert.equal(done.code, 0, done.err);
  assert.ok(to.instance.crud.catalogue.snapshot.tools.has("people.demo.get_employee"));
  assert.match((await to.run("import", dir)).out, /^9 as they were$/m);

  const file = join(folder, "staff.book.yaml");
  await writeFile(file, "provider: staff\n");
  const faulty = await to.run("import", file);
  assert.deepEqual([faulty.code, /staff\.book\.yaml:1:1 /.test(faulty.err)], [65, true], faulty.err);
  const unfit = await to.run("import", file, "--dry-run");
  assert.deepEqual([unfit.code, /It would be refused\./.test(unfit.out)], [1, true], unfit.out);
});

test("an OpenAPI document becomes a system, and why somebody can call a tool is told step by step", async (t) => {
  const { instance, run } = await commandOn(t);
  const file = join(await folderOf(t), "pets.yaml");
  await writeFile(
    file,
    `openapi: 3.1.0
info: { title: Pets, version: "1" }
servers: [{ url: "https://pets.example/v1" }]
paths:
  /pets: { get: { operationId: listPets, summary: Lists the pets., tags: [pets], responses: {} } }
  /shops: { get: { operationId: listShops, summary: Lists the shops., tags: [shops], responses: {} } }
`,
  );
  const given = ["openapi", file, "--provider", "pets", "--instance", "store", "--pick", "tag:pets"];
  const tried = await run(...given, "--dry-run");
  assert.deepEqual([tried.code, instance.crud.catalogue.snapshot.tools.has("pets.store.list_pets")], [0, false], tried.out + tried.err);
  const kept = join(await folderOf(t), "pets.store.yaml");
  const filed = await run(...given, "--out", kept);
  assert.deepEqual(
    [
      filed.code,
      filed.out.endsWith(`${kept}: written, nothing is published\n`),
      instance.crud.catalogue.snapshot.tools.has("pets.store.list_pets"),
    ],
    [0, true, false],
    filed.out + filed.err,
  );
  const text = await readFile(kept, "utf8");
  const done = await run(...given);
  assert.equal(done.code, 0, done.err);
  const published = await instance.request("/config/systems/pets.store", {
    as: { sub: "person:ada", scopes: ["config.read"] },
    headers: { accept: "application/yaml" },
  });
  assert.equal(await published.text(), text, "what is written is what would be published");
  assert.match((await run("import", kept)).out, /^1 as they were$/m, "and can be imported");
  instance.membership.affected = [
    { delegation_id: "delegation:ben-hr", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: "pets.store.list_pets" },
  ];
  await writeFile(kept, text.replace("Lists the pets", "Lists all the pets"));
  const changed = await run("import", kept, "--dry-run");
  assert.match(
    changed.out,
    /^ {2}switched off: pets\.store\.list_pets for agent:hr-assistant of person:ben \(delegation:ben-hr\), until/m,
    changed.err,
  );
  assert.match(changed.out, /^ {2}of the last 3 decisions: 1 newly denied, 0 newly permitted, 0 otherwise changed$/m);
  assert.match(changed.out, /^ {4}d_9 staff\.book\.get_one: permitted -> denied \(definition_drifted\)$/m);
  assert.match(done.out, /^Pets: 2 operations, 2 can be imported\nsystem pets\.store {2}version 1, tools \+1 -0 ~0$/m);
  assert.deepEqual(
    ["pets.store.list_pets", "pets.store.list_shops"].map((name) => instance.crud.catalogue.snapshot.tools.has(name)),
    [true, false],
  );

  const reported = await run("explain", "people.demo.get_employee", "--user", "ben", "--agent", agent.agent ?? "");
  assert.match(reported.out, /^people\.demo\.get_employee {2}listed: (?:yes|no) {2}callable: (?:yes|no|depends)\n {2}\w+/, reported.err);
  assert.equal(reported.code, /callable: no/.test(reported.out) ? 1 : 0);
  instance.membership.capabilities = [];
  const none = await run("explain", "people.demo.get_employee", "--user", "ben", "--agent", agent.agent ?? "");
  assert.deepEqual([none.code, /callable: no/.test(none.out)], [1, true], none.out + none.err);
});

test("how a document knows its callers is said, and given with --auth; what it says of itself does nothing to a terminal", async (t) => {
  const { run } = await commandOn(t);
  const file = join(await folderOf(t), "pets.json");
  const security = { key: { type: "apiKey", in: "header", name: "X-Pet-Key" } };
  const title = "Pets \u001b[31m\u001b]0;owned\u0007\nsystem fine";
  const paths = { "/pets": { get: { operationId: "listPets", summary: "Lists the pets.", responses: {} } } };
  const servers = [{ url: "https://pets.example/v1" }];
  await writeFile(
    file,
    JSON.stringify({ openapi: "3.1.0", info: { title, version: "1" }, servers, paths, components: { securitySchemes: security } }),
  );
  const given = ["openapi", file, "--provider", "pets", "--instance", "store", "--dry-run"];
  const bare = await run(...given);
  assert.match(bare.out, /^ {2}its callers are known by: key apiKey header X-Pet-Key$/m, bare.err);
  assert.match(bare.out, /^ {2}warning: auth is none, and the document knows its callers by key \(apiKey\)/m);
  assert.match(bare.out, /^Pets \[31m/);
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(bare.out) && !/^system fine/m.test(bare.out), JSON.stringify(bare.out));
  const auth = { type: "api_key", in: "header", name: "X-Pet-Key", value: "yaml://secret/people/demo#api_key" };
  const known = await run(...given, "--auth", JSON.stringify(auth));
  assert.match(known.out, /^ {2}new secret: yaml:\/\/secret\/people\/demo#api_key$/m, known.err);
  assert.ok(!known.out.includes("auth is none"));
  assert.equal((await run(...given, "--auth", "{")).code, 64);
});

test("what is asked for wrongly, by nobody, or of nobody is refused with its reason", async (t) => {
  const { instance, run } = await commandOn(t);
  const wrong = await instance.token({ sub: "person:ben", scopes: ["config.read"] });
  for (const [given, code, says] of [
    [[], 64, /npm run config/],
    [["export"], 64, /npm run config/],
    [["nonsense", "x"], 64, /npm run config/],
    [["openapi", "x.json"], 64, /--provider/],
    [["explain", "people.demo.get_employee"], 64, /--user/],
    [["import", "/nowhere/at-all"], 66, /is not there/],
    [["import", import.meta.dirname], 66, /holds none of systems\/, workflows\/, forms\/, notifications\/, tools\.yaml/],
    [["explain", "people.demo.nothing", "--user", "ben"], 65, /unknown_tool/],
    [["import", join(import.meta.dirname, "../config"), "--token", wrong], 77, /insufficient_scope|403/],
  ] as const) {
    const { code: ended, err } = await run(...given);
    assert.deepEqual([ended, says.test(err)], [code, true], `${given.join(" ")}: ${err}`);
  }
  // Nobody serves there, and so it is of an instance without the demo.
  const untold = await runScript("config.ts", ["export", "x", "--port", `${await findFreePorts()}`], { SALLYPORT_TOKEN: "" });
  assert.deepEqual([untold.code, /none can be had for the demo's ada.*\n.*SALLYPORT_TOKEN/.test(untold.err)], [69, true], untold.err);
  const away = await runScript("config.ts", ["export", "x", "--token", "t", "--origin", "http://127.0.0.1:1"]);
  assert.deepEqual([away.code, /Nobody answers/.test(away.err)], [69, true]);
});
