import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutcome, tableOf } from "./call-result.ts";

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
    parts: [
      { kind: "data", value: { id: "e1" } },
      { kind: "text", text: "plain" },
    ],
  });
});

test("a refusal keeps code, decision, faults and what it offers", () => {
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
        step_up: { level: "strong", max_age_s: 300, url: "http://house.test/auth/login" },
        errors: [{ path: "/id", message: "must be a string" }],
      },
    },
  });
  assert.ok(outcome?.kind === "refused");
  assert.equal(outcome.code, "step_up_required");
  assert.equal(outcome.decisionId, "d_1");
  assert.deepEqual(outcome.faults, [{ path: "/id", message: "must be a string" }]);
  assert.deepEqual(outcome.data["step_up"], { level: "strong", max_age_s: 300, url: "http://house.test/auth/login" });
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
  assert.deepEqual(tableOf(rows), { columns: ["id", "salary", "year"], rows });
  const systems = [{ id: "e1", systems: ["mail", "vpn"] }];
  assert.deepEqual(tableOf(systems), { columns: ["id", "systems"], rows: systems });
  assert.deepEqual(tableOf({ employees: rows, total: 2 }), { columns: ["id", "salary", "year"], rows });
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
