import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { environmentManager, QueryClient, QueryObserver } from "@tanstack/react-query";
import { createRereader, touched } from "../live/reread.ts";
import type { Ask } from "./ask.ts";
import { canOf, decisionQuery, freshFor, watchExpiry, type Can } from "./decision-query.ts";

// What runs here stands for a page: there, questions are asked again in time.
environmentManager.setIsServer(() => false);

type Answer = () => Promise<"allowed" | "denied">;
const never = () => new Promise<never>(() => {});

/** What a component on screen would show of one question, drawn anew by the answer's changes and by its end alone. */
const onScreen = (t: TestContext, answer: Answer) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_800_000_000_000 });
  const queries = new QueryClient();
  const state = { answer, asked: 0, shown: "pending" as Can };
  const load = async () => {
    state.asked += 1;
    return { can: await state.answer() };
  };
  const show = (ask: Ask): (() => void) => {
    const observer = new QueryObserver(queries, decisionQuery(ask, load));
    let unwatch = () => {};
    const draw = (): void => {
      const kept = observer.getCurrentResult();
      state.shown = canOf(kept, freshFor(kept.dataUpdatedAt) > 0);
      unwatch();
      unwatch = watchExpiry(kept.dataUpdatedAt, draw);
    };
    const unsubscribe = observer.subscribe(draw);
    draw();
    return () => {
      unwatch();
      unsubscribe();
    };
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    t.mock.timers.tick(0);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    t.mock.timers.tick(0);
  };
  const pass = async (milliseconds: number): Promise<void> => {
    t.mock.timers.tick(milliseconds);
    await settle();
  };
  t.after(() => queries.clear());
  return { queries, state, show, settle, pass };
};

const ask: Ask = { type: "pages", action: "view_all" };

test("an answer is shown for a minute and not a moment longer, though nothing new comes", async (t) => {
  const { state, show, settle, pass } = onScreen(t, async () => "allowed");
  const hide = show(ask);
  await settle();
  assert.equal(state.shown, "allowed");
  state.answer = never;
  await pass(50_000);
  assert.deepEqual([state.shown, state.asked], ["allowed", 2], "asked again before it is old");
  await pass(9_999);
  assert.equal(state.shown, "allowed");
  await pass(1);
  assert.equal(state.shown, "unknown");
  hide();
});

test("an answer that is renewed in time goes on being shown, and one that turned is shown as it is", async (t) => {
  const { state, show, settle, pass } = onScreen(t, async () => "allowed");
  const hide = show(ask);
  await settle();
  for (let minute = 0; minute < 4; minute += 1) {
    await pass(50_000);
    assert.equal(state.shown, "allowed");
  }
  state.answer = async () => "denied";
  await pass(50_000);
  assert.equal(state.shown, "denied");
  state.answer = () => Promise.reject(new Error("down"));
  await pass(50_000);
  assert.equal(state.shown, "unknown", "a failure is no answer");
  state.answer = async () => "allowed";
  await pass(5_000);
  assert.equal(state.shown, "allowed");
  hide();
});

for (const kind of ["policy", "graph", "delegation", "session"])
  test(`an event of ${kind} has decisions asked again at once, and those that nothing shows forgotten`, async (t) => {
    const { queries, state, show, settle, pass } = onScreen(t, async () => "allowed");
    show({ ...ask, id: "left" })();
    const left = show({ ...ask, id: "seen before" });
    const hide = show(ask);
    await settle();
    left();
    const asked = state.asked;
    state.answer = async () => "denied";
    createRereader(queries)(touched[kind] ?? []);
    await pass(0);
    assert.deepEqual([state.shown, state.asked], ["denied", asked + 1]);
    state.answer = never;
    const back = show({ ...ask, id: "seen before" });
    assert.equal(state.shown, "pending", "an old answer never opens anything again");
    back();
    hide();
  });

test("events that say nothing of rights leave decisions alone", async (t) => {
  const { queries, state, show, settle, pass } = onScreen(t, async () => "allowed");
  const hide = show(ask);
  await settle();
  const reread = createRereader(queries);
  for (const kind of ["budget", "tools", "unheard"]) reread(touched[kind] ?? []);
  await pass(1_000);
  assert.deepEqual([state.shown, state.asked], ["allowed", 1]);
  hide();
});
