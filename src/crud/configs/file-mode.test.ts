import assert from "node:assert/strict";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { startChild } from "#testing/child.ts";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { until } from "#testing/until.ts";
import { silentLog } from "#telemetry/log.ts";
import { createPglite } from "#store/pglite.ts";
import { packArchive } from "./archive.ts";

const ada = { sub: "person:ada", scopes: ["config.read", "config.write"] };
const settings = { CONFIG_MODE: "files" };
const inFiles = { settings, servers: "away" } as const;
const document = (more: { readonly instance?: string; readonly says?: string; readonly schema?: string } = {}): string =>
  `# Written by hand; this line stays.
apiVersion: systems/v1
provider: staff
instance: ${more.instance ?? "book"}
title: Staff book
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "https://staff.example"
auth: { type: none }
defaults: { dataScope: none }
operations:
  get_one:
    description: ${more.says ?? "Shows one."}
    request: { method: GET, path: "/one" }
${more.schema === undefined ? "" : `    output: { schema: { $ref: ${more.schema} } }\n`}`;

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-files-"));
  await cp(fileURLToPath(new URL("../../../config/", import.meta.url)), folder, { recursive: true });
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
};
const ask = async (served: CrudInstance, method: string, path: string, more: object = {}) => {
  const response = await served.request(path, { method, as: ada, ...more });
  const text = await response.text();
  return { status: response.status, body: response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : text };
};
const yaml = (raw: string, headers: Readonly<Record<string, string>> = {}) => ({
  raw,
  headers: { "content-type": "application/yaml", ...headers },
});
const serves = (served: CrudInstance, name = "staff.book.get_one"): string | undefined =>
  served.crud.catalogue.snapshot.tools.get(name)?.definition.description;
const leftovers = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".tmp"));

test("what the API writes lies in the folder, byte for byte: a new system, a change, a roll back, one that is taken away, an archive", async (t) => {
  const folder = await folderOf(t);
  const served = await crudInstance(t, { configFolder: folder, ...inFiles, realEvents: true });
  const file = join(folder, "systems", "staff.book.yaml");
  const second = document({ says: "Shows one of them." });

  assert.equal((await ask(served, "POST", "/config/systems?dryRun=true", yaml(document()))).body.valid, true);
  await assert.rejects(readFile(file), /ENOENT/, "a dry run writes nothing");
  assert.equal((await ask(served, "POST", "/config/systems", yaml(document()))).status, 201);
  assert.equal(await readFile(file, "utf8"), document());
  assert.equal((await ask(served, "PUT", "/config/systems/staff.book", yaml(second))).body.version, 2);
  assert.deepEqual([await readFile(file, "utf8"), serves(served)], [second, "Shows one of them."]);
  assert.equal((await ask(served, "POST", "/config/systems/staff.book/rollback", { body: { version: 1 } })).body.version, 3);
  assert.equal(await readFile(file, "utf8"), document());
  const refused = await ask(served, "PUT", "/config/systems/staff.book", yaml(document().replace("title:", "titel:")));
  assert.deepEqual([refused.status, await readFile(file, "utf8")], [422, document()]);
  assert.equal((await ask(served, "DELETE", "/config/systems/staff.book")).status, 200);
  await assert.rejects(readFile(file), /ENOENT/);
  const schema = '{ "type": "object" }\n';
  const files = [
    { path: "systems/staff.book.yaml", text: document({ schema: "./schemas/one.json" }) },
    { path: "systems/schemas/one.json", text: schema },
    { path: "tools.yaml", text: "apiVersion: tools/v1\nviews: []\noverrides: {}\n" },
  ];
  const archive = (packed: typeof files) =>
    served.token(ada).then((token) =>
      served.crud.fetch(
        new Request("http://sallyport.internal/config/import", {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/x-tar" },
          body: Uint8Array.from(packArchive(packed)),
        }),
      ),
    );
  const imported = await archive(files);
  assert.equal(imported.status, 200, await imported.text());
  for (const { path, text } of files) assert.equal(await readFile(join(folder, path), "utf8"), text);
  // A file of schemas cannot be two things at once.
  const other = await archive([
    { path: "systems/staff.other.yaml", text: document({ instance: "other", schema: "./schemas/one.json" }) },
    { path: "systems/schemas/one.json", text: '{ "type": "array" }\n' },
  ]);
  assert.deepEqual([other.status, /staff\.book has with other content/.test(await other.text())], [422, true]);
  assert.equal(await readFile(join(folder, "systems/schemas/one.json"), "utf8"), schema);

  // Nothing of it is news to the folder, to its own instance nor to the next start.
  assert.deepEqual((await ask(served, "POST", "/config/reload")).body.taken, []);
  const again = await crudInstance(t, { configFolder: folder, ...inFiles, beside: served, realEvents: true });
  const { author, version, document: read } = (await ask(again, "GET", "/config/systems/staff.book")).body;
  assert.deepEqual([author, version, read.title], ["person:ada", 5, "Staff book"]);
  assert.deepEqual(await leftovers(folder), []);
});

