import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { agent, crudInstance, type CrudInstance } from "#testing/crud-instance.ts";

const ada = { sub: "person:ada", scopes: ["config.write", "mcp.tools.discovery", "mcp.tools.invoke"] };
const ben = { sub: "person:ben", scopes: ["mcp.tools.discovery", "mcp.tools.invoke"] };

const nouns = ["invoice", "ticket", "parcel", "meeting", "contract", "vehicle"];
const baseOf = (index: number): string => `show_${nouns[index % nouns.length] ?? ""}_${String(index).padStart(4, "0")}`;
const nameOf = (index: number): string => `many.tools.${baseOf(index)}`;

/** A system of so many operations, as an import writes it: JSON. */
const many = (count: number): string =>
  JSON.stringify({
    apiVersion: "systems/v1",
    provider: "many",
    instance: "tools",
    title: "Many",
    owner: "group:people-ops",
    tenants: ["tenant:acme"],
    kind: "http",
    baseUrl: "https://many.example",
    defaults: { dataScope: "none" },
    operations: Object.fromEntries(
      Array.from({ length: count }, (_unused, index) => [
        baseOf(index),
        {
          description: `Shows the ${nouns[index % nouns.length] ?? ""} of number ${index}.`,
          request: { method: "GET", path: `/${index}` },
          input: { type: "object", properties: { depth: { type: "integer" } } },
        },
      ]),
    ),
  });

const instanceOf = async (
  t: Parameters<typeof crudInstance>[0],
  count: number,
  settings: Record<string, string> = {},
): Promise<CrudInstance> => {
  const instance = await crudInstance(t, { realEvents: true, settings });
  const headers = { "content-type": "application/json" };
  const made = await instance.request("/config/systems", { method: "POST", as: ada, headers, raw: many(count) });
  assert.equal(made.status, 201, await made.text());
  return instance;
};

type As = Parameters<CrudInstance["request"]>[1] extends infer Options
  ? NonNullable<Options> extends { as?: infer Who }
    ? Who
    : never
  : never;

const list = async (instance: CrudInstance, view: string, more = {}, as: As = ben) => {
  const path = view === "" ? "/mcp/jsonrpc" : `/mcp/${view}/jsonrpc`;
  const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list", params: more }, { as, path });
  assert.equal(body.error, undefined, JSON.stringify(body.error));
  return body.result;
};
const namesOf = (result: { readonly tools: readonly { readonly name: string }[] }): readonly string[] =>
  result.tools.map(({ name }) => name);

/** All pages of a list, one after the other. */
const pages = async (instance: CrudInstance, view: string, limit: number, as: As = ben): Promise<readonly (readonly string[])[]> => {
  const found: (readonly string[])[] = [];
  for (let cursor: string | undefined; ;) {
    const result = await list(instance, view, { limit, ...(cursor === undefined ? {} : { cursor }) }, as);
    found.push(namesOf(result));
    cursor = result.nextCursor;
    if (cursor === undefined) return found;
  }
};

const find = async (instance: CrudInstance, given: object, as: As = ben, path = "/mcp/jsonrpc") => {
  const { body } = await instance.rpc(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "system.find_tools", arguments: given } },
    { as, path },
  );
  if (body.error !== undefined) return { refused: body.error.data.code };
  return JSON.parse(body.result.content[0]?.text ?? "") as {
    readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: unknown }[];
    readonly has_more: boolean;
  };
};
const foundBy = async (instance: CrudInstance, given: object, as?: As, path?: string): Promise<readonly string[]> => {
  const found = await find(instance, given, as, path);
  assert.ok("tools" in found, JSON.stringify(found));
  return namesOf(found);
};

const invoices = Array.from({ length: 120 }, (_unused, index) => index)
  .filter((index) => index % nouns.length === 0)
  .map(nameOf);

