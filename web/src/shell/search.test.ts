import assert from "node:assert/strict";
import { test } from "node:test";
import { freeText, idText, nodeText } from "#contract/page-search.ts";
import { isFilteredBy, parseSearch, searchReader, sortSearch, stringifySearch } from "./search.ts";

test("an address survives reading and writing, whatever its characters", () => {
  const search = { q: "a b&c=d %2F", agent: "agent:hr-assistant", number: "007", truth: "true" };
  assert.deepEqual(parseSearch(stringifySearch(search)), search);
  assert.equal(stringifySearch({}), "");
  assert.equal(stringifySearch({ q: "", other: undefined }), "");
});

test("what is not understood is dropped by name, the rest stays", () => {
  const { kept, dropped } = sortSearch(
    { status: ["active", "revoked"], agent: idText, q: freeText },
    { status: "gone", agent: "agent:x", q: "two words", utm: "x", toString: "y" },
  );
  assert.deepEqual(kept, { agent: "agent:x", q: "two words" });
  assert.deepEqual(dropped, ["status", "utm", "toString"]);
});

for (const bad of ["", " x", "a b", "<img>", "x\u0000", "a'b", "x".repeat(201)])
  test(`${JSON.stringify(bad)} is no id`, () => assert.equal(idText.test(bad), false));

test("what is dropped is taken from what the router knows of the address, and filters nothing", () => {
  const read = searchReader({ agent: nodeText });
  const given = { agent: "agent:x/../y", status: "gone" };
  const seen = { ...given, ...read(given) };
  assert.deepEqual(seen, { agent: undefined, status: undefined });
  assert.equal(isFilteredBy(seen), false);
  assert.equal(isFilteredBy(read({ agent: "agent:x" })), true);
});
