import assert from "node:assert/strict";
import { test } from "node:test";
import { issuesOf } from "./form-issues.ts";

const schema = {
  type: "object",
  required: ["id", "a/b"],
  additionalProperties: false,
  properties: {
    id: { type: "string", minLength: 3, maxLength: 5, format: "email" },
    "a/b": { type: "integer", minimum: 2, maximum: 10 },
    status: { enum: ["active", "left"] },
    tags: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2, uniqueItems: true },
    inner: { $ref: "#/$defs/inner" },
    which: { oneOf: [{ type: "string" }, { type: "object", required: ["x"], properties: { x: { type: "number" } } }] },
    slow: { type: "string", pattern: "^(a+)+$" },
  },
  $defs: { inner: { type: "object", required: ["x"], properties: { x: { type: "boolean" } } } },
};
const fit = { id: "abcd", "a/b": 2 };

const cases: readonly (readonly [string, Record<string, unknown>, readonly (readonly [string, string])[]])[] = [
  ["data that fits has none, and a format is only a hint", fit, []],
  [
    "all are found at once",
    { id: "ab", "a/b": 2.5, status: "gone" },
    [
      ["/id", "needs at least 3 characters"],
      ["/a~1b", "must be a whole number"],
      ["/status", "is not one of the choices"],
    ],
  ],
  [
    "what is missing is named at its own place",
    {},
    [
      ["/id", "is needed"],
      ["/a~1b", "is needed"],
    ],
  ],
  ["what is inside has its own place", { ...fit, inner: {} }, [["/inner/x", "is needed"]]],
  [
    "limits are named",
    { id: "abcdef", "a/b": 1 },
    [
      ["/id", "may have at most 5 characters"],
      ["/a~1b", "must be at least 2"],
    ],
  ],
  ["entries", { ...fit, tags: ["x", 1] }, [["/tags/1", "must be text"]]],
  ["an entry that is not filled in", { ...fit, tags: [null] }, [["/tags/0", "is needed"]]],
  ["too many entries", { ...fit, tags: ["x", "y", "z"] }, [["/tags", "may have at most 2 entries"]]],
  ["one twice", { ...fit, tags: ["x", "x"] }, [["/tags", "holds something twice"]]],
  ["what is not expected", { ...fit, more: 1 }, [["/more", "is not expected here"]]],
  ["no alternative", { ...fit, which: 5 }, [["/which", "fits none of the alternatives"]]],
  ["a whole number that no double holds", { ...fit, "a/b": "90071992547409931" }, []],
  ["a field that is not filled in", { ...fit, status: undefined }, []],
  ["a pattern that could run for ever is not run", { ...fit, slow: `${"a".repeat(40)}!` }, []],
];

for (const [name, data, issues] of cases)
  test(name, () =>
    assert.deepEqual(
      issuesOf(schema, data).map(({ path, message }) => [path, message]),
      issues,
    ),
  );

test("a schema that cannot be run has no issues: the server checks", () =>
  assert.deepEqual(issuesOf({ type: "object", properties: { a: { $ref: "#/nowhere" } } }, { a: 1 }), []));
