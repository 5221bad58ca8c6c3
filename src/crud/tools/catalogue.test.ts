import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyToolsDocument, type ToolsDocument } from "#crud/documents/tools-document.ts";
import { isInView } from "#crud/mcp/call/steps/resolve-tool.ts";
import { buildSnapshot, findTool, leftOut, type Snapshot } from "./catalogue.ts";
import { createHealthTool } from "#crud/mcp/health-tool.ts";
import type { Tool } from "./tool.ts";
import { listedName } from "./views.ts";

const health = createHealthTool({ version: "1", checks: async () => ({}) });
const tool = (name: string, more: Partial<Tool> = {}): Tool => {
  const [provider = "", instance = ""] = name.split(".");
  return {
    ...health,
    name,
    underscore: name.replaceAll(".", "_"),
    definition: { name, description: "A tool of a test.", inputSchema: { type: "object" } },
    digest: name,
    provider,
    instance,
    isBuiltIn: false,
    ...more,
  };
};
const build = (
  tools: readonly Tool[],
  document: ToolsDocument = emptyToolsDocument,
  more: { maxTools?: number | undefined; quarantined?: string[] } = {},
) =>
  buildSnapshot({
    tools,
    document,
    quarantined: new Set(more.quarantined ?? []),
    ...(more.maxTools === undefined ? {} : { maxTools: more.maxTools }),
  });
const view = { tenants: [], nameForm: "dotted" as const, denial: "error" as const, prefix: "system" as const };
const noFilter = { source: [], provider: [], instance: [], name_prefix: [], tags_include: [], tags_exclude: [], names: [] };

test("health comes first, then names by code unit; equal inputs have one revision whatever their order", () => {
  const tools = [tool("b.x.two"), tool("a.x.B"), tool("a.x.a"), tool("a.x.A"), health];
  const one = build(tools);
  assert.deepEqual(one.order, ["system.health", "a.x.A", "a.x.B", "a.x.a", "b.x.two"]);
  assert.equal(build(tools.toReversed()).revision, one.revision);
  assert.notEqual(build(tools.slice(1)).revision, one.revision);
  assert.notEqual(build(tools, emptyToolsDocument, { quarantined: ["a.x.a"] }).revision, one.revision);
});

test("a name that is taken costs the second tool, never the catalogue", () => {
  const snapshot = build([health, tool("a.x.t"), tool("a.x.t", { digest: "other" }), tool("b.x.t")]);
  assert.deepEqual(snapshot.order, ["system.health", "a.x.t", "b.x.t"]);
  assert.deepEqual(snapshot.dropped, [{ name: "a.x.t", reason: "name_collision" }]);
  assert.equal(findTool(snapshot, "a_x_t")?.digest, "a.x.t");
});

test("the cap keeps the first in order, what is built in counted, and the rest cannot be called", () => {
  const find = tool("system.find_tools", { isBuiltIn: true });
  const searched: ToolsDocument = { ...emptyToolsDocument, views: [{ ...view, name: "v", search: true, filters: noFilter }] };
  for (const [maxTools, document, expected] of [
    [2, emptyToolsDocument, ["system.health", "a.x.a"]],
    [1, emptyToolsDocument, ["system.health"]],
    [3, searched, ["system.health", "system.find_tools", "a.x.a"]],
    [1, searched, ["system.health"]],
    [4, searched, ["system.health", "system.find_tools", "a.x.a", "a.x.b"]],
  ] as const) {
    const { order, dropped } = build([health, find, tool("a.x.c"), tool("a.x.a"), tool("a.x.b")], document, { maxTools });
    assert.deepEqual(order, expected);
    assert.equal(dropped.length, 3 - order.filter((name) => name.startsWith("a.")).length);
  }
  const snapshot = build([health, tool("a.x.c"), tool("a.x.a"), tool("a.x.b")], emptyToolsDocument, { maxTools: 3 });
  assert.deepEqual(snapshot.order, ["system.health", "a.x.a", "a.x.b"]);
  assert.equal(findTool(snapshot, "a.x.c"), undefined);
  assert.deepEqual(snapshot.dropped, [{ name: "a.x.c", reason: "max_tools" }]);
});

