import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedInstance } from "./shared-instance.ts";
import { runShown, shownBlocks } from "./shown-commands.ts";

/** Pages for the demo: what their commands print, and the problem codes that they show on purpose. */
const pages: Readonly<Record<string, { readonly prints: readonly RegExp[]; readonly codes?: readonly string[] }>> = {
  "README.md": { prints: [/people\.demo\.list_employees/, /birth_date/] },
  "docs/tutorial/demo.md": { prints: [/"step_up_required"/, /"salary\\?":70000/] },
};

for (const [page, { prints, codes = [] }] of Object.entries(pages))
  test(`the commands that ${page} shows do what it says`, async (t) => {
    const output = await runShown(t, await shownBlocks(page), await sharedInstance());
    for (const print of prints) assert.match(output, print);
    const refused = new Set([...output.matchAll(/urn:sallyport:problem:(\w+)/g)].map(([, code = ""]) => code));
    assert.deepEqual([...refused].sort(), [...codes].sort(), output);
  });
