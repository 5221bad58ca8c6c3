import assert from "node:assert/strict";
import { Problem } from "#contract/problem.ts";
import { createLog } from "#telemetry/log.ts";
import { forEachDatabase } from "#testing/database.ts";
import { dumpTables, placesWith } from "#testing/table-dump.ts";
import { cleo, taskWorld } from "#testing/task-world.ts";
import { call, goTo, human, testSealing, workflow } from "#testing/workflow-world.ts";
import { readRun } from "./run-reader.ts";
import { showRun } from "./show-run.ts";

const modules = ["events", "crud"] as const;

forEachDatabase(
  "a value that is not shown lies in no table, event, audit entry or log of a run, and reaches its tool",
  modules,
  async (t, database) => {
    const lines: string[] = [];
    const world = await taskWorld(t, database);
    const secrets = { pin: "pin-8d1f4c6e2b", account: "account-99887766", code: "code-5e5e7a7a1c", number: 918_273_645 };
    const input = {
      type: "object",
      properties: {
        pin: { type: "string", "x-redact": true },
        number: { $ref: "#/$defs/number" },
        list: { type: "array", items: { properties: { account: { "x-redact": "last4" } } } },
      },
      $defs: { number: { type: "integer", "x-redact": true } },
    };
    world.forms.set("f", {
      type: "object",
      properties: { code: { type: "string", "x-redact": true }, note: { type: "string", "x-normalize": "trim" } },
    });
    const received: unknown[] = [];
    for (const name of ["sys.write", "sys.fail", "sys.undo"])
      world.tools.set(name, {
        answer: async ({ arguments: sent, run }) => {
          const { value, texts } = await testSealing.seals.open(sent, run.id);
          received.push(value, texts.toSorted());
          return name === "sys.fail"
            ? { effect: "failed", problem: new Problem("upstream_error"), status: 400 }
            : { effect: "ok", value: { done: true } };
        },
      });
    const log = createLog({ service: "crud", version: "1", environment: "test", level: "debug", write: (line) => void lines.push(line) });
    await world.engine({ log });
    const document = workflow(
      [
        { kind: "set", name: "copy", set: { pin: "${ input.pin }" }, exportAs: "${ output }" },
        human("ask", {
          form: "f",
          title: "${ 'Pin ' + input.pin }",
          description: "${ 'Pin ' + input.pin }",
          data: { code: "${ input.pin }" },
          evidence: { list: "${ input.list }", number: "${ input.number }" },
        }),
        {
          kind: "for",
          name: "each",
          each: "one",
          at: "at",
          in: "input.list",
          steps: [call("write", "sys.write", { with: { account: "${ one.account }" } })],
        },
        call("write", "sys.write", {
          with: {
            text: "${ 'Bearer ' + context.pin + ';' }",
            code: "${ steps.ask.data.code }",
            note: "${ steps.ask.data.note }",
            number: "${ input.number }",
          },
          compensate: { tool: "sys.undo", with: { pin: "${ input.pin }" } },
        }),
        {
          kind: "try",
          name: "guarded",
          steps: [call("fail", "sys.fail", { with: { pin: "${ input.pin }" } })],
          catch: { as: "error", steps: [] },
        } as never,
        {
          kind: "raise",
          name: "end",
          error: { type: "urn:x", status: 400, title: "${ 'No ' + input.pin }" },
          ...goTo("continue"),
        } as never,
      ],
      { name: "sealed", input },
    );
    const sent = { pin: secrets.pin, number: secrets.number, list: [{ account: secrets.account }] };
    const { id } = await world.start(document, { input: sent, idempotencyKey: "k-1" });
    assert.equal((await world.start(document, { input: sent, idempotencyKey: "k-1" })).id, id, "the same data is the same start");
    await world.until(id, "waiting");
    const task = await world.taskOf(id);
    assert.equal(task.title, "Pin ***");
    await world.complete(task.id, cleo, { data: { code: secrets.code, note: " seen " } });
    await world.until(id, "faulted");

    assert.deepEqual(received, [
      { account: secrets.account },
      [secrets.account],
      { text: `Bearer ${secrets.pin};`, code: secrets.code, note: "seen", number: secrets.number },
      [String(secrets.number), secrets.code, secrets.pin],
      { pin: secrets.pin },
      [secrets.pin],
      { pin: secrets.pin },
      [secrets.pin],
    ]);
    const rows = await dumpTables(database);
    assert.ok(rows.some(([name, text]) => name === "crud.wf_step" && text.includes("<sealed:")));
    const places = [...rows, ["log", lines.join("\n")] as const, ["notices", JSON.stringify(world.notices)] as const];
    assert.deepEqual(placesWith(Object.values(secrets).map(String), places), []);
    const run = await readRun(database, { id, tenant: "tenant:acme" });
    assert.ok(run);
    const shown = showRun(run, null, { canViewRun: true });
    assert.deepEqual(shown.input, { pin: "***", number: "***", list: [{ account: "***7766" }] });
    assert.equal(shown.error?.title, "No ***");
    await assert.rejects(testSealing.seals.open(run.input, "run_another"), { code: "invalid_arguments" });
  },
);
