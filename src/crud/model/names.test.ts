import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { instanceName, providerName, systemName } from "#contract/configs.ts";
import { underscoreOf, viewPattern } from "./names.ts";
import { mapNames } from "#crud/mcp/external-tools.ts";

const letters = (head: string, tail: string, max: number) =>
  fc
    .tuple(fc.constantFrom(...head.split("")), fc.array(fc.constantFrom(...tail.split("")), { maxLength: max }))
    .map(([first, rest]) => first + rest.join(""));
const isProvider = (text: string): boolean => providerName.safeParse(text).success;
const provider = letters("abcxyz", "abcxyz0189-", 24).filter(isProvider);
const instance = letters("abcxyz", "abcxyz0189-", 24).filter((text) => instanceName.safeParse(text).success);
const base = letters("abzABZ", "abzABZ019_-", 30);

/** The dotted name of an underscore form. */
const dottedOf = (text: string): string => {
  if (text === "system_health") return "system.health";
  if (text.startsWith("workflow_")) return `workflow.${text.slice("workflow_".length)}`;
  const [, provider, instance, base] = /^([^_]+)_([^_]+)_(.+)$/.exec(text) ?? [];
  return `${provider}.${instance}.${base}`;
};

test("the underscore form has one reading", () => {
  fc.assert(
    fc.property(provider, instance, base, (p, i, b) => {
      const name = `${p}.${i}.${b}`;
      assert.equal(dottedOf(underscoreOf(name)), name);
    }),
  );
  fc.assert(
    fc.property(letters("abz", "abz0_-", 50), (name) => assert.equal(dottedOf(underscoreOf(`workflow.${name}`)), `workflow.${name}`)),
  );
  assert.equal(dottedOf("system_health"), "system.health");
});

test("two different names never have one underscore form", () => {
  const name = fc.tuple(provider, instance, base).map((parts) => parts.join("."));
  fc.assert(fc.property(name, name, (one, other) => one === other || underscoreOf(one) !== underscoreOf(other)));
});

test("reserved words are neither providers nor views", () => {
  for (const word of ["workflow", "system", "tools", "A", "a_b", "", "a".repeat(26), "-a"])
    assert.deepEqual([isProvider(word), systemName.safeParse(`${word}.demo`).success], [false, false], word);
  for (const word of ["jsonrpc", "tools", "mcp", "config", "A", "a_b", ""]) assert.equal(viewPattern.test(word), false, word);
  assert.ok(isProvider("people") && systemName.safeParse("people.demo").success && viewPattern.test("people-demo"));
});

test("names of external tools are mapped alike each time, fit, and never meet", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 90 }), { maxLength: 40 }), (names) => {
      const mapped = mapNames("memory.demo", names);
      assert.deepEqual(mapNames("memory.demo", names), mapped);
      assert.equal(new Set(mapped.values()).size, names.length);
      for (const name of mapped.values()) {
        assert.match(name, /^[A-Za-z][A-Za-z0-9_-]*$/);
        assert.ok(`memory.demo.${name}`.length <= 64);
      }
    }),
  );
  assert.equal(mapNames("memory.demo", ["read_graph"]).get("read_graph"), "read_graph");
});
