import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator, type Schema } from "@cfworker/json-schema";
import fc from "fast-check";
import { compareNumbers, keepDigits, parseExactJson, parseLosslessJson } from "#contract/exact-numbers.ts";
import type { Place } from "./schema-rules.ts";
import { BEYOND_LIST, prepareSchema, schemaRefusal, TOO_MUCH_WORK } from "./foreign-schema.ts";

const employee = {
  type: "object",
  required: ["id", "salary"],
  properties: {
    id: { type: "string", pattern: "^e[0-9]{1,9}$" },
    salary: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { type: "string" } },
  },
  additionalProperties: false,
};

test("patterns that would take long to be compiled are refused, one by one and together", () => {
  const large = `(?i)[${String.raw`\p{L}`.repeat(90)}]`;
  assert.throws(() => prepareSchema({ pattern: large }), /more than 5000 steps/);
  const part = (at: number) => ({ pattern: `${at}[${String.raw`\p{L}`.repeat(70)}]` });
  assert.doesNotThrow(() => prepareSchema({ allOf: [part(0), part(1), { pattern: String.raw`^[\p{L} ]{1,255}$` }] }));
  assert.throws(() => prepareSchema({ allOf: [part(0), part(1), part(2)] }), /patterns of the schema take too much work/);
});

test("where case does not count a wide range costs much to be compiled, however it is written", () => {
  const range = (from: string) => `(?i)[${`${from}-\\x{1e000}`.repeat(20)}]`;
  for (const from of [String.raw`\x{100}`, "a", String.raw`\-`, String.raw`\x41`])
    assert.throws(() => prepareSchema({ pattern: range(from) }), /more than 5000 steps/, from);
  for (const pattern of ["(?i)^[a-zà-ÿ' -]{1,80}$", `${range("a").slice(4)}`, String.raw`^[\x{100}-\x{200}]{1,200}$`])
    assert.doesNotThrow(() => prepareSchema({ pattern }), pattern);
});

const costly = (at: number) => ({ pattern: `${at}${"(a*|b)".repeat(650)}` });

test("what all patterns of a schema cost is bounded, and what the schemas of a list cost together", () => {
  assert.throws(() => prepareSchema({ allOf: [0, 1, 2, 3].map(costly) }), /patterns of the schema take too much work to be compiled/);
  assert.doesNotThrow(() => prepareSchema({ allOf: [0, 0, 0, 0, 0, 0].map(costly) }), "one and the same is compiled once");
  const list = { left: 10_000 };
  const refusals = [costly(10), costly(11), costly(12), { type: "string" }, costly(13), costly(10)].map((one) => schemaRefusal(one, list));
  assert.deepEqual(refusals, [undefined, undefined, BEYOND_LIST, undefined, BEYOND_LIST, BEYOND_LIST].slice(0, refusals.length));
});

test("a schema is prepared once, whoever brings it again, and a refused one is refused again", () => {
  const schema = { properties: { id: { pattern: "^once$" } } };
  assert.throws(() => prepareSchema(schema, { left: 1000, isOfKnown: true }), /not prepared yet/);
  const check = prepareSchema(schema);
  assert.equal(prepareSchema(structuredClone(schema), { left: 1000, isOfKnown: true }), check);
  for (const _time of [1, 2]) assert.throws(() => prepareSchema({ pattern: "(?=a)" }), /unsupported/);
});

test("all issues are found at once, each at its place, without the value", () => {
  const issues = prepareSchema(employee)({ id: "secret-value", salary: -4, tags: ["a", 5], more: 1 });
  assert.deepEqual(issues.map((issue) => `${issue.path} ${issue.message}`).toSorted(), [
    "/id must match ^e[0-9]{1,9}$",
    "/more is not known here",
    "/salary must be at least 0",
    "/tags/1 must be a string",
  ]);
  assert.ok(!JSON.stringify(issues).includes("secret-value"));
});

