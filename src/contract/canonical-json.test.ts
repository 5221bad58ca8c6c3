import assert from "node:assert/strict";
import { test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { canonicalJson } from "./canonical-json.ts";
import { issueOfJson } from "./json-members.ts";

/** Names whose order differs between code units, code points and numbers, and that objects treat in a way of their own. */
const names = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "",
    "10",
    "9",
    "01",
    "-0",
    "4294967294",
    "4294967295",
    "__proto__",
    "constructor",
    "toJSON",
    "\u{1f600}",
    "\ufb33",
    "€",
    "\r",
    "\u0080",
  ),
  fc.stringMatching(/^[a-c_]{0,3}$/),
);
const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(-0, 1e21, 1e-7, 5e-324, 2 ** 53, 1.7976931348623157e308, 0.1 + 0.2, Number("333333333.33333329")),
);
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    names,
    numbers,
    fc.constantFrom(null, true, false, undefined),
    fc.date({ noInvalidDate: true }),
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(names, tie("value"), { maxKeys: 60 }),
  ),
}));

test("any value is written byte for byte as the reference writes it", () => {
  fc.assert(
    fc.property(values, (value) => {
      assert.equal(canonicalJson(value), canonicalize(value));
    }),
    { numRuns: 3_000 },
  );
});

test("the example of RFC 8785 is written as there", () => {
  assert.equal(
    canonicalJson({
      numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\u002f",
      literals: [null, true, false],
    }),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
  assert.equal(
    canonicalJson({ "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 }),
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"\u{1f600}":5,"\ufb33":3}',
  );
});

test("the order in which members were named does not matter, however many there are", () => {
  for (const count of [3, 32, 33, 500]) {
    const members = Array.from({ length: count }, (_, at) => [`n${at}`, at] as const);
    const text = canonicalJson(Object.fromEntries(members));
    assert.equal(canonicalJson(Object.fromEntries(members.toReversed())), text);
    assert.equal(text, canonicalize(Object.fromEntries(members)));
  }
});

test("what JSON leaves out is left out, and what knows its own text is asked", () => {
  const withText = { toJSON: () => ({ b: 1, a: [{ toJSON: () => undefined }] }) };
  const value = {
    f: () => 1,
    s: Symbol("s"),
    u: undefined,
    list: [undefined, () => 1, withText],
    at: new Date(0),
    data: { toJSON: "a member" },
  };
  assert.equal(
    canonicalJson(value),
    '{"at":"1970-01-01T00:00:00.000Z","data":{"toJSON":"a member"},"list":[null,null,{"a":[null],"b":1}]}',
  );
  assert.equal(canonicalJson(value), canonicalize(value));
  for (const nothing of [undefined, () => 1, Symbol("s")]) assert.equal(canonicalJson(nothing), undefined);
});

test("what has no canonical form is refused, as the reference refuses it", () => {
  const cycle: Record<string, unknown> = {};
  cycle["again"] = [cycle];
  const unfit = [NaN, Infinity, -Infinity, "a\ud800", "\udc00b", { "\ud800": 1 }, 1n, cycle];
  for (const value of unfit) {
    for (const held of [value, [value], { a: { b: value } }]) {
      assert.throws(() => canonicalize(held), Error);
      assert.throws(() => canonicalJson(held), Error);
    }
  }
});

test("what is nested 500 deep is written, and what is nested beyond all sense is an error, not a crash", () => {
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let at = 0; at < depth; at++) value = at % 2 === 0 ? [value] : { a: value };
    return value;
  };
  assert.equal(canonicalJson(nested(500)), canonicalize(nested(500)));
  assert.throws(() => canonicalJson(nested(100_000)), RangeError);
});

test("what passes as having a canonical form has one, at any depth", () => {
  for (const depth of [0, 10, 499, 500, 501, 502, 900, 5_000]) {
    let value: unknown = "x";
    for (let at = 0; at < depth; at++) value = at % 2 === 0 ? [value] : { a: value };
    if (issueOfJson(value) === undefined) assert.equal(typeof canonicalJson({ within: [value] }), "string", `${depth}`);
    else assert.ok(depth > 500, `${depth}`);
  }
  fc.assert(
    fc.property(values, (value) => {
      if (issueOfJson(value) === undefined) canonicalJson(value);
      else assert.throws(() => canonicalJson(value), TypeError);
    }),
  );
});

test("names beyond those that are remembered are written the same", () => {
  for (let at = 0; at < 2_500; at++) {
    const value = { [`other-${at}`]: at, [`"${"x".repeat(at % 80)}`]: at };
    assert.equal(canonicalJson(value), canonicalize(value));
  }
});
