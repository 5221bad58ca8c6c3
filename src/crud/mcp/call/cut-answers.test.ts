import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { seedEmployees } from "#demo/employees.ts";
import { agent, crudInstance } from "#testing/crud-instance.ts";
import { serverUpstream } from "#testing/http-upstream.ts";

const shipped = fileURLToPath(new URL("../../../../config/", import.meta.url));
const acme = seedEmployees().filter((row) => row.tenant === "tenant:acme");

/** The shipped systems, where the list of employees is cut to so many bytes. */
const instanceOf = async (t: TestContext, maxBytes: number) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-cut-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await cp(shipped, folder, { recursive: true });
  const file = join(folder, "demo/systems/people.demo.yaml");
  const text = await readFile(file, "utf8");
  const limits = `    response: { maxBytes: ${maxBytes}, onExceed: truncate }\n`;
  await writeFile(
    file,
    text.replace("    title: List employees\n", (title) => `${title}${limits}`),
  );
  const instance = await crudInstance(t, { configFolder: folder });
  const call = async (args: Record<string, unknown>, as: object = agent) => {
    const params = { name: "people.demo.list_employees", arguments: args };
    const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { as });
    if (body.error !== undefined) return { code: body.error.data.code, errors: body.error.data.errors };
    const value = JSON.parse(body.result.content[0]?.text ?? "") as Answer;
    return { ...value, bytes: body.result.content[0]?.text.length ?? 0 };
  };
  return { instance, call };
};
interface Answer {
  readonly items: readonly { readonly id: string; readonly tenant: string; readonly birth_date: string }[];
  readonly truncated?: boolean;
  readonly next_cursor?: string;
}

test("a list that is too long is given in whole rows, each once, walled and masked, to whoever goes on with its cursor", async (t) => {
  const { instance, call } = await instanceOf(t, 1500);
  instance.verdicts.set("employee:read_birth_date", false);
  const rows: Answer["items"][number][] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await call(cursor === undefined ? {} : { cursor });
    assert.ok("items" in page, JSON.stringify(page));
    assert.ok(page.bytes <= 1500 && page.items.length > 0, `${page.bytes}`);
    assert.equal(page.truncated ?? false, page.next_cursor !== undefined);
    rows.push(...page.items);
    cursor = page.next_cursor;
    pages += 1;
  } while (cursor !== undefined);
  assert.ok(pages > 2);
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), acme.map(({ id }) => id).toSorted());
  assert.ok(rows.every(({ tenant, birth_date }) => tenant === "tenant:acme" && birth_date.length === 4));
  const closed = instance.entries.filter(({ phase }) => phase === "close").map(({ data }) => (data as { rows_out: number }).rows_out);
  assert.equal(closed.length, pages);
  assert.equal(
    closed.reduce((sum, count) => sum + count),
    acme.length,
  );
  const opened = instance.entries
    .filter(({ phase }) => phase === "open")
    .map(({ draft }) => (draft.data as { argument_names: string[] }).argument_names);
  assert.ok(
    opened.every((names) => names.length === 0),
    "the cursor is no argument",
  );
  const executed = await instance.request("/execute", { body: { tool: "people.demo.list_employees", arguments: {} }, as: agent });
  const { truncated, next_cursor } = (await executed.json()) as { truncated: boolean; next_cursor: string };
  assert.deepEqual([truncated, typeof next_cursor], [true, "string"]);
});

test("a cursor is of one call of one person; another's, a broken one and a text of nobody's are refused, and nothing is sent", async (t) => {
  const { instance, call } = await instanceOf(t, 1500);
  const first = await call({});
  const cursor = "next_cursor" in first ? String(first.next_cursor) : "";
  const sent = instance.people.requests;
  const issue = {
    code: "invalid_arguments",
    errors: [{ path: "/cursor", message: "is no next_cursor of this call, or too old: call without it" }],
  };
  for (const [args, as] of [
    [{ cursor, department: "engineering" }, agent],
    [{ cursor }, {}],
    [{ cursor: `${cursor}x` }, agent],
    [{ cursor: "" }, agent],
    [{ cursor: 7 }, agent],
  ] as const)
    assert.deepEqual(await call(args, as), issue, JSON.stringify(args));
  assert.equal(instance.people.requests, sent);
});

