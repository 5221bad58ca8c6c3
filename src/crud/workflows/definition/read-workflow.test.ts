import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import type * as Sdk from "@serverlessworkflow/sdk";
import { readWorkflow } from "./read-workflow.ts";

const { Classes } = createRequire(import.meta.url)("@serverlessworkflow/sdk") as typeof Sdk;

const header = `document:
  dsl: 1.0.0
  namespace: acme
  name: offboard
  version: 1.0.0
  metadata: { owner: "group:people-ops" }
evaluate: { language: cel }
input: { schema: { document: { type: object, properties: { id: { type: string } }, additionalProperties: false } } }
`;
const HEADER_LINES = header.split("\n").length;
const withTasks = (tasks: string): string => `${header}do:\n${tasks}`;
/** \`code line:column\` of each issue; lines of tasks count from the first task. */
const found = (text: string): readonly string[] => {
  const read = readWorkflow(text, "w.yaml");
  return "issues" in read ? read.issues.map(({ code, line = 0, column }) => `${code} ${line - HEADER_LINES}:${column}`) : [];
};
const whole = (text: string) => {
  const read = readWorkflow(text, "w.yaml");
  assert.ok("value" in read, JSON.stringify("issues" in read ? read.issues : []));
  return read.value;
};

const nested = (depth: number, at = 0): string => {
  const pad = "    ".repeat(at);
  return depth === 0 ? `${pad}- a: { wait: PT1S }` : `${pad}- a:\n${pad}    do:\n${nested(depth - 1, at + 1)}`;
};
const many = (count: number): string => Array.from({ length: count }, (_none, at) => `- t${at}: { set: { a: 1 } }`).join("\n");

