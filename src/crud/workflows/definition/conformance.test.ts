import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import type * as Sdk from "@serverlessworkflow/sdk";
import { readWorkflow } from "./read-workflow.ts";

const { Classes } = createRequire(import.meta.url)("@serverlessworkflow/sdk") as typeof Sdk;

const header = `document:
  dsl: 1.0.0
  namespace: default
  name: conformance
  version: 1.0.0
  metadata: { owner: "group:people-ops" }
evaluate: { language: cel }
do:
`;
const communication = "https://serverlessworkflow.io/spec/1.0.0/errors/communication";

/** Scenarios of the DSL's conformance kit by name, with calls as tools and expressions in CEL; why it is refused where it does not fit. */
const scenarios: readonly (readonly [scenario: string, tasks: string, refused?: string])[] = [
  [
    "Flow: implicit sequence",
    "- setRed: { set: { colors: [red] } }\n- setGreen: { set: { colors: '${ steps.setRed.colors + [\"green\"] }' } }",
  ],
  [
    "Flow: explicit sequence",
    "- setRed: { set: { a: 1 }, then: setGreen }\n- setBlue: { set: { a: 1 }, then: end }\n- setGreen: { set: { a: 1 }, then: setBlue }",
    "backward_jump",
  ],
  ["Do: all tasks in sequence", "- all: { do: [{ one: { set: { a: 1 } } }, { two: { set: { a: '${ steps.one.a + 1 }' } } }] }"],
  [
    "For: named item, default index",
    "- loop: { for: { each: color, in: '${ input.colors }' }, do: [{ mark: { set: { c: '${ color }', i: '${ index }' } } }] }",
  ],
  ["Branch: all branches", "- both: { fork: { branches: [{ red: { set: { a: 1 } } }, { green: { set: { a: 2 } } }] } }"],
  ["Branch: compete", "- race: { fork: { compete: true, branches: [{ a: { wait: PT1S } }, { b: { wait: PT2S } }] } }", "unsupported"],
  ["Raise: inline error", `- fail: { raise: { error: { status: 400, type: ${communication}, title: Bad, detail: '\${ input.why }' } } }`],
  ["Set: literal and expression", "- initialize: { set: { shape: circle, size: '${ input.configuration.size }' } }"],
  [
    "Switch: matching case and default",
    "- choose: { switch: [{ red: { when: '${ input.color == \"red\" }', then: paint } }, { else: { then: end } }] }\n- paint: { set: { a: 1 } }",
  ],
  [
    "Switch: implicit default",
    "- choose: { switch: [{ red: { when: '${ input.color == \"red\" }', then: paint } }] }\n- paint: { set: { a: 1 } }",
    "no_default",
  ],
  [
    "Try: handled error",
    `- guard: { try: [{ get: { call: pets.demo.get } }], catch: { errors: { with: { type: ${communication}, status: 404 } }, as: error, do: [{ note: { set: { e: '\${ error }' } } }] } }`,
  ],
  [
    "Try: retried error",
    "- guard: { try: [{ get: { call: pets.demo.get } }], catch: { retry: { delay: { seconds: 1 }, backoff: { linear: {} }, limit: { attempt: { count: 3 } } } } }",
  ],
  [
    "Data flow: output and export",
    "- get: { call: pets.demo.get, output: { as: '${ output.name }' }, export: { as: { pet: '${ output }' } } }",
  ],
  ["Data flow: input filtering", "- get: { input: { from: '${ input.a }' }, set: { a: 1 } }", "unsupported"],
  ["Call: HTTP", "- get: { call: http, with: { method: get, endpoint: { uri: https://a.example } } }", "unsupported"],
  ["Emit: event", "- say: { emit: { event: { with: { source: https://a.example, type: a.b } } } }", "unsupported"],
];

for (const [scenario, tasks, refused] of scenarios)
  test(`${scenario}: ${refused === undefined ? "fits" : `is refused as ${refused}`}`, () => {
    const read = readWorkflow(`${header}${tasks}\n`, "w.yaml");
    const codes = "issues" in read ? read.issues.map(({ code }) => code) : [];
    assert.deepEqual(codes, refused === undefined ? [] : [refused], JSON.stringify(read));
    Classes.Workflow.deserialize(`${header}${tasks}\n`).validate();
  });

test("thousands of wrong tasks are one issue, and soon", () => {
  const tasks = Array.from({ length: 6000 }, (_none, at) => `- t${at}: { wait: PT1S, ifx${at}: x }`).join("\n");
  const read = readWorkflow(`${header}${tasks}\n`, "w.yaml");
  assert.deepEqual("issues" in read ? read.issues.map(({ code }) => code) : [], ["limit"]);
});
