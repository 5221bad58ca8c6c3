import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const ids =
  /group:(?:platform-admins|people-ops|analysts|contractors|globex-staff)|person:(?:ada|ben|cleo|dan|eve)\b|tenant:(?:acme|globex)\b|agent:(?:hr-assistant|reporter)|people\.demo|memory\.demo|saas:people|delegation:(?:ben|cleo)|acme\.pages|@acme\b/;
/** The demo world itself; tests and what they share; the golden table of what the policies decide in the demo world, and what it is drawn on. */
const apart = [
  /^src\/demo\//,
  /^config\/demo\//,
  /\.test\.tsx?$/,
  /\.contract\.ts$/,
  /^src\/testing\//,
  /^src\/membership\/cases\//,
  /^src\/gateway\/attack\//,
  /^src\/pdp\/lifecycle\/matrix\//,
  // Commands that measure and try out the demo instance.
  /^scripts\/(?:bench|fuzz|interop|tests)\//,
];
/** What a comment or a description shows as an example names nobody, nor does a path into the demo's configuration. */
const isShown = (line: string): boolean => /^\s*(?:\/\/|\/?\*|#)/.test(line) || /description: ".*such as|"config\/demo\//.test(line);

test("no id of the demo world stands outside of it, but for tests", async () => {
  const found: string[] = [];
  let looked = 0;
  for (const folder of ["src", "config", "web/src", "scripts"])
    for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name).slice(root.length);
      if (!entry.isFile() || apart.some((pattern) => pattern.test(path))) continue;
      looked += 1;
      for (const line of (await readFile(join(root, path), "utf8")).split("\n"))
        if (ids.test(line) && !isShown(line)) found.push(`${path}: ${line.trim()}`);
    }
  assert.ok(looked > 500);
  assert.deepEqual(found, []);
});