test("a large view, or one that says so, has the tool that looks for tools; others have none", async (t) => {
  const instance = await instanceOf(t, 120);
  assert.deepEqual(
    namesOf(await list(instance, ""))
      .filter((name) => !name.startsWith("workflow."))
      .slice(0, 3),
    ["system.health", "system.find_tools", "many.tools.show_contract_0004"],
  );
  assert.deepEqual((await pages(instance, "", 1)).slice(0, 2), [["system.health"], ["system.find_tools"]]);
  assert.deepEqual(
    namesOf(await list(instance, "people-demo")).filter((name) => name.startsWith("system.")),
    ["system.health"],
  );
  assert.deepEqual(await find(instance, { query: "employee" }, ben, "/mcp/people-demo/jsonrpc"), { refused: "unknown_tool" });

  const views = `apiVersion: tools/v1
views:
  - { name: staff, tenants: [tenant:acme], search: true, filters: { provider: [people] } }
  - { name: plain, tenants: [tenant:acme], search: false }
`;
  const put = await instance.request("/config/tools", {
    method: "PUT",
    as: ada,
    headers: { "content-type": "application/yaml" },
    raw: views,
  });
  assert.ok(put.ok, await put.text());
  assert.deepEqual(await foundBy(instance, { query: "employee salary" }, ben, "/mcp/staff/jsonrpc"), [
    "people.demo.update_salary",
    "people.demo.get_employee",
    "people.demo.list_employees",
  ]);
  assert.deepEqual(
    namesOf(await list(instance, "plain")).filter((name) => name.startsWith("system.")),
    ["system.health"],
  );
});

test("what is found is what a list would hold for the same caller: with its schema, the best first, and no more than is asked for", async (t) => {
  const instance = await instanceOf(t, 120);
  const found = await find(instance, { query: "invoice 60", limit: 3 });
  assert.ok("tools" in found);
  assert.deepEqual(found.tools[0], {
    name: nameOf(60),
    description: "Shows the invoice of number 60.",
    inputSchema: { type: "object", properties: { depth: { type: "integer" } }, additionalProperties: false },
  });
  assert.deepEqual([found.tools.length, found.has_more], [3, true]);
  assert.deepEqual((await foundBy(instance, { query: "invoice", limit: 20 })).toSorted(), invoices);

  instance.asked.batches.length = 0;
  instance.verdicts.set(`tool:tools/list ${invoices[0] ?? ""}`, false);
  const without = await foundBy(instance, { query: "invoice", limit: 20 });
  assert.deepEqual(without.toSorted(), invoices.slice(1));
  assert.ok(instance.asked.batches.flat().length < 50, "decides about what fits, not about the whole catalogue");
  instance.verdicts.clear();

  const kill = await instance.request("/config/kill-switches/system:many.tools", { method: "PUT", as: ada, body: { reason: "A test." } });
  assert.ok(kill.ok, await kill.text());
  assert.deepEqual(await foundBy(instance, { query: "invoice" }), []);
});

test("an agent finds what its delegation reaches; nobody finds without the scope of lists; of another tenant nothing is found", async (t) => {
  const instance = await instanceOf(t, 120);
  instance.membership.capabilities = [nameOf(6), nameOf(1)];
  assert.deepEqual(await foundBy(instance, { query: "invoice" }, agent), [nameOf(6)]);
  assert.deepEqual(await find(instance, { query: "invoice" }, { ...ben, scopes: ["mcp.tools.invoke"] }), { refused: "insufficient_scope" });
  assert.deepEqual(await foundBy(instance, { query: "invoice" }, { ...ben, sub: "person:eve", tenant: "tenant:globex" }), []);
  assert.deepEqual(await find(instance, { query: "" }), { refused: "invalid_arguments" });
  assert.deepEqual(await find(instance, { query: "invoice", limit: 21 }), { refused: "invalid_arguments" });
});

const MANY = 1200;
const everything = Array.from({ length: MANY }, (_unused, index) => nameOf(index)).toSorted();
/** What the decision point says of the endpoint: all that it answers is true at this moment. */
const at = (moment: string) => ({ obligations: [], moment });
const isAboutTools = (item: string): boolean => item === "tool:tools/list";