/** Schema and value as texts, for their numbers are more than doubles; and how many issues there are. */
const exact: readonly (readonly [schema: string, value: string, issues: number])[] = [
  ['{"type":"integer"}', "9007199254740993", 0],
  ['{"type":"integer"}', "9007199254740993.0", 0],
  ['{"type":"integer"}', "90071992547409930e-1", 0],
  ['{"type":"integer"}', "1e400", 0],
  ['{"type":"integer"}', "9007199254740993.5", 1],
  ['{"type":"integer"}', "1234567890123456.78901", 1],
  ['{"type":"integer"}', "1e-400", 1],
  ['{"type":"number"}', '{"a":9007199254740993}', 1],
  ['{"maximum":100}', "100.000000000000000001", 1],
  ['{"maximum":100}', "99.9999999999999999999", 0],
  ['{"minimum":-100}', "-100.000000000000000001", 1],
  ['{"exclusiveMaximum":100}', "99.9999999999999999999", 0],
  ['{"exclusiveMinimum":0}', "1e-400", 0],
  ['{"exclusiveMinimum":0}', "-1e-400", 1],
  ['{"maximum":1e400}', "2e400", 1],
  ['{"maximum":1e400}', `${"9".repeat(400)}.5`, 0],
  ['{"minimum":-1e99999999999999999999}', "-1e99999999999999999998", 0],
  ['{"maximum":9223372036854775807}', "9223372036854775807", 0],
  ['{"maximum":9223372036854775807}', "9223372036854775808", 1],
  ['{"exclusiveMaximum":9223372036854775807}', "9223372036854775806", 0],
  ['{"enum":[1]}', "1.0000000000000000001", 1],
  ['{"const":9007199254740993}', "9007199254740993", 0],
  ['{"const":9007199254740993}', "9007199254740992", 1],
  ['{"const":9007199254740993}', "900719925474099300e-2", 0],
  ['{"const":{"id":[9007199254740993]}}', '{"id":[9007199254740994]}', 1],
  ['{"const":{"id":[9007199254740993]}}', '{"id":[90071992547409930e-1]}', 0],
  ['{"const":-9007199254740993}', "9007199254740993", 1],
  ['{"uniqueItems":true}', "[9007199254740993,9007199254740992,9007199254740994]", 0],
  ['{"uniqueItems":true}', "[9007199254740993,9007199254740993.0]", 1],
  ['{"uniqueItems":true}', '[{"id":9007199254740993},{"id":9007199254740992}]', 0],
  ['{"multipleOf":0.01}', "12345678901234567890.12", 0],
  ['{"multipleOf":0.01}', "12345678901234567890.123", 1],
  ['{"multipleOf":3}', "9007199254740993", 0],
  ['{"multipleOf":3}', "9007199254740995.0000000000000000000", 1],
  ['{"multipleOf":4e-300}', "1e99999999999", 0],
  ['{"multipleOf":3}', "1e99999999999", 1],
  ['{"multipleOf":9007199254740993}', "27021597764222979", 0],
  ['{"maxLength":18446744073709551615}', '"a"', 0],
  ['{"minItems":18446744073709551615}', "[1]", 1],
];

test("numbers are held to types, bounds and values on all their digits", () => {
  for (const [schema, value, issues] of exact) {
    const check = prepareSchema(parseExactJson(schema));
    assert.equal(check(parseExactJson(value)).length, issues, `${schema} ${value}`);
  }
  assert.deepEqual(
    prepareSchema(parseExactJson('{"maximum":9223372036854775807}'))(parseExactJson("92233720368547758070")).map(({ message }) => message),
    ["must be at most 9223372036854775807"],
  );
});

test("a number that is stored as its text, though a double holds it, is that double", () => {
  const value = parseLosslessJson("[1.0, 2.50]");
  assert.deepEqual(prepareSchema({ items: { enum: [1, 2.5] }, const: [1, 2.5] })(value), []);
  assert.equal(prepareSchema({ uniqueItems: true })(parseLosslessJson("[1, 1.0]")).length, 1);
});

