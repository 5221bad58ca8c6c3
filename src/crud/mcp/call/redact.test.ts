import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedact } from "./redact.ts";

test("a credential is taken out of names and values in every spelling", () => {
  const secret = 'k/+ey "9ß';
  const redact = createRedact([secret]);
  const echoes = [
    secret,
    `Bearer ${secret}`,
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
    encodeURIComponent(secret),
    JSON.stringify({ secret }),
  ];
  const cleaned = redact({ list: echoes, nested: { [secret]: 1 }, n: 5, none: null });
  for (const text of cleaned.list) assert.match(text, /\[redacted\]/);
  assert.deepEqual([cleaned.n, cleaned.none], [5, null]);
  assert.ok(!JSON.stringify(cleaned).includes(secret));
});

test("nothing is touched without a credential, and short ones do not eat innocent text", () => {
  const value = { a: ["b"] };
  assert.equal(createRedact([])(value), value);
  assert.deepEqual(createRedact(["a"])({ a: "banana" }), { a: "banana" });
});
