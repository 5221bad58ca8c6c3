import assert from "node:assert/strict";
import { test } from "node:test";
import { statement } from "#store/database.ts";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { dumpTables, placesWith } from "#testing/table-dump.ts";
import { until } from "#testing/until.ts";

const scopes = [
  "config.read",
  "config.write",
  "forms.read",
  "mcp.tools.discovery",
  "mcp.tools.invoke",
  "workflows.start",
  "workflows.read",
  "workflows.operate",
];
const ada = { sub: "person:ada", scopes, acr: "strong" as const };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

const client =
  (instance: CrudInstance, as: object = ada) =>
  async (method: string, path: string, sent?: unknown) => {
    const isText = typeof sent === "string";
    const response = await instance.request(path, {
      method,
      as,
      ...(isText ? { raw: sent, headers: { "content-type": "application/yaml" } } : sent === undefined ? {} : { body: sent }),
    });
    // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
    return { status: response.status, body: JSON.parse(await response.text()) as any };
  };

const text = (
  more = "",
  schema = "{ type: object, properties: { id: { title: Who, x-redact: last4 }, salary: {} } }",
): string => `apiVersion: forms/v1
id: pay
title: Pay
tenants: [tenant:acme]
tool: people.demo.update_salary
schema: ${schema}
${more}`;

test("a form is published at both addresses, checked whole beside its target, and is the tenant's own", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const [ask, other] = [client(instance), client(instance, eve)];
  const wrong: readonly (readonly [string, readonly string[]])[] = [
    [text("titel: x"), ["7:1 is not known here"]],
    [text("", "{ type: array }"), ["6:17 must be object"]],
    [text("workflow: offboard"), ["7:1 a form has one target: tool or workflow"]],
    [text("", "{ type: object, properties: { salary: { maximum: 200000000 }, id: {} } }"), ["6:58 is looser than 100000000 of the target"]],
    [text("", "{ type: object, properties: { id: {} } }"), ["6:37 lacks salary, which the target requires"]],
    [
      text("", "{ type: object, properties: { id: { x-redact: no, x-nomalize: trim }, salary: { x-default: '${ nwo }' } } }"),
      [
        "6:55 must be one of true, last4",
        "6:59 is not known here: x-suggest, x-normalize, x-default, x-redact",
        "6:100 Unknown variable: nwo",
      ],
    ],
    [
      text("", "{ type: object, properties: { id: { x-suggest: { tool: people.demo.lst_employees } }, salary: {} } }"),
      ["6:64 people.demo.lst_employees is no tool that you see"],
    ],
    [
      text("", "{ type: object, properties: { id: { x-suggest: { tool: people.demo.update_salary } }, salary: {} } }"),
      ["6:64 people.demo.update_salary changes something: suggestions only read"],
    ],
    [text("tests: [{ data: { id: e1, salary: 1 }, valid: false }]"), ["7:17 is taken, and should not be"]],
    [text().replace("tenants: [tenant:acme]\n", ""), ["1:1 is of other tenants too"]],
  ];
  for (const [sent, found] of wrong) {
    const { status, body } = await ask("POST", "/config/forms", sent);
    const issues = (body.errors ?? []).map(
      (one: Record<string, unknown>) => `${String(one["line"])}:${String(one["column"])} ${String(one["message"])}`,
    );
    assert.deepEqual([status, issues], [422, found], `${sent}\n${JSON.stringify(body)}`);
  }
  assert.equal((await ask("POST", "/forms", text())).status, 201);
  const rows = (await ask("GET", "/forms")).body.forms.map(({ name, title }: Record<string, string>) => `${name} ${title}`);
  assert.deepEqual(rows, [
    "grant_access_start Grant access for a time",
    "offboard_approve Approve an offboarding",
    "pay Pay",
    "update_salary Change a salary",
  ]);
  assert.deepEqual(
    [(await ask("PUT", "/forms/pay", text("description: Now."))).status, (await ask("GET", "/config/forms/pay")).body.version],
    [200, 2],
  );
  assert.deepEqual(
    (await other("GET", "/forms")).body.forms.map(({ name }: { readonly name: string }) => name),
    ["update_salary"],
  );
  for (const path of ["/forms/pay", "/forms/schema?form=pay", "/forms/none"]) assert.equal((await other("GET", path)).status, 404, path);
  instance.verdicts.set("forms:view", false);
  for (const path of ["/forms", "/forms/pay", "/forms/none", "/forms/schema?form=pay", "/forms/suggest?form=pay&field=/id"])
    assert.equal((await ask("GET", path)).status, 403, path);
  assert.equal((await client(instance, { ...ada, scopes: ["config.read"] })("GET", "/forms")).status, 403);
});