test("1,200 tools are listed whole, in one page or in many, in both dialects", async (t) => {
  const instance = await instanceOf(t, MANY);
  const ofMany = (names: readonly string[]): readonly string[] => names.filter((name) => name.startsWith("many."));
  assert.deepEqual(ofMany(namesOf(await list(instance, ""))), everything);
  for (const moment of [undefined, "m1"]) {
    if (moment !== undefined) instance.verdicts.set("mcp_server:tools/list", at(moment));
    const found = await pages(instance, "", 170);
    assert.deepEqual(ofMany(found.flat()), everything);
    assert.ok(found.slice(0, -1).every(({ length }) => length === 170));
    assert.equal(found.flat().filter((name) => name === "system.health").length, 1);
  }
  const listening = await instance.listen();
  const client = new Client({ name: "test", version: "1" });
  t.after(async () => {
    await client.close();
    await listening.close();
  });
  const headers = { authorization: `Bearer ${await instance.token(ben)}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://localhost:${listening.port}/mcp`), { requestInit: { headers } }));
  const standard: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } });
    standard.push(...page.tools.map(({ name }) => name));
    assert.ok(page.tools.length <= 200);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  assert.deepEqual(ofMany(standard), everything);
});

test("what was decided at the present moment is not asked again; another moment, person, sign-in, view or catalogue is asked anew", async (t) => {
  const instance = await instanceOf(t, MANY);
  const asked = async (work: () => Promise<unknown>): Promise<number> => {
    instance.asked.batches.length = 0;
    await work();
    return instance.asked.batches.flat().filter(isAboutTools).length;
  };
  const whole = (as: As = ben, view = "") => asked(() => list(instance, view, {}, as));
  const all = await whole();
  assert.ok(all > MANY);
  assert.equal(await whole(), all, "a decision point that names no moment is asked each time");

  instance.verdicts.set("mcp_server:tools/list", at("policies 1"));
  assert.equal(await whole(), all);
  assert.equal(await whole(), 0);
  assert.equal(await asked(() => pages(instance, "", 200)), 0, "pages of it");
  assert.equal(await asked(() => find(instance, { query: "invoice" })), 0, "a search in it");
  assert.equal(await whole({ ...ben, sub: "person:cleo" }), all, "another person");
  assert.equal(await whole({ ...ben, acr: "strong" }), all, "another sign-in");
  assert.equal(await whole(ben, "many"), MANY, "another view");

  const gone = nameOf(700);
  instance.verdicts.set(`tool:tools/list ${gone}`, false);
  instance.verdicts.set("mcp_server:tools/list", at("policies 2"));
  const after = namesOf(await list(instance, ""));
  assert.deepEqual(
    after.filter((name) => name.startsWith("many.")),
    everything.filter((name) => name !== gone),
  );
  assert.equal(await whole(), 0);
  instance.verdicts.set("mcp_server:tools/list", "not_granted");
  const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: ben });
  assert.equal(body.error?.data.code, "not_granted", "whoever may not enter gets nothing that is remembered");

  instance.verdicts.set("mcp_server:tools/list", at("policies 2"));
  const headers = { "content-type": "application/json" };
  const changed = await instance.request("/config/systems/many.tools", { method: "PUT", as: ada, headers, raw: many(MANY - 1) });
  assert.ok(changed.ok, await changed.text());
  assert.equal(await whole(), all - 1, "another catalogue");
});

test("where the decision point moves on in the middle of a list nothing of it is remembered", async (t) => {
  const instance = await instanceOf(t, MANY);
  let moment = 0;
  instance.verdicts.set("mcp_server:tools/list", {
    obligations: [],
    get moment() {
      return `m${(moment += 1)}`;
    },
  });
  assert.equal(namesOf(await list(instance, "")).filter((name) => name.startsWith("many.")).length, MANY);
  instance.verdicts.set("mcp_server:tools/list", at("m1"));
  instance.asked.batches.length = 0;
  await list(instance, "");
  assert.ok(instance.asked.batches.flat().filter(isAboutTools).length >= MANY);
});

test("a list of many pages leaves one record: later pages and questions are asked as Sallyport's own", async (t) => {
  const instance = await instanceOf(t, MANY);
  instance.asked.decisions.length = 0;
  await pages(instance, "", 300);
  const entries = instance.asked.decisions.filter(({ ask }) => ask.type === "mcp_server");
  assert.ok(entries.length > 4);
  assert.equal(entries.filter(({ ask }) => ask.context?.background !== true).length, 1);
});
