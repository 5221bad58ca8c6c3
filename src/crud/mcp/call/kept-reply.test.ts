import assert from "node:assert/strict";
import { test } from "node:test";
import { seedEmployees } from "#demo/employees.ts";
import { Problem } from "#contract/problem.ts";
import { TOO_MUCH_WORK } from "#parsing/foreign-schema.ts";
import { schemaIssues } from "#parsing/schema-issues.ts";
import { statement } from "#store/database.ts";
import { agent, crudInstance, peopleTools, type CrudInstance } from "#testing/crud-instance.ts";
import type { AuthorizedCall } from "./steps/check-chain.ts";
import { shapeKept, shapeMark, shapeOutput } from "./steps/filter-output.ts";
import { principalOf } from "#crud/tools/tool-call.ts";
import { FailedCall, UpstreamError } from "#crud/model/upstream-error.ts";

const REPLIES = statement<{ reply: Uint8Array | null; state: string }>("testing.replies", "select reply, state from crud.tool_call");
const acme = seedEmployees().filter((row) => row.tenant === "tenant:acme");
const one = acme[0]?.id ?? "";
const acmeOnly = { tenant_ids: ["tenant:acme"], row_filter_sql: "tenant_id IN ('tenant:acme')", column_mask: {} };

interface Sent {
  readonly code: string | undefined;
  readonly isReplay: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly value: any;
}
const send = async (instance: CrudInstance, name: string, args: unknown): Promise<Sent> => {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: args, _meta: { "sallyport/idempotencyKey": "k" } },
  };
  const { headers, body: answer } = await instance.rpc(body, { as: { ...agent, acr: "strong" } });
  const text = answer.result?.content[0]?.text;
  return {
    code: answer.error?.data.code,
    isReplay: headers.get("idempotent-replayed") === "true",
    value: text === undefined ? undefined : JSON.parse(text),
  };
};

/** What changes between the first call and the second, and what the second is shown; the act runs once whatever it is. */
const moments: Readonly<
  Record<
    string,
    { readonly before?: (instance: CrudInstance) => void; readonly change: (instance: CrudInstance) => void; readonly shown: unknown }
  >
> = {
  "nothing changed": { change: () => {}, shown: "all" },
  "the salary may not be read any more": {
    change: (instance) => instance.verdicts.set("employee:read_salary", false),
    shown: "without salary",
  },
  "the data scope hides the salary": {
    change: (instance) => Object.assign(instance.membership, { dataScope: { ...acmeOnly, column_mask: { salary: "null" } } }),
    shown: "without salary",
  },
  "the salary may be read now": {
    before: (instance) => instance.verdicts.set("employee:read_salary", false),
    change: (instance) => instance.verdicts.clear(),
    shown: "all",
  },
  "the rows are another tenant's now": {
    change: (instance) =>
      Object.assign(instance.membership, { dataScope: { ...acmeOnly, row_filter_sql: "tenant_id IN ('tenant:globex')" } }),
    shown: "reply_withheld",
  },
  "no rows are the caller's now": {
    change: (instance) => Object.assign(instance.membership, { dataScope: { tenant_ids: [], row_filter_sql: "1=0", column_mask: {} } }),
    shown: "reply_withheld",
  },
  "the delegation was revoked": {
    change: (instance) => {
      instance.verdicts.set("tool:tools/call", "delegation_inactive");
      Object.assign(instance.membership, { capabilities: [] });
    },
    shown: "delegation_inactive",
  },
  "the call is denied now": { change: (instance) => instance.verdicts.set("tool:tools/call", "not_granted"), shown: "not_granted" },
  "its mapping is denied now": { change: (instance) => instance.verdicts.set("employee:list", "not_granted"), shown: "not_granted" },
  "nobody decides": { change: (instance) => instance.verdicts.set("tool:tools/call", "down"), shown: "decision_unavailable" },
};

for (const [name, args, mapping] of [
  ["people.demo.get_employee", { id: one }, "employee:list"],
  ["people.demo.update_salary", { id: one, salary: 61_234 }, "employee:update_salary"],
] as const)
  test(`an answer that a key keeps is shown as the moment allows, and the act runs once: ${name}`, async (t) => {
    const instance = await crudInstance(t);
    const changes = (): number => instance.asked.membership.filter(({ path }) => path.endsWith("/reservations")).length;
    for (const [moment, { before, change, shown }] of Object.entries(moments)) {
      await instance.database.run(statement("testing.forget", "delete from crud.tool_call"));
      const reset = (): void => {
        instance.verdicts.clear();
        Object.assign(instance.membership, { capabilities: peopleTools, dataScope: acmeOnly });
      };
      reset();
      before?.(instance);
      const first = await send(instance, name, args);
      assert.deepEqual([first.code, first.isReplay], [undefined, false], moment);
      const [sent, held] = [instance.people.requests, changes()];
      change(instance);
      if (moment === "its mapping is denied now") instance.verdicts.set(mapping, "not_granted");
      const second = await send(instance, name, args);
      if (shown === "all" || shown === "without salary") {
        assert.deepEqual([second.code, second.isReplay, second.value.id], [undefined, true, one], moment);
        assert.equal(second.value.salary === null, shown === "without salary", moment);
      } else {
        assert.deepEqual([second.code, second.value], [shown, undefined], moment);
      }
      // And what is allowed again is shown again.
      reset();
      const third = await send(instance, name, args);
      assert.deepEqual([third.code, third.isReplay, typeof third.value.salary], [undefined, true, "number"], moment);
      assert.deepEqual([instance.people.requests, changes()], [sent, held], `${moment}: it ran again`);
    }
  });

