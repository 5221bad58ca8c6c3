import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createSseParser, type SsePart } from "#http/sse.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import { activityResponse, type ActivityOptions } from "./activity.ts";
import type { EntryDraft } from "#events/audit/entry.ts";

type Row = Record<string, unknown> & { readonly act_id: string; readonly actor: Record<string, unknown> };

const draft = (subject: string, more: Partial<EntryDraft> = {}): EntryDraft => ({
  tenant: "tenant:acme",
  category: "tool_call",
  outcome: "ok",
  actor: { subject, kind: "person" },
  via: { service: "test" },
  resource: { type: "tool", id: "people.demo.list_employees" },
  decisionId: "d-1",
  correlationId: "c-1",
  data: { tool: "people.demo.list_employees" },
  ...more,
});

const until = async (holds: () => boolean): Promise<void> => {
  for (const deadline = Date.now() + 10_000; !holds(); await sleep(5)) assert.ok(Date.now() < deadline, "it did not happen in time");
};

const open = async (options: Omit<ActivityOptions, "lastEventId"> & { readonly lastEventId?: string }) => {
  const response = await activityResponse({ lastEventId: undefined, ...options });
  const parser = createSseParser();
  const parts: SsePart[] = [];
  const reader = response.body!.getReader();
  const done = (async () => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) parts.push(...parser.push(step.value));
  })();
  const rows = (): readonly { readonly id: string; readonly row: Row }[] =>
    parts.flatMap((part) =>
      part.kind === "message" && part.event === "activity" ? [{ id: part.lastEventId, row: JSON.parse(part.data) as Row }] : [],
    );
  await until(() => parts.length >= 2);
  return {
    rows,
    acts: () => rows().map(({ row }) => row.act_id),
    stop: async () => {
      await reader.cancel();
      await done;
    },
  };
};

forEachDatabase(
  "activity is the tail of the tenant's log: an act is told when it opens and again when it is closed",
  ["events"],
  async (t, database) => {
    const { bus, recorder } = await testEvents(t, database);
    const names = new Map([["person:ben", "Ben Okafor"]]);
    const reader = await open({
      bus,
      database,
      references: recorder.references,
      tenant: "tenant:acme",
      subject: "person:ada",
      seesAll: true,
      nameOf: async (id) => names.get(id),
    });
    const act = await recorder.open(
      draft("person:ben", { actor: { subject: "person:ben", kind: "person", agent_id: "agent:hr", delegation_id: "delegation:d" } }),
      "call-1",
    );
    await until(() => reader.rows().length === 1);
    await act.close("ok", { duration_ms: 12, rows_out: 3, settle: { steps: 1, usd: "0.010000" } });
    await until(() => reader.rows().length === 2);
    const [opened, closed] = reader.rows();
    assert.deepEqual([opened!.id, closed!.id], ["0", "1"]);
    const { at: began, ...before } = opened!.row;
    assert.deepEqual([before["outcome"], before["seq"], before["ended_at"]], ["pending", 0, undefined]);
    const { at, ended_at: ended, actor: _actor, id: _id, ...row } = closed!.row;
    assert.equal(at, began, "the act began when it was opened");
    assert.ok(String(ended) >= String(at));
    assert.deepEqual(row, {
      act_id: "call-1",
      type: "act.closed",
      seq: 1,
      category: "tool_call",
      outcome: "ok",
      resource: { type: "tool", id: "people.demo.list_employees" },
      decision_id: "d-1",
      correlation_id: "c-1",
      duration_ms: 12,
      rows_out: 3,
      settle: { steps: 1, usd: "0.010000" },
    });
    const { subject_ref: ref, ...actor } = closed!.row.actor;
    assert.match(String(ref), /^sr1\./);
    assert.deepEqual(actor, {
      kind: "person",
      agent_id: "agent:hr",
      delegation_id: "delegation:d",
      subject_id: "person:ben",
      name: "Ben Okafor",
    });

    // A second reader that comes back by id gets the rest, and the same bytes of it.
    const again = await open({
      bus,
      database,
      references: recorder.references,
      tenant: "tenant:acme",
      subject: "person:ada",
      seesAll: true,
      lastEventId: "0",
    });
    await until(() => again.rows().length === 1);
    assert.equal(again.rows()[0]!.id, "1");
    await Promise.all([reader.stop(), again.stop()]);
  },
);

forEachDatabase(
  "without the right to see all one sees one's own acts and those of one's agents, and learns of no other person",
  ["events"],
  async (t, database) => {
    const { bus, recorder } = await testEvents(t, database);
    const common = { bus, database, references: recorder.references, tenant: "tenant:acme", seesAll: false } as const;
    const ben = await open({ ...common, subject: "person:ben", agents: ["agent:hr"] });
    const dan = await open({ ...common, subject: "person:dan" });
    const eve = await open({ ...common, tenant: "tenant:globex", subject: "person:eve", seesAll: true });
    await recorder.one(draft("person:ben", { actId: "bens" }));
    await recorder.one(draft("person:cleo", { actId: "cleos" }));
    await recorder.one(draft("person:cleo", { actId: "agents", actor: { subject: "person:cleo", kind: "person", agent_id: "agent:hr" } }));
    await recorder.one(draft("person:dan", { actId: "dans", category: "sign_in" }));
    await recorder.one(draft("person:eve", { actId: "eves", tenant: "tenant:globex" }));
    await until(() => ben.acts().length === 2 && dan.acts().length === 1 && eve.acts().length === 1);
    assert.deepEqual([ben.acts(), dan.acts(), eve.acts()], [["bens", "agents"], ["dans"], ["eves"]]);
    assert.equal(ben.rows()[0]!.row.actor["subject_id"], "person:ben");
    assert.deepEqual(ben.rows()[1]!.row.actor, { kind: "person", agent_id: "agent:hr" });
    await Promise.all([ben.stop(), dan.stop(), eve.stop()]);
  },
);

forEachDatabase("only the categories asked for are told, and an erased person is nobody", ["events"], async (t, database) => {
  const { bus, recorder, integrator } = await testEvents(t, database);
  await recorder.one(draft("person:ben", { actId: "erased" }));
  await recorder.one(draft("person:ben", { actId: "other", category: "decision" }));
  await integrator.integrate();
  await database.run(statement("t.erase", "delete from events.subject_key where subject_id = $1"), ["person:ben"]);
  const reader = await open({
    bus,
    database,
    references: recorder.references,
    tenant: "tenant:acme",
    subject: "person:ada",
    seesAll: true,
    categories: new Set(["tool_call"]),
    // The whole log: before its first entry.
    lastEventId: "0",
  });
  await recorder.one(draft("person:cleo", { actId: "new" }));
  await until(() => reader.acts().includes("new"));
  assert.deepEqual(reader.acts(), ["new"], "the first entry has index 0, so an id of 0 lies behind it");
  await reader.stop();
});