test("the form of a tool is its schema with the stored form's layout", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  const { body } = await ask("GET", "/forms/schema?tool=people.demo.update_salary");
  assert.ok(body.schema, JSON.stringify(body));
  assert.deepEqual(
    [body.form, body.title, body.schema.required, body.schema.properties.id],
    [
      "update_salary",
      "Change a salary",
      ["id", "salary"],
      { type: "string", pattern: "^e[0-9]{1,9}$", description: "Id of the employee, such as e1.", title: "Employee" },
    ],
  );
  assert.deepEqual(body.fields, [
    {
      name: "id",
      path: "/id",
      type: "string",
      required: true,
      label: "Employee",
      description: "Id of the employee, such as e1.",
      pattern: "^e[0-9]{1,9}$",
      validation: [{ kind: "pattern", value: "^e[0-9]{1,9}$", message: "Has another form." }],
      suggest: { url: "/forms/suggest?tool=people.demo.update_salary&field=%2Fid", min_chars: 1, limit: 20 },
      normalize: ["trim", "lower"],
    },
    {
      name: "salary",
      path: "/salary",
      type: "integer",
      required: true,
      label: "New yearly salary",
      description: "The new yearly salary.",
      validation: [
        { kind: "minimum", value: 0, message: "At least 0." },
        { kind: "maximum", value: 10_000_000, message: "At most 10000000." },
      ],
    },
  ]);
  assert.deepEqual(body.ui_hints, { debounce_ms: 250, min_chars: 3, normalize_on: ["blur", "submit"] });
  const plain = await ask("GET", "/forms/schema?tool=people.demo.get_employee");
  assert.deepEqual([plain.body.form, plain.body.title, plain.body.fields[0].label], [null, "Get one employee", "Id"]);
  const start = await ask("GET", "/forms/schema?workflow=workflow.grant_access");
  const [, , until] = start.body.fields;
  assert.deepEqual([start.body.form, start.body.schema.additionalProperties, until.name], ["grant_access_start", false, "until"]);
  assert.match(until.default, /^20\d\d-.*Z$/);
  for (const [query, status] of [
    ["tool=people.demo.nothing", 404],
    ["workflow=nothing", 404],
    ["tool=a&form=pay", 422],
    ["", 422],
  ] as const)
    assert.equal((await ask("GET", `/forms/schema?${query}`)).status, status, query);
});

test("suggestions are what the caller's own call of the tool gives", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  const field = "/forms/suggest?form=update_salary&field=/id";
  const { body } = await ask("GET", `${field}&q=a&limit=2`);
  assert.equal(body.items?.length, 2, JSON.stringify(body));
  assert.match(body.items[0].value, /^e\d+$/);
  const next = await ask("GET", `${field}&q=a&limit=2&cursor=${encodeURIComponent(body.nextCursor)}`);
  assert.notDeepEqual(next.body.items, body.items);
  assert.deepEqual((await ask("GET", `${field}`)).body, { items: [], truncated: false }, "too little is typed");
  const [row] = instance.entries.length === 0 ? [] : instance.entries;
  assert.ok(row === undefined || row.draft.category === "tool_call");
  instance.verdicts.set("tool:tools/call people.demo.list_employees", "not_delegated");
  instance.verdicts.set("employee:list", false);
  assert.equal((await ask("GET", `${field}&q=a`)).status, 403);
  assert.equal((await ask("GET", "/forms/suggest?form=update_salary&field=/salary&q=a")).status, 404);
  assert.equal((await ask("GET", `${field}&q=a&with=[`)).status, 422);
});

