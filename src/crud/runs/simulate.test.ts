import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Simulation } from "#contract/workflows.ts";
import { crudInstance } from "#testing/crud-instance.ts";
import type { TestTokenOf } from "#testing/identity.ts";

const ben = { sub: "person:ben", scopes: ["workflows.start", "mcp.tools.invoke"] };
const ada = { sub: "person:ada", scopes: ["workflows.start", "config.write"] };

/** A document that is not published, with these tasks. */
const source = (tasks: string, more = ""): string => `document:
  dsl: 1.0.0
  namespace: acme
  name: hello
  version: 1.0.0
  title: Hello
  metadata: { owner: "group:people-ops" }
evaluate: { language: cel }
${more}do:
${tasks}`;

const employee = { id: "e1", tenant: "acme", name: "Ann", status: "active", systems: ["mail", "vpn"] };
const lookUp = "  - look_up: { call: people.demo.get_employee, with: { id: e1 } }\n";

/** In place of the memory server, which is a program of its own: only its decisions are needed. */
const book = `apiVersion: systems/v1
provider: staff
instance: book
title: Staff book
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
network: { allow: [127.0.0.1/32] }
auth: { type: api_key, in: header, name: X-Api-Key, value: "yaml://secret/people/demo#api_key" }
defaults: { dataScope: none }
operations:
${["open_nodes", "create_entities", "delete_entities", "create_relations", "delete_relations"]
  .map(
    (
      name,
    ) => `  ${name}: { description: Does it for a test., request: { method: POST, path: /a }, input: { type: object, additionalProperties: true },
    output: { schema: { type: object, properties: { relations: { type: array, examples: [[]] } } } } }\n`,
  )
  .join("")}`;
const demo = async (name: string): Promise<string> =>
  (await readFile(new URL(`../../../config/demo/workflows/${name}.yaml`, import.meta.url), "utf8")).replaceAll(
    "memory.demo.",
    "staff.book.",
  );

/** How a simulation is asked for, and what it comes to: the names and decisions of its steps, what is not taken, its outcome. */
interface Row {
  readonly what: string;
  readonly source?: string;
  /** Of the demo, as it is published or, with `isWhole`, over all of its tools. */
  readonly name?: string;
  readonly isWhole?: boolean;
  readonly body?: object;
  readonly refuse?: string;
  readonly path: readonly string[];
  readonly notTaken?: readonly string[];
  readonly outcome: Simulation["outcome"];
  /** Where its errors are, and their type's last word. */
  readonly errors?: readonly string[];
  readonly cost?: Simulation["cost"];
}