test("numbers are compared as their digits say, whatever their form", () => {
  const digits = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  const number = fc.tuple(digits, fc.integer({ min: -40, max: 40 }));
  const scaled = ([whole, exponent]: readonly [bigint, number]): bigint => whole * 10n ** BigInt(exponent + 40);
  fc.assert(
    fc.property(number, number, fc.integer({ min: 0, max: 9 }), ([a, b], other, zeros) => {
      const near: readonly [bigint, number] = [a * 10n ** BigInt(zeros) + BigInt(zeros % 2), b - zeros];
      for (const [one, two] of [
        [[a, b], other],
        [[a, b], near],
      ] as const) {
        if (two[1] < -40) continue;
        const order = compareNumbers(keepDigits(`${one[0]}e${one[1]}`), keepDigits(`${two[0]}e${two[1]}`));
        assert.ok(order === Math.sign(Number(scaled(one) - scaled(two))), `${one.join("e")} ${two.join("e")}`);
      }
    }),
  );
});

test("what numbers of many digits cost is counted", () => {
  const long = parseExactJson(`[${`${"1".repeat(60_000)}.${"0".repeat(60_000)}1,`.repeat(3)}1]`);
  for (const schema of [
    { items: { multipleOf: 3 } },
    { items: { maximum: 5 } },
    { uniqueItems: true },
    { items: { type: "integer" } },
    { items: { enum: [1] } },
  ])
    assert.equal(prepareSchema(schema)(long), TOO_MUCH_WORK, JSON.stringify(schema));
});

test("an issue says what was wanted, in the schema's own words as far as they are short, and never what came", () => {
  const says = (schema: object, value: unknown): string =>
    prepareSchema(schema)(value)
      .map(({ message }) => message)
      .join("; ");
  const long = "x".repeat(300);
  for (const [schema, value, message] of [
    [{ const: 'a "quoted". word' }, "s3cret", 'must be "a \\"quoted\\". word"'],
    [{ enum: ["draft", 3, null] }, "s3cret", 'must be one of "draft",3,null'],
    [{ enum: [long] }, "s3cret", "must be one of the values the schema names"],
    [{ pattern: '^"[a-z]+"\\.$' }, "s3cret", 'must match ^"[a-z]+"\\.$'],
    [{ pattern: `^${long}$` }, "s3cret", "does not match the pattern"],
    [{ minLength: 9 }, "s3cret", "must have at least 9 characters"],
    [{ maxLength: 3 }, "s3cret", "must have at most 3 characters"],
    [{ minItems: 2 }, ["s3cret"], "must have at least 2 items"],
    [{ maxItems: 1 }, ["s3cret", 1], "must have at most 1 item"],
  ] as const)
    assert.equal(says(schema, value), message);
});

test("a keyword named __proto__ means nothing: it lends the schema no keywords", () => {
  assert.deepEqual(prepareSchema(JSON.parse('{"__proto__": {"type": "string"}, "maximum": 3}'))(2), []);
});

test("a missing member and a wrong type are named", () => {
  assert.deepEqual(prepareSchema(employee)({ id: 7 }), [
    { path: "/salary", message: "is required" },
    { path: "/id", message: "must be a string" },
  ]);
  assert.deepEqual(prepareSchema(employee)([]), [{ path: "", message: "must be an object" }]);
});

test("a pattern that would backtrack for years answers at once", () => {
  const check = prepareSchema({ type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } });
  const started = performance.now();
  assert.deepEqual(check({ text: `${"a".repeat(20_000)}!` }), [{ path: "/text", message: "must match ^(a+)+$" }]);
  assert.ok(performance.now() - started < 2000);
});

