import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { shapeIssues } from "./shape-issues.ts";
import { readYaml, type YamlDocument, type YamlLimits } from "./yaml-document.ts";

const many = 20_000;
const deep = /nested deeper than 40/;
const repeated = (text: string): string => text.repeat(many);
const stairs = (text: string): string => Array.from({ length: 200 }, (_none, level) => `${" ".repeat(level)}${text}`).join("\n");
const lines = (...all: readonly string[]): string => all.join("\n");

const refused: readonly (readonly [name: string, text: string, says: RegExp, line?: number, column?: number, limits?: YamlLimits])[] = [
  ["brackets that nest too deeply", `a: ${repeated("[")}`, deep, 1, 43],
  ["braces that nest too deeply", repeated("{a: "), deep],
  ["brackets that closed before they opened", repeated("]") + repeated("["), deep],
  ["dashes on one line", repeated("- "), deep, 1, 81],
  ["dashes behind tabs", repeated("-\t"), deep],
  ["dashes behind a key", `a: ${repeated("- ")}`, deep],
  ["question marks on one line", repeated("? "), deep],
  ["colons on one line", repeated(": "), deep],
  ["keys on one line", repeated("a: "), deep],
  ["quoted keys on one line", repeated('"a": '), deep],
  ["keys and dashes on one line", repeated("- a: "), deep],
  ["keys on stairs", stairs("a:"), deep, 41, 41],
  ["dashes on stairs", stairs("- "), deep],
  ["keys below a text of several lines", `a: |\n  x\n${stairs("b:")}`, deep],
  ["a nesting deeper than its reader's own limit", "a: [[1]]", /nested deeper than 2/, 1, 5, { depth: 2 }],
  ["a text larger than 1 MiB", `# ${"x".repeat(1_048_576)}`, /larger than 1 MiB/, 1, 1],
  ["a text larger than its reader's own limit", `# ${"é".repeat(131_072)}`, /larger than 0\.25 MiB/, 1, 1, { mebibytes: 0.25 }],
  ["an anchor", "a: 1\nb: &b 2", /anchors are not allowed/, 2, 4],
  ["an alias", "a: *a", /aliases are not allowed/, 1, 4],
  ["a merge key's alias", "a: 1\nb:\n  <<: *a", /aliases are not allowed/, 3, 7],
  ["anchors without end", repeated("&a "), /anchors are not allowed/],
  ["a tag", "a: !!int 1", /tags are not allowed/, 1, 4],
  ["a tag of our own", "a: !secret x", /tags are not allowed/, 1, 4],
  ["a directive that changes what words mean", "%YAML 1.1\n---\na: no\n", /directives are not allowed/, 1, 1],
  ["a whole number that no double holds", "a: 1\nb: [9007199254740993]", /no double holds/, 2, 5],
  ["one in hexadecimal digits", "a: 0x20000000000001", /no double holds/, 1, 4],
  ["a decimal that no double holds", "a: +0.1234567890123456789", /no double holds/, 1, 4],
  ["a number beyond a double", "maximum: 1\ndefault: 1e400", /no double holds/, 2, 10],
  ...["1.10", "1.0", "+1", "0x10", "1e2", ".5"].map(
    (literal) =>
      [
        `${literal} where numbers are sent on`,
        `a: 1.10\nbind: { query: { v: [${literal}] } }`,
        /would be sent as/,
        2,
        22,
        { sent: "bind" },
      ] as const,
  ),
  ["a repeated key", "a: 1\nb: 2\na: 3", /unique/, 3, 1],
  ["a key that is an object's prototype", 'a:\n  "\\x5f_proto__": {b: 1}', /__proto__/, 2, 3],
  ["keys that are written otherwise and are the same", '1: a\n"1": b', /unique/, 2, 1],
  ["a key that is no text", "[a]: 1", /string/, 1, 1],
  ["a second document", "a: 1\n---\nb: 2", /multiple documents/, 2],
  ["a bracket without its fellow", "a: [1", /./, 1],
  [
    "a bomb of allowed aliases",
    lines("- &a0 [1]", ...Array.from({ length: 12 }, (_none, n) => `- &a${n + 1} [${`*a${n},`.repeat(10)}]`)),
    /alias/i,
    2,
    8,
    { aliases: 100 },
  ],
  ["an allowed alias within itself", "a: 1\nb: &b { c: [*b] }", /within what it stands for/, 2, 13, { aliases: 100 }],
  ["an allowed alias of nothing", "a: 1\nb: *c", /alias/i, 2, 4, { aliases: 100 }],
];
for (const [name, text, says, line, column, limits] of refused)
  test(`refused with its place: ${name}`, () => {
    const { document, issues } = readYaml(text, "x.yaml", limits);
    assert.equal(document, undefined);
    const [issue] = issues;
    assert.match(issue?.message ?? "", says);
    assert.equal(issue?.file, "x.yaml");
    assert.ok((issue.line ?? 0) >= 1 && (issue.column ?? 0) >= 1);
    if (line !== undefined) assert.equal(issue.line, line);
    if (column !== undefined) assert.equal(issue.column, column);
    assert.ok(issues.length <= 60, `${issues.length} issues`);
  });

