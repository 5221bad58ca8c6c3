import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyDraft, isPolicyPath, pathsOf, readPolicyDraft, fileStateOf, withText, withoutChange, withoutFile } from "./draft-files.ts";

const base = { "policies/a.cedar": "old", "policies/cases/a.yaml": "[]" };

test("a text that differs is a change, and none when it is again as it was", () => {
  const changed = withText(base, emptyDraft, "policies/a.cedar", "new");
  assert.deepEqual(changed.files, { "policies/a.cedar": "new" });
  assert.equal(fileStateOf("policies/a.cedar", base, changed.files), "changed");
  const back = withText(base, changed, "policies/a.cedar", "old");
  assert.deepEqual(back.files, {});
  assert.equal(fileStateOf("policies/a.cedar", base, back.files), "same");
});

test("a removed file is sent as null and may be taken back", () => {
  const removed = withoutFile(base, emptyDraft, "policies/a.cedar");
  assert.deepEqual(removed.files, { "policies/a.cedar": null });
  assert.equal(fileStateOf("policies/a.cedar", base, removed.files), "removed");
  assert.deepEqual(withoutChange(removed, "policies/a.cedar").files, {});
});

test("a file that was only added is forgotten when it is removed", () => {
  const added = withText(base, emptyDraft, "policies/b.cedar", "");
  assert.equal(fileStateOf("policies/b.cedar", base, added.files), "added");
  assert.deepEqual(pathsOf(base, added), ["policies/a.cedar", "policies/cases/a.yaml", "policies/b.cedar"]);
  assert.deepEqual(withoutFile(base, added, "policies/b.cedar").files, {});
});

test("a file named like a member of every object is a file like others", () => {
  assert.equal(fileStateOf("constructor", base, {}), "same");
  assert.equal(fileStateOf("constructor", base, { constructor: "x" } as Record<string, string>), "added");
});

for (const value of [undefined, null, "x", { files: [] }, { files: { a: 1 }, message: "" }, { files: {} }])
  test(`a kept draft of ${JSON.stringify(value)} is not taken`, () => assert.equal(readPolicyDraft(value), undefined));

for (const [path, fits] of [
  ["policies/pages.cedar", true],
  ["policies/cases/pages.yaml", true],
  ["policies/schema.cedarschema", true],
  ["pages.cedar", false],
  ["policies/../x.cedar", false],
  ["policies/Pages.cedar", false],
  ["policies/x.txt", false],
  ["policies/deep/er/x.cedar", false],
] as const)
  test(`${path} is ${fits ? "" : "no "}name of a file`, () => assert.equal(isPolicyPath(path), fits));
