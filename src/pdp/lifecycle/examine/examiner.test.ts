import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Worker } from "node:worker_threads";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { until } from "#testing/until.ts";
import { createExaminer, readBundleApart, type ExaminerLimits, type Urgency } from "./examiner.ts";

// A process of its own: threads are counted, whoever began them.

/** An examiner with every thread that this process starts meanwhile, and how many of them there are at a time. */
const watched = (t: TestContext, limits: Partial<ExaminerLimits> = {}) => {
  const threads: Worker[] = [];
  const seen = { alive: 0, max: 0 };
  const note = (thread: Worker): void => {
    threads.push(thread);
    seen.alive += 1;
    seen.max = Math.max(seen.max, seen.alive);
    thread.once("exit", () => (seen.alive -= 1));
  };
  process.on("worker", note);
  const examiner = createExaminer(limits);
  cleanUp(t, async () => {
    await examiner[Symbol.asyncDispose]();
    process.off("worker", note);
  });
  /** The code of the refusal, or what was found wrong with no files at all. */
  const ask = (urgency: Urgency = "in turn"): Promise<string | undefined> =>
    examiner.ask("report", { files: {}, active: {} }, urgency).then(
      ({ errors }) => errors[0]?.message,
      (problem: unknown) => (problem as { readonly code: string }).code,
    );
  return { examiner, ask, threads, seen };
};
const ANSWER = "is missing";

test("one thread answers one question after another; what more would wait than may is busy at once", async (t) => {
  const { ask, threads, seen } = watched(t, { maxWaiting: 2 });
  assert.equal(threads.length, 0, "none before the first question");
  const answers = [ask(), ask(), ask(), ask(), ask("urgent")];
  assert.equal(await answers[3], "busy");
  assert.deepEqual(await Promise.all(answers), [ANSWER, ANSWER, ANSWER, "busy", ANSWER]);
  assert.equal(await ask(), ANSWER, "when there is room again");
  assert.equal(seen.max, 1);
});

test("what is urgent goes before what waits and before what was begun, which is answered all the same", async (t) => {
  const { ask, seen } = watched(t);
  const order: string[] = [];
  const say = async (name: string, urgency: Urgency): Promise<void> => {
    assert.equal(await ask(urgency), ANSWER);
    order.push(name);
  };
  await Promise.all([say("begun", "in turn"), say("waiting", "in turn"), say("urgent", "urgent"), say("urgent too", "urgent")]);
  assert.deepEqual(order, ["urgent", "urgent too", "begun", "waiting"]);
  assert.equal(seen.max, 1);
});

test("the death of the thread costs the question that it was at; another thread answers the next", async (t) => {
  const { ask, threads, seen } = watched(t);
  const [lost, next] = [ask(), ask()];
  await until(() => threads.length === 1);
  await threads[0]?.terminate();
  assert.deepEqual([await lost, await next], ["engine_failed", ANSWER]);
  assert.deepEqual([threads.length, seen.max], [2, 1]);
});

test("an examination without an end is ended, and the next one answered", async (t) => {
  const limits = { timeoutMs: 1 };
  const { ask, threads } = watched(t, limits);
  assert.equal(await ask(), "engine_failed");
  limits.timeoutMs = 60_000;
  assert.equal(await ask(), ANSWER);
  assert.equal(threads.length, 2);
});

test("the thread ends when nothing is asked, and begins again with the next question", async (t) => {
  const { ask, seen, threads } = watched(t, { idleMs: 1 });
  assert.equal(await ask(), ANSWER);
  await until(() => seen.alive === 0);
  assert.equal(await ask(), ANSWER);
  assert.equal(threads.length, 2);
});

test("the thread ends with the service, and who waits is refused", async (t) => {
  const { examiner, ask, seen } = watched(t);
  const left = [ask(), ask()];
  await until(() => seen.alive === 1);
  await examiner[Symbol.asyncDispose]();
  assert.deepEqual(await Promise.all(left), ["engine_failed", "engine_failed"]);
  assert.equal(await ask(), "engine_failed", "nor does it begin again");
  assert.equal(seen.alive, 0);
});

test("a bundle read in the thread is the one that is read here, however many policies and cases it has", async (t) => {
  const { examiner } = watched(t);
  const own = await readPolicyFolder(policyFolder);
  const many = Array.from(
    { length: 600 },
    (_none, at) =>
      `@id("one-of-many-${at}")\n@description("One of many")\nforbid (principal, action == Action::"pages:view", resource == Page::"p${at}");`,
  );
  const files = { ...own, "many.cedar": many.join("\n") };
  const here = readBundle(files);
  const there = await readBundleApart(examiner, files, "in turn");
  const withoutFunctions = (bundle: typeof here) => ({
    ...bundle,
    schema: { text: bundle.schema.text, json: bundle.schema.json, actions: bundle.schema.actions, types: bundle.schema.entityTypes },
  });
  assert.deepEqual(withoutFunctions(there), withoutFunctions(here));
  for (const action of here.schema.actions.keys()) assert.deepEqual(there.schema.ofAction(action), here.schema.ofAction(action), action);
  await assert.rejects(readBundleApart(examiner, { ...own, "bad.cedar": "permit(" }, "in turn"), BundleRefused);
});