test("data is normalized, filled in and checked; a submit calls the tool once for its key", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  const schema =
    '{ type: object, properties: { id: { x-normalize: [trim, lower], x-redact: true }, salary: { x-default: "${ size(data.id) * 1000 }" } } }';
  assert.equal((await ask("POST", "/forms", text("", schema))).status, 201);
  const tried = await ask("POST", "/forms/pay/validate", { data: { id: "  E12 " } });
  assert.deepEqual(tried.body, { valid: true, errors: [], data: { id: "***", salary: 3000 } });
  const wrong = await ask("POST", "/forms/pay/validate", { data: { id: "nobody", salary: -1 } });
  assert.deepEqual(wrong.body.errors.map(({ path }: { readonly path: string }) => path).toSorted(), ["/id", "/salary"]);
  assert.deepEqual(wrong.body.data, { id: "***", salary: -1 });
  const refused = await ask("POST", "/forms/pay/submit", { data: { id: "nobody", salary: -1 }, idempotency_key: "k0" });
  assert.deepEqual(
    [refused.status, refused.body.errors.map(({ path }: { readonly path: string }) => path).toSorted()],
    [422, ["/data/id", "/data/salary"]],
  );
  const sent = await ask("POST", "/forms/pay/submit", { data: { id: " E1 ", salary: 4321 }, idempotency_key: "k1" });
  assert.deepEqual([sent.status, sent.body.success], [200, true], JSON.stringify(sent.body));
  assert.deepEqual([sent.body.data.salary, sent.body.data.id], [4321, "e1"]);
  const again = await ask("POST", "/forms/pay/submit", { data: { id: " E1 ", salary: 4321 }, idempotency_key: "k1" });
  assert.equal(again.body.replayed, true);
  assert.equal(
    (await ask("POST", "/forms/pay/submit", { data: { id: "e2", salary: 1 }, idempotency_key: "k1" })).body.code,
    "idempotency_conflict",
  );
  assert.equal((await ask("POST", "/forms/offboard_approve/submit", { data: {}, idempotency_key: "k2" })).status, 422, "it is of tasks");
  assert.equal((await ask("POST", "/forms/none/submit", { data: {}, idempotency_key: "k3" })).status, 404);
});

const WORKFLOW = `document:
  dsl: 1.0.0
  namespace: acme
  name: look
  version: 1.0.0
  title: Look
  metadata: { owner: "group:people-ops", mcp: { enabled: true, wait: PT5S } }
evaluate: { language: cel }
input:
  schema:
    document:
      type: object
      properties: { department: { type: string }, pin: { type: string, x-redact: true } }
do:
  - look: { call: people.demo.list_employees, with: { department: "\${ input.department }" } }
  - wrong: { try: [{ pay: { call: people.demo.update_salary, with: { id: "\${ input.pin }", salary: 1 } } }], catch: { do: [{ none: { set: { a: 1 } } }] } }
output: { as: { pin: "\${ input.pin }", department: "\${ input.department }" } }
`;
const FORM = `apiVersion: forms/v1
id: look
title: Look
tenants: [tenant:acme]
workflow: look
schema: { type: object, properties: { department: { x-redact: last4 }, pin: {} } }
`;

test("what a form or a workflow does not show is in no table, event, audit entry, log or answer of a run", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  assert.equal((await ask("POST", "/config/workflows", WORKFLOW)).status, 201);
  assert.equal((await ask("POST", "/forms", FORM)).status, 201);
  const secrets = ["department-6a1f0c77", "pin-5b9e31aa20"];
  const [department, pin] = secrets;
  const sent = { data: { department, pin }, idempotency_key: "look-1" };
  const started = await ask("POST", "/forms/look/submit", sent);
  assert.deepEqual([started.status, started.body.status], [202, "accepted"], JSON.stringify(started.body));
  const { run_id: id } = started.body;
  assert.equal((await ask("POST", "/forms/look/submit", sent)).body.run_id, id, "the key names the run");
  const called = await ask("POST", "/execute", { tool: "workflow.look", arguments: { pin, department: "all" } });
  assert.deepEqual([called.body.data.params.pin, called.body.data.status], ["***", "completed"], JSON.stringify(called.body));
  const run = statement<{ phase: string; output: Record<string, string> }>("t.look", "select phase, output from crud.wf_run where id = $1");
  const done = await until(
    async () => (await instance.database.run(run, [id]))[0],
    (row) => row?.phase === "completed" || row?.phase === "faulted",
    20_000,
  );
  assert.deepEqual([done?.phase, done?.output["pin"]?.slice(0, 8)], ["completed", "<sealed:"]);
  const again = await instance.request(`/workflows/runs/${id}/rerun`, { method: "POST", as: ada, body: {}, headers: { "if-match": "*" } });
  const rerun = JSON.parse(await again.text()) as { id: string; input: unknown };
  assert.deepEqual([again.status, rerun.input], [202, { department: "***0c77", pin: "***" }], JSON.stringify(rerun));
  const redone = await until(
    async () => (await instance.database.run(run, [rerun.id]))[0],
    (row) => row?.phase === "completed" || row?.phase === "faulted",
    20_000,
  );
  assert.equal(redone?.phase, "completed");
  const texts = [
    ...(await dumpTables(instance.database)),
    ["log", JSON.stringify(instance.lines)] as const,
    ["entries", JSON.stringify(instance.entries)] as const,
    ["answers", JSON.stringify([started.body, called.body])] as const,
  ];
  assert.deepEqual(placesWith(secrets, texts), []);
  assert.ok(instance.people.requests >= 3, "each run called its tool");
});
