import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf, isNarrowed, type ListSearch } from "./list-filter.ts";

const now = new Date("2026-11-22T12:00:00.000Z");
const usual = { decision: "false", enforced: "true" } as const;

const rows: readonly (readonly [string, ListSearch, object])[] = [
  ["what somebody tried and was refused", {}, usual],
  ["a person by a part of the name", { subject: "bak" }, { ...usual, subject: "bak", match: "part" }],
  [
    "a thing by a part of its id",
    { resource: "list_emp", type: "too" },
    { ...usual, resource: "list_emp", resource_type: "too", match: "part" },
  ],
  ["mine, by the server's own knowledge of who I am", { whose: "mine", subject: "eve" }, { ...usual, whose: "own" }],
  ["the last day", { span: "day" }, { ...usual, from: "2026-11-21T12:00:00.000Z" }],
  [
    "between two moments, the last minute with it",
    { from: "2026-11-20T08:00", to: "2026-11-20T09:30" },
    { ...usual, from: new Date("2026-11-20T08:00").toISOString(), to: new Date("2026-11-20T09:31").toISOString() },
  ],
  ["a moment that there is not", { from: "2026-02-31T99:99" }, usual],
  ["all of one request", { correlation: "c-1" }, { decision: "false", enforced: "any", correlation_id: "c-1" }],
  ["sorted, the oldest first", { sort: "subject", order: "asc", verdict: "any" }, { enforced: "true", sort: "subject", order: "asc" }],
  ["what is no reason and no order", { reason: "because", sort: "price" }, usual],
];

for (const [name, search, asked] of rows) test(`the server is asked for ${name}`, () => assert.deepEqual(filterOf(search, now), asked));

test("order and live rows narrow nothing; everything else does", () => {
  assert.equal(isNarrowed({ sort: "subject", order: "asc", live: "off", subject: "" }), false);
  for (const search of [{ subject: "b" }, { span: "day" }, { from: "2026-11-20T08:00" }, { asked: "any" }])
    assert.equal(isNarrowed(search), true);
});
