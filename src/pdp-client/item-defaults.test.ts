import assert from "node:assert/strict";
import { test } from "node:test";
import { withDefaults } from "./item-defaults.ts";

const subject = { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } };
const resource = { type: "record", id: "record-1", properties: { status: "archived" } };
const action = { name: "write", properties: { soft: true } };
const context = { time: "now", ip: "192.0.2.1" };
const defaults = { subject, resource, action, context };

const cases: readonly (readonly [what: string, item: unknown, defaults: object, whole: unknown])[] = [
  ["nothing of its own", {}, defaults, defaults],
  ["one member of its own", { action: { name: "read" } }, defaults, { ...defaults, action: { name: "read" } }],
  ["an empty resource takes over the type alone", { resource: {} }, defaults, { ...defaults, resource: { type: "record" } }],
  [
    "a type alone takes over neither id nor properties",
    { resource: { type: "record" } },
    defaults,
    { ...defaults, resource: { type: "record" } },
  ],
  ["an id alone takes over the type", { resource: { id: "r2" } }, defaults, { ...defaults, resource: { type: "record", id: "r2" } }],
  ["another type takes over nothing", { resource: { type: "page" } }, defaults, { ...defaults, resource: { type: "page" } }],
  [
    "properties alone take over the type",
    { subject: { properties: {} } },
    defaults,
    { ...defaults, subject: { type: "identity", properties: {} } },
  ],
  [
    "an action has no type: its name is not taken over",
    { action: { properties: {} } },
    defaults,
    { ...defaults, action: { properties: {} } },
  ],
  ["an empty context is an empty one", { context: {} }, defaults, { ...defaults, context: {} }],
  ["null is a member of its own", { resource: null, context: null }, defaults, { ...defaults, resource: null, context: null }],
  ["what is no object is its own", { resource: "record", subject: [] }, defaults, { ...defaults, resource: "record", subject: [] }],
  ["a type that is wrong stays wrong", { resource: { type: 7 } }, defaults, { ...defaults, resource: { type: 7 } }],
  ["of a default without type there is none", { resource: { id: "r2" } }, { resource: { id: "r1" } }, { resource: { id: "r2" } }],
  ["a default that is no object has no type", { resource: { id: "r2" } }, { resource: "record" }, { resource: { id: "r2" } }],
  ["members beside the four are left out", { key: "k", resource }, { options: {} }, { resource }],
  ["an item that is no object stays what it is", 7, defaults, 7],
];

for (const [what, item, given, whole] of cases)
  test(`an item of a batch: ${what}`, () => {
    assert.deepEqual(withDefaults(item, given as Record<string, unknown>), whole);
  });

test("names of prototypes are no members", () => {
  const polluted = Object.create({ resource: { type: "record", id: "inherited" } }) as Record<string, unknown>;
  assert.deepEqual(withDefaults(polluted, { action }), { action });
  assert.deepEqual(withDefaults({ action }, polluted), { action });
});
