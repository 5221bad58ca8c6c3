import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { modulePageIssues } from "./module-pages.ts";

for (const [what, page, issues, more] of [
  ["no page", undefined, ["src/events/README.md is missing"]],
  ["every folder in order", "- `model/`: a\n- `audit/`: b\n", []],
  ["a folder that is not named", "- `model/`: a\n\nSee `audit/`.\n", ["src/events/README.md does not name audit/"]],
  [
    "another order than that of the table",
    "- `audit/`: b\n- `model/`: a\n",
    ["src/events/README.md names its folders in another order than scripts/checks/import-table.ts"],
  ],
  [
    "a folder that the table misses",
    "- `model/`: a\n- `audit/`: b\n- `new/`: c\n- `tests/`: d\n",
    ["scripts/checks/import-table.ts does not name src/events/new/"],
    { "new/a.ts": "", "tests/a.test.ts": "" },
  ],
] as const)
  test(`the page of a module: ${what}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), "sallyport-module-pages-"));
    t.after(() => rmSync(root, { recursive: true, force: true }));
    const files = {
      "config.ts": "",
      "model/emit.ts": "",
      "audit/entry.ts": "",
      ...more,
      ...(page === undefined ? {} : { "README.md": page }),
    };
    for (const [name, text] of Object.entries(files)) {
      const path = join(root, "src/events", name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    assert.deepEqual(modulePageIssues(root), issues);
  });