test("inner references work and outer ones are refused", () => {
  const check = prepareSchema({ type: "object", properties: { at: { $ref: "#/$defs/place" } }, $defs: { place: { type: "string" } } });
  assert.deepEqual(check({ at: "here" }), []);
  assert.deepEqual(check({ at: 1 }), [{ path: "/at", message: "must be a string" }]);
  for (const [schema, message] of [
    [{ $ref: "https://example.com/schema.json" }, /within the schema/],
    [{ $ref: "#/$defs/none" }, /is not there/],
    [{ properties: { a: { patternProperties: { "(?=a)": {} } } } }, /unsupported/],
    [{ dependencies: { a: { pattern: "(?=a)" } } }, /unsupported/],
    [{ items: [{ pattern: "(?=a)" }] }, /unsupported/],
    [{ pattern: "(?<=x)y" }, /lookbehind|missing|invalid|perl/i],
    [{ $dynamicRef: "#a" }, /not allowed/],
    ["text", /object or a boolean/],
  ] as const) {
    assert.throws(() => prepareSchema(schema), message);
  }
});

test("a schema beyond its limits is refused", () => {
  let deep: object = { type: "string" };
  for (let i = 0; i < 40; i++) deep = { type: "object", properties: { next: deep } };
  assert.throws(() => prepareSchema(deep), /nested deeper/);
  assert.throws(() => prepareSchema({ description: "x".repeat(70_000) }), /larger than/);
  assert.throws(() => prepareSchema({ anyOf: Array.from({ length: 600 }, () => ({ type: "string" })) }), /more than 512/);
});

test("a format is a hint: nothing that a text holds is run as a pattern or held against one", () => {
  for (const format of ["regex", "url", "email", "date", "nobody-knows"])
    assert.deepEqual(prepareSchema({ type: "string", format })(`http://${"a:".repeat(50_000)}`), [], format);
});

const doubling = {
  $ref: "#/$defs/A0",
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_none, at) => [
      `A${at}`,
      at === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/A${at + 1}` }, { $ref: `#/$defs/A${at + 1}` }] },
    ]),
  ),
};
/** Each level of the value is looked at twice as often as the one above. */
const branching = {
  $ref: "#/$defs/A",
  $defs: {
    A: { anyOf: ["one", "two"].map((kind) => ({ type: "object", properties: { kind: { const: kind }, next: { $ref: "#/$defs/A" } } })) },
  },
};
const chain = (depth: number): unknown => (depth === 0 ? { kind: "one" } : { kind: "one", next: chain(depth - 1) });

for (const [what, schema] of [
  ["itself", { $ref: "#" }],
  ["itself through a definition", { $ref: "#/$defs/A", $defs: { A: { allOf: [{ $ref: "#/$defs/A" }] } } }],
  ["itself through another", { $defs: { A: { anyOf: [{ $ref: "#/$defs/B" }] }, B: { not: { if: { $ref: "#/$defs/A" } } } } }],
  ["itself where another member is", { dependentSchemas: { x: { $ref: "#" } } }],
] as const)
  test(`a schema that refers to ${what} at the same place is refused`, () => {
    assert.throws(() => prepareSchema(schema), /refers to itself at the same place/);
  });

test("a schema that refers to itself deeper in the value is taken, and so is one that many values lead through", () => {
  const tree = prepareSchema({
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" }, parts: { type: "array", items: { $ref: "#" } } },
  });
  assert.deepEqual(tree({ name: "a", parts: [{ name: "b", parts: [] }] }), []);
  assert.deepEqual(tree({ name: "a", parts: Array.from({ length: 20_000 }, () => ({ name: "b" })) }, 10_000_000), []);
  assert.equal(tree({ name: "a", parts: [{}] })[0]?.path, "/parts/0/name");
  assert.deepEqual(prepareSchema(branching)(chain(6)), []);
});

test("work that doubles with each reference ends with an issue", () => {
  assert.match(prepareSchema(doubling)("x")[0]?.message ?? "", /takes too much work/);
  assert.match(prepareSchema(branching)(chain(40))[0]?.message ?? "", /takes too much work/);
});

