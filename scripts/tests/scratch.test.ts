import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { makeScratch } from "./scratch.ts";

test("files of a run lie where a person says, and what a killed run left is removed", (t) => {
  const place = mkdtempSync(join(tmpdir(), "scratch-"));
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = place;
  t.after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    rmSync(place, { recursive: true });
  });
  const { pid: dead } = spawnSync(process.execPath, ["-e", ""]);
  const left = { dead: `sallyport-tests-${dead}-a`, alive: `sallyport-tests-${process.pid}-a`, strange: "sallyport-test-b" };
  for (const name of Object.values(left)) mkdirSync(join(place, name, "data"), { recursive: true });
  const folder = makeScratch(0);
  assert.ok(folder.startsWith(join(place, `sallyport-tests-${process.pid}-`)));
  assert.deepEqual(
    Object.entries(left).map(([name, path]) => [name, existsSync(join(place, path))]),
    [
      ["dead", false],
      ["alive", true],
      ["strange", true],
    ],
  );
});