const rows: readonly Row[] = [
  {
    what: "a demo document whose first result nobody knows",
    name: "offboard",
    body: { data: { employee_id: "e1" } },
    path: ["/do/look_up permit"],
    notTaken: ["/do/is_active not_reached", "/do/approve not_reached", "/do/record not_reached", "/do/revoke_all not_reached"].concat(
      "/do/cool_off not_reached",
    ),
    outcome: "undetermined",
    errors: ["/do/is_active undetermined"],
    cost: { usd: 0.001, steps: 1 },
  },
  {
    what: "as far as its task",
    name: "offboard",
    body: { data: { employee_id: "e1" }, assume: { "/do/look_up": { output: employee } } },
    path: ["/do/look_up permit assumed", "/do/is_active", "/do/approve waits human"],
    notTaken: ["/do/record not_reached", "/do/revoke_all not_reached", "/do/cool_off not_reached"],
    outcome: "waiting",
  },
  {
    what: "to its end",
    name: "offboard",
    isWhole: true,
    body: {
      data: { employee_id: "e1" },
      assume: { "/do/look_up": { output: employee }, "/do/approve": { decision: "approve" } },
    },
    path: [
      "/do/look_up permit assumed",
      "/do/is_active",
      "/do/approve approve assumed waits human",
      "/do/record permit assumed",
      "/do/revoke_all",
      "/do/revoke_all[0]/revoke permit assumed",
      "/do/revoke_all[1]/revoke permit assumed",
      "/do/cool_off waits timer 10",
    ],
    outcome: "completed",
  },
  {
    what: "a rejection",
    name: "offboard",
    body: { data: { employee_id: "e1" }, assume: { "/do/look_up": { output: employee }, "/do/approve": { decision: "reject" } } },
    path: ["/do/look_up permit assumed", "/do/is_active", "/do/approve reject assumed waits human"],
    notTaken: ["/do/record not_reached", "/do/revoke_all not_reached", "/do/cool_off not_reached"],
    outcome: "faulted",
    errors: ["/do/approve rejected"],
  },
  {
    what: "a case that jumps to the end",
    name: "offboard",
    body: { data: { employee_id: "e1" }, assume: { "/do/look_up": { output: { ...employee, status: "left" } } } },
    path: ["/do/look_up permit assumed", "/do/is_active"],
    notTaken: ["/do/approve jump", "/do/record jump", "/do/revoke_all jump", "/do/cool_off jump"],
    outcome: "completed",
  },
  {
    what: "a loop over days until a moment, after a fork of two tasks",
    name: "grant-access",
    isWhole: true,
    body: {
      data: { person: "a", resource: "b", until: new Date(Date.now() + 36 * 3_600_000).toISOString() },
      assume: {
        "/do/approve/by_people_ops": { decision: "approve" },
        "/do/approve/by_platform": { decision: "approve" },
      },
    },
    path: [
      "/do/find permit assumed",
      "/do/is_connected",
      "/do/approve",
      "/do/approve/by_people_ops approve assumed waits human",
      "/do/approve/by_platform approve assumed waits human",
      "/do/create permit assumed",
      "/do/hold",
      "/do/hold[0]/rest waits timer 86400",
      "/do/hold[1]/rest waits timer 86400",
      "/do/delete permit assumed",
    ],
    outcome: "completed",
  },
  {
    what: "a refused step waits, as a run would",
    source: source(`${lookUp}  - after: { set: { a: 1 } }\n`),
    refuse: "people.demo.get_employee",
    path: ["/do/look_up not_granted waits denied"],
    notTaken: ["/do/after not_reached"],
    outcome: "waiting",
    errors: ["/do/look_up authorization"],
    cost: { usd: 0, steps: 0 },
  },
  {
    what: "arguments that do not fit",
    source: source('  - look_up: { call: people.demo.get_employee, with: { id: "${ string(7) }" } }\n'),
    path: ["/do/look_up invalid_arguments"],
    outcome: "faulted",
    errors: ["/do/look_up validation"],
  },
  {
    what: "an error that is assumed, and caught",
    source: source(
      `  - careful:\n      try:\n      ${lookUp.replaceAll("\n", "\n      ")}  - next: { set: { a: 1 } }\n      catch:\n        do:\n          - other: { set: { b: "\${ error.status }" } }\n`,
    ),
    body: { assume: { "/do/careful/try/look_up": { error: { status: 404 } } } },
    path: ["/do/careful", "/do/careful/try/look_up permit assumed", "/do/careful/catch/other"],
    notTaken: ["/do/careful/try/next not_reached"],
    outcome: "completed",
  },
  {
    what: "what reads the unknown is unknown, and what does not is decided",
    source: source(
      `${lookUp}  - again: { call: people.demo.get_employee, with: { id: "\${ steps.look_up.manager }" } }
  - known: { if: "\${ input.size() == 0 }", set: { a: "\${ steps.look_up.name }", b: 2 } }
  - way: { switch: [{ two: { when: "\${ steps.known.b == 2 }", then: end } }, { other: { then: rest } }] }
  - rest: { wait: PT1S }
`,
    ),
    path: ["/do/look_up permit", "/do/again unknown", "/do/known", "/do/way"],
    notTaken: ["/do/rest jump"],
    outcome: "completed",
    cost: { usd: 0.002, steps: 2 },
  },
  {
    what: "a list inside of which something is unknown is unknown",
    source: source(
      `${lookUp}  - list: { set: { all: [1, "\${ steps.look_up.name }"] } }
  - way: { switch: [{ some: { when: "\${ steps.list.all.exists(one, one == 'x') }", then: end } }, { other: { then: end } }] }
`,
    ),
    path: ["/do/look_up permit", "/do/list"],
    notTaken: ["/do/way not_reached"],
    outcome: "undetermined",
    errors: ["/do/way undetermined"],
  },
  {
    what: "a loop over the unknown",
    source: source(
      `${lookUp}  - each: { for: { each: one, in: "\${ steps.look_up.systems }" }, do: [{ a: { set: { x: "\${ one }" } } }] }\n`,
    ),
    path: ["/do/look_up permit"],
    notTaken: ["/do/each not_reached"],
    outcome: "undetermined",
    errors: ["/do/each undetermined"],
  },
  {
    what: "a loop over nothing, and a condition that is false",
    source: source(
      '  - each: { for: { each: one, in: "${ [] }" }, do: [{ a: { set: { x: 1 } } }] }\n  - no: { if: "${ 1 > 2 }", set: { a: 1 } }\n  - yes: { set: { a: 1 } }\n',
    ),
    path: ["/do/each", "/do/yes"],
    notTaken: ["/do/each[0]/a no_items", "/do/no condition"],
    outcome: "completed",
    cost: { usd: 0, steps: 0 },
  },
  {
    what: "a wait beyond the time of the run",
    source: source("  - rest: { wait: PT2H }\n", "timeout: { after: PT1H }\n"),
    path: ["/do/rest waits timer"],
    outcome: "faulted",
    errors: ["/do timeout"],
  },
  {
    what: "more steps than a simulation has",
    source: source(
      '  - each: { for: { each: one, in: "${ [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }" }, do: [{ ten: { for: { each: two, in: "${ [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }" }, do: [{ hundred: { for: { each: three, in: "${ [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }" }, do: [{ a: { set: { x: 1 } } }] } }] } }] }\n',
    ),
    path: [],
    outcome: "undetermined",
    errors: ["limit"],
  },
];