const range = <T>(count: number, make: (at: number) => T): readonly T[] => Array.from({ length: count }, (_none, at) => make(at));
const objectOf = (count: number, make: (at: number) => unknown): object => Object.fromEntries(range(count, (at) => [`m${at}`, make(at)]));

test("what a schema and a value may cost together is counted, whatever they are", () => {
  const rows = range(4900, (id) => ({ id, name: `name ${id}` }));
  const nested = (depth: number): unknown => (depth === 0 ? range(40, (at) => ({ at })) : range(3, () => nested(depth - 1)));
  const text = "a".repeat(200_000);
  const tree = {
    anyOf: [{ type: "number" }, { type: "array", items: { $ref: "#/$defs/t" } }, { type: "array", items: { $ref: "#/$defs/t" } }],
  };
  const hostile: readonly (readonly [what: string, schema: object, value: unknown])[] = [
    ["many branches over many items", { items: { anyOf: range(300, (at) => ({ const: at })) } }, rows],
    ["branches in branches", { items: { oneOf: range(20, () => ({ oneOf: range(20, (at) => ({ required: [`x${at}`] })) })) } }, rows],
    ["a reference that doubles", doubling, "x"],
    ["branches that double with depth", branching, chain(40)],
    ["lists that double with depth", { $ref: "#/$defs/t", $defs: { t: tree } }, JSON.parse("[".repeat(30) + '"x"' + "]".repeat(30))],
    ["thousands of required members", { items: { required: range(5000, (at) => `r${at}`) } }, rows],
    [
      "thousands of members with a rule each",
      { items: { properties: objectOf(400, () => ({ type: "null" })) } },
      range(3000, () => objectOf(3, () => 1)),
    ],
    ["patterns of members", { patternProperties: objectOf(60, () => false) }, objectOf(9000, () => 1)],
    [
      "patterns of members beside others",
      { patternProperties: { "^(a|b|c)*d$": {} }, additionalProperties: false },
      objectOf(9000, () => 1),
    ],
    ["names with a rule", { propertyNames: { anyOf: range(40, (at) => ({ const: `x${at}` })) } }, objectOf(9000, () => 1)],
    [
      "rules that depend on members",
      { items: { dependentSchemas: objectOf(200, () => ({ minProperties: 3 })) } },
      range(100, () => objectOf(200, () => 1)),
    ],
    [
      "older dependencies",
      { items: { dependencies: objectOf(200, () => ({ minProperties: 3 })) } },
      range(100, () => objectOf(200, () => 1)),
    ],
    ["what contains what", { items: { contains: { contains: { const: 1 } } } }, range(50, () => range(50, () => range(100, () => 0)))],
    [
      "unevaluated members of many branches",
      { anyOf: range(300, () => ({ properties: objectOf(1, () => true), additionalProperties: true })), unevaluatedProperties: false },
      objectOf(3000, () => 1),
    ],
    ["unevaluated items of many branches", { allOf: range(300, () => ({ items: true })), unevaluatedItems: false }, range(3000, () => 1)],
    ["equal lists at each depth", { $ref: "#/$defs/u", $defs: { u: { uniqueItems: true, items: { $ref: "#/$defs/u" } } } }, nested(7)],
    ["a composed value in many branches", { anyOf: range(300, (at) => ({ const: { at } })) }, rows],
    ["a pattern over a long text in many branches", { anyOf: range(50, (at) => ({ pattern: `^(a|b|${at})*c$` })) }, text],
    ["patterns that repeat much", { allOf: range(200, (at) => ({ pattern: `^a{900}b{${at}}$` })) }, "a"],
    ["characters counted in many branches", { allOf: range(400, (at) => ({ minLength: at })) }, text],
    ["decimals", { items: { allOf: range(100, () => ({ multipleOf: 1e-300 })) } }, range(5000, () => 1e300)],
    ["not of not", { items: range(30, () => 0).reduce<object>((inner) => ({ not: inner }), { enum: [1] }) }, range(9000, () => 1)],
    ["what contains anything", { allOf: range(400, () => ({ contains: true })) }, range(3000, () => 1)],
    ["branches that take anything", { items: { anyOf: range(10_000, () => true) } }, range(4000, () => 1)],
    ["patterns of members that none has", { items: { patternProperties: objectOf(2000, () => true) } }, range(9000, () => ({}))],
    ["members that nothing depends on", { items: { dependentRequired: objectOf(4000, () => []) } }, range(9000, () => ({}))],
    [
      "long texts that are equal",
      { allOf: range(200, () => ({ items: { $ref: "#/$defs/t" } })), $defs: { t: { enum: [text.slice(0, 50_000)] } } },
      range(20, () => text.slice(0, 50_000)),
    ],
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    ["conditions", { items: { allOf: range(200, (at) => ({ if: { const: at }, then: false })) } }, range(5000, () => 1)],
  ];
  for (const [what, schema, value] of hostile) assert.equal(prepareSchema(schema)(value), TOO_MUCH_WORK, what);
});

