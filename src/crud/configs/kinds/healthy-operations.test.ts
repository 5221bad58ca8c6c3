import assert from "node:assert/strict";
import { cp, mkdtemp, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { statement } from "#store/database.ts";

const scopes = ["config.read", "config.write", "mcp.tools.discovery", "mcp.tools.invoke"];
const ada = { sub: "person:ada", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

const head = `apiVersion: systems/v1
provider: staff
instance: book
title: Staff book
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
network: { allow: [127.0.0.1/32] }
auth: { type: api_key, in: header, name: X-Api-Key, value: "yaml://secret/people/demo#api_key" }
`;
const get = (path: string, more = ""): string =>
  `description: Does it for a test., request: { method: GET, path: ${path} }, dataScope: none${more}`;
const well = `  well: { description: Shows one., request: { method: GET, path: "/employees/{id}" }, dataScope: none,
    input: { type: object, required: [id], properties: { id: { type: string } } } }
`;
/** One for each way of being wrong: in its shape, in a file that it names, in its schema, in what it hangs on. */
const faulty = `  shapeless: { ${get("/a/../b")} }
  lost: { ${get("/a", ", output: { schema: { $ref: ./schemas/none.json } }")} }
  ahead: { ${get("/a", ', input: { type: object, properties: { a: { type: string, pattern: "(?=a)b" } } }')} }
  guarded: { description: Hangs on another., request: { method: POST, path: /a },
    dataScope: { resourceType: employee, columns: { tenant_id: /tenant }, guard: { operation: shapeless, input: {} } } }
`;
const whole = `${head}operations:\n${well}`;
const broken = `${whole}${faulty}`;

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-healthy-"));
  await cp(fileURLToPath(new URL("../../../../config/", import.meta.url)), folder, { recursive: true });
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const client =
  (instance: CrudInstance) =>
  async (method: string, path: string, raw?: string, as: object = ada) => {
    const headers: Record<string, string> = raw === undefined ? {} : { "content-type": "application/yaml" };
    const response = await instance.request(path, { method, as, headers, ...(raw === undefined ? {} : { raw }) });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
const namesOf = (instance: CrudInstance): readonly string[] =>
  [...instance.crud.catalogue.snapshot.tools.keys()].filter((name) => name.startsWith("staff.book."));
const basesOf = (errors: readonly { readonly path: string }[]): readonly (string | undefined)[] =>
  [...new Set(errors.map(({ path }) => path.split("/")[2]))].toSorted();

test("a file's faulty operations are left out and named, while its others serve, until it is well or gone", async (t) => {
  const configFolder = await folderOf(t);
  const file = join(configFolder, "systems", "staff.book.yaml");
  await writeFile(file, broken);
  const instance = await crudInstance(t, { configFolder });
  const ask = client(instance);
  assert.deepEqual(namesOf(instance), ["staff.book.well"]);
  const shown = (await ask("GET", "/config/systems/staff.book")).body;
  assert.deepEqual([shown.state, shown.degraded.serving_version], ["degraded", null]);
  assert.deepEqual(basesOf(shown.degraded.errors), ["ahead", "guarded", "lost", "shapeless"]);
  assert.ok(
    shown.degraded.errors.every(({ line }: { line: number }) => line > 12),
    "each at its place in the file",
  );
  assert.equal((await ask("GET", "/config/systems/staff.book", undefined, eve)).status, 404, "it is of one tenant");
  const params = { name: "staff.book.well", arguments: { id: "e1" } };
  const called = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { as: ada });
  assert.equal(called.body.error, undefined, JSON.stringify(called.body.error));

  // By the API nothing is half taken.
  const put = await ask("PUT", "/config/systems/staff.book", broken);
  assert.equal(put.status, 422);
  assert.deepEqual(basesOf(put.body.errors), ["shapeless"]);

  await writeFile(file, `${head}operations:\n${faulty}`);
  await ask("POST", "/config/reload");
  assert.deepEqual(namesOf(instance), [], "nothing of it is well");
  await writeFile(file, broken);
  await ask("POST", "/config/reload");
  assert.deepEqual(namesOf(instance), ["staff.book.well"]);
  await unlink(file);
  await ask("POST", "/config/reload");
  assert.deepEqual(namesOf(instance), []);
  assert.equal((await ask("GET", "/config/systems/staff.book")).status, 404);
  await writeFile(file, whole);
  await ask("POST", "/config/reload");
  assert.equal((await ask("GET", "/config/systems/staff.book")).body.state, "serving");
  // What was good once goes on, whole.
  await writeFile(file, broken.replace("  well:", "  better:"));
  await ask("POST", "/config/reload");
  assert.deepEqual(namesOf(instance), ["staff.book.well"]);
});

const SPOIL = statement("testing.spoil_version", "update crud.config_version set text = $1 where name = 'staff.book'");

test("of a stored version that this version of Sallyport finds faulty the healthy operations serve, where no older one loads", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  assert.equal((await client(instance)("PUT", "/config/systems/staff.book", whole)).status, 201);
  await instance.database.run(SPOIL, [broken]);
  const later = await crudInstance(t, { beside: instance, realEvents: true });
  const ask = client(later);
  assert.deepEqual(namesOf(later), ["staff.book.well"]);
  const { body } = await ask("GET", "/config/systems/staff.book");
  assert.deepEqual([body.state, body.version, body.degraded.serving_version], ["degraded", 1, 1]);
  assert.deepEqual(basesOf(body.degraded.errors), ["ahead", "guarded", "lost", "shapeless"]);
  await ask("POST", "/config/reload");
  assert.equal((await ask("GET", "/config/systems/staff.book")).body.state, "degraded", "looking at the folders does not mend it");
  assert.equal((await ask("PUT", "/config/systems/staff.book", whole.replace("Shows", "Tells"))).body.version, 2);
  assert.equal((await ask("GET", "/config/systems/staff.book")).body.state, "serving");
});
