import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { seedEmployees } from "#demo/employees.ts";
import { agent, API_KEY, crudInstance, peopleTools, type CrudInstance } from "#testing/crud-instance.ts";

const strong = { as: { ...agent, acr: "strong" as const } };
const asAgent = { as: agent };
const call = (name: string, args: unknown, key?: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args, ...(key === undefined ? {} : { _meta: { "sallyport/idempotencyKey": key } }) },
});
const acme = seedEmployees().filter((row) => row.tenant === "tenant:acme");

describe("a permitted call", () => {
  let instance: CrudInstance;
  const cleanups: (() => Promise<void> | void)[] = [];
  before(async () => {
    instance = await crudInstance({ after: (work: () => Promise<void>) => void cleanups.push(work) } as never);
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  beforeEach(() => {
    instance.verdicts.clear();
    instance.obligations.length = 0;
    instance.entries.length = 0;
    instance.lines.length = 0;
    instance.asked.decisions.length = 0;
    instance.asked.batches.length = 0;
    instance.asked.secrets.length = 0;
    instance.asked.membership.length = 0;
    instance.membership.settled.length = 0;
    Object.assign(instance.membership, {
      capabilities: peopleTools,
      dataScope: { tenant_ids: ["tenant:acme"], row_filter_sql: "tenant_id IN ('tenant:acme')", column_mask: {} },
    });
    instance.audit.isDown = false;
  });
  const list = async (args: unknown, as: object = asAgent): Promise<Record<string, unknown>[]> => {
    const { body } = await instance.rpc(call("people.demo.list_employees", args), as);
    assert.equal(body.error, undefined, JSON.stringify(body));
    return (JSON.parse(body.result.content[0]?.text ?? "") as { items: Record<string, unknown>[] }).items;
  };

  test("shows the caller's rows and no others, and as many as were wanted", async () => {
    const all = await list({});
    assert.deepEqual(all.map((row) => String(row["id"])).toSorted(), acme.map((row) => row.id).toSorted());
    assert.deepEqual(
      (await list({ limit: 4 })).map((row) => row["id"]),
      all.slice(0, 4).map((row) => row["id"]),
    );
    instance.membership.dataScope = { tenant_ids: [], row_filter_sql: "1=0", column_mask: {} };
    assert.deepEqual(await list({}), []);
    instance.membership.dataScope = {
      tenant_ids: ["tenant:acme"],
      row_filter_sql: "tenant_id IN ('tenant:acme', 'tenant:globex')",
      column_mask: {},
    };
    assert.equal((await list({})).length, seedEmployees().length);
  });

  test("hides columns by the data scope and by the file, the stricter one", async () => {
    const salary = async (): Promise<unknown[]> =>
      (await list({ limit: 1 })).map((row) => [typeof row["salary"], String(row["birth_date"]).length]);
    const hidden = async () => {
      const { body } = await instance.rpc(call("people.demo.list_employees", { limit: 1 }), asAgent);
      return (body.result as { readonly _meta?: Readonly<Record<string, unknown>> })._meta?.["sallyport/masked"];
    };
    const tool = "tool:people.demo.list_employees";
    assert.deepEqual(await salary(), [["number", 10]]);
    assert.equal(await hidden(), undefined);
    instance.verdicts.set("employee:read_birth_date", false);
    assert.deepEqual(await salary(), [["number", 4]], "an agent of ben: salary and the year");
    assert.deepEqual(await hidden(), [{ path: "/items/*/birth_date", kind: "year", rule: tool, unless: "employee/read_birth_date" }]);
    instance.verdicts.set("employee:read_salary", false);
    instance.membership.dataScope = { ...instance.membership.dataScope, column_mask: { birth_date: "year" } };
    const [cleo] = await list({ limit: 1 });
    assert.equal(cleo?.["salary"], null, "cleo");
    assert.match(String(cleo?.["birth_date"]), /^\d{4}$/, "the year is left, though both hide the rest");
    assert.deepEqual(await hidden(), [
      { path: "/items/*/birth_date", kind: "year", rule: "data_scope:employee" },
      { path: "/items/*/salary", kind: "null", rule: tool, unless: "employee/read_salary" },
    ]);
    instance.membership.dataScope = { ...instance.membership.dataScope, column_mask: { salary: "drop", birth_date: "something new" } };
    assert.deepEqual(
      (await list({ limit: 1 })).map((row) => ["salary" in row, "birth_date" in row]),
      [[false, false]],
      "an unknown mask drops",
    );
    const closed = instance.entries.at(-1)?.data as { masked?: string[] } | undefined;
    assert.deepEqual(closed?.masked?.toSorted(), ["/items/*/birth_date", "/items/*/salary"]);
  });

  test("asks about call, mapping and masks in one batch, and behind a denied mask once more for what it cut off", async () => {
    const whole = ["tool:tools/call", "employee:list", "employee:read_salary", "employee:read_birth_date"];
    const seen = async (): Promise<unknown[]> =>
      (await list({ limit: 1 })).map((row) => [typeof row["salary"], String(row["birth_date"]).length]);
    const decided = () => instance.asked.decisions.map(({ ask }) => `${ask.type}:${ask.action}`);
    assert.deepEqual(await seen(), [["number", 10]]);
    assert.deepEqual(instance.asked.batches, [whole]);
    for (const [denied, batches, shown] of [
      ["employee:read_birth_date", [whole], ["number", 4]],
      ["employee:read_salary", [whole, ["employee:read_birth_date"]], ["object", 10]],
    ] as const) {
      instance.verdicts.clear();
      instance.verdicts.set(denied, false);
      instance.asked.batches.length = 0;
      instance.asked.decisions.length = 0;
      assert.deepEqual(await seen(), [shown], denied);
      assert.deepEqual(instance.asked.batches, batches, denied);
      assert.deepEqual(decided(), whole, "each is decided once");
    }
  });

  test("decides about no mask of a call that is refused, and refuses where a mask cannot be decided", async () => {
    const refused = async (verdict: string, as: string | false): Promise<string | undefined> => {
      instance.verdicts.clear();
      instance.verdicts.set(verdict, as);
      instance.asked.decisions.length = 0;
      return (await instance.rpc(call("people.demo.list_employees", {}), asAgent)).body.error?.data.code;
    };
    for (const [verdict, decisions] of [
      ["tool:tools/call", 1],
      ["employee:list", 2],
    ] as const) {
      assert.equal(await refused(verdict, "not_granted"), "not_granted");
      assert.equal(instance.asked.decisions.length, decisions);
    }
    const sent = instance.people.requests;
    for (const verdict of ["employee:read_salary", "employee:read_birth_date"])
      assert.equal(await refused(verdict, "down"), "decision_unavailable");
    instance.verdicts.set("employee:read_salary", false);
    assert.equal((await instance.rpc(call("people.demo.list_employees", {}), asAgent)).body.error?.data.code, "decision_unavailable");
    assert.equal(instance.people.requests, sent);
  });

  test("meets the permit's own data scope beside the PIP's", async () => {
    instance.membership.dataScope = {
      tenant_ids: ["tenant:acme"],
      row_filter_sql: "tenant_id IN ('tenant:acme', 'tenant:globex')",
      column_mask: {},
    };
    instance.obligations.push({
      id: "data-scope",
      type: "custom",
      properties: {
        kind: "data_scope",
        tenant_ids: ["tenant:globex"],
        row_filter_sql: "tenant_id IN ('tenant:globex')",
        column_mask: { salary: "null" },
      },
    });
    const rows = await list({});
    assert.ok(rows.length > 0 && rows.every((row) => row["tenant"] === "tenant:globex" && row["salary"] === null));
  });

  test("asks who may, reads the credential as itself for this call, and records digests", async () => {
    await list({ department: "Finance" });
    const [first, mapping] = instance.asked.decisions;
    assert.deepEqual(
      [first?.principal.sub, first?.principal.agent, first?.ask.type, first?.ask.action, first?.ask.id],
      ["person:ben", "agent:hr-assistant", "tool", "tools/call", "people.demo.list_employees"],
    );
    assert.equal(first?.ask.properties?.["cost_usd"], 0.002);
    assert.deepEqual(
      instance.asked.membership.map(({ path }) => path.replace(/^.*\/(?=[a-z-]+$)/, "")).toSorted(),
      ["chain-eligibility", "data-scope", "reservations", "settle"],
      "what an agent's delegation reaches is the decision point's to find out",
    );
    assert.deepEqual([mapping?.ask.type, mapping?.ask.action], ["employee", "list"]);
    const [secret] = instance.asked.secrets;
    assert.equal(secret?.query["uri"], "yaml://secret/people/demo#api_key");
    const open = instance.entries.find((entry) => entry.phase === "open");
    assert.deepEqual(
      ["x-tool-id", "x-decision-id", "x-delegation-id", "x-call-id"].map((name) => secret?.headers.get(name)),
      ["people.demo.list_employees", open?.draft.decisionId, "delegation:ben-hr", open?.actId],
    );
    const reader = await instance.identity.verify(
      new Request("http://x", { headers: { authorization: secret?.headers.get("authorization") ?? "" } }),
    );
    assert.deepEqual([reader.sub, reader.isInternalService, [...reader.scopes]], ["service:crud", true, ["secrets.read"]]);
    const reservation = instance.asked.membership.find((seen) => seen.path.endsWith("/reservations"));
    assert.deepEqual(reservation?.body, {
      call_id: open?.actId,
      user_id: "person:ben",
      agent_id: "agent:hr-assistant",
      tool_id: "people.demo.list_employees",
      steps: 1,
      usd: 0.002,
      ttl_s: 60,
    });
    const data = open?.draft.data ?? {};
    assert.deepEqual([data["argument_names"], data["reserve"]], [["department"], { steps: 1, usd: "0.002000" }]);
    assert.match(String(data["arguments_digest"]), /^[0-9a-f]{64}$/);
    const closed = instance.entries.find((entry) => entry.phase === "close");
    const ended = closed?.data as Record<string, unknown>;
    assert.deepEqual(
      [closed?.outcome, closed?.actId, ended["settle"], ended["upstream_status"]],
      ["ok", open?.actId, { steps: 1, usd: "0.002000" }, 200],
    );
    assert.ok(
      seedEmployees().filter((row) => row.department === "Finance").length > acme.filter((row) => row.department === "Finance").length,
    );
    assert.equal(ended["rows_in"], undefined, "how many rows others have is nobody's to know");
    assert.equal(ended["rows_out"], acme.filter((row) => row.department === "Finance").length);
    assert.ok(!JSON.stringify([instance.entries, instance.lines]).includes("Finance"), "no argument in record or log");
    assert.ok(!JSON.stringify([instance.entries, instance.lines]).includes(API_KEY));
  });

  test("of a person without an agent holds nothing", async () => {
    await list({ limit: 1 }, {});
    assert.equal(instance.membership.settled.length, 0);
    assert.equal(
      instance.asked.membership.some((seen) => seen.path.includes("reservations") || seen.path.endsWith("/capabilities")),
      false,
    );
  });

  test("with a strong sign-in changes a salary once, under the call's own id", async () => {
    const before = instance.people.changes;
    const { body } = await instance.rpc(call("people.demo.update_salary", { id: "e1", salary: 131000 }), strong);
    assert.equal(body.error, undefined, JSON.stringify(body));
    assert.equal((JSON.parse(body.result.content[0]?.text ?? "") as { salary: number }).salary, 131000);
    assert.equal(instance.people.changes - before, 1);
    const mapping = instance.asked.decisions.find((row) => row.ask.action === "update_salary");
    assert.deepEqual([mapping?.ask.type, mapping?.ask.claimed], ["employee", { salary: 131000 }]);
    assert.equal(instance.membership.settled.at(-1)?.usd, 0.01);
  });

  test("is answered though its record cannot be closed yet, and says so", async () => {
    instance.audit.isSlow = true;
    const { body, headers } = await instance.rpc(call("people.demo.get_employee", { id: "e1" }), asAgent);
    assert.deepEqual([body.error, headers.get("x-sallyport-audit")], [undefined, "pending"]);
    instance.audit.isSlow = false;
    assert.equal((await instance.rpc(call("people.demo.get_employee", { id: "e1" }), asAgent)).headers.get("x-sallyport-audit"), null);
  });

  test("names the sallyport's own API with the caller's identity, never a service's", async () => {
    instance.membership.capabilities = ["sallyport.local.search_identities"];
    const { body } = await instance.rpc(call("sallyport.local.search_identities", { search: "ben", limit: 5 }), asAgent);
    assert.equal(body.error, undefined, JSON.stringify(body));
    const asked = instance.asked.membership.find((seen) => seen.path.endsWith("/with-metadata"));
    assert.deepEqual(asked?.query, { search: "ben", limit: "5" });
    const reader = await instance.identity.verify(
      new Request("http://x", { headers: { authorization: asked?.headers.get("authorization") ?? "" } }),
    );
    assert.deepEqual(
      [reader.sub, reader.tenant, reader.isInternalService, reader.agent, reader.actors, [...reader.scopes]],
      ["person:ben", "tenant:acme", false, undefined, ["service:crud"], ["membership.read"]],
    );
    assert.equal(asked?.headers.get("x-tool-id"), "sallyport.local.search_identities");
  });

  describe("with an idempotency key", () => {
    const args = { id: "e2", salary: 95000 };
    const named = (key: string, given: unknown = args, as: object = strong) =>
      instance.rpc(call("people.demo.update_salary", given, key), as);

    test("is done once, decided each time, and answers alike", async () => {
      const before = instance.people.changes;
      const first = await named("key-1");
      const second = await named("key-1");
      assert.deepEqual(second.body.result, first.body.result);
      assert.equal(second.headers.get("idempotent-replayed"), "true");
      assert.equal(instance.people.changes - before, 1);
      assert.equal(instance.membership.settled.length, 1);
      instance.verdicts.set("tool:tools/call", "delegation_inactive");
      assert.equal((await named("key-1")).body.error?.data.code, "delegation_inactive");
    });

    test("of other arguments is a conflict; of another principal another call", async () => {
      await named("key-2");
      const conflict = await named("key-2", { id: "e2", salary: 1 });
      assert.deepEqual([conflict.body.error?.code, conflict.body.error?.data.code], [-32602, "idempotency_conflict"]);
      const other = await named("key-2", { id: "e2", salary: 1 }, { as: { acr: "strong" } });
      assert.equal(other.body.error, undefined);
    });

    test("fifty times at once reaches the upstream once", async () => {
      const before = instance.people.changes;
      const answers = await Promise.all(Array.from({ length: 50 }, () => named("key-3")));
      const codes = new Set(answers.map(({ body }) => body.error?.data.code ?? "ok"));
      assert.ok(
        [...codes].every((code) => code === "ok" || code === "in_progress"),
        [...codes].join(),
      );
      assert.ok(codes.has("ok"));
      assert.equal(instance.people.changes - before, 1);
    });

    test("is free again after a failure that did nothing, and kept sealed after a success", async () => {
      instance.verdicts.set("tool:tools/call", false);
      await named("key-4");
      instance.verdicts.clear();
      assert.equal((await named("key-4")).body.error, undefined);
      const rows = await instance.database.run({
        name: "test.replies",
        text: "select reply from crud.tool_call where reply is not null",
      } as {
        name: string;
        text: string;
        _row?: { reply: Uint8Array };
      });
      assert.ok(rows.length > 0);
      for (const row of rows) assert.ok(!Buffer.from(row.reply).toString("latin1").includes("salary"));
      const bad = await named("with space");
      assert.equal(bad.body.error?.code, -32602);
    });
  });

  test("ends as unknown at the next start if the process died: all that was held is charged", async () => {
    instance.membership.reservations.set("6d1f3c1e-0000-4000-8000-000000000001", { id: "r-dead", usd: 0.01, steps: 1, state: "held" });
    instance.membership.reservations.set("6d1f3c1e-0000-4000-8000-000000000002", {
      id: "r-settled",
      usd: 0.01,
      steps: 1,
      state: "settled",
    });
    for (const end of ["1", "2", "3"]) {
      await instance.crud.settleDead({ actId: `6d1f3c1e-0000-4000-8000-00000000000${end}`, category: "tool_call", tenant: "tenant:acme" });
    }
    await instance.crud.settleDead({ actId: "6d1f3c1e-0000-4000-8000-000000000001", category: "secret", tenant: "tenant:acme" });
    assert.deepEqual(instance.membership.settled, [{ id: "r-dead", usd: 0.01, steps: 1, outcome: "unknown" }]);
    assert.equal(instance.lines.filter((line) => line["event"] === "tool_call_settled_unknown").length, 3);
  });
});
