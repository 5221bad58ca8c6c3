import assert from "node:assert/strict";
import { test } from "node:test";
import { formModel } from "./schema-form.ts";
import { collect, draftShape, emptyTry, switchMode } from "./try-draft.ts";

const model = formModel({
  type: "object",
  properties: { id: { type: "string" }, salary: { type: "integer" }, api_key: { type: "string" } },
});
const open = formModel({ type: "object", properties: { id: { type: "string" }, salary: { type: "integer" } } });
const raw = formModel({ type: "object" });

test("from fields to JSON and back nothing is lost", () => {
  const value = { ...emptyTry(open), values: { id: "e1", salary: "5" } };
  const json = switchMode(open, value, "json");
  assert.deepEqual(collect(open, json), { value: { id: "e1", salary: 5 } });
  const back = switchMode(open, json, "fields");
  assert.deepEqual(collect(open, back), { value: { id: "e1", salary: 5 } });
});

test("what cannot be read stays where it is when the person changes over", () => {
  const value = { ...emptyTry(open), mode: "json" as const, json: "{ broken" };
  const fields = switchMode(open, value, "fields");
  assert.equal(fields.json, "{ broken");
  assert.deepEqual(fields.values, { id: "", salary: "" });
});

test("a draft never keeps a secret field, nor JSON that could hold one", () => {
  const shape = draftShape(model);
  const kept = JSON.stringify(shape.keep?.({ mode: "json", values: { id: "e1", api_key: "hush" }, json: '{"api_key":"hush"}' }));
  assert.equal(kept.includes("hush"), false);
  assert.equal(kept.includes("e1"), true);
});

test("only a draft of the right form comes back, completed with what it lacks", () => {
  const shape = draftShape(open);
  assert.equal(shape.read({ mode: "fields" }), undefined);
  assert.equal(shape.read("text"), undefined);
  assert.deepEqual(shape.read({ mode: "fields", values: { id: "e1" }, json: "{}" })?.values, { id: "e1", salary: "" });
  assert.equal(draftShape(raw).read({ mode: "fields", values: {}, json: "{}" })?.mode, "json");
});