test("a list of types costs no more than one", () => {
  const many = { type: [...range(15_000, () => "a"), "string"] };
  const check = prepareSchema({ items: { allOf: range(20, () => ({ $ref: "#/$defs/t" })) }, $defs: { t: many } });
  assert.deepEqual(
    check(
      range(45_000, () => ""),
      Infinity,
    ),
    [],
  );
  assert.deepEqual(prepareSchema({ type: range(300, (at) => `t${at}`) })(1), [
    { path: "", message: "must be of a type that the schema names" },
  ]);
});

test("thousands of issues below a long name cost that name once, and name it shortened", () => {
  const check = prepareSchema({ additionalProperties: { items: { type: "integer" } } });
  const name = "~".repeat(235_000);
  const integers: Place[] = [];
  const issues = check({ [name]: range(9500, () => "1") }, 1_000_000, integers);
  assert.deepEqual([issues.length, integers.length, new Set(integers.map(({ up }) => up)).size], [50, 9500, 1]);
  assert.deepEqual(issues[7], { path: `/${"~0".repeat(200)}…/7`, message: "must be an integer" });
  const deep = range(40, () => "n".repeat(150)).reduce<unknown>((inner, part) => ({ [part]: inner }), "1");
  const tree = { $ref: "#/$defs/t", $defs: { t: { type: ["object", "integer"], additionalProperties: { $ref: "#/$defs/t" } } } };
  assert.ok((prepareSchema(tree)(deep)[0]?.path.length ?? Infinity) <= 2001);
  const branches = { allOf: range(200, () => ({ additionalProperties: { type: "integer" } })) };
  assert.equal(prepareSchema(branches)({ [name]: "1" }, 1_000_000, []), TOO_MUCH_WORK, "each copy of a name is counted");
});

test("what is no name of a member is required of none", () => {
  for (const rule of ['"required":', '"dependentRequired":{"a":'])
    assert.deepEqual(
      prepareSchema(parseExactJson(`{${rule}[9007199254740993,["b"],null]${rule.endsWith('a":') ? "}" : ""}}`))({ a: 1 }),
      [],
    );
});

test("equal items, long lists of values and composed ones are looked up: a value of 10,000 parts costs its parts", () => {
  const rows = range(4900, (id) => ({ id }));
  const cheap: readonly (readonly [schema: object, value: unknown, issues: number])[] = [
    [{ uniqueItems: true }, rows, 0],
    [{ uniqueItems: true }, [...rows, { id: 7 }], 1],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      1,
    ],
    [{ uniqueItems: true }, [1, "1", [1], ["1"], null, "null", {}, "{}", [], true, "true"], 0],
    [{ items: { enum: range(5000, (at) => at) } }, range(9000, (at) => at % 5000), 0],
    [{ items: { enum: range(1000, (at) => ({ at: [at] })) } }, range(3000, (at) => ({ at: [at % 1000] })), 0],
    [{ const: { rows } }, { rows }, 0],
    [{ const: { rows } }, { rows: rows.toReversed() }, 1],
  ];
  for (const [schema, value, issues] of cheap)
    assert.equal(prepareSchema(schema)(value).length, issues, JSON.stringify(schema).slice(0, 80));
});

