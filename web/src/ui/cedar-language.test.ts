import assert from "node:assert/strict";
import { test } from "node:test";
import { classHighlighter, highlightTree } from "@lezer/highlight";
import { languageOf } from "./cedar-language.ts";

/** Pieces of a text that have a look of their own, with that look. */
const looks = (path: string, text: string): readonly string[] => {
  const found: string[] = [];
  highlightTree(languageOf(path).parser.parse(text), classHighlighter, (from, to, classes) =>
    found.push(`${classes.replaceAll("tok-", "")} ${text.slice(from, to)}`),
  );
  return found;
};

for (const [what, path, text, expected] of [
  ["a keyword", "a.cedar", "permit", ["keyword permit"]],
  ["an annotation", "a.cedar", '@id("x")', ["meta @id", 'string "x"']],
  ["an entity type, with its namespace", "a.cedar", 'My::Group::"g"', ["typeName My::Group", "operator ::", 'string "g"']],
  ["a comment to the end of its line only", "a.cedar", "// permit\nforbid", ["comment // permit", "keyword forbid"]],
  ["no comment inside a string", "a.cedar", '"a // b"', ['string "a // b"']],
  ["an escaped quote inside a string", "a.cedar", String.raw`"a\"b" in`, [String.raw`string "a\"b"`, "keyword in"]],
  ["an open string up to the end of its line", "a.cedar", '"a\nwhen', ['string "a', "keyword when"]],
  ["an attribute, even one named like a keyword", "a.cedar", "context.in", ["variableName2 context", "propertyName in"]],
  ["numbers and booleans", "a.cedar", "5 == true", ["number 5", "operator ==", "bool true"]],
  [
    "a declaration of a schema",
    "a.cedarschema",
    "entity Page { a: Set<Page> };",
    ["keyword entity", "typeName Page", "variableName a", "typeName Set", "operator <", "typeName Page", "operator >"],
  ],
  ["no string that begins inside a word", "a.yaml", "- name: one's own", ["propertyName name"]],
  ["no comment that begins inside a word", "a.yaml", "uri: yaml://secret/billing#key # why", ["propertyName uri", "comment # why"]],
  ["keys and comments of a list of cases", "a.yaml", "- name: x # y", ["propertyName name", "comment # y"]],
] as const)
  test(`it tells ${what}`, () => assert.deepEqual(looks(path, text), expected));

test("a name as `toString` is a name", () => assert.deepEqual(looks("a.cedar", "toString"), ["variableName toString"]));
