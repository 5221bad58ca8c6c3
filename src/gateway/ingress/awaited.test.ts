import assert from "node:assert/strict";
import { test } from "node:test";
import { createAwaited, type Place } from "./awaited.ts";

const named = (name: string) => ({ name });
const names = (list: Iterable<{ name: string }>) => [...list].map(({ name }) => name).join("");

test("what is waited for stands in the order in which it came", () => {
  const list = createAwaited<{ name: string }>();
  assert.equal(names(list), "");
  for (const name of "abc") list.add(named(name));
  assert.equal(names(list), "abc");
});

test("who leaves is gone once, wherever they stood", () => {
  const list = createAwaited<{ name: string }>();
  const places = new Map<string, Place>();
  for (const name of "abcd") places.set(name, list.add(named(name)));
  for (const [name, rest] of [
    ["b", "acd"],
    ["a", "cd"],
    ["d", "c"],
    ["c", ""],
  ] as const) {
    assert.equal(places.get(name)?.gone(), true);
    assert.equal(names(list), rest);
    assert.equal(places.get(name)?.gone(), false, "a second time");
    assert.equal(names(list), rest);
  }
  list.add(named("e"));
  assert.equal(names(list), "e");
});

test("a walk leaves out who goes meanwhile, and does not meet who comes", () => {
  const list = createAwaited<{ name: string }>();
  list.add(named("a"));
  const second = list.add(named("b"));
  list.add(named("c"));
  let met = "";
  for (const { name } of list) {
    met += name;
    second.gone();
    if (name === "a") list.add(named("d"));
  }
  assert.equal(met, "ac");
  assert.equal(names(list), "acd");
});
