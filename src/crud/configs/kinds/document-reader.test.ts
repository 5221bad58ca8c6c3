// A process of its own: it looks at threads.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDocumentReader } from "./document-reader.ts";
import { systemKind } from "./system-kind.ts";
import { toolsKind } from "./tools-kind.ts";

/** YAML of so many views, too large to be read on the event loop. */
const viewsOf = (count: number): string =>
  `apiVersion: tools/v1\nviews:\n${Array.from({ length: count }, (_none, at) => `  - { name: v${at}, filters: { names: [a, b, c] } }\n`).join("")}`;

test("a document that takes too long is refused with an issue, and the tenant's next one is read", async () => {
  const reader = createDocumentReader({ maxMs: 1, heapMebibytes: 256 });
  for (const read of [
    reader(toolsKind)(viewsOf(4000), "t", { tenant: "a" }),
    reader(systemKind)(`#${viewsOf(4000)}`, "s", { tenant: "a" }),
  ]) {
    const found = await read;
    assert.ok("issues" in found);
    assert.deepEqual(found.issues, [{ path: "", message: "takes more than 0.001 s of processor time to be read", code: "too_much_work" }]);
  }
  assert.ok("value" in (await reader(toolsKind)(viewsOf(1), "t", { tenant: "a" })));
});

test("one that needs too much memory is refused so too", async () => {
  const found = await createDocumentReader({ maxMs: 60_000, heapMebibytes: 8 })(toolsKind)(viewsOf(4000), "t");
  assert.ok("issues" in found);
  assert.deepEqual(found.issues, [{ path: "", message: "takes more than 8 MiB of memory to be read", code: "too_much_work" }]);
});