test("a file that never loaded is not taken over by a tenant that it does not name, nor what of it serves others", async (t) => {
  const folder = await folderOf(t);
  const systems = join(folder, "systems");
  const faulty = document().replace("method: GET", "method: GOT");
  const texts = {
    "staff.book.yaml": faulty.replace("tenants: [tenant:acme]", "tenants: [tenant:globex]"),
    "staff.wide.yaml": faulty
      .replace("instance: book", "instance: wide")
      .replace("tenants: [tenant:acme]", "tenants: [tenant:acme, tenant:globex]"),
    "staff.all.yaml": faulty.replace("instance: book", "instance: all").replace("tenants: [tenant:acme]\n", ""),
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(systems, name), text);
  const served = await crudInstance(t, { configFolder: folder, ...inFiles });
  for (const [instance, code] of [
    ["book", "not_found"],
    ["wide", "cross_tenant"],
    ["all", "not_found"],
  ] as const)
    for (const method of ["PUT", "POST"]) {
      const path = method === "PUT" ? `/config/systems/staff.${instance}` : "/config/systems";
      const { status, body } = await ask(served, method, path, yaml(document({ instance })));
      assert.deepEqual([instance, method, body.code], [instance, method, code], `${status} ${JSON.stringify(body)}`);
    }
  for (const [name, text] of Object.entries(texts)) assert.equal(await readFile(join(systems, name), "utf8"), text);
});

test("what lies in a further folder, a folder that nobody may write, and a link out of it are left alone, and the answer says where to go", async (t) => {
  const folder = await folderOf(t);
  const served = await crudInstance(t, { configFolder: folder, ...inFiles });
  const demo = join(folder, "demo", "systems", "people.demo.yaml");
  const before = await readFile(demo, "utf8");
  const changed = await ask(served, "PUT", "/config/systems/people.demo", yaml(`${before}# more\n`));
  // It serves both tenants of this deployment, which the wall says first; of one tenant's own the folder is said.
  assert.equal(changed.body.code, "cross_tenant");
  await writeFile(join(folder, "demo", "systems", "staff.book.yaml"), document());
  await ask(served, "POST", "/config/reload");
  for (const [method, more] of [
    ["PUT", yaml(document({ says: "Shows another one." }))],
    ["DELETE", {}],
  ] as const) {
    const { status, body } = await ask(served, method, "/config/systems/staff.book", more);
    assert.deepEqual([status, body.code], [409, "managed_elsewhere"]);
    assert.match(body.detail, /demo\/systems\/staff\.book\.yaml lies in a further folder/);
  }
  assert.equal(serves(served), "Shows one.");

  const systems = join(folder, "systems");
  await rm(systems, { recursive: true });
  await symlink(await folderOf(t), systems);
  const linked = await ask(served, "POST", "/config/systems", yaml(document({ instance: "other" })));
  assert.deepEqual([linked.body.code, /by a link/.test(linked.body.detail)], ["managed_elsewhere", true]);
  await unlink(systems);
  await mkdir(systems);
  await chmod(systems, 0o500);
  // The superuser may write everywhere.
  if (process.getuid?.() !== 0) {
    const closed = await ask(served, "POST", "/config/systems", yaml(document({ instance: "other" })));
    assert.deepEqual([closed.body.code, /cannot be written \(EACCES\)/.test(closed.body.detail)], ["managed_elsewhere", true]);
  }
  await chmod(systems, 0o700);
  assert.equal(serves(served, "staff.other.get_one"), undefined);
});

test("a folder that lies where a file is to be is left alone, and the answer names it", async (t) => {
  const folder = await folderOf(t);
  const served = await crudInstance(t, { configFolder: folder, ...inFiles, realEvents: true });
  await mkdir(join(folder, "systems", "staff.book.yaml"));
  const { status, body } = await ask(served, "POST", "/config/systems", yaml(document()));
  assert.deepEqual([status, body.code], [409, "managed_elsewhere"], JSON.stringify(body));
  assert.match(body.detail, /staff\.book\.yaml is a folder/);
  assert.deepEqual(await leftovers(folder), []);
});

