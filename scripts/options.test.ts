import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runScript } from "../e2e/run-script.ts";

const tasks = [
  ...readFileSync(join(import.meta.dirname, "run.mjs"), "utf8").matchAll(/^ {2}"?([a-z-]+)"?: "scripts\/([a-z-]+\.ts)",$/gm),
].map(([, task = "", file = ""]) => ({ task, file }));

test("every npm script prints its options when asked, and ends with 0", { timeout: 120_000 }, async () => {
  assert.ok(tasks.length >= 13);
  for (const { task, file } of tasks) {
    const { code, out, err } = await runScript(file, ["--help"]);
    assert.equal(code, 0, `${task}: ${out}${err}`);
    assert.match(out + err, new RegExp(`npm (?:run )?${task.replace("build-web", "build:web")}\\b`), task);
    assert.ok((out + err).split("\n").length < 60, `${task} prints its help and does nothing else`);
  }
});

test("every npm script refuses an option that it does not know before it does anything", { timeout: 120_000 }, async () => {
  for (const { task, file } of tasks) {
    const { code, out, err } = await runScript(file, ["--colour"]);
    assert.equal(code, 64, `${task}: ${out}${err}`);
    assert.equal(out, "", task);
    assert.match(err, /--colour/, task);
    assert.doesNotMatch(err, /^\s+at /m, task);
  }
});

test("an option of one subject of the bench is refused for another", { timeout: 60_000 }, async () => {
  for (const args of [["instance", "--rounds", "1"], ["gateway", "--sizes", "10"], ["horse"], ["pdp", "gateway", "--sizes"]])
    assert.equal((await runScript("bench.ts", args)).code, 64, args.join(" "));
});