const read: readonly (readonly [text: string, value: unknown, limits?: YamlLimits])[] = [
  ["", null],
  ["a: no\nb: 012\nc: 0x10\nd: ~", { a: "no", b: 12, c: 16, d: null }],
  ["200: ok\ntrue: x", { 200: "ok", true: "x" }],
  ["a: 1.10\nbind: { query: { v: [1.1, -1, '1.10', 100] } }", { a: 1.1, bind: { query: { v: [1.1, -1, "1.10", 100] } } }, { sent: "bind" }],
  ['{"a": [1, {"b": null}], "c": "*x &y !z"}', { a: [1, { b: null }], c: "*x &y !z" }],
  ['{\n\t"a": [\n\t\t1\n\t]\n}', { a: [1] }],
  ["\u{feff}a: 1", { a: 1 }],
  ["a: |\n  - &x *y\n  %z\nb: 1", { a: "- &x *y\n%z\n", b: 1 }],
  ["a: &a { b: 1 }\nc: { <<: *a, d: 2 }", { a: { b: 1 }, c: { b: 1, d: 2 } }, { aliases: 10 }],
  ["a: [[1]]", { a: [[1]] }, { depth: 3 }],
  ["a:\n  b:\n    c: 1", { a: { b: { c: 1 } } }, { depth: 3 }],
];
test("what has one reading is read, JSON too, at exactly the depth that is allowed", () => {
  for (const [text, value, limits] of read) assert.deepEqual(readYaml(text, "x.yaml", limits).document?.value, value, text);
});

const documentOf = (text: string): YamlDocument => {
  const { document } = readYaml(text, "x.yaml");
  assert.ok(document);
  return document;
};

test("keys cost what they are in number, however many one map has", () => {
  const keys = (count: number, indent: string): string => Array.from({ length: count }, (_none, at) => `${indent}k${at}: 1\n`).join("");
  const cpu = (text: string): number => {
    const { user } = process.threadCpuUsage();
    const read = readYaml(text, "x");
    assert.deepEqual(read.issues, []);
    return process.threadCpuUsage().user - user;
  };
  cpu(keys(2000, ""));
  const spread = cpu(Array.from({ length: 60 }, (_none, at) => `m${at}:\n${keys(1000, " ")}`).join(""));
  const inOne = cpu(keys(60_000, ""));
  // Each with each would be thirty times as much.
  assert.ok(inOne < spread * 6, `${inOne} µs and ${spread} µs`);
  const twice = readYaml(`${keys(20_000, "")}k7: 2\nb: {a: 1, a: 2}\n`, "x").issues;
  assert.deepEqual(
    twice.map(({ line, column }) => [line, column]),
    [
      [20_001, 1],
      [20_002, 11],
    ],
  );
});

test("each value and each name has its place, an absent one that of the nearest thing that would hold it", () => {
  const document = documentOf("a:\n  'b c': [x, { d: 1 }]\n  7: null\n");
  const places: readonly (readonly [path: readonly PropertyKey[], value: string, key: string])[] = [
    [[], "1:1", "1:1"],
    [["a"], "2:3", "1:1"],
    [["a", "b c"], "2:10", "2:3"],
    [["a", "b c", 1], "2:14", "2:14"],
    [["a", "b c", 1, "d"], "2:19", "2:16"],
    [["a", "b c", 1, "e"], "2:14", "2:14"],
    [["a", "b c", 9], "2:10", "2:3"],
    [["a", 7], "3:6", "3:3"],
    [["x", "y"], "1:1", "1:1"],
  ];
  const text = ({ line, column }: { readonly line: number; readonly column: number }): string => `${line}:${column}`;
  for (const [path, value, key] of places)
    assert.deepEqual([text(document.placeOf(path)), text(document.keyPlaceOf(path))], [value, key], path.join("."));
});

test("a missed shape is told at its place: an unknown member with the nearest known word, a union by its nearest branch", () => {
  const shape = z.strictObject({ colour: z.string(), size: z.union([z.strictObject({ width: z.number() }), z.literal("any")]) });
  const document = documentOf("rows:\n  - colour: 1\n    size: { width: wide }\n    coulor: red\n");
  const { error } = shape.safeParse((document.value as { readonly rows: readonly unknown[] }).rows[0]);
  assert.ok(error);
  const file = "x.yaml";
  assert.deepEqual(shapeIssues(document, error, { under: ["rows", 0], shape }), [
    { path: "/rows/0/colour", message: "Invalid input: expected string, received number", file, line: 2, column: 13 },
    { path: "/rows/0/size/width", message: "Invalid input: expected number, received string", file, line: 3, column: 20 },
    { path: "/rows/0/coulor", message: "is not known here", code: "unknown", hint: "did you mean colour?", file, line: 4, column: 5 },
  ]);
});

test("a document of nothing but issues is told some of them", () => {
  assert.equal(readYaml(`a: ${"[]".repeat(1000)}`, "a.yaml").issues.length, 50);
});
