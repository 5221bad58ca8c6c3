import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { microFromUsd, nodeId, usdFromMicro, usdText } from "./ids.ts";

test("money survives the way to micro-USD and back for every amount of 6 decimals", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10_000_000_000n }), (micro) => {
      assert.equal(microFromUsd(usdFromMicro(micro)), micro);
    }),
  );
});

for (const wrong of [-0.01, 0.0000001, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
  test(`${wrong} is no amount of money`, () => {
    assert.throws(() => microFromUsd(wrong), RangeError);
  });
}

test("money text has six places", () => {
  assert.equal(usdText(5_000_000n), "5.000000");
  assert.equal(usdText(-1n), "-0.000001");
});

for (const id of ["person:ben", "people.demo.list_employees", "account:ben@acme", "a".repeat(200)]) {
  test(`${id.slice(0, 30)} is an id`, () => assert.ok(nodeId.safeParse(id).success));
}
for (const id of ["", ":x", "a b", "a'b", "a/b", "a\u0000", "ä", "a".repeat(201), 'a"b', "a\\b"]) {
  test(`${JSON.stringify(id.slice(0, 20))} is no id`, () => assert.ok(!nodeId.safeParse(id).success));
}