test("a list that a key keeps loses the rows that are the caller's no more", async (t) => {
  const instance = await crudInstance(t);
  const first = await send(instance, "people.demo.list_employees", {});
  assert.equal(first.value.items.length, acme.length);
  Object.assign(instance.membership, { dataScope: { tenant_ids: [], row_filter_sql: "1=0", column_mask: {} } });
  const second = await send(instance, "people.demo.list_employees", {});
  assert.deepEqual([second.isReplay, second.value], [true, { items: [] }]);
});

test("what is kept cannot be read beside Sallyport's secret, and what cannot be opened is withheld, not done again", async (t) => {
  const instance = await crudInstance(t);
  await send(instance, "people.demo.get_employee", { id: one });
  const [row] = await instance.database.run(REPLIES);
  const name = acme[0]?.name ?? "";
  const stored = Buffer.from(row?.reply ?? []);
  assert.ok(name.length > 3 && stored.length > 0);
  assert.ok(!stored.includes(name) && !stored.includes(one));
  const sent = instance.people.requests;
  for (const spoil of ["reply = 'x'::bytea", "reply = null"]) {
    await instance.database.run(statement(`testing.spoil.${spoil}`, `update crud.tool_call set ${spoil}`));
    assert.equal((await send(instance, "people.demo.get_employee", { id: one })).code, "reply_withheld", spoil);
  }
  assert.equal(instance.people.requests, sent);
});

test("an answer is not shaped by other rules than those it was made under", async (t) => {
  const instance = await crudInstance(t);
  const tool = instance.crud.catalogue.snapshot.tools.get("people.demo.get_employee");
  assert.ok(tool !== undefined);
  const { rules } = tool;
  const { rows } = rules;
  assert.ok(rows !== undefined);
  const by = { given: { value: { id: one } }, scope: { keeps: () => true, masks: {} }, lifted: new Set<string>() };
  const kept = { upstream: { value: { id: one, tenant: "tenant:acme" } }, mark: shapeMark(tool) };
  const show = (other: typeof tool) => shapeKept(kept, { ...by, tool: other });
  const others = {
    "another definition": { ...tool, digest: "0".repeat(64) },
    "one mask less": { ...tool, rules: { ...rules, masks: rules.masks.slice(1) } },
    "another mask": { ...tool, rules: { ...rules, masks: rules.masks.map((mask) => ({ ...mask, pointer: ["pay"] })) } },
    "rows elsewhere": { ...tool, rules: { ...rules, rows: { ...rows, rows: ["item"] } } },
    "another column": { ...tool, rules: { ...rules, rows: { ...rows, columns: new Map([["tenant_id", ["owner"]]]) } } },
  };
  for (const [why, other] of Object.entries(others)) await assert.rejects(show(other), { code: "reply_withheld" }, why);
  await assert.rejects(shapeKept({ ...kept, mark: "" }, { ...by, tool }), { code: "reply_withheld" });
});

test("an act that was done is not offered for another try where too many answers wait to be checked", async (t) => {
  const instance = await crudInstance(t);
  const tool = instance.crud.catalogue.snapshot.tools.get("people.demo.get_employee");
  assert.ok(tool !== undefined);
  // The check takes more work than the event loop may wait for, and seconds in the thread.
  const levels = Array.from({ length: 40 }, (_none, at) => [
    `A${at}`,
    at === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/A${at + 1}` }, { $ref: `#/$defs/A${at + 1}` }] },
  ]);
  const schema = { $ref: "#/$defs/A0", $defs: Object.fromEntries(levels) };
  const checkOutput = Object.assign(() => TOO_MUCH_WORK, { text: JSON.stringify(schema) });
  const { rows: _rows, ...rules } = tool.rules;
  const shape = (tenant: string) =>
    shapeOutput(
      { value: "x" },
      {
        tool: { ...tool, rules: { ...rules, masks: [], checkOutput } },
        given: { value: {} },
        scope: undefined,
        lifted: new Set<string>(),
        call: { caller: { tenant } } as AuthorizedCall["call"],
      },
    );
  const gone = new AbortController();
  const waiting = Array.from({ length: 70 }, () =>
    schemaIssues(checkOutput, "x", { tenant: "tenant:full", signal: gone.signal }).catch((error: unknown) => error),
  );
  await assert.rejects(shape("tenant:full"), (error) => {
    assert.ok(error instanceof Problem && error.options.cause instanceof Problem);
    assert.deepEqual([error.code, error.status, error.options.headers], ["output_invalid", 502, undefined]);
    assert.equal(error.options.cause.code, "overloaded");
    // As the pipeline answers what fails behind the act.
    const failed = new FailedCall(error, new UpstreamError(error, "done"), { costMicro: 0n, isAuditPending: false });
    assert.equal(failed.isRetryable, false);
    return true;
  });
  gone.abort();
  await Promise.all(waiting);
});

test("keys are those of a person, of the agents that act for them, or of a client of theirs: none of these is another", () => {
  const ben = { tenant: "tenant:acme", sub: "person:ben" };
  const holders = [
    { ...ben, actors: [] },
    { ...ben, actors: ["agent:a"] },
    { ...ben, actors: [], agent: "agent:a" },
    { ...ben, actors: ["agent:a", "agent:b"] },
    { ...ben, actors: ["agent:a"], agent: "agent:b" },
    { ...ben, tenant: "tenant:globex", actors: [] },
  ];
  assert.equal(new Set(holders.map(principalOf)).size, holders.length);
});
