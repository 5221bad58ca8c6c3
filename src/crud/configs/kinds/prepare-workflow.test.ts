import assert from "node:assert/strict";
import { test } from "node:test";
import type { Issue } from "#contract/problem.ts";
import { buildSnapshot } from "#crud/tools/catalogue.ts";
import { createBuiltInTool } from "#crud/mcp/built-in-tool.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { isPrepared, type Prepared } from "#crud/configs/config-kind.ts";
import { emptyToolsDocument } from "#crud/documents/tools-document.ts";
import { createPlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import { readWorkflow } from "#crud/workflows/definition/read-workflow.ts";
import { prepareWorkflows } from "./prepare-workflow.ts";

const scope = {
  tenant: "tenant:acme",
  others: ["tenant:globex"],
  tenantsOfSystem: (name: string) => (name === "slow.server" ? null : undefined),
  correlationId: "c",
};
const tool = (name: string, more: Partial<Tool> = {}): Tool => {
  const inputSchema = {
    type: "object",
    required: ["id"],
    properties: { id: { type: "string" }, n: { type: "integer" } },
    additionalProperties: false,
  };
  const made = createBuiltInTool({ name, description: "Does it.", inputSchema }, async () => ({ value: {} }));
  return { ...made, isBuiltIn: false, ...more };
};
const changing = (name: string): Tool => {
  const { definition, rules, ...made } = tool(name);
  return { ...made, definition: { ...definition, annotations: {} }, rules: { ...rules, isReadOnly: false } };
};
const tools = [tool("people.demo.get"), changing("people.demo.put"), tool("others.only.get", { tenants: ["tenant:globex"] })];

const open = () => {
  const placed = createPlacedWorkflows();
  const started: unknown[] = [];
  const build = (more: readonly Tool[]) =>
    buildSnapshot({ tools: [...tools, ...more], document: emptyToolsDocument, quarantined: new Set() });
  const kind = prepareWorkflows(
    {
      catalogue: { snapshot: build([]), preview: ({ workflows }) => build(workflows?.() ?? []) },
      ownerIssues: async ({ owner, at }) => (owner === "group:people-ops" ? [] : [{ ...at, message: "names nobody", code: "unknown" }]),
      placed,
      start: async ({ name }, call) => {
        started.push([name, call.arguments]);
        return { value: { accepted: true } };
      },
      hasForm: (id) => id === "known",
    },
    async (text, shown) => readWorkflow(text, shown),
  );
  const prepare = (text: string, name?: string) => kind.prepare({ name, text, read: async () => undefined, tenant: "tenant:acme" });
  return { ...kind, prepare, placed, started };
};
const text = (tasks: string, { version = "1.0.0", namespace = "acme", owner = "group:people-ops" } = {}): string => `document:
  dsl: 1.0.0
  namespace: ${namespace}
  name: grant-access
  version: ${version}
  metadata: { owner: "${owner}", mcp: { enabled: true } }
evaluate: { language: cel }
input: { schema: { document: { type: object, required: [id], properties: { id: { type: string } } } } }
do:
${tasks}
`;
const good = "- a: { call: people.demo.get, with: { id: '${ input.id }' } }";
const ready = async (opened: ReturnType<typeof open>, document: string): Promise<Prepared> => {
  const found = await opened.prepare(document);
  assert.ok(isPrepared(found), JSON.stringify(found.issues));
  return found;
};
const shown = (issues: readonly Issue[]): readonly string[] => issues.map(({ code, line, column }) => `${code} ${line}:${column}`);

for (const [what, document, issues] of [
  ["a good one", text(good), []],
  ["a tool that is none", text("- a: { call: people.demo.gte, with: { id: x } }"), ["unknown_tool 10:14"]],
  ["another tenant's tool", text("- a: { call: others.only.get, with: { id: x } }"), ["unknown_tool 10:14"]],
  ["a tool of a server that has not answered", text("- a: { call: slow.server.get, with: { id: x } }"), []],
  ["an argument that lacks", text("- a: { call: people.demo.get }"), ["bad_argument 10:6"]],
  ["an argument of another type", text("- a: { call: people.demo.get, with: { id: 5 } }"), ["bad_argument 10:43"]],
  ["an argument that is not known", text("- a: { call: people.demo.get, with: { id: x, m: '${ 1 }' } }"), ["bad_argument 10:49"]],
  ["an expression where a number is wanted", text("- a: { call: people.demo.get, with: { id: x, n: '${ input.n }' } }"), []],
  [
    "an undo that is wrong",
    text("- a: { call: people.demo.get, with: { id: x }, metadata: { compensate: { call: people.demo.no } } }"),
    ["unknown_tool 10:80"],
  ],
  [
    "a form that is none",
    text("- a: { call: human.task, with: { title: t, assign: ['person:cleo'], form: other } }"),
    ["unknown_form 10:75"],
  ],
  ["an owner that is nobody", text(good, { owner: "group:nobody" }), ["owner_unknown 6:22"]],
  ["one for all tenants", text(good, { namespace: "all" }), ["cross_tenant 3:14"]],
] as const)
  test(`what is found as ${what} is published: ${issues.join(", ") || "nothing"}`, async () => {
    assert.deepEqual(shown(await (await ready(open(), document)).check(scope)), issues);
  });

test("a text that cannot be read has its owner looked up all the same, and another name than its address is an issue", async () => {
  const opened = open();
  const found = await opened.prepare(text("- a: { wiat: PT1S }", { owner: "group:nobody" }));
  assert.ok(!isPrepared(found));
  assert.deepEqual([found.name, shown(found.issues)], ["grant-access", ["unknown_key 10:8"]]);
  assert.deepEqual(shown((await found.check?.(scope)) ?? []), ["owner_unknown 6:22"]);
  const other = await opened.prepare(text(good), "offboard");
  assert.deepEqual(shown(other.issues), ["bad_name 4:9"]);
});

test("a change needs a higher version, and only a rollback may go back", async () => {
  const opened = open();
  (await ready(opened, text(good, { version: "1.2.0" }))).place();
  const checked = async (version: string, more = {}, tasks = `${good} # changed`) =>
    shown(await (await ready(opened, text(tasks, { version }))).check({ ...scope, ...more }));
  assert.deepEqual(await checked("1.2.0"), ["version_exists 5:12"]);
  assert.deepEqual(await checked("1.2.0", {}, good), []);
  assert.deepEqual(await checked("1.2.0-rc.1"), ["version_not_higher 5:12"]);
  assert.deepEqual(await checked("1.10.0"), []);
  assert.deepEqual(await checked("1.1.9"), ["version_not_higher 5:12"]);
  assert.deepEqual(await checked("1.1.9", { isRollback: true }), []);
});

test("a workflow that agents may start is a tool of the catalogue once it is placed, which starts it", async () => {
  const opened = open();
  const prepared = await ready(opened, text(good));
  assert.ok(prepared.preview().tools.has("workflow.grant_access"));
  assert.equal(opened.placed.tools.length, 0);
  prepared.place();
  const [made] = opened.placed.tools;
  assert.deepEqual(
    [made?.name, made?.underscore, made?.source, made?.tenants],
    ["workflow.grant_access", "workflow_grant_access", "workflow", ["tenant:acme"]],
  );
  assert.deepEqual(
    (await made?.checkArguments({}))?.map(({ path }) => path),
    ["/id"],
  );
  await made?.connector({ arguments: { id: "e1" } } as never);
  assert.deepEqual(opened.started, [["grant-access", { id: "e1" }]]);
  opened.absent("grant-access").place();
  assert.equal(opened.placed.tools.length, 0);
});

test("its publisher is warned of what nothing undoes and what cannot be repeated", async () => {
  const tasks = "- a: { call: people.demo.put, with: { id: x } }\n- b: { call: people.demo.get, with: { id: x } }";
  const prepared = await ready(open(), text(tasks));
  assert.deepEqual(
    prepared.warnings?.(prepared.preview(), "tenant:acme").map((one) => one.split(": ", 2).join(" ")),
    ["workflow.yaml:10:14 compensate_missing", "workflow.yaml:10:14 not_idempotent"],
  );
});