const shownStep = ({ path, decision, assumed, waits }: Simulation["path"][number]): string =>
  [path, decision, assumed ? "assumed" : undefined, waits === undefined ? undefined : "waits", waits?.reason, waits?.seconds]
    .filter((part) => part !== undefined)
    .join(" ");

test("simulations come to what a run would, and leave nothing but one audit entry each", async (t) => {
  const crud = await crudInstance(t, { settings: { WORKFLOW_ENGINE: "off" } });
  const published = await crud.request("/config/systems", {
    method: "POST",
    as: ada,
    raw: book,
    headers: { "content-type": "application/yaml" },
  });
  assert.equal(published.status, 201, await published.text());
  for (const { what, source: own, name = "hello", isWhole = false, body = {}, refuse, ...expected } of rows) {
    const text = isWhole ? await demo(name) : own;
    if (refuse !== undefined) crud.verdicts.set(`tool:tools/call ${refuse}`, false);
    const [entries, asked] = [crud.entries.length, crud.asked.decisions.length];
    crud.statements.length = crud.asked.secrets.length = 0;
    const response = await crud.request(`/workflows/${name}/simulate`, {
      as: text === undefined ? ben : ada,
      body: { ...body, ...(text === undefined ? {} : { source: text }) },
    });
    const found = (await response.json()) as Simulation;
    assert.equal(response.status, 200, `${what}: ${JSON.stringify(found)}`);
    crud.verdicts.clear();
    if (expected.errors?.[0] === "limit") {
      assert.deepEqual([found.outcome, found.path.length > 900], ["undetermined", true], what);
      continue;
    }
    const errors = found.errors.map(({ type, instance }) => `${instance} ${/[^:/]+$/.exec(type)?.[0]}`);
    const notTaken = found.not_taken.map(({ path, because }) => `${path} ${because}`);
    const came = { path: found.path.map(shownStep), notTaken, outcome: found.outcome, errors };
    const { cost, ...wanted } = expected;
    assert.deepEqual(came, { notTaken: [], errors: [], ...wanted }, what);
    if (cost !== undefined) assert.deepEqual(found.cost, cost, what);

    assert.deepEqual(crud.asked.secrets, [], what);
    assert.ok(!crud.asked.membership.some(({ path }) => path.includes("reserv")), what);
    assert.ok(!crud.statements.some((one) => one.startsWith("crud.wf_")), `${what}: ${crud.statements.join()}`);
    assert.deepEqual(
      crud.entries.slice(entries).map(({ phase, draft }) => [phase, draft.category, draft.data?.["op"]]),
      [["single", "workflow", "simulate"]],
      what,
    );
    const calls = crud.asked.decisions.slice(asked).filter(({ ask }) => ask.action === "tools/call");
    assert.ok(
      calls.every(({ ask }) => ask.context?.simulation === true && ask.context.showing === true),
      what,
    );
  }
});

