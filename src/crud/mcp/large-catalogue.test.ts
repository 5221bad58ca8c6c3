import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { agent, crudHouse, type CrudHouse } from "#testing/crud-house.ts";

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

const houseOf = async (t: Parameters<typeof crudHouse>[0], count: number, settings: Record<string, string> = {}): Promise<CrudHouse> => {
  const house = await crudHouse(t, { realEvents: true, settings });
  const headers = { "content-type": "application/json" };
  const made = await house.request("/config/systems", { method: "POST", as: ada, headers, raw: many(count) });
  assert.equal(made.status, 201, await made.text());
  return house;
};

type As = Parameters<CrudHouse["request"]>[1] extends infer Options
  ? NonNullable<Options> extends { as?: infer Who }
    ? Who
    : never
  : never;

const list = async (house: CrudHouse, view: string, more = {}, as: As = ben) => {
  const path = view === "" ? "/mcp/jsonrpc" : `/mcp/${view}/jsonrpc`;
  const { body } = await house.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list", params: more }, { as, path });
  assert.equal(body.error, undefined, JSON.stringify(body.error));
  return body.result;
};
const namesOf = (result: { readonly tools: readonly { readonly name: string }[] }): readonly string[] =>
  result.tools.map(({ name }) => name);

/** All pages of a list, one after the other. */
const pages = async (house: CrudHouse, view: string, limit: number, as: As = ben): Promise<readonly (readonly string[])[]> => {
  const found: (readonly string[])[] = [];
  for (let cursor: string | undefined; ;) {
    const result = await list(house, view, { limit, ...(cursor === undefined ? {} : { cursor }) }, as);
    found.push(namesOf(result));
    cursor = result.nextCursor;
    if (cursor === undefined) return found;
  }
};

const find = async (house: CrudHouse, given: object, as: As = ben, path = "/mcp/jsonrpc") => {
  const { body } = await house.rpc(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "system.find_tools", arguments: given } },
    { as, path },
  );
  if (body.error !== undefined) return { refused: body.error.data.code };
  return JSON.parse(body.result.content[0]?.text ?? "") as {
    readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: unknown }[];
    readonly has_more: boolean;
  };
};
const foundBy = async (house: CrudHouse, given: object, as?: As, path?: string): Promise<readonly string[]> => {
  const found = await find(house, given, as, path);
  assert.ok("tools" in found, JSON.stringify(found));
  return namesOf(found);
};

const invoices = Array.from({ length: 120 }, (_unused, index) => index)
  .filter((index) => index % nouns.length === 0)
  .map(nameOf);

test("a large view, or one that says so, has the tool that looks for tools; others have none", async (t) => {
  const house = await houseOf(t, 120);
  assert.deepEqual(namesOf(await list(house, "")).slice(0, 3), ["system.health", "system.find_tools", "many.tools.show_contract_0004"]);
  assert.deepEqual((await pages(house, "", 1)).slice(0, 2), [["system.health"], ["system.find_tools"]]);
  assert.deepEqual(
    namesOf(await list(house, "people-demo")).filter((name) => name.startsWith("system.")),
    ["system.health"],
  );
  assert.deepEqual(await find(house, { query: "employee" }, ben, "/mcp/people-demo/jsonrpc"), { refused: "unknown_tool" });

  const views = `apiVersion: tools/v1
views:
  - { name: staff, tenants: [tenant:acme], search: true, filters: { provider: [people] } }
  - { name: plain, tenants: [tenant:acme], search: false }
`;
  const put = await house.request("/config/tools", { method: "PUT", as: ada, headers: { "content-type": "application/yaml" }, raw: views });
  assert.ok(put.ok, await put.text());
  assert.deepEqual(await foundBy(house, { query: "employee salary" }, ben, "/mcp/staff/jsonrpc"), [
    "people.demo.update_salary",
    "people.demo.get_employee",
    "people.demo.list_employees",
  ]);
  assert.deepEqual(
    namesOf(await list(house, "plain")).filter((name) => name.startsWith("system.")),
    ["system.health"],
  );
});

test("what is found is what a list would hold for the same caller: with its schema, the best first, and no more than is asked for", async (t) => {
  const house = await houseOf(t, 120);
  const found = await find(house, { query: "invoice 60", limit: 3 });
  assert.ok("tools" in found);
  assert.deepEqual(found.tools[0], {
    name: nameOf(60),
    description: "Shows the invoice of number 60.",
    inputSchema: { type: "object", properties: { depth: { type: "integer" } }, additionalProperties: false },
  });
  assert.deepEqual([found.tools.length, found.has_more], [3, true]);
  assert.deepEqual((await foundBy(house, { query: "invoice", limit: 20 })).toSorted(), invoices);

  house.asked.batches.length = 0;
  house.verdicts.set(`tool:tools/list ${invoices[0] ?? ""}`, false);
  const without = await foundBy(house, { query: "invoice", limit: 20 });
  assert.deepEqual(without.toSorted(), invoices.slice(1));
  assert.ok(house.asked.batches.flat().length < 50, "decides about what fits, not about the whole catalogue");
  house.verdicts.clear();

  const kill = await house.request("/config/kill-switches/system:many.tools", { method: "PUT", as: ada, body: { reason: "A test." } });
  assert.ok(kill.ok, await kill.text());
  assert.deepEqual(await foundBy(house, { query: "invoice" }), []);
});

