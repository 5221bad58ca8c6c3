import assert from "node:assert/strict";
import { test } from "node:test";
import { draftShape, emptyDraft, isOverOlder, withText } from "./system-draft.ts";

const base = { version: 2, etag: '"2-aa"', text: "title: Two\n" };

test("a text is over the version that it was begun over, also when another was published since", () => {
  const begun = withText(emptyDraft, base, "title: Mine\n");
  assert.deepEqual(begun, { text: "title: Mine\n", version: 2, etag: '"2-aa"' });
  const later = { version: 3, etag: '"3-bb"', text: "title: Theirs\n" };
  assert.deepEqual(withText(begun, later, "title: Mine too\n"), { text: "title: Mine too\n", version: 2, etag: '"2-aa"' });
  assert.deepEqual(
    [isOverOlder(begun, base.etag), isOverOlder(begun, later.etag), isOverOlder(emptyDraft, later.etag)],
    [false, true, false],
  );
});

test("a text that is again as it was is no draft", () => {
  assert.equal(withText(withText(emptyDraft, base, "x"), base, base.text), emptyDraft);
});

test("what was kept is read, and what was never a draft is not", () => {
  const draft = { text: "x", version: 2, etag: "e" };
  assert.deepEqual(draftShape.read(draft), draft);
  assert.deepEqual(draftShape.read({ text: "x", version: "2" }), { text: "x" });
  for (const kept of [null, 1, {}, { text: 1 }]) assert.equal(draftShape.read(kept), undefined);
});
