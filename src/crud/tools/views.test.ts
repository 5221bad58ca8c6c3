import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyToolsDocument, toolsDocument, type ToolsDocument } from "#crud/documents/tools-document.ts";
import { buildSnapshot } from "./catalogue.ts";
import type { Tool } from "./tool.ts";
import { buildViews, findView, type NamedSystem } from "./views.ts";

const globex = ["tenant:globex"];
const both = ["tenant:acme", "tenant:globex"];
const system = (provider: string, instance: string, tenants?: readonly string[]): NamedSystem => ({
  provider,
  instance,
  ...(tenants === undefined ? {} : { tenants }),
});

for (const [what, systems, name, tenants] of [
  ["a provider of one tenant", [system("people", "demo"), system("people-demo", "x", globex)], "people-demo", []],
  ["a provider of fewer tenants", [system("people", "demo", both), system("people-demo", "x", globex)], "people-demo", both],
  ["an instance that is named alike", [system("crm", "eu-main"), system("crm-eu", "main", globex)], "crm-eu-main", []],
  ["an instance that comes first", [system("crm-eu", "main", globex), system("crm", "eu-main")], "crm-eu-main", []],
  ["a provider for all", [system("people", "demo", both), system("people-demo", "x")], "people-demo", []],
] as const)
  test(`a view that others see is not taken from them: ${what}`, () => {
    assert.deepEqual(buildViews([], emptyToolsDocument, systems).get(name)?.tenants, tenants);
  });

const documentOf = (views: readonly object[]): ToolsDocument => toolsDocument.parse({ apiVersion: "tools/v1", views });
for (const [what, systems] of [
  ["of another tenant's system", [system("acme", "books", ["tenant:acme"])]],
  ["of a system of several", [system("acme", "books", both)]],
  ["of a system of all", [system("acme", "books")]],
] as const)
  test(`a view that a tenant names like that ${what} is its own alone, whichever of the two came first`, () => {
    const views = buildViews([], documentOf([{ name: "acme-books", tenants: globex, title: "Mine" }]), systems);
    assert.deepEqual(
      [findView(views, "acme-books", "tenant:globex")?.title, findView(views, "acme-books", "tenant:acme")?.title],
      ["Mine", undefined],
    );
    assert.equal(findView(views, "acme-books", "tenant:acme")?.name, "acme-books");
  });

test("a view of some tenants is found by them alone", () => {
  const views = buildViews([], documentOf([{ name: "mine", tenants: globex }]));
  assert.deepEqual(
    ["tenant:globex", "tenant:acme"].map((tenant) => findView(views, "mine", tenant)?.name),
    ["mine", undefined],
  );
});

/** A tool as views see it. */
const toolOf = (base: string, tags: readonly string[] = []): Tool =>
  ({
    name: `p.i.${base}`,
    underscore: `p_i_${base}`,
    provider: "p",
    instance: "i",
    source: "system",
    digest: "",
    state: "serving",
    definition: { name: base, description: base, inputSchema: {}, annotations: { tags } },
    rules: { isReadOnly: true, isDestructive: false, reserveMicro: 0n },
  }) as unknown as Tool;

const tools = [toolOf("a", ["x"]), toolOf("ab", ["y"]), toolOf("b"), toolOf("ba", ["x", "y"]), toolOf("c")];
for (const [filters, bases] of [
  [{}, "a ab b ba c"],
  [{ name_prefix: ["p.i.b"] }, "b ba"],
  [{ name_prefix: ["p.i.ba", "p.i.a", "p.i.ab", "p.i.abc", "p.i", "q"] }, "a ab b ba c"],
  [{ name_prefix: ["p.i.ab", "p.i.abc", "p.i.bb", "p.i.c"] }, "ab c"],
  [{ name_prefix: ["z"] }, ""],
  [{ name_prefix: ["p.i.b"], names: ["p.i.a", "p.i.ba"] }, "ba"],
  [{ tags_include: ["x"] }, "a ba"],
  [{ tags_include: ["x", "y"], tags_exclude: ["y"] }, "a"],
  [{ provider: ["p"], instance: ["j"] }, ""],
  [{ source: ["workflow"] }, ""],
] as const)
  test(`a view holds what its filters name: ${JSON.stringify(filters)}`, () => {
    const view = buildViews(tools, documentOf([{ name: "v", filters }])).get("v");
    assert.equal([...(view?.tools ?? [])].map((name) => name.slice(4)).join(" "), bases);
  });

/** So many tools, and how often anything of them was read. */
const counted = (count: number) => {
  const reads = { count: 0 };
  const all = Array.from(
    { length: count },
    (_none, at) =>
      new Proxy(toolOf(`t${String(at).padStart(5, "0")}`), {
        get: (tool, name) => {
          reads.count++;
          return Reflect.get(tool, name) as unknown;
        },
      }),
  );
  return { reads, all };
};

test("two hundred views of eighty words beside two thousand tools cost what one costs, until somebody looks at them", () => {
  const words = Array.from({ length: 80 }, (_none, at) => `p.i.t${String(at).padStart(5, "0")}`);
  const views = Array.from({ length: 200 }, (_none, at) => ({ name: `v${at}`, prefix: "none", filters: { name_prefix: words } }));
  const [one, many] = [views.slice(0, 1), views].map((given) => {
    const { all, reads } = counted(2000);
    const snapshot = buildSnapshot({ tools: all, document: documentOf(given), quarantined: new Set() });
    return { snapshot, reads };
  });
  assert.ok(one !== undefined && many !== undefined);
  assert.equal(many.reads.count, one.reads.count);
  const before = many.reads.count;
  const view = many.snapshot.views.get("v7");
  assert.deepEqual([view?.tools.size, view?.prefix, view?.cut, view?.search], [80, "p.i.", [], false]);
  assert.ok(many.reads.count - before < 20 * 2000, `${many.reads.count - before} reads`);
});

test("another filter of a view is another revision, whatever it holds", () => {
  const revisionOf = (views: readonly object[]): string =>
    buildSnapshot({ tools, document: documentOf(views), quarantined: new Set() }).revision;
  const all = [
    [],
    [{ name: "v" }],
    [{ name: "v", filters: { names: ["p.i.a"] } }],
    [{ name: "v", maxTools: 1 }],
    [{ name: "v", prefix: "none" }],
    [{ name: "v", search: true }],
  ];
  assert.equal(new Set(all.map(revisionOf)).size, all.length);
});
