import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import { seedEmployees } from "#demo/employees.ts";
import { agent, crudHouse } from "#testing/crud-house.ts";

const shipped = fileURLToPath(new URL("../../../../config/", import.meta.url));
const acme = seedEmployees().filter((row) => row.tenant === "tenant:acme");

/** The shipped systems, where the list of employees is cut to so many bytes. */
const houseOf = async (t: TestContext, maxBytes: number) => {
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
  const house = await crudHouse(t, { configFolder: folder });
  const call = async (args: Record<string, unknown>, as: object = agent) => {
    const params = { name: "people.demo.list_employees", arguments: args };
    const { body } = await house.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { as });
    if (body.error !== undefined) return { code: body.error.data.code, errors: body.error.data.errors };
    const value = JSON.parse(body.result.content[0]?.text ?? "") as Answer;
    return { ...value, bytes: body.result.content[0]?.text.length ?? 0 };
  };
  return { house, call };
};
interface Answer {
  readonly items: readonly { readonly id: string; readonly tenant: string; readonly birth_date: string }[];
  readonly truncated?: boolean;
  readonly next_cursor?: string;
}

test("a list that is too long is given in whole rows, each once, walled and masked, to whoever goes on with its cursor", async (t) => {
  const { house, call } = await houseOf(t, 1500);
  house.verdicts.set("employee:read_birth_date", false);
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
  const closed = house.entries.filter(({ phase }) => phase === "close").map(({ data }) => (data as { rows_out: number }).rows_out);
  assert.equal(closed.length, pages);
  assert.equal(
    closed.reduce((sum, count) => sum + count),
    acme.length,
  );
  const opened = house.entries
    .filter(({ phase }) => phase === "open")
    .map(({ draft }) => (draft.data as { argument_names: string[] }).argument_names);
  assert.ok(
    opened.every((names) => names.length === 0),
    "the cursor is no argument",
  );
  const executed = await house.request("/execute", { body: { tool: "people.demo.list_employees", arguments: {} }, as: agent });
  const { truncated, next_cursor } = (await executed.json()) as { truncated: boolean; next_cursor: string };
  assert.deepEqual([truncated, typeof next_cursor], [true, "string"]);
});

test("a cursor is of one call of one person; another's, a broken one and a text of nobody's are refused, and nothing is sent", async (t) => {
  const { house, call } = await houseOf(t, 1500);
  const first = await call({});
  const cursor = "next_cursor" in first ? String(first.next_cursor) : "";
  const sent = house.people.requests;
  const fault = {
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
    assert.deepEqual(await call(args, as), fault, JSON.stringify(args));
  assert.equal(house.people.requests, sent);
});

test("an item that is larger than all that may be given is no list of nothing: the answer is too large", async (t) => {
  const { call } = await houseOf(t, 600);
  assert.equal((await call({})).code, "output_too_large");
});
