import assert from "node:assert/strict";
import { test } from "node:test";
import type { MaskedPlace } from "#contract/masked-places.ts";
import { leftOutUnder, maskAt, readOutcome, ruleOf, tableOf } from "./call-result.ts";

test("a result's text is read as JSON where it is JSON", () => {
  const outcome = readOutcome({
    jsonrpc: "2.0",
    id: "1",
    result: {
      content: [
        { type: "text", text: '{"id":"e1"}' },
        { type: "text", text: "plain" },
      ],
    },
  });
  assert.deepEqual(outcome, {
    kind: "done",
    masked: [],
    parts: [
      { kind: "data", value: { id: "e1" } },
      { kind: "text", text: "plain" },
    ],
  });
});

test("an answer with a number that no double holds is shown as its text", () => {
  const text = '{"id":9007199254740993}';
  const outcome = readOutcome({ jsonrpc: "2.0", id: "1", result: { content: [{ type: "text", text }] } });
  assert.deepEqual(outcome, { kind: "done", masked: [], parts: [{ kind: "text", text }] });
});

const salary: MaskedPlace = {
  path: "/items/*/salary",
  kind: "null",
  rule: "tool:people.demo.list_employees",
  unless: "employee/read_salary",
};
const born: MaskedPlace = { path: "/items/*/born~1on", kind: "year", rule: "data_scope:employee" };
const note: MaskedPlace = { path: "/items/*/no~1te", kind: "drop", rule: "tool:people.demo.list_employees" };

test("a result says which of its places were hidden; what cannot be read of that hides nothing else", () => {
  const result = (masked: unknown) => ({
    content: [{ type: "text", text: "[]" }],
    _meta: { "sallyport/callId": "c", "sallyport/masked": masked },
  });
  const of = (masked: unknown) => {
    const outcome = readOutcome({ jsonrpc: "2.0", id: "1", result: result(masked) });
    return outcome?.kind === "done" ? [outcome.masked, outcome.parts] : undefined;
  };
  const parts = [{ kind: "data", value: [] }];
  assert.deepEqual(of([salary, born]), [[salary, born], parts]);
  for (const masked of [undefined, "all", [{ path: 1 }]]) assert.deepEqual(of(masked), [[], parts], JSON.stringify(masked));
});

test("a hidden value is told from an empty one: by its place, and where something is left of hidden ones, by what is left", () => {
  const masked = [salary, born, note];
  assert.equal(maskAt(masked, "/items/*/salary", null), salary);
  assert.equal(maskAt(masked, "/items/*/born~1on", "1984"), born);
  assert.equal(maskAt(masked, "/items/*/born~1on", null), undefined, "there was nothing to hide");
  assert.equal(maskAt(masked, "/items/*/name", null), undefined);
  assert.deepEqual(leftOutUnder(masked, "/items/*"), [{ name: "no/te", mask: note }]);
  assert.deepEqual(leftOutUnder(masked, "/items"), []);
  assert.deepEqual([salary, born].map(ruleOf), [
    { by: "tool", name: "people.demo.list_employees" },
    { by: "data_scope", name: "employee" },
  ]);
});

test("a refusal keeps code, decision, issues and what it offers", () => {
  const outcome = readOutcome({
    jsonrpc: "2.0",
    id: "1",
    error: {
      code: -32001,
      message: "A stronger sign-in is required",
      data: {
        code: "step_up_required",
        correlation_id: "c1",
        decision_id: "d_1",
        step_up: { level: "strong", max_age_s: 300, url: "http://sallyport.test/auth/login" },
        errors: [{ path: "/id", message: "must be a string" }],
      },
    },
  });
  assert.ok(outcome?.kind === "refused");
  assert.equal(outcome.code, "step_up_required");
  assert.equal(outcome.decisionId, "d_1");
  assert.deepEqual(outcome.issues, [{ path: "/id", message: "must be a string" }]);
  assert.deepEqual(outcome.data["step_up"], { level: "strong", max_age_s: 300, url: "http://sallyport.test/auth/login" });
});

test("an answer that is neither a result nor an error is no outcome", () => {
  for (const result of [undefined, {}, { content: "x" }, { content: [{}] }])
    assert.equal(readOutcome({ jsonrpc: "2.0", id: "1", result }), undefined, JSON.stringify(result));
});

test("a list of plain rows is a table, also as the one list inside an object", () => {
  const rows = [
    { id: "e1", salary: null },
    { id: "e2", year: "1984" },
  ];
  assert.deepEqual(tableOf(rows), { columns: ["id", "salary", "year"], rows, at: "" });
  const systems = [{ id: "e1", systems: ["mail", "vpn"] }];
  assert.deepEqual(tableOf(systems), { columns: ["id", "systems"], rows: systems, at: "" });
  assert.deepEqual(tableOf({ employees: rows, "a/b": 2 }), { columns: ["id", "salary", "year"], rows, at: "/employees" });
});

test("anything else stays a tree", () => {
  for (const value of [
    [],
    [1, 2],
    [{ a: {} }],
    [{ a: [{}] }],
    [{ a: Array.from({ length: 9 }) }],
    { a: [{ x: 1 }], b: [{ x: 1 }] },
    { a: 1 },
    "text",
    null,
    [[{}]],
  ])
    assert.equal(tableOf(value), undefined, JSON.stringify(value));
});
