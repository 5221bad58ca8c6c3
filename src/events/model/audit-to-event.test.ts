import assert from "node:assert/strict";
import { Validator, type Schema } from "@cfworker/json-schema";
import { eventSchemaOf } from "#contract/event-schemas.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { kafkaInUse, testEvents } from "#testing/events.ts";
import type { EntryDraft } from "#events/audit/entry.ts";

const REPORTED = statement<{ type: string; topic: string; key: string; tenant: string; data: Record<string, unknown> }>(
  "test.told_entries",
  "select type, topic, key, tenant, data from events.outbox where sink = 'kafka' order by seq",
);

const call: Omit<EntryDraft, "outcome"> = {
  tenant: "tenant:acme",
  category: "tool_call",
  actor: { subject: "person:ben", kind: "agent", agent_id: "agent:hr", delegation_id: "delegation:d" },
  via: { service: "crud" },
  resource: { type: "tool", id: "people.demo.get_employee" },
  decisionId: "d_1",
  correlationId: "corr",
  data: {
    tool: "people.demo.get_employee",
    mcp_name: "as the client spelt it",
    argument_names: ["id"],
    reserve: { steps: 1, usd: "0.001000" },
  },
};
const signIn: EntryDraft = {
  ...call,
  category: "sign_in",
  outcome: "ok",
  actor: { subject: "person:ben", kind: "person" },
  resource: { type: "session", id: "s1" },
  data: { event: "in", session_ref: "s1", acr: "pwd", amr: ["pwd"], issuer: "https://issuer.example" },
};

forEachDatabase(
  "an audit entry that is an event too reaches the sink once, valid by its schema, with nobody's name",
  ["events"],
  async (t, database) => {
    const { recorder, change } = await testEvents(t, database, { sink: kafkaInUse });
    const act = await recorder.open(call);
    await act.close("ok", { ...call.data, duration_ms: 12, upstream_status: 200, output_digest: "x", settle: { state: "released" } });
    await (await recorder.open(call)).close("unknown", {}, { code: "interrupted" });
    await recorder.one({ ...call, outcome: "denied", code: "not_granted", actor: { subject: "person:ben", kind: "person" } });
    // What a consumer would not know is left out; the entry itself is whole.
    await recorder.one({ ...call, outcome: "refused", code: "bad_arguments", data: { reserve: "much" } });
    await change(async () => ({
      result: undefined,
      entries: [
        signIn,
        { ...signIn, data: { ...signIn.data, event: "step_up", acr: "strong" } },
        { ...signIn, data: { event: "out", session_ref: "s1" } },
      ],
    }));
    await recorder.one({
      ...signIn,
      tenant: "*",
      outcome: "refused",
      code: "login_failed",
      data: { event: "failed", reason: "login_failed" },
    });
    await recorder.one({
      ...signIn,
      category: "config",
      resource: { type: "gateway.routes" },
      data: { event: "reload", revision: "r2", added: 1 },
    });
    await recorder.one({ ...signIn, category: "config", resource: { type: "system", id: "hr.one" }, data: { op: "updated", version: 2 } });
    await recorder.one({ ...signIn, category: "delegation", data: { op: "granted" } });

    const reported = await database.run(REPORTED);
    assert.deepEqual(
      reported.map(({ type }) => type),
      [
        "tool.started",
        "tool.called",
        "tool.started",
        "tool.unknown",
        "tool.refused",
        "tool.refused",
        "session.created",
        "session.stepped_up",
        "signin.failed",
        "config.reloaded",
      ],
    );
    for (const { type, data } of reported) {
      const schema = eventSchemaOf(`${type}.v1`);
      assert.ok(schema !== undefined, type);
      const read = new Validator(schema as Schema, "2020-12").validate(data);
      assert.ok(read.valid, `${type}: ${JSON.stringify(read.errors)}`);
    }
    const [started, called, , unknown, denied, refused, created, stepped, failed, published] = reported;
    assert.deepEqual([started?.topic, started?.key, started?.data["call_id"]], ["tools.calls.v1", "delegation:d", act.actId]);
    const { subject_ref: ref, ...rest } = called?.data ?? {};
    assert.match(String(ref), /^sr1\./);
    assert.deepEqual(rest, {
      call_id: act.actId,
      tool: "people.demo.get_employee",
      outcome: "ok",
      agent_id: "agent:hr",
      delegation_id: "delegation:d",
      decision_id: "d_1",
      correlation_id: "corr",
      reserve: { steps: 1, usd: "0.001000" },
      duration_ms: 12,
      upstream_status: 200,
      output_digest: "x",
      settle: { state: "released" },
    });
    assert.equal(unknown?.data["code"], "interrupted");
    assert.deepEqual([denied?.key, denied?.data["code"]], [ref, "not_granted"]);
    assert.equal(refused?.data["reserve"], undefined);
    assert.deepEqual([created?.topic, created?.key, created?.data["subject_ref"]], ["sessions.events.v1", "s1", ref]);
    assert.deepEqual([stepped?.key, stepped?.data["acr"]], ["s1", "strong"]);
    assert.deepEqual([failed?.tenant, failed?.data], ["*", { reason: "login_failed" }]);
    assert.deepEqual(published?.data, { kind: "gateway.routes", version: "r2", op: "reload", added: 1 });
    assert.ok(!JSON.stringify(reported).includes("person:") && !JSON.stringify(reported).includes("spelt"));
  },
);
