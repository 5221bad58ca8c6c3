import assert from "node:assert/strict";
import { test } from "node:test";
import { createSealedCursors } from "./sealed-cursors.ts";

const secrets = [new Uint8Array(32).fill(1)] as const;
const begun = Date.parse("2026-11-22T10:00:00Z");

test("a cursor opens for its purpose, list and reader alone, as it was given out, and for its time", () => {
  let now = begun;
  const of = (purpose: string, more: { readonly lifeMinutes?: number } = {}) =>
    createSealedCursors<{ readonly after: string }>({ secrets, purpose, now: () => new Date(now), ...more });
  const lists = of("lists");
  const bound = ["tenant:a", "person:a", null];
  const cursor = lists.seal({ after: "x" }, bound);
  assert.deepEqual(lists.open(cursor, bound), { after: "x" });
  assert.ok(!Buffer.from(cursor, "base64url").includes("after"));
  const cut = cursor.slice(0, -1);
  const refused: readonly (readonly [name: string, open: () => unknown])[] = [
    ["another reader's", () => lists.open(cursor, ["tenant:a", "person:b", null])],
    ["another purpose's", () => of("others").open(cursor, bound)],
    ["one that is cut", () => lists.open(cut, bound)],
    ["one with a letter more", () => lists.open(`${cursor}A`, bound)],
    ["one that is spelled otherwise", () => lists.open(`${cursor}=`, bound)],
    ["one that is none", () => lists.open("MTIz", bound)],
    ["an empty one", () => lists.open("", bound)],
  ];
  for (const [name, open] of refused) assert.throws(open, { code: "invalid_cursor" }, name);
  now = begun + 600_000;
  assert.deepEqual(lists.open(cursor, bound), { after: "x" });
  now += 1;
  assert.throws(() => lists.open(cursor, bound), { code: "invalid_cursor" });
  assert.deepEqual(of("lists", { lifeMinutes: 15 }).open(of("lists", { lifeMinutes: 15 }).seal({ after: "y" }, bound), bound), {
    after: "y",
  });
});