test("an agent finds what its delegation reaches; nobody finds without the scope of lists; of another tenant nothing is found", async (t) => {
  const house = await houseOf(t, 120);
  house.membership.capabilities = [nameOf(6), nameOf(1)];
  assert.deepEqual(await foundBy(house, { query: "invoice" }, agent), [nameOf(6)]);
  assert.deepEqual(await find(house, { query: "invoice" }, { ...ben, scopes: ["mcp.tools.invoke"] }), { refused: "insufficient_scope" });
  assert.deepEqual(await foundBy(house, { query: "invoice" }, { ...ben, sub: "person:eve", tenant: "tenant:globex" }), []);
  assert.deepEqual(await find(house, { query: "" }), { refused: "invalid_arguments" });
  assert.deepEqual(await find(house, { query: "invoice", limit: 21 }), { refused: "invalid_arguments" });
});

const MANY = 1200;
const everything = Array.from({ length: MANY }, (_unused, index) => nameOf(index)).toSorted();
/** What the decision point says of the endpoint: all that it answers is true at this moment. */
const at = (moment: string) => ({ obligations: [], moment });
const isAboutTools = (item: string): boolean => item === "tool:tools/list";

test("1,200 tools are listed whole, in one page or in many, in both dialects", async (t) => {
  const house = await houseOf(t, MANY);
  const ofMany = (names: readonly string[]): readonly string[] => names.filter((name) => name.startsWith("many."));
  assert.deepEqual(ofMany(namesOf(await list(house, ""))), everything);
  for (const moment of [undefined, "m1"]) {
    if (moment !== undefined) house.verdicts.set("mcp_server:tools/list", at(moment));
    const found = await pages(house, "", 170);
    assert.deepEqual(ofMany(found.flat()), everything);
    assert.ok(found.slice(0, -1).every(({ length }) => length === 170));
    assert.equal(found.flat().filter((name) => name === "system.health").length, 1);
  }
  const listening = await house.listen();
  const client = new Client({ name: "test", version: "1" });
  t.after(async () => {
    await client.close();
    await listening.close();
  });
  const headers = { authorization: `Bearer ${await house.token(ben)}` };
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
  const house = await houseOf(t, MANY);
  const asked = async (work: () => Promise<unknown>): Promise<number> => {
    house.asked.batches.length = 0;
    await work();
    return house.asked.batches.flat().filter(isAboutTools).length;
  };
  const whole = (as: As = ben, view = "") => asked(() => list(house, view, {}, as));
  const all = await whole();
  assert.ok(all > MANY);
  assert.equal(await whole(), all, "a decision point that names no moment is asked each time");

  house.verdicts.set("mcp_server:tools/list", at("policies 1"));
  assert.equal(await whole(), all);
  assert.equal(await whole(), 0);
  assert.equal(await asked(() => pages(house, "", 200)), 0, "pages of it");
  assert.equal(await asked(() => find(house, { query: "invoice" })), 0, "a search in it");
  assert.equal(await whole({ ...ben, sub: "person:cleo" }), all, "another person");
  assert.equal(await whole({ ...ben, acr: "strong" }), all, "another sign-in");
  assert.equal(await whole(ben, "many"), MANY, "another view");

  const gone = nameOf(700);
  house.verdicts.set(`tool:tools/list ${gone}`, false);
  house.verdicts.set("mcp_server:tools/list", at("policies 2"));
  const after = namesOf(await list(house, ""));
  assert.deepEqual(
    after.filter((name) => name.startsWith("many.")),
    everything.filter((name) => name !== gone),
  );
  assert.equal(await whole(), 0);
  house.verdicts.set("mcp_server:tools/list", "not_granted");
  const { body } = await house.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as: ben });
  assert.equal(body.error?.data.code, "not_granted", "whoever may not enter gets nothing that is remembered");

  house.verdicts.set("mcp_server:tools/list", at("policies 2"));
  const headers = { "content-type": "application/json" };
  const changed = await house.request("/config/systems/many.tools", { method: "PUT", as: ada, headers, raw: many(MANY - 1) });
  assert.ok(changed.ok, await changed.text());
  assert.equal(await whole(), all - 1, "another catalogue");
});

test("where the decision point moves on in the middle of a list nothing of it is remembered", async (t) => {
  const house = await houseOf(t, MANY);
  let moment = 0;
  house.verdicts.set("mcp_server:tools/list", {
    obligations: [],
    get moment() {
      return `m${(moment += 1)}`;
    },
  });
  assert.equal(namesOf(await list(house, "")).filter((name) => name.startsWith("many.")).length, MANY);
  house.verdicts.set("mcp_server:tools/list", at("m1"));
  house.asked.batches.length = 0;
  await list(house, "");
  assert.ok(house.asked.batches.flat().filter(isAboutTools).length >= MANY);
});

test("a list of many pages leaves one record: later pages and questions are asked as the house's own", async (t) => {
  const house = await houseOf(t, MANY);
  house.asked.decisions.length = 0;
  await pages(house, "", 300);
  const entries = house.asked.decisions.filter(({ ask }) => ask.type === "mcp_server");
  assert.ok(entries.length > 4);
  assert.equal(entries.filter(({ ask }) => ask.context?.background !== true).length, 1);
});
