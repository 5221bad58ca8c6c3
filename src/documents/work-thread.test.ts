import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { createWorkThread } from "./work-thread.ts";

test("who waits behind a question that ends the thread, or never ends, is answered by another thread", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-thread-"));
  cleanUp(t, () => rm(folder, { recursive: true }));
  const module = pathToFileURL(join(folder, "thread.ts"));
  await writeFile(
    module,
    `import { answerQuestions } from ${JSON.stringify(new URL("./work-thread.ts", import.meta.url).href)};
answerQuestions((question) => {
  if (question === "die") process.exit(3);
  while (question === "hang");
  if (question === "fail") throw new Error("no");
  for (const all = []; question === "fill"; ) all.push(new Array(10_000).fill(question));
  return question.toUpperCase();
});
`,
  );
  const ended = (_cause: unknown, why: string): Error => new Error(why);
  const thread = createWorkThread<string, string>({ module, name: "test", mostMs: 2000, heapMebibytes: 16, ended });
  const settled = await Promise.allSettled(["a", "die", "b", "hang", "fill", "fail", "c"].map((question) => thread.ask(question)));
  assert.deepEqual(
    settled.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason))),
    ["A", "Error: failed", "B", "Error: late", "Error: memory", "Error: failed", "C"],
  );
  assert.equal(await thread.ask("d"), "D");

  await writeFile(module, "throw new Error('no such part');");
  const broken = createWorkThread<string, string>({ module: new URL(`${module.href}?anew`), name: "broken", ended });
  await assert.rejects(broken.ask("a"), { message: "failed" });
});