test("the caps of the catalogue and of a view count for each tenant: nobody's tools leave out another's", () => {
  const of = (names: string, tenants?: readonly string[]) =>
    names.split(" ").map((name) => tool(name, tenants === undefined ? {} : { tenants }));
  const tools = [
    health,
    ...of("a.x.a a.x.b a.x.c a.x.d", ["tenant:a"]),
    ...of("b.x.a b.x.b", ["tenant:b"]),
    ...of("y.x.both", ["tenant:a", "tenant:b"]),
    ...of("z.x.all"),
  ];
  const document: ToolsDocument = { ...emptyToolsDocument, views: [{ ...view, name: "three", filters: noFilter, maxTools: 3 }] };
  const shown = (snapshot: Snapshot, name: string, tenant: string) => {
    const one = snapshot.views.get(name);
    assert.ok(one !== undefined);
    const names = [...snapshot.tools.values()].filter((held) => isInView(held, one, tenant)).map((held) => held.name);
    return [names.slice(1).join(" "), leftOut(snapshot, one, tenant)];
  };
  const seen = (maxTools: number | undefined, name: string) =>
    ["tenant:a", "tenant:b", "tenant:c"].map((tenant) => shown(build(tools, document, { maxTools }), name, tenant));
  assert.deepEqual(seen(5, ""), [
    ["a.x.a a.x.b y.x.both z.x.all", { kept: 5, total: 7 }],
    ["b.x.a b.x.b y.x.both z.x.all", undefined],
    ["z.x.all", undefined],
  ]);
  assert.deepEqual(seen(2, ""), [
    ["y.x.both", { kept: 2, total: 7 }],
    ["y.x.both", { kept: 2, total: 5 }],
    ["", { kept: 1, total: 2 }],
  ]);
  assert.deepEqual(seen(undefined, "three"), [
    ["a.x.a y.x.both z.x.all", { kept: 4, total: 7 }],
    ["b.x.a y.x.both z.x.all", { kept: 4, total: 5 }],
    ["z.x.all", undefined],
  ]);
});

test("views exist by provider and instance; a provider's wins over another's provider-instance", () => {
  const { views } = build([health, tool("a.x.t"), tool("a-x.y.t"), tool("b.z.t")]);
  assert.deepEqual([...views.keys()].toSorted(), ["", "a", "a-x", "a-x-y", "b", "b-z", "workflows"]);
  assert.deepEqual([...(views.get("a-x")?.tools ?? [])], ["system.health", "a-x.y.t"]);
  assert.deepEqual([...(views.get("workflows")?.tools ?? [])], ["system.health"]);
});

test("filters of a view: keys ORed, filters ANDed, tags excluded, and health always", () => {
  const tagged = (name: string, ...tags: string[]) =>
    tool(name, { definition: { name, description: "A tool of a test.", inputSchema: {}, annotations: { tags } } });
  const document: ToolsDocument = {
    ...emptyToolsDocument,
    views: [{ ...view, name: "v", filters: { ...noFilter, provider: ["a", "b"], tags_include: ["hr"], tags_exclude: ["old"] } }],
  };
  const { views } = build(
    [health, tagged("a.x.t", "hr"), tagged("b.x.t", "hr", "old"), tagged("b.x.u", "hr"), tagged("c.x.t", "hr"), tagged("a.x.z")],
    document,
  );
  assert.deepEqual([...(views.get("v")?.tools ?? [])], ["system.health", "a.x.t", "b.x.u"]);
});

test("a view of one system may leave its name out, and one holds no more than it may", () => {
  const row = (name: string, provider: string[], more: object = {}) => ({ ...view, name, filters: { ...noFilter, provider }, ...more });
  const document: ToolsDocument = {
    ...emptyToolsDocument,
    views: [
      row("one", ["a"], { prefix: "none", maxTools: 2 }),
      row("two", ["a", "b"], { prefix: "none" }),
      row("empty", ["z"], { prefix: "none", maxTools: 2 }),
    ],
  };
  const snapshot = build([health, tool("a.x.t"), tool("a.x.u"), tool("a.x.v"), tool("b.x.t")], document);
  const shown = ["one", "two", "empty"].map((name) => {
    const one = snapshot.views.get(name);
    assert.ok(one !== undefined);
    const names = [...one.tools].map((held) => listedName(one, snapshot.tools.get(held) as Tool));
    return [names, leftOut(snapshot, one, "tenant:a")];
  });
  assert.deepEqual(shown, [
    [["system.health", "t", "u"], { kept: 3, total: 4 }],
    [["system.health", "a.x.t", "a.x.u", "a.x.v", "b.x.t"], undefined],
    [["system.health"], undefined],
  ]);
});

test("overrides change what is shown, its digest, price and state, but never health", () => {
  const document: ToolsDocument = {
    ...emptyToolsDocument,
    overrides: {
      "a.x.t": { enabled: false, title: "New", description: null, annotations: { readOnlyHint: true }, cost_usd: 0.5 },
      "system.health": { enabled: false, annotations: {} },
    },
  };
  const snapshot = build([health, tool("a.x.t")], document);
  const changed = snapshot.tools.get("a.x.t");
  assert.deepEqual(
    [changed?.state, changed?.definition.title, changed?.rules.reserveMicro, changed?.definition.annotations],
    ["disabled", "New", 500_000n, { readOnlyHint: true }],
  );
  assert.match(changed?.digest ?? "", /^[0-9a-f]{64}$/);
  assert.equal(snapshot.tools.get("system.health")?.state, "serving");
});