test("a change by hand serves at once, a faulty one leaves the last good version, and one that nobody took up yet is not written over", async (t) => {
  const folder = await folderOf(t);
  const served = await crudInstance(t, {
    configFolder: folder,
    ...inFiles,
    settings: { ...settings, CONFIG_REQUIRE_IF_MATCH: "true" },
    realEvents: true,
  });
  const file = join(folder, "systems", "staff.book.yaml");
  await writeFile(file, document());
  await until(() => serves(served) === "Shows one.");
  const { etag, author } = (await ask(served, "GET", "/config/systems/staff.book")).body;
  assert.equal(author, "file");
  await writeFile(file, document().replace("title:", "titel:"));
  await until(async () => (await ask(served, "GET", "/config/systems/staff.book")).body.state === "degraded");
  assert.equal(serves(served), "Shows one.");
  // All that changed together is one set.
  await mkdir(join(folder, "systems", "more"));
  await writeFile(join(folder, "systems", "more", "one.json"), '{ "type": "object" }');
  await writeFile(file, document({ says: "Shows one by hand.", schema: "./more/one.json" }));
  await until(() => serves(served) === "Shows one by hand.");
  const known = (await ask(served, "GET", "/config/systems/staff.book")).body;
  await writeFile(join(folder, "systems", "more", "one.json"), '{ "type": "object", "title": "Of a folder that came later" }');
  await until(async () => (await ask(served, "GET", "/config/systems/staff.book")).body.version === known.version + 1);

  // A write that comes before the hint finds the change of the hand first.
  await writeFile(file, document({ says: "Quicker than the watch." }));
  const late = await ask(
    served,
    "PUT",
    "/config/systems/staff.book",
    yaml(document({ says: "Shows one too late." }), { "if-match": known.etag }),
  );
  assert.deepEqual(
    [late.body.code, serves(served), await readFile(file, "utf8")],
    ["stale_version", "Quicker than the watch.", document({ says: "Quicker than the watch." })],
  );
  assert.notEqual(etag, known.etag);
  await unlink(file);
  await until(() => serves(served) === undefined);
  // Nothing is read while nothing happens.
  const count = served.statements.length;
  const own = served.statements.filter((name) => name === "crud.config.lock").length;
  await ask(served, "POST", "/config/reload");
  assert.equal(served.statements.filter((name) => name === "crud.config.lock").length, own, served.statements.slice(count).join(" "));
});

/** What another start finds: what serves, and what lies in the folder. */
const found = async (served: CrudInstance, folder: string) => {
  const { version, author } = (await ask(served, "GET", "/config/systems/staff.book")).body;
  const lies = await readFile(join(folder, "systems", "staff.book.yaml"), "utf8").catch(() => undefined);
  return [serves(served), lies, version, author, await leftovers(folder)];
};
const nothing = [undefined, undefined, undefined, undefined, []];
const all = ["Shows one.", document(), 1, "person:ada", []];

for (const [where, at, left] of [
  ["before its commit", "before", nothing],
  ["between its commit and its file", "after", all],
  ["between its file and the note of it", "crud.config.written", all],
] as const)
  test(`a write that breaks off ${where} leaves the old or the new, whole, and the next start makes file and version one`, async (t) => {
    const folder = await folderOf(t);
    const { database } = await crudInstance(t, inFiles);
    let isArmed = false;
    const breaks = (now: string): void => {
      if (isArmed && now === at) throw new Error("it breaks off");
    };
    const broken: typeof database = {
      ...database,
      transaction: async (work, more) => {
        const result = await database.transaction(async (sql) => {
          const done = await work(sql);
          breaks("before");
          return done;
        }, more);
        breaks("after");
        return result;
      },
      run: async (text, values) => {
        breaks(text.name);
        return database.run(text, values);
      },
    };
    const first = await crudInstance(t, { beside: { database: broken }, configFolder: folder, ...inFiles });
    isArmed = true;
    await ask(first, "POST", "/config/systems", yaml(document()));
    await writeFile(join(folder, "systems", ".staff.book.yaml.0123456789abcdef.tmp"), "left by a kill");
    assert.deepEqual(await found(await crudInstance(t, { beside: { database }, configFolder: folder, ...inFiles }), folder), left);
  });

test("a process that is killed between its commit and its file has published: the next start writes the file", async (t) => {
  const folder = await folderOf(t);
  const dataFolder = await mkdtemp(join(tmpdir(), "sallyport-killed-"));
  cleanUp(t, () => rm(dataFolder, { recursive: true, force: true }));
  const child = startChild(`
    const { createPglite } = await import(new URL("store/pglite.ts", src));
    const { migrate } = await import(new URL("store/migrate.ts", src));
    const { silentLog: log } = await import(new URL("telemetry/log.ts", src));
    const { crudInstance } = await import(new URL("testing/crud-instance.ts", src));
    const database = await createPglite({ dataFolder: ${JSON.stringify(dataFolder)}, log });
    await migrate(database, [{ module: "crud", folder: new URL("crud/migrations/", src) }]);
    let isArmed = false;
    const transaction = async (work, more) => {
      const result = await database.transaction(work, more);
      if (isArmed) process.kill(process.pid, "SIGKILL");
      return isArmed ? new Promise(() => {}) : result;
    };
    const instance = await crudInstance({ after: () => {} }, {
      beside: { database: { ...database, transaction } }, configFolder: ${JSON.stringify(folder)}, ...${JSON.stringify(inFiles)},
    });
    isArmed = true;
    await instance.request("/config/systems", {
      raw: ${JSON.stringify(document())}, headers: { "content-type": "application/yaml" }, as: { sub: "person:ada", scopes: ["config.write"] },
    });
    console.log("it lives");
  `);
  cleanUp(t, () => child.kill());
  await assert.rejects(child.line(), /the child process ended/);
  assert.deepEqual((await leftovers(folder)).length, 1, "it lay ready");
  const database = await createPglite({ dataFolder, log: silentLog });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  assert.deepEqual(await found(await crudInstance(t, { beside: { database }, configFolder: folder, ...inFiles }), folder), all);
});
