import assert from "node:assert/strict";
import { test } from "node:test";
import { forgetDrafts, readDraft, writeDraft } from "./drafts.ts";

const createStorage = (max = Number.POSITIVE_INFINITY): Storage => {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (index) => [...kept.keys()][index] ?? null,
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => {
      if (value.length > max) throw new DOMException("full", "QuotaExceededError");
      kept.set(name, value);
    },
    removeItem: (name) => void kept.delete(name),
    clear: () => kept.clear(),
  };
};

test("a draft is one person's and comes back as it was", () => {
  const storage = createStorage();
  writeDraft(storage, "person:ben", "grant", { a: [1] });
  assert.deepEqual(readDraft(storage, "person:ben", "grant"), { a: [1] });
  assert.equal(readDraft(storage, "person:ada", "grant"), undefined);
  writeDraft(storage, "person:ben", "grant", undefined);
  assert.equal(readDraft(storage, "person:ben", "grant"), undefined);
});

test("a draft that cannot be read counts as none", () => {
  const storage = createStorage();
  storage.setItem("sallyport.draft.person:ben.grant", "{");
  assert.equal(readDraft(storage, "person:ben", "grant"), undefined);
});

test("a full storage loses the draft rather than keep an old one or stop the page", () => {
  const storage = createStorage(20);
  writeDraft(storage, "person:ben", "grant", "short");
  writeDraft(storage, "person:ben", "grant", "x".repeat(100));
  assert.equal(readDraft(storage, "person:ben", "grant"), undefined);
});

test("at sign-out every draft goes and nothing else", () => {
  const storage = createStorage();
  writeDraft(storage, "person:ben", "a", 1);
  writeDraft(storage, "person:ada", "b", 2);
  storage.setItem("other", "stays");
  forgetDrafts(storage);
  assert.equal(storage.length, 1);
  assert.equal(storage.getItem("other"), "stays");
});