for (const [what, tasks, issues] of [
  ["text that is no YAML", "- a: { set: { b: 1 }", ["syntax 1:21"]],
  ["a repeated key", "- a: { set: { b: 1 }, set: { b: 2 } }", ["syntax 1:23"]],
  ["an anchor", "- a: &x { set: { b: 1 } }", ["syntax 1:6"]],
  ["a misspelt member", "- a: { wait: PT1S, iff: '${ true }' }", ["unknown_key 1:20"]],
  ["a misspelt kind of task", "- a: { cal: people.demo.get }", ["unknown_key 1:8"]],
  ["a misspelt member that is needed", "- a: { for: { iin: '${ [1] }' }, do: [{ b: { wait: PT1S } }] }", ["unknown_key 1:15"]],
  ["compensate beside call", "- a: { call: x.y.z, compensate: { call: x.y.w } }", ["unknown_key 1:21"]],
  ["a misspelt compensate", "- a: { call: x.y.z, metadata: { compensat: { call: x.y.w } } }", ["unknown_key 1:33"]],
  ["a task without a kind", "- a: { if: '${ true }' }", ["missing_key 1:3"]],
  ["a try without catch", "- a: { try: [{ b: { wait: PT1S } }] }", ["missing_key 1:6"]],
  ["a wrong type", "- a: { set: 5 }", ["wrong_type 1:13"]],
  ["a duration that is none", "- a: { wait: 10s }", ["wrong_type 1:14"]],
  ["a wait that is too short", "- a: { wait: { milliseconds: 5 } }", ["wrong_type 1:14"]],
  ["a then to nowhere", "- a: { wait: PT1S, then: z }", ["wrong_type 1:26"]],
  ["a task of the DSL that is none here", "- a: { emit: { event: {} } }", ["unsupported 1:8"]],
  ["another call of the DSL", "- a: { call: http, with: { method: get } }", ["unsupported 1:14"]],
  ["compete", "- a: { fork: { compete: true, branches: [{ b: { wait: PT1S } }, { c: { wait: PT1S } }] } }", ["unsupported 1:16"]],
  ["a workflow in a workflow", "- a: { call: workflow.other }", ["unsupported 1:14"]],
  ["a name of a task that is none", "- a/b: { wait: PT1S }", ["bad_name 1:3"]],
  ["a loop variable that is taken", "- a: { for: { each: input, in: '${ [1] }' }, do: [] }", ["bad_name 1:21"]],
  ["a name twice", "- a: { wait: PT1S }\n- a: { wait: PT1S }", ["duplicate_task 2:3"]],
  ["a jump back", "- a: { wait: PT1S }\n- b: { wait: PT1S, then: a }", ["backward_jump 2:26"]],
  ["a task that nothing leads to", "- a: { wait: PT1S, then: end }\n- b: { wait: PT1S }\n- c: { wait: PT1S }", ["unreachable 2:3"]],
  ["a switch without a default", "- a: { switch: [{ x: { when: '${ true }', then: end } }] }", ["no_default 1:8"]],
  ["an expression that is none", "- a: { set: { b: '${ 1 + }' } }", ["expression_syntax 1:18"]],
  ["an expression in a text", "- a: { set: { b: 'x ${ 1 }' } }", ["expression_syntax 1:18"]],
  ["a condition without braces", "- a: { wait: PT1S, if: 'true' }", ["expression_syntax 1:24"]],
  ["too long an expression", `- a: { set: { b: "\${ '${"x".repeat(4096)}' }" } }`, ["expression_syntax 1:18"]],
  ["an expression of wrong types", "- a: { set: { b: '${ 1 + true }' } }", ["expression_type 1:18"]],
  ["a condition that is a number", "- a: { wait: PT1S, if: '${ 1 }' }", ["expression_type 1:24"]],
  ["a loop over a text", "- a: { for: { in: \"${ 'x' }\" }, do: [] }", ["expression_type 1:19"]],
  ["a variable that is none", "- a: { set: { b: '${ inptu.id }' } }", ["unknown_variable 1:18"]],
  ["an input that its schema lacks", "- a: { set: { b: '${ input.idd }' } }", ["unknown_variable 1:18"]],
  ["a step that is not done yet", "- a: { set: { b: '${ steps.c.x }' } }\n- c: { wait: PT1S }", ["unknown_variable 1:18"]],
  [
    "a step of another branch",
    "- a: { fork: { branches: [{ b: { wait: PT1S } }, { c: { set: { x: '${ steps.b }' } } }] } }",
    ["unknown_variable 1:67"],
  ],
  ["output where there is none", "- a: { call: x.y.z, with: { b: '${ output }' } }", ["unknown_variable 1:32"]],
  [
    "a loop variable behind its loop",
    "- a: { for: { in: '${ [1] }' }, do: [] }\n- b: { set: { x: '${ item }' } }",
    ["unknown_variable 2:18"],
  ],
  ["a retry that is not declared", "- a: { try: [{ b: { wait: PT1S } }], catch: { retry: often } }", ["unknown_variable 1:54"]],
  ["tasks that are nested too deeply", nested(10), ["limit 21:41"]],
  ["too many tasks", many(501), ["limit 1:1"]],
  ["a task of people without a title", "- a: { call: human.task, with: { assign: 'role:administrator' } }", ["missing_key 1:32"]],
  ["an approver that is no id", "- a: { call: human.task, with: { title: t, assign: [cleo] } }", ["wrong_type 1:53"]],
  [
    "a choice without decisions",
    "- a: { call: human.task, with: { title: t, kind: choice, assign: ['person:cleo'] } }",
    ["missing_key 1:32"],
  ],
  ["people asked while a run is undone", "- a: { call: x.y.z, metadata: { compensate: { call: human.task } } }", ["unsupported 1:53"]],
] as const)
  test(`${what} is one issue at its place`, () => {
    assert.deepEqual(found(withTasks(tasks)), issues);
  });

