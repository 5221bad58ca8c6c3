import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf, type Ask } from "./ask.ts";
import { createDecisionLoader } from "./decision-loader.ts";

const ask = (type: string, key?: string): Ask => ({ type, action: "view_all", ...(key === undefined ? {} : { key }) });

test("questions of one moment travel in one request, at most 100 each, and never name a subject", async () => {
  const sent: number[] = [];
  const load = createDecisionLoader(async (items) => {
    sent.push(items.length);
    assert.equal(JSON.stringify(items).includes("subject"), false);
    return { evaluations: items.map((item) => ({ decision: true, key: item["key"] })) };
  });
  const answers = await Promise.all(Array.from({ length: 130 }, async (_nothing, index) => await load(ask(`t${index}`))));
  assert.deepEqual(sent, [100, 30]);
  assert.ok(answers.every(({ can }) => can === "allowed"));
});

test("different questions with equal keys go in different requests and are not mixed up", async () => {
  const sent: string[][] = [];
  const load = createDecisionLoader(async (items) => {
    sent.push(items.map((item) => JSON.stringify(item["resource"])));
    return { evaluations: items.map((item) => ({ decision: JSON.stringify(item["resource"]).includes("tools") })) };
  });
  const answers = await Promise.all([load(ask("tools", "same")), load(ask("agents", "same")), load(ask("pages"))]);
  assert.deepEqual(
    answers.map(({ can }) => can),
    ["allowed", "denied", "denied"],
  );
  assert.equal(sent.length, 2);
});

test("an unusable answer or none at all is a failure of the question, and the others stand", async () => {
  const load = createDecisionLoader(async () => ({ evaluations: [{ decision: true }, { decision: "true" }] }));
  const [first, second, third] = await Promise.allSettled([load(ask("a")), load(ask("b")), load(ask("c"))]);
  assert.deepEqual([first.status, second.status, third.status], ["fulfilled", "rejected", "rejected"]);
  const failing = createDecisionLoader(async () => await Promise.reject(new Error("down")));
  await assert.rejects(failing(ask("a")), /down/);
});

test("nothing is remembered: the same question asked again is sent again", async () => {
  let count = 0;
  const load = createDecisionLoader(async () => ({ evaluations: [{ decision: ++count === 1 }] }));
  assert.equal((await load(ask("a"))).can, "allowed");
  assert.equal((await load(ask("a"))).can, "denied");
});

test("an answer is told with the id under which it is on record, each its own, in whatever form the batch comes", async () => {
  const item = (type: unknown, key: unknown) => ({ decision: false, key, context: { decision_id: `d_${String(type)}` } });
  for (const form of ["array", "object"]) {
    const load = createDecisionLoader(async (items) => {
      const answers = items.map(({ key, resource }) => item((resource as { type: string }).type, key));
      return { evaluations: form === "array" ? answers : Object.fromEntries(answers.map((answer) => [answer.key, answer])) };
    });
    assert.deepEqual(await Promise.all([load(ask("tools", "same")), load(ask("agents", "same")), load(ask("pages"))]), [
      { can: "denied", decisionId: "d_tools" },
      { can: "denied", decisionId: "d_agents" },
      { can: "denied", decisionId: "d_pages" },
    ]);
  }
  for (const context of [undefined, null, "x", {}, { decision_id: 7 }, { decision_id: "" }]) {
    const load = createDecisionLoader(async () => ({ evaluations: [{ decision: false, context }] }));
    assert.deepEqual(await load(ask("a")), { can: "denied" }, JSON.stringify(context));
  }
});

test("a key is never longer than 256 characters", () => {
  assert.equal(keyOf({ type: "t", action: "a", id: "x".repeat(500) }).length, 256);
});
