import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { forEachDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { call, goTo, human, workflow, workflowWorld } from "#testing/workflow-world.ts";
import type { Retry, Step, TryStep, WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";

const modules = ["events", "crud"] as const;

const set = (name: string, value: unknown, more: Partial<Step> = {}): Step => ({ kind: "set", name, set: value, ...more }) as Step;
const raise = (name: string, type: string, status = 400): Step => ({ kind: "raise", name, error: { type, status } });
const attempt = (steps: readonly Step[], rules: Partial<TryStep["catch"]> = {}): TryStep => ({
  kind: "try",
  name: "attempt",
  steps,
  catch: { as: "error", steps: [set("caught", "${ error.type + '|' + string(error.status) }")], ...rules },
});
const retry = (more: Partial<Retry> = {}): Retry => ({
  delayMs: 1,
  backoff: { kind: "constant", factor: 1, incrementMs: 0 },
  maxAttempts: 3,
  ...more,
});
const types = "https://open-workflow-specification.org/spec/1.0.0/errors/";
const oldTypes = "https://serverlessworkflow.io/spec/1.0.0/errors/";

/** What a document comes to: its output, or its error's type and place. */
const rows: readonly (readonly [what: string, steps: readonly Step[], expected: unknown, more?: Partial<WorkflowDocument>])[] = [
  ["nothing", [], null],
  ["exit ends a list", [{ kind: "do", name: "a", steps: [set("b", 1, goTo("exit")), set("c", 2)] }, set("d", "${ steps.a + 1 }")], 2],
  ["end ends the run", [{ kind: "do", name: "a", steps: [set("b", 1, goTo("end"))] }, set("d", 3)], 1],
  ["a later sibling", [set("a", 1, goTo("c")), set("b", 2), set("c", "${ steps.a }")], 1],
  [
    "a skipped step has no value and no jump",
    [set("a", 1), set("b", 2, { if: "1 > 2", ...goTo("end") }), set("c", "${ steps.b == null }")],
    true,
  ],
  ["an error of an expression has its place", [set("a", "${ input.nope }")], `${types}expression /do/a`],
  ["an error of an expression is caught", [attempt([set("a", "${ input.nope }")])], `${types}expression|400`],
  ["of a condition too", [attempt([set("a", 1, { if: "input.nope" })])], `${types}expression|400`],
  ["of an output too", [attempt([call("a", "sys.a", { outputAs: "${ output.nope }" })])], `${types}expression|400`],
  [
    "old and new names of errors are the same",
    [attempt([raise("a", `${oldTypes}timeout`)], { errors: { type: `${types}timeout` } })],
    `${oldTypes}timeout|400`,
  ],
  ["another error passes", [attempt([raise("a", "urn:a")], { errors: { type: "urn:b" } })], "urn:a /do/attempt/try/a"],
  ["a condition of a catch", [attempt([raise("a", "urn:a", 404)], { exceptWhen: "error.status == 404" })], "urn:a /do/attempt/try/a"],
  ["an error in a catch passes", [attempt([raise("a", "urn:a")], { steps: [raise("b", "urn:b")] })], "urn:b /do/attempt/catch/b"],
  ["of two the inner one catches", [attempt([attempt([raise("a", "urn:a")], { steps: [set("inner", 1)] })])], 1],
  ["a call is tried again", [attempt([call("a", "sys.flaky")], { retry: retry() })], { n: 3 }],
  ["as often as it may", [attempt([call("a", "sys.flaky")], { retry: retry({ maxAttempts: 2 }) })], `${types}communication|503`],
  [
    "not beyond its time",
    [attempt([call("a", "sys.flaky")], { retry: retry({ delayMs: 100, maxDurationMs: 50 }) })],
    `${types}communication|503`,
  ],
  [
    "not for other errors",
    [attempt([call("a", "sys.flaky")], { retry: retry({ when: "error.status == 500" }) })],
    `${types}communication|503`,
  ],
  ["a loop over nothing", [{ kind: "for", name: "a", each: "item", at: "index", in: "[]", steps: [set("b", 1)] }], null],
  [
    "a loop over no list",
    [{ kind: "for", name: "a", each: "item", at: "index", in: "7", steps: [set("b", 1)] }],
    `${types}expression /do/a`,
  ],
  [
    "a loop whose context grows",
    [
      set("zero", {}, { exportAs: { sum: 0 } }),
      {
        kind: "for",
        name: "a",
        each: "x",
        at: "i",
        in: "[1, 2, 3, 4]",
        while: "context.sum < 6",
        steps: [set("b", "${ context.sum + x }", { exportAs: { sum: "${ output }" } })],
      },
    ],
    6,
  ],
  ["a branch that fails ends those that wait", [{ kind: "fork", name: "a", branches: [human("b"), raise("c", "urn:c")] }], "urn:c /do/a/c"],
  [
    "a branch that ends the run ends those that wait",
    [{ kind: "fork", name: "a", branches: [human("b"), set("c", 1, goTo("end"))] }, set("d", 2)],
    [null, 1],
  ],
  ["arguments that do not fit", [attempt([call("a", "sys.strict")])], `${types}validation|400`],
  [
    "a denial that is caught waits for nothing",
    [attempt([call("a", "sys.denied")], { errors: { type: `${types}authorization` } })],
    `${types}authorization|403`,
  ],
  [
    "an outcome that is unknown is not tried again",
    [attempt([call("a", "sys.lost", { onUnknown: "fail" })], { retry: retry() })],
    "urn:sallyport:error:unknown_outcome|504",
  ],
  ["a result that is too large", [attempt([call("a", "sys.large")], { steps: [set("title", "${ error.title }")] })], "result_too_large"],
  [
    "too many open tasks",
    [{ kind: "fork", name: "a", branches: Array.from({ length: 33 }, (_none, n) => human(`t${n}`)) }],
    `${types}runtime /do/a/t32`,
  ],
  ["a step's timeout", [{ kind: "wait", name: "a", waitMs: 60_000, timeoutMs: 20 }], `${types}timeout /do/a`],
  ["a block's timeout", [attempt([{ kind: "do", name: "a", timeoutMs: 20, steps: [human("b")] }])], `${types}timeout|408`],
  ["the run's timeout", [human("a")], `${types}timeout /do`, { timeoutMs: 20 }],
  ["a task that expires", [attempt([human("a", { expiresMs: 20 })])], `${types}timeout|408`],
  ["a task that may expire", [human("a", { expiresMs: 20, onExpire: "continue" }), set("b", "${ steps.a.decision }")], "expired"],
  ["an output of its steps", [set("a", 1), set("b", 2)], { a: 1 }, { output: { as: { a: "${ steps.a }" } } }],
  ["an output that cannot be made", [set("a", 1)], `${types}expression /output`, { output: { as: "${ output.nope }" } }],
];

forEachDatabase("documents come to what they say", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine({ workers: 8, pollMs: 20 });
  const failed = (status: number) => ({ effect: "failed", problem: new Problem("upstream_error"), status }) as const;
  world.tools.set("sys.flaky", { answer: (_call, n) => (n < 3 ? failed(503) : { effect: "ok", value: { n } }) });
  world.tools.set("sys.strict", { refuse: () => new Problem("invalid_arguments") });
  world.tools.set("sys.denied", { refuse: () => new Problem("access_denied") });
  world.tools.set("sys.lost", { answer: () => ({ effect: "unknown", problem: new Problem("outcome_unknown"), status: undefined }) });
  world.tools.set("sys.large", { answer: () => ({ effect: "ok", value: "x".repeat(300_000) }) });
  for (const [index, [what, steps, expected, more]] of rows.entries()) {
    const { id } = await world.start(workflow(steps, { name: `w-${index}`, ...more }));
    const end = async () => {
      const { phase, reason } = await world.run(id);
      return { what, phase, reason };
    };
    await until(end, ({ phase }) => phase === "completed" || phase === "faulted");
    const run = await world.run(id);
    const { type, instance } = run.error ?? {};
    assert.deepEqual(run.error === null ? run.output : `${type} ${instance}`, expected, what);
    const open = Object.values(await world.steps(id)).filter(({ status }) => ["waiting", "running", "unknown"].includes(status));
    assert.deepEqual(open, [], what);
    assert.ok(![...world.tasks.values()].some((task) => task.run.id === id && task.status === "PENDING"), what);
  }
});

forEachDatabase("a run has at most 10,000 steps", modules, async (t, database) => {
  const world = await workflowWorld(t, database);
  await world.engine();
  const loop: Step = {
    kind: "for",
    name: "a",
    each: "x",
    at: "i",
    in: "input.items",
    steps: [set("b", "${ x }"), set("c", "${ steps.b }")],
  };
  const run = await world.start(workflow([loop]), { input: { items: Array.from({ length: 6000 }, (_none, n) => n) } });
  const { error } = await until(
    () => world.run(run.id),
    ({ phase }) => phase === "faulted",
    120_000,
  );
  assert.equal(error?.title, "limit");
  assert.equal(Object.keys(await world.steps(run.id)).length, 10_001, "10,000, and the one that may not be");
});
