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
  return question.toUpperCase();
});
`,
  );
  const ended = (): Error => new Error("ended");
  const thread = createWorkThread<string, string>({ module, name: "test", mostMs: 2000, ended });
  const settled = await Promise.allSettled(["a", "die", "b", "hang", "fail", "c"].map((question) => thread.ask(question)));
  assert.deepEqual(
    settled.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason))),
    ["A", "Error: ended", "B", "Error: ended", "Error: ended", "C"],
  );
  assert.equal(await thread.ask("d"), "D");
});
