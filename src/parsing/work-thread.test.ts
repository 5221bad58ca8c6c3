import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { createWorkThread } from "./work-thread.ts";

/** A thread that answers a text in capitals, dies, hangs, fills its heap or fails, as it is asked. */
const makeModule = async (t: Parameters<typeof cleanUp>[0]): Promise<URL> => {
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
  return module;
};
const ended = (_cause: unknown, why: string): Error => new Error(why);

test("tenants take turns, however much one of them asked before", async (t) => {
  const thread = createWorkThread<string, string>({ module: await makeModule(t), name: "test", ended });
  const order: string[] = [];
  const ask = (tenant: string, question: string) => thread.ask(question, { tenant }).then((answer) => order.push(answer));
  await Promise.all([...["a1", "a2", "a3", "a4"].map((one) => ask("a", one)), ask("b", "b1"), ask("c", "c1"), ask("b", "b2")]);
  assert.deepEqual(order, ["A1", "A2", "B1", "C1", "A3", "B2", "A4"]);
});

test("of two threads a tenant has one: another's work is done beside it, in its own order", async (t) => {
  const thread = createWorkThread<string, string>({ module: await makeModule(t), name: "test", threads: 2, ended });
  const gone = new AbortController();
  const left = [thread.ask("hang", { tenant: "a", signal: gone.signal }), thread.ask("a2", { tenant: "a", signal: gone.signal })];
  const order: string[] = [];
  await Promise.all(["b1", "c1", "b2"].map((one) => thread.ask(one, { tenant: one.slice(0, 1) }).then((answer) => order.push(answer))));
  assert.deepEqual(order, ["B1", "C1", "B2"]);
  gone.abort();
  assert.deepEqual(
    (await Promise.allSettled(left)).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(await thread.ask("a3", { tenant: "a" }), "A3");
});

test("of one tenant so many wait and the rest is refused, and of others as many", async (t) => {
  const thread = createWorkThread<string, string>({ module: await makeModule(t), name: "test", maxWaiting: 2, ended });
  const settled = await Promise.allSettled(
    ["a", "b", "c", "d"].map((one) => thread.ask(one, { tenant: "a" })).concat(thread.ask("e", { tenant: "b" })),
  );
  assert.deepEqual(
    settled.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason))),
    ["A", "B", "C", "Error: full", "E"],
  );
});

test("who is gone costs nobody: what waits is dropped, and what is under way is ended", async (t) => {
  const thread = createWorkThread<string, string>({ module: await makeModule(t), name: "test", ended });
  const gone = new AbortController();
  const { signal } = gone;
  const asked = [
    thread.ask("hang", { tenant: "a", signal }),
    thread.ask("dropped", { tenant: "a", signal }),
    thread.ask("c", { tenant: "a" }),
  ];
  await new Promise((resolve) => setTimeout(resolve, 50));
  gone.abort();
  assert.deepEqual(
    (await Promise.allSettled([...asked, thread.ask("late", { signal })])).map((one) =>
      one.status === "fulfilled" ? one.value : String(one.reason),
    ),
    ["Error: cancelled", "Error: cancelled", "C", "Error: cancelled"],
  );
});

test("who waits behind a question that ends the thread, or never ends, is answered by another thread", async (t) => {
  const module = await makeModule(t);
  const thread = createWorkThread<string, string>({ module, name: "test", maxMs: 2000, heapMebibytes: 16, ended });
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
