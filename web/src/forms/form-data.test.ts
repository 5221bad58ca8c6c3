import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyValue, hintsOf, readForm, storable, switchMode, type FieldHint, type FormValue } from "./form-data.ts";
import { formModel } from "./form-model.ts";
import { titleAt, type Data } from "./schema-places.ts";

const schema = {
  type: "object",
  required: ["id", "consent", "address"],
  properties: {
    id: { type: "string", title: "Employee" },
    rate: { type: "number", default: 1.5 },
    consent: { type: "boolean" },
    api_key: { type: "string" },
    pin: { type: "string", writeOnly: true },
    address: { $ref: "#/$defs/address" },
    other: { $ref: "#/$defs/address" },
    systems: {
      type: "array",
      items: { type: "object", properties: { name: { type: "string", title: "Name" }, token: { type: "string" } } },
    },
  },
  $defs: {
    address: {
      type: "object",
      required: ["street"],
      properties: { street: { type: "string" }, country: { type: "string", default: "DE" } },
    },
  },
};
const model = formModel(schema);
const none = hintsOf();
const valueOf = (data: Data): FormValue => ({ mode: "fields", data, json: "{}" });

test("a form begins with its defaults, those of optional parts apart", () =>
  assert.deepEqual(emptyValue(model, none).data, { rate: 1.5, consent: false, address: { country: "DE" } }));

test("what is known of the person and the prefill come before the schema, but no secret", () => {
  const hints = hintsOf([{ path: "/id", default: "e7" }]);
  assert.deepEqual(emptyValue(model, hints, { rate: 2, api_key: "***" }).data, {
    id: "e7",
    rate: 2,
    consent: false,
    address: { country: "DE" },
  });
});

test("what may be left out and is empty is left out; a left out entry is null", () => {
  const filled = { id: "e1", note: undefined, address: {}, other: { street: undefined }, systems: [undefined] };
  assert.deepEqual(readForm(model, valueOf(filled), none), { data: { id: "e1", address: {}, systems: [null] } });
});

test("text is put in order as its field says", () => {
  const hints = hintsOf([
    { path: "/id", normalize: ["nfc", "trim", "lower"] },
    { path: "/api_key", normalize: ["upper"] },
  ] satisfies FieldHint[]);
  assert.deepEqual(readForm(model, valueOf({ id: "  E\u0301A ", api_key: "k", pin: " p " }), hints), {
    data: { id: "\u00e9a", api_key: "K", pin: " p " },
  });
});

for (const [json, read] of [
  ['{"a":[1]}', { data: { a: [1] } }],
  ["  ", { data: {} }],
  ["[1]", { issue: "object" }],
  ["{", { issue: "json" }],
] as const)
  test(`JSON "${json}" is read`, () => assert.deepEqual(readForm(model, { ...valueOf({}), mode: "json", json }, none), read));

test("a number with more digits than a double holds goes as it is written, and into a field as its text", () => {
  const value: FormValue = { ...valueOf({}), mode: "json", json: '{"id":9007199254740993}' };
  assert.equal(JSON.stringify(readForm(model, value, none)), '{"data":{"id":9007199254740993}}');
  assert.deepEqual(switchMode(model, value, "fields").data, { id: "9007199254740993" });
});

test("between fields and JSON what is filled in comes along", () => {
  const value = switchMode(model, valueOf({ id: "e1", systems: [{ name: "a" }] }), "json");
  assert.equal(value.mode, "json");
  assert.deepEqual(JSON.parse(value.json), { id: "e1", systems: [{ name: "a" }] });
  assert.deepEqual(switchMode(model, { ...value, json: '{"id":"e2"}' }, "fields").data, { id: "e2" });
  // What cannot be read loses nothing.
  assert.deepEqual(switchMode(model, { ...value, json: "{" }, "fields").data, { id: "e1", systems: [{ name: "a" }] });
});

const kept = { id: "e1", systems: [{ name: "a" }] };
const secrets = { api_key: "k", pin: "1", systems: [{ name: "a", token: "t" }] };

test("a draft holds no secret field, wherever it lies", () => {
  const hints = hintsOf([{ path: "/rate", redact: "last4" }]);
  assert.deepEqual(storable(model, valueOf({ ...kept, rate: 3, ...secrets }), hints).data, kept);
});

for (const [name, of, hints, isKept] of [
  ["without any secret field", { type: "object", properties: { id: { type: "string" } } }, [], true],
  ["of a schema with a field that is only written", { type: "object", properties: { id: { type: "string", writeOnly: true } } }, [], false],
  ["with a field that is hidden", { type: "object", properties: { id: { type: "string" } } }, [{ path: "/id", redact: true }], false],
] as const)
  test(`JSON ${name} is ${isKept ? "" : "not "}part of a draft`, () => {
    const value: FormValue = { mode: "json", data: {}, json: '{"id":"x"}' };
    assert.equal(storable(formModel(of), value, hintsOf(hints)).json, isKept ? value.json : "{}");
  });

test("JSON that names a secret is not part of a draft, whatever the schema says", () =>
  assert.equal(storable(formModel({ type: "object" }), { mode: "json", data: {}, json: '{"a":{"Api_Key" : "x"}}' }, none).json, "{}"));

for (const [path, title] of [
  ["/id", "Employee"],
  ["/address/street", "street"],
  ["/systems/1/name", "Name"],
  ["/systems/1", "systems 2"],
  ["/unknown", "unknown"],
] as const)
  test(`the place ${path} is called ${title}`, () => assert.equal(titleAt(schema, path), title));