for (const [what, change, issues] of [
  ["jq", [/language: cel/, "language: jq"], ["wrong_type"]],
  ["no language", [/evaluate: .*\n/, ""], ["missing_key"]],
  ["a version that is none", [/version: 1.0.0/, "version: '1.0'"], ["wrong_type"]],
  ["another DSL", [/dsl: 1.0.0/, "dsl: 2.0.0"], ["wrong_type"]],
  ["a reserved name", [/name: offboard/, "name: runs"], ["bad_name"]],
  ["a name with capitals", [/name: offboard/, "name: Offboard"], ["bad_name"]],
  ["no owner", [/metadata: .*\n/, "metadata: {}\n"], ["missing_key"]],
  ["an input that is no object", [/type: object, properties/, "type: array, properties"], ["wrong_type"]],
  ["a schedule", [/evaluate:/, "schedule: { cron: x }\nevaluate:"], ["unsupported"]],
  ["a schema elsewhere", [/document: \{ type.*\n/, "resource: { endpoint: x } } }\n"], ["missing_key", "unsupported"]],
] as const)
  test(`${what} is refused`, () => {
    const text = withTasks("- a: { wait: PT1S }").replace(change[0], change[1]);
    const read = readWorkflow(text, "w.yaml");
    assert.deepEqual("issues" in read ? read.issues.map(({ code }) => code).toSorted() : [], issues);
  });

test("a text of more than 256 KiB is beyond the limit", () => {
  assert.deepEqual(found(`# ${"x".repeat(262_144)}`).length, 1);
  const read = readWorkflow(`# ${"x".repeat(262_144)}`, "w.yaml");
  assert.equal("issues" in read && read.issues[0]?.code, "limit");
});

test("twelve planted errors are twelve issues, each where it stands", () => {
  const text = withTasks(`- look_up: { call: people.demo.get_employee, wiht: { id: '\${ input.id }' } }
- check:
    switch:
      - gone: { when: '\${ steps.look_up.active = false }', then: end }
      - other: { when: '\${ true }', then: go }
- go: { set: { a: '\${ steps.lookup.name }' } }
- go: { wait: PT0.5S }
- approve:
    call: human.task
    with: { title: Approve, assign: [cleo], required: 50 }
- both: { fork: { branches: [{ a: { wait: PT1S } }] } }
- undo: { call: http, then: check }
- last: { listen: { to: {} } }
- loop: { for: { each: now, in: '\${ [1] }' }, do: [{ x: { wait: PT1S } }] }
`);
  assert.deepEqual(found(text), [
    "unknown_key 1:46",
    "no_default 3:5",
    "expression_syntax 4:23",
    "unknown_variable 6:19",
    "duplicate_task 7:3",
    "wrong_type 7:15",
    "wrong_type 10:55",
    "wrong_type 11:29",
    "unsupported 12:17",
    "backward_jump 12:29",
    "unsupported 13:11",
    "bad_name 14:24",
  ]);
  const hints = readWorkflow(text, "w.yaml");
  assert.deepEqual("issues" in hints && hints.issues.flatMap(({ hint }) => hint ?? []), ["did you mean with?", "did you mean look_up?"]);
});

const everything = withTasks(`- find: { call: people.demo.get_employee, with: { id: '\${ input.id }' } }
- choose:
    switch:
      - gone: { when: '\${ steps.find.active == false }', then: end }
      - else: { then: ask }
- ask:
    call: human.task
    with: { title: Approve, assign: ['person:cleo', 'role:administrator'], required: 2, evidence: '\${ steps.find }', due: PT1H, expires: P2D }
    output: { as: '\${ output.decision }' }
- record:
    call: memory.demo.create_entities
    with: { entities: [{ name: '\${ input.id }' }] }
    metadata: { compensate: { call: memory.demo.delete_entities, with: { entityNames: ['\${ output.name }'] } }, onUnknown: retry }
    export: { as: { recorded: '\${ output }' } }
    timeout: short
- each:
    for: { each: system, in: '\${ steps.find.systems }', at: n }
    while: '\${ n < 3 }'
    do:
      - revoke:
          try:
            - call: { call: x.y.z, with: { system: '\${ system.id }' } }
          catch:
            errors: { with: { type: https://serverlessworkflow.io/spec/1.0.0/errors/communication, status: 503 } }
            as: problem
            when: '\${ problem.status == 503 }'
            retry: often
            do: [{ give_up: { raise: { error: gone } } }]
- both: { fork: { branches: [{ a: { wait: { seconds: 10 } } }, { b: { set: { x: 1 }, if: '\${ true }' } }] } }
- cool_off: { wait: P1W, then: exit }
`).replace(
  "do:\n",
  `use:
  retries: { often: { delay: { seconds: 2 }, backoff: { exponential: {} }, limit: { attempt: { count: 3 }, duration: PT1H }, jitter: { from: PT0S, to: PT1S } } }
  errors: { gone: { type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime, status: 500, title: '\${ problem.title }' } }
  timeouts: { short: { after: PT1M } }
timeout: { after: { days: 7 } }
output: { as: '\${ steps.find }' }
do:
`,
);

test("a document with each kind of task becomes steps, its names resolved and its durations milliseconds", () => {
  const { steps, timeoutMs, tenant, mcp, places } = whole(everything);
  assert.equal(timeoutMs, 7 * 86_400_000);
  assert.equal(tenant, "tenant:acme");
  assert.deepEqual(mcp, { isEnabled: false, waitMs: 0, annotations: {} });
  assert.deepEqual(
    steps.map(({ kind }) => kind),
    ["call", "switch", "human", "call", "for", "fork", "wait"],
  );
  const [, , ask, record, each, , wait] = steps;
  assert.ok(ask?.kind === "human" && record?.kind === "call" && each?.kind === "for" && wait?.kind === "wait");
  assert.deepEqual(
    [ask.decisions, ask.separationOfDuties, ask.dueMs, ask.expiresMs],
    [["approve", "reject"], true, 3_600_000, 172_800_000],
  );
  assert.deepEqual([record.onUnknown, record.timeoutMs, record.compensate?.tool], ["retry", 60_000, "memory.demo.delete_entities"]);
  assert.equal(wait.waitMs, 7 * 86_400_000);
  const [revoke] = each.steps;
  assert.ok(revoke?.kind === "try");
  assert.equal(revoke.catch.errors?.type, "https://open-workflow-specification.org/spec/1.0.0/errors/communication");
  assert.deepEqual(revoke.catch.retry, {
    delayMs: 2000,
    backoff: { kind: "exponential", factor: 2, incrementMs: 2000 },
    maxAttempts: 3,
    maxDurationMs: 3_600_000,
    jitter: { fromMs: 0, toMs: 1000 },
  });
  const [raise] = revoke.catch.steps;
  assert.ok(raise?.kind === "raise");
  assert.equal(raise.error.type, "https://open-workflow-specification.org/spec/1.0.0/errors/runtime");
  assert.match(places["n < 3"] ?? "", /^w\.yaml:\d+:12$/);
});

test("what is accepted is valid by the SDK of the standard", () => {
  for (const text of [everything, withTasks("- a: { wait: PT1S }")]) {
    whole(text);
    assert.doesNotThrow(() => Classes.Workflow.deserialize(text).normalize().validate());
  }
  // The SDK does refuse what the standard does not have.
  assert.throws(() => Classes.Workflow.deserialize(withTasks("- a: { wait: PT1S, compensate: {} }")).validate());
});

test("JSON is read as YAML is", () => {
  const json = JSON.stringify({
    document: { dsl: "1.0.3", namespace: "all", name: "w", version: "1.0.0-rc.1", metadata: { owner: "person:ada" } },
    evaluate: { language: "cel" },
    do: [{ a: { wait: "PT1S" } }],
  });
  assert.equal(whole(json).tenant, undefined);
});