test("values that are compared cost what their names and texts are long", () => {
  const MAX_STEPS = 2000;
  const many = (name: string, text: string) => range(50, (at) => ({ [name]: `${text}${at}` }));
  for (const rule of [{ uniqueItems: true }, { items: { enum: [{ other: 1 }] } }]) {
    const check = prepareSchema(rule);
    assert.notEqual(check(many("n", "t"), MAX_STEPS), TOO_MUCH_WORK);
    assert.equal(check(many("n".repeat(1000), "t"), MAX_STEPS), TOO_MUCH_WORK, "names");
    assert.equal(check(many("n", "t".repeat(1000)), MAX_STEPS), TOO_MUCH_WORK, "texts");
  }
});

const leaf = fc.oneof(fc.constantFrom(null, true, false, 0, 1, 2, 2.5, "", "a", "ab", "b1"), fc.integer({ min: -3, max: 3 }));
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
  ),
}));
const { schema: anySchema } = fc.letrec((tie) => {
  const inner = tie("schema");
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  const members = fc.dictionary(fc.constantFrom("a", "b", "c"), inner, { maxKeys: 2 });
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 2 });
  const count = fc.integer({ min: 0, max: 3 });
  const keywords = {
    type: fc.oneof(fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object"), fc.constant(["string", "null"])),
    const: anyValue,
    enum: fc.array(anyValue, { minLength: 1, maxLength: 3 }),
    not: inner,
    anyOf: some,
    allOf: some,
    oneOf: some,
    if: inner,
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: inner,
    else: inner,
    required: names,
    minProperties: count,
    maxProperties: count,
    propertyNames: inner,
    dependentRequired: fc.dictionary(fc.constantFrom("a", "b"), names, { maxKeys: 2 }),
    dependentSchemas: members,
    properties: members,
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b$", "."), inner, { maxKeys: 2 }),
    additionalProperties: inner,
    minItems: count,
    maxItems: count,
    prefixItems: some,
    items: inner,
    contains: inner,
    uniqueItems: fc.boolean(),
    minimum: count,
    exclusiveMaximum: count,
    multipleOf: fc.constantFrom(0.1, 0.5, 2),
    minLength: count,
    maxLength: count,
    pattern: fc.constantFrom("^a", "[0-9]$", "^(a|b)*$"),
    $ref: fc.constantFrom("#/$defs/one", "#/$defs/two"),
  };
  return {
    schema: fc.oneof(
      { depthSize: "small" },
      { weight: 1, arbitrary: fc.boolean() },
      {
        weight: 6,
        arbitrary: fc
          .shuffledSubarray(Object.entries(keywords), { minLength: 1, maxLength: 4 })
          .chain((chosen) => fc.record(Object.fromEntries(chosen))),
      },
    ),
  };
});

test("what fits is what a validator of others' making says fits", () => {
  fc.assert(
    fc.property(anySchema, anySchema, anyValue, (schema, one, value) => {
      const whole = { allOf: [schema], $defs: { one, two: { type: "object" } } };
      let check;
      try {
        check = prepareSchema(whole);
      } catch (error) {
        // It refers to itself at the same place.
        assert.match(String(error), /refers to itself/);
        return;
      }
      const other = new Validator(structuredClone(whole) as Schema, "2020-12", false).validate(value);
      assert.equal(check(value).length === 0, other.valid, JSON.stringify(other.errors));
    }),
    { numRuns: 2000 },
  );
});