test("who may start a workflow may simulate it, and who may publish it what is not published", async (t) => {
  const crud = await crudInstance(t, { settings: { WORKFLOW_ENGINE: "off" } });
  const text = source("  - a: { set: { b: 1 } }\n");
  const data = { employee_id: "e1" };
  const refused: readonly (readonly [
    what: string,
    as: Partial<TestTokenOf>,
    name: string,
    body: object,
    code: string,
    verdict?: string,
  ])[] = [
    ["data that do not fit", ben, "offboard", { data: {} }, "invalid_input"],
    ["no such workflow", ben, "nothing", {}, "not_found"],
    ["no such version", ben, "offboard", { data, version: "9.9.9" }, "not_found"],
    ["no right to start", ben, "offboard", { data }, "not_granted", "tool:tools/call workflow.offboard"],
    ["no scope to start", { ...ben, scopes: ["workflows.read"] }, "offboard", { data }, "insufficient_scope"],
    ["no scope to publish", ben, "hello", { source: text }, "insufficient_scope"],
    ["no right to publish", ada, "hello", { source: text }, "access_denied", "config:write"],
    ["another name", ada, "other", { source: text }, "invalid_definition"],
    ["another tenant's", ada, "hello", { source: text.replace("acme", "globex") }, "invalid_definition"],
    ["issues of the document", ada, "hello", { source: text.replace("set", "sett") }, "invalid_definition"],
    ["a version and a source", ada, "hello", { source: text, version: "1.0.0" }, "invalid_body"],
    ["a path of no step", ben, "offboard", { data, assume: { "/do/nothing": { output: 1 } } }, "unprocessable"],
    ["a decision that is none of the task's", ben, "offboard", { data, assume: { "/do/approve": { decision: "x" } } }, "unprocessable"],
    ["a decision of a call", ben, "offboard", { data, assume: { "/do/record": { decision: "approve" } } }, "unprocessable"],
    ["an output and an error", ben, "offboard", { data, assume: { "/do/record": { output: 1, error: { status: 404 } } } }, "invalid_body"],
  ];
  for (const [what, as, name, body, code, verdict] of refused) {
    if (verdict !== undefined) crud.verdicts.set(verdict, false);
    const answered = (await (await crud.request(`/workflows/${name}/simulate`, { as, body })).json()) as { code: string };
    assert.equal(answered.code, code, `${what}: ${JSON.stringify(answered)}`);
    crud.verdicts.clear();
  }

  crud.verdicts.set("tool:tools/call workflow.offboard", ({ context }) => context?.workflow === undefined);
  const asAgent = await crud.request("/workflows/offboard/simulate", { as: ben, body: { data, as_agent: "agent:hr" } });
  const { outcome, errors } = (await asAgent.json()) as Simulation;
  assert.deepEqual([outcome, errors.map(({ title, instance }) => [title, instance])], ["faulted", [["not_granted", "/"]]]);
  assert.deepEqual(crud.asked.decisions.at(-1)?.principal.agent, "agent:hr", "the agent is asked for too");
  crud.verdicts.clear();

  const call = { method: "tools/call", params: { name: "workflow.simulate", arguments: { name: "workflow.offboard", arguments: data } } };
  const { body } = await crud.rpc({ jsonrpc: "2.0", id: 1, ...call }, { as: ben });
  assert.equal(JSON.parse(body.result.content[0]?.text ?? "").outcome, "undetermined");
});