test("an item that is larger than all that may be given is no list of nothing: the answer is too large", async (t) => {
  const { call } = await instanceOf(t, 600);
  assert.equal((await call({})).code, "output_too_large");
});

test("an answer that is a list itself is given as items, in parts; one without a list to cut says which setting is meant", async (t) => {
  const instance = await crudInstance(t);
  const upstream = await serverUpstream(t);
  const all = Array.from({ length: 30 }, (_, at) => ({ id: `n${at}`, tenant: at % 2 === 0 ? "tenant:acme" : "tenant:globex", pin: 1234 }));
  upstream.answer = ({ url }, response) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(url === "/one" ? { text: "x".repeat(2000) } : all));
  const item = { type: "object", required: ["id", "pin"], properties: { id: { type: "string" }, tenant: {}, pin: { type: "integer" } } };
  const list = { type: "array", items: item };
  const cut = { description: "Gives notes.", response: { maxBytes: 900, onExceed: "truncate" }, request: { method: "GET", path: "/all" } };
  const scope = { resourceType: "employee", rows: "", columns: { tenant_id: "/tenant", salary: "/salary", birth_date: "/birth_date" } };
  const operations = {
    plain: { ...cut },
    masked: { ...cut, output: { schema: list }, mask: [{ path: "/*/pin", action: "null" }] },
    named: { ...cut, output: { schema: { $ref: "#/$defs/List", $defs: { List: list } } } },
    scoped: { ...cut, output: { schema: list }, dataScope: scope },
    one: { ...cut, request: { method: "GET", path: "/one" } },
    refused: { ...cut, response: { maxBytes: 900 } },
  };
  const made = await instance.request("/config/systems", {
    as: { sub: "person:ada", scopes: ["config.read", "config.write"] },
    method: "POST",
    raw: JSON.stringify({
      apiVersion: "systems/v1",
      provider: "notes",
      instance: "one",
      title: "Notes",
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
  instance.membership.capabilities = Object.keys(operations).map((name) => `notes.one.${name}`);
  const call = async (name: string, args: object = {}) => {
    const params = { name: `notes.one.${name}`, arguments: args };
    return (await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { as: agent })).body;
  };
  for (const [name, kept, pin] of [
    ["plain", 30, 1234],
    ["masked", 30, null],
    ["named", 30, 1234],
    ["scoped", 15, 1234],
  ] as const) {
    const rows: { id: string; pin: number | null }[] = [];
    let [cursor, pages]: [string | undefined, number] = [undefined, 0];
    do {
      const { result, error } = await call(name, cursor === undefined ? {} : { cursor });
      assert.equal(error, undefined, `${name}: ${JSON.stringify(error)}`);
      const page = JSON.parse(result.content[0]?.text ?? "") as { items: typeof rows; truncated?: boolean; next_cursor?: string };
      assert.equal(page.truncated ?? false, page.next_cursor !== undefined);
      rows.push(...page.items);
      cursor = page.next_cursor;
      pages += 1;
    } while (cursor !== undefined);
    assert.ok(pages > 1, name);
    assert.deepEqual([rows.length, new Set(rows.map(({ id }) => id)).size, rows[0]?.pin], [kept, kept, pin], name);
    const out = instance.entries.filter(({ phase }) => phase === "close").map(({ data }) => (data as { rows_out: number }).rows_out);
    if (name === "scoped")
      assert.equal(
        out.slice(-pages).reduce((sum, count) => sum + count),
        kept,
        "what was given is on record",
      );
  }
  for (const [name, reported] of [
    ["one", /more than response\.maxBytes \(900\), and no list that onExceed: truncate could cut/],
    ["refused", /more than 900 bytes: response\.maxBytes and onExceed/],
  ] as const) {
    const { error } = await call(name);
    assert.deepEqual([error?.data.code, reported.test(JSON.stringify(error))], ["output_too_large", true], JSON.stringify(error));
  }
});
