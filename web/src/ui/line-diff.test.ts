import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "./line-diff.ts";

const signs = { same: " ", added: "+", removed: "-", gap: "~" } as const;
const lines = (count: number): string => Array.from({ length: count }, (_nothing, at) => `line ${at + 1}`).join("\n");

for (const [name, before, after, wanted] of [
  ["nothing differs", "a\nb", "a\nb", []],
  ["a line in the middle", "a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]],
  ["from nothing", "", "a", ["-", "+a"]],
  ["at the end", "a", "a\nb", [" a", "+b"]],
  ["two places", "a\nb\nc\nd", "b\nc\nx\nd", ["-a", " b", " c", "+x", " d"]],
  ["far lines are left out", lines(9), lines(9).replace("line 5", "five"), ["~", " line 4", "-line 5", "+five", " line 6", "~"]],
] as const)
  test(`lines that differ: ${name}`, () => {
    assert.deepEqual(
      diffLines(before, after, 1).map(({ kind, text }) => signs[kind] + text),
      wanted,
    );
  });
