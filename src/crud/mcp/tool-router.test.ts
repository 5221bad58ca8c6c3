import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, crudInstance, peopleTools, type CrudInstance } from "#testing/crud-instance.ts";

const document = (instance: string): string => `apiVersion: systems/v1
provider: people
instance: ${instance}
title: People
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
network: { allow: [127.0.0.1/32] }
auth: { type: api_key, in: header, name: X-Api-Key, value: "yaml://secret/people/demo#api_key" }
defaults: { dataScope: none }
operations:
  get_employee:
    description: Shows one by its number.
    request: { method: GET, path: "/employees/{id}" }
    input: { type: object, required: [id], properties: { id: { type: string, maxLength: 5 } } }
`;
const ada = { sub: "person:ada", scopes: ["config.write", "mcp.tools.discovery", "mcp.tools.invoke"] };

const routed = async (t: Parameters<typeof crudInstance>[0]): Promise<CrudInstance> => {
  const instance = await crudInstance(t, { realEvents: true, settings: { MCP_ENABLE_ROUTER: "true" } });
  instance.membership.capabilities = [...peopleTools, "people.second.get_employee"];
  const headers = { "content-type": "application/yaml" };
  const made = await instance.request("/config/systems", { method: "POST", as: ada, headers, raw: document("second") });
  assert.equal(made.status, 201, await made.text());
  return instance;
};
const call = (instance: CrudInstance, name: string, given: unknown) =>
  instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } }, { as: agent });

test("short names are listed once, with a schema for each tool of it that the caller may use, page by page", async (t) => {
  const instance = await routed(t);
  const list = async (more: object = {}) => {
    const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list", params: more }, { as: agent });
    return body.result as unknown as {
      tools: { name: string; inputSchema: { oneOf: { properties: { tool: { const: string } } }[] } }[];
      nextCursor?: string;
    };
  };
  const { tools } = await list();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["system.health", "get_employee", "list_employees", "update_salary"],
  );
  const branches = tools[1]?.inputSchema.oneOf;
  assert.deepEqual(branches?.map(({ properties }) => properties.tool.const).toSorted(), [
    "people.demo.get_employee",
    "people.second.get_employee",
  ]);

  instance.verdicts.set("tool:tools/list people.second.get_employee", false);
  assert.equal((await list()).tools[1]?.inputSchema.oneOf.length, 1);
  const names: string[] = [];
  for (let page = await list({ limit: 2 }); ; page = await list({ limit: 2, cursor: page.nextCursor })) {
    names.push(...page.tools.map(({ name }) => name));
    if (page.nextCursor === undefined) break;
  }
  assert.deepEqual(
    names,
    tools.map(({ name }) => name),
  );
});

test("pages of every size give every name once, where the view has the tool that looks for tools as well", async (t) => {
  const instance = await routed(t);
  const document = "apiVersion: tools/v1\nviews: [{ name: searched, search: true, tenants: [tenant:acme] }]\n";
  const headers = { "content-type": "application/yaml" };
  const made = await instance.request("/config/tools", { method: "PUT", as: ada, headers, raw: document });
  assert.equal(made.status, 200, await made.text());
  for (const [path, own] of [
    ["/mcp/jsonrpc", ["system.health"]],
    ["/mcp/searched/jsonrpc", ["system.health", "system.find_tools"]],
  ] as const) {
    const list = async (params: object) =>
      (await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list", params }, { as: agent, path })).body.result;
    const all = [...own, "get_employee", "list_employees", "update_salary"];
    for (let limit = 1; limit <= all.length; limit++) {
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await list({ limit, ...(cursor === undefined ? {} : { cursor }) });
        names.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor !== undefined && names.length <= all.length);
      assert.deepEqual(names, all, `${path} ${limit}`);
    }
  }
});

test("a call names the router or the tool; what is decided, validated, paid for and recorded is the tool", async (t) => {
  const instance = await routed(t);
  for (const [name, given] of [
    ["get_employee", { tool: "people.demo.get_employee", arguments: { id: "e1" } }],
    ["get_employee", { tool: "people_demo_get_employee", arguments: { id: "e1" } }],
    ["people.demo.get_employee", { id: "e1" }],
  ] as const) {
    instance.entries.length = 0;
    const { body } = await call(instance, name, given);
    assert.equal(body.error, undefined, JSON.stringify(body));
    assert.match(body.result.content[0]?.text ?? "", /"e1"/);
    assert.ok(instance.asked.decisions.some(({ ask }) => ask.action === "tools/call" && ask.id === "people.demo.get_employee"));
  }
  const refused: readonly (readonly [given: unknown, code: string])[] = [
    [{ tool: "people.second.get_employee", arguments: { id: "too long" } }, "invalid_arguments"],
    [{ tool: "people.demo.list_employees", arguments: {} }, "unknown_tool"],
    [{ tool: "people.none.get_employee", arguments: {} }, "unknown_tool"],
    [{ tool: "system.health", arguments: {} }, "unknown_tool"],
    [{ tool: 1, arguments: {} }, "unknown_tool"],
    [{ tool: "people.demo.get_employee", arguments: { id: "e1" }, more: 1 }, "unknown_tool"],
    [{ id: "e1" }, "unknown_tool"],
    [{ tool: "people.demo.get_employee", arguments: "e1" }, "invalid_arguments"],
  ];
  for (const [given, code] of refused)
    assert.equal((await call(instance, "get_employee", given)).body.error?.data.code, code, JSON.stringify(given));
});

test("without the switch a short name is none", async (t) => {
  const instance = await crudInstance(t);
  const { body } = await call(instance, "get_employee", { tool: "people.demo.get_employee", arguments: { id: "e1" } });
  assert.equal(body.error?.data.code, "unknown_tool");
});
