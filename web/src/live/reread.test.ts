import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryClient } from "@tanstack/react-query";
import { createRereader, oldBy } from "./reread.ts";

const key = (root: string, params?: Readonly<Record<string, string>>) => [root, "one", `/${root}`, params && { params }];
const keys = {
  runs: key("workflows"),
  "run a": key("workflows", { id: "run_a" }),
  "run b": key("workflows", { id: "run_b" }),
  tasks: key("tasks"),
  "task a": key("tasks", { id: "task_a" }),
  "task b": key("tasks", { id: "task_b" }),
  requests: key("requests"),
  waiting: key("waiting"),
};
const ofRun = { kind: "workflow", data: { run_id: "run_a" } };
const ofTask = { kind: "workflow", data: { run_id: "run_a", task_id: "task_a" } };

for (const [name, events, old] of [
  ["a run", [ofRun], ["runs", "run a"]],
  ["a task", [ofTask], ["runs", "run a", "tasks", "task a", "waiting"]],
  ["two runs at once", [ofRun, { kind: "workflow", data: { run_id: "run_b" } }], ["runs", "run a", "run b"]],
  ["all workflows, after one run", [ofRun, { kind: "config", data: {} }], ["runs", "run a", "run b"]],
  ["an access request", [{ kind: "access_request", data: {} }], ["requests", "waiting"]],
  ["a kind that is not known", [{ kind: "notification", data: { run_id: "run_a" } }], []],
] as const)
  test(`of what is shown that is read again which an event is about: ${name}`, (t) => {
    t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_800_000_000_000 });
    const queries = new QueryClient();
    for (const one of Object.values(keys)) queries.setQueryData(one, {});
    const reread = createRereader(queries);
    for (const event of events) reread(oldBy(event));
    t.mock.timers.tick(1_000);
    assert.deepEqual(
      Object.entries(keys).flatMap(([what, one]) => (queries.getQueryState(one)?.isInvalidated === true ? [what] : [])),
      old,
    );
    queries.clear();
  });
