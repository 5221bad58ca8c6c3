import assert from "node:assert/strict";
import { before, after, test, describe } from "node:test";
import { problemCodes, type ProblemCode } from "#contract/problem.ts";
import type { TestTokenOf } from "#testing/identity.ts";
import { agent, crudInstance, type CrudInstance, type RpcBody } from "#testing/crud-instance.ts";

/**
 * One case for each step that refuses, in both dialects and as a plain request: the code, no request at the upstream, nothing
 * charged, one entry of the record.
 */

interface Case {
  readonly step: string;
  readonly set?: (instance: CrudInstance) => void;
  readonly name?: string;
  readonly args?: unknown;
  readonly as?: Partial<TestTokenOf>;
  readonly code: ProblemCode;
  /** HTTP status and JSON-RPC code in the contract's dialect. */
  readonly contract: readonly [number, number];
  /** JSON-RPC code in standard MCP, or `result` for `isError: true`. */
  readonly standard: number | "result";
  /** Outcome of the one entry; absent = none (before the state step). */
  readonly entry?: "denied" | "refused" | "error";
  /** Requests at the upstream that are allowed. */
  readonly sent?: number;
  readonly settled?: readonly { usd: number; steps: number; outcome: string }[];
}

const employee = { name: "people.demo.get_employee", args: { id: "e1" } };
const none = { as: { ...agent } };
const foreign = "e3";

const cases: readonly Case[] = [
  { step: "view: unknown", ...none, name: "no.such.tool", code: "unknown_tool", contract: [200, -32601], standard: -32602 },
  {
    step: "view: of another tenant",
    as: { sub: "person:eve", tenant: "tenant:globex" },
    name: "memory.demo.read_graph",
    code: "unknown_tool",
    contract: [200, -32601],
    standard: -32602,
  },
  {
    step: "arguments",
    ...none,
    name: "people.demo.get_employee",
    args: { id: 7 },
    code: "invalid_arguments",
    contract: [200, -32602],
    standard: "result",
    entry: "refused",
  },
  {
    step: "arguments: unknown member",
    ...none,
    name: "people.demo.get_employee",
    args: { id: "e1", salary: 1 },
    code: "invalid_arguments",
    contract: [200, -32602],
    standard: "result",
    entry: "refused",
  },
  {
    step: "delegation: membership is down",
    ...none,
    ...employee,
    set: (instance) => {
      instance.membership.isDown = true;
    },
    code: "membership_unavailable",
    contract: [503, -32603],
    standard: -32603,
    entry: "refused",
  },
  ...(
    ["delegation_inactive", "delegation_required", "capability_missing", "not_granted", "subject_unresolved", "approval_required"] as const
  ).map((reason): Case => ({
    step: `decide: ${reason}`,
    ...none,
    ...employee,
    set: (instance) => instance.verdicts.set("tool:tools/call", reason),
    code: reason,
    contract: [200, -32001],
    standard: reason === "approval_required" ? "result" : -32001,
    entry: "denied",
  })),
  {
    step: "decide: the tool's own mapping",
    ...none,
    ...employee,
    set: (instance) => instance.verdicts.set("employee:list", "not_granted"),
    code: "not_granted",
    contract: [200, -32001],
    standard: -32001,
    entry: "denied",
  },
  {
    step: "decide: step-up",
    ...none,
    name: "people.demo.update_salary",
    args: { id: "e1", salary: 90000 },
    set: (instance) => instance.verdicts.set("tool:tools/call", "step_up_required"),
    code: "step_up_required",
    contract: [200, -32001],
    standard: "result",
    entry: "denied",
  },
  {
    step: "decide: step-up that the file alone demands",
    ...none,
    name: "people.demo.update_salary",
    args: { id: "e1", salary: 90000 },
    code: "step_up_required",
    contract: [200, -32001],
    standard: "result",
    entry: "denied",
  },
  {
    step: "decide: an obligation that cannot be met",
    ...none,
    ...employee,
    set: (instance) => instance.obligations.push({ id: "notify", type: "notification" }),
    code: "obligation_unsupported",
    contract: [200, -32001],
    standard: -32001,
    entry: "denied",
  },
  {
    step: "decide: the decision point is down",
    ...none,
    ...employee,
    set: (instance) => instance.verdicts.set("tool:tools/call", "down"),
    code: "decision_unavailable",
    contract: [503, -32603],
    standard: -32603,
    entry: "refused",
  },
  {
    step: "chain: a scope short",
    ...none,
    name: "people.demo.get_employee",
    args: { id: "e1" },
    set: (instance) => {
      instance.membership.chain = [{ audience: "https://people.demo", scopes: ["people.write"] }];
    },
    code: "chain_not_eligible",
    contract: [200, -32001],
    standard: -32001,
    entry: "denied",
  },
  ...(["budget_exhausted", "steps_exhausted", "delegation_inactive", "capability_missing"] as const).map((code): Case => ({
    step: `reserve: ${code}`,
    ...none,
    ...employee,
    set: (instance) => {
      instance.membership.reserve = code;
    },
    code,
    contract: [200, -32001],
    standard: -32001,
    entry: "denied",
  })),
  ...(
    [
      ["arguments that the delegation does not cover", [{}, { properties: { id: { enum: ["e9"] } } }]],
      ["a schema of the delegation that cannot be read", [{ $ref: "https://elsewhere.example/s" }]],
    ] as const
  ).map(([step, schemas]): Case => ({
    step: `reserve: ${step}`,
    ...none,
    ...employee,
    set: (instance) => {
      instance.membership.argumentSchemas = schemas;
    },
    code: "capability_missing",
    contract: [200, -32001],
    standard: -32001,
    entry: "denied",
  })),
  {
    step: "audit",
    ...none,
    ...employee,
    set: (instance) => {
      instance.audit.isDown = true;
    },
    code: "audit_unavailable",
    contract: [503, -32603],
    standard: -32603,
  },
  {
    step: "rows: a filter that is not understood",
    ...none,
    ...employee,
    set: (instance) => {
      instance.membership.dataScope = { ...instance.membership.dataScope, row_filter_sql: "tenant_id = 'tenant:acme' OR 1=1" };
    },
    code: "data_scope_unavailable",
    contract: [200, -32603],
    standard: "result",
    entry: "refused",
  },
  {
    step: "rows: a column that the tool does not map",
    ...none,
    ...employee,
    set: (instance) => {
      instance.membership.dataScope = { ...instance.membership.dataScope, column_mask: { iban: "null" } };
    },
    code: "data_scope_unavailable",
    contract: [200, -32603],
    standard: "result",
    entry: "refused",
  },
  {
    step: "invoke: no credential",
    ...none,
    ...employee,
    set: (instance) => {
      instance.secrets.status = "secret_not_found";
    },
    code: "upstream_auth_failed",
    contract: [200, -32603],
    standard: "result",
    entry: "error",
  },
  {
    step: "invoke: secrets are down",
    ...none,
    ...employee,
    set: (instance) => {
      instance.secrets.status = "provider_unavailable";
    },
    code: "secrets_unavailable",
    contract: [503, -32603],
    standard: -32603,
    entry: "error",
  },
  {
    step: "invoke: the upstream refuses the credential",
    ...none,
    ...employee,
    set: (instance) => {
      instance.secrets.value = "another-key-987654";
    },
    code: "upstream_error",
    contract: [200, -32603],
    standard: "result",
    entry: "error",
    sent: 1,
    settled: [{ usd: 0, steps: 1, outcome: "failed" }],
  },
  {
    step: "shape: a row of another tenant",
    ...none,
    name: "people.demo.get_employee",
    args: { id: foreign },
    code: "not_found",
    contract: [200, -32603],
    standard: "result",
    entry: "error",
    sent: 1,
    settled: [{ usd: 0, steps: 1, outcome: "failed" }],
  },
  {
    step: "guard: a write to a row of another tenant",
    as: { ...agent, acr: "strong" },
    name: "people.demo.update_salary",
    args: { id: foreign, salary: 1 },
    code: "not_found",
    contract: [200, -32603],
    standard: "result",
    entry: "error",
    sent: 1,
    settled: [{ usd: 0, steps: 1, outcome: "failed" }],
  },
];

const standardCall = async (
  instance: CrudInstance,
  one: Case,
): Promise<{
  error?: RpcBody["error"];
  result?: { isError?: boolean; content: { text: string }[]; _meta?: Record<string, { code: string }> };
}> => {
  const response = await instance.request("/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: one.name, arguments: one.args } },
    headers: { accept: "application/json, text/event-stream" },
    ...(one.as === undefined ? {} : { as: one.as }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "")) as Awaited<ReturnType<typeof standardCall>>;
};

describe("each step refuses with its code, before anything is sent or charged", () => {
  let instance: CrudInstance;
  const cleanups: (() => Promise<void> | void)[] = [];
  before(async () => {
    instance = await crudInstance({ after: (work: () => Promise<void>) => void cleanups.push(work) } as never);
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  const reset = (): void => {
    instance.verdicts.clear();
    instance.obligations.length = 0;
    instance.entries.length = 0;
    instance.membership.settled.length = 0;
    instance.membership.released.length = 0;
    instance.membership.reservations.clear();
    Object.assign(instance.membership, {
      isDown: false,
      reserve: "ok",
      argumentSchemas: [],
      chain: [{ audience: "https://people.demo", scopes: ["people.read", "people.write"] }],
      dataScope: { tenant_ids: ["tenant:acme"], row_filter_sql: "tenant_id IN ('tenant:acme')", column_mask: {} },
    });
    instance.secrets.value = "people-key-0123456789";
    instance.secrets.status = "ok";
    instance.audit.isDown = false;
  };

  const requireUntouched = (one: Case, before: { requests: number; changes: number }): void => {
    assert.equal(instance.people.requests - before.requests, one.sent ?? 0, "requests at the upstream");
    assert.equal(instance.people.changes, before.changes, "changes at the upstream");
    assert.deepEqual(
      instance.membership.settled.map(({ usd, steps, outcome }) => ({ usd, steps, outcome })),
      one.settled ?? [],
      "charged",
    );
    const held = [...instance.membership.reservations.values()].map((row) => row.id);
    const closed = [...instance.membership.released, ...instance.membership.settled.map((row) => row.id)];
    assert.deepEqual(held, closed, "what was held is given back or settled");
    const ended = instance.entries.filter((entry) => entry.phase !== "open");
    assert.deepEqual(
      ended.map((entry) => [entry.outcome, entry.code]),
      one.entry === undefined ? [] : [[one.entry, one.code]],
      "the record",
    );
    if (one.entry !== "error") assert.equal(instance.entries.filter((entry) => entry.phase === "open").length, 0);
  };

  for (const one of cases) {
    test(`${one.step}: the contract's dialect`, async () => {
      reset();
      one.set?.(instance);
      const before = { requests: instance.people.requests, changes: instance.people.changes };
      const { status, body, headers } = await instance.rpc(
        { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: one.name, arguments: one.args } },
        one.as === undefined ? {} : { as: one.as },
      );
      assert.deepEqual(
        [status, body.error?.code, body.error?.data.code],
        [one.contract[0], one.contract[1], one.code],
        JSON.stringify(body),
      );
      assert.match(body.error?.data.call_id ?? "", /^[0-9a-f-]{36}$/);
      if (status === 503) assert.ok(headers.has("retry-after"));
      if (one.entry === "denied") {
        assert.match(body.error?.data.decision_id ?? "", /^d_\d+$/);
        assert.equal(instance.entries[0]?.draft.decisionId, body.error?.data.decision_id);
      }
      if (one.code === "step_up_required") assert.equal(body.error?.data.step_up?.level, "strong");
      requireUntouched(one, before);
    });

    test(`${one.step}: standard MCP`, async () => {
      reset();
      one.set?.(instance);
      const before = { requests: instance.people.requests, changes: instance.people.changes };
      const answer = await standardCall(instance, one);
      if (one.standard === "result") {
        assert.equal(answer.result?.isError, true, JSON.stringify(answer));
        assert.equal(answer.result?._meta?.["sallyport/error"]?.code, one.code);
        assert.match(answer.result?.content[0]?.text ?? "", new RegExp(one.code));
        if (one.code === "step_up_required")
          assert.match(answer.result?.content[0]?.text ?? "", /http:\/\/localhost:8080\/auth\/login\?acr_values=strong.*\n.*d_\d+/);
      } else assert.deepEqual([answer.error?.code, answer.error?.data.code], [one.standard, one.code], JSON.stringify(answer));
      requireUntouched(one, before);
    });
  }

  for (const one of cases) {
    test(`${one.step}: /execute`, async () => {
      reset();
      one.set?.(instance);
      const before = { requests: instance.people.requests, changes: instance.people.changes };
      const response = await instance.request("/execute", {
        body: { tool: one.name, arguments: one.args },
        ...(one.as === undefined ? {} : { as: one.as }),
      });
      const answer = (await response.json()) as Record<string, unknown> & { readonly error?: { readonly code: string } };
      // What failed after it was opened is the upstream's, but where a part of Sallyport was away.
      const isAnswer = one.entry === "error" && one.code !== "secrets_unavailable";
      assert.deepEqual(
        [response.status, isAnswer ? [answer["success"], answer.error?.code] : answer["code"]],
        isAnswer ? [200, [false, one.code]] : [problemCodes[one.code].status, one.code],
        JSON.stringify(answer),
      );
      assert.match(String(answer["call_id"]), /^[0-9a-f-]{36}$/);
      requireUntouched(one, before);
    });
  }

  test("/execute answers with what was done, charged and kept, and finds an operation by its system", async () => {
    reset();
    const send = async (body: unknown, headers: Record<string, string> = {}) => {
      const response = await instance.request("/execute", { body, headers, as: agent });
      return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
    };
    const whole = await send({ tool: employee.name, arguments: employee.args }, { "idempotency-key": "once" });
    const { call_id, decision_id, duration_ms, data, ...rest } = whole.answer;
    assert.deepEqual(rest, { success: true, cost_usd: 0.001, truncated: false });
    assert.deepEqual([whole.status, (data as { id: string }).id], [200, "e1"]);
    assert.match(`${String(call_id)} ${String(decision_id)} ${String(duration_ms)}`, /^[0-9a-f-]{36} d_\d+ \d+$/);
    const again = await send({ tool: employee.name, arguments: employee.args }, { "idempotency-key": "once" });
    assert.deepEqual([again.answer["data"], again.answer["cost_usd"]], [data, 0]);
    const other = await send({ tool: employee.name, arguments: { id: "e2" } }, { "idempotency-key": "once" });
    assert.deepEqual([other.status, other.answer["code"]], [409, "idempotency_conflict"]);
    for (const named of [{ action: "get_employee" }, { object_type: "get", action: "employee" }]) {
      const { answer } = await send({ system: "people.demo", ...named, params: employee.args });
      assert.deepEqual(answer["data"], data, JSON.stringify(named));
    }
    for (const [body, status, code] of [
      [{}, 422, "invalid_body"],
      [{ tool: employee.name, system: "people.demo", action: "get_employee" }, 422, "unknown_member"],
      [{ tool: employee.name, arguments: [] }, 422, "invalid_body"],
      [{ tool: employee.name, params: {} }, 422, "unknown_member"],
      [{ system: "people.demo", action: "get", params: {} }, 404, "unknown_tool"],
    ] as const) {
      const refused = await send(body);
      assert.deepEqual([refused.status, refused.answer["code"]], [status, code], JSON.stringify(refused.answer));
    }
    const without = await instance.request("/execute", {
      body: { tool: employee.name },
      as: { ...agent, scopes: ["mcp.tools.discovery"] },
    });
    assert.equal(without.status, 403);
  });

  test("/execute says what both dialects say of an answer: that its record is still to be closed, and that it was given before", async () => {
    reset();
    const send = async (given: object) => {
      const headers = { "idempotency-key": "marked" };
      const response = await instance.request("/execute", { body: { tool: employee.name, arguments: given }, headers, as: agent });
      const { audit, replayed, success } = (await response.json()) as Record<string, unknown>;
      return { audit, replayed, success };
    };
    instance.audit.isSlow = true;
    assert.deepEqual(await send(employee.args), { audit: "pending", replayed: undefined, success: true });
    const failed = await instance.request("/execute", { body: { tool: employee.name, arguments: { id: foreign } }, as: agent });
    assert.equal(((await failed.json()) as { audit?: string }).audit, "pending");
    instance.audit.isSlow = false;
    assert.deepEqual(await send(employee.args), { audit: undefined, replayed: true, success: true });
  });

  test("a reservation refused after a permit asks once more, and that decision is the one named", async () => {
    reset();
    instance.membership.reserve = "budget_exhausted";
    instance.asked.decisions.length = 0;
    let asks = 0;
    instance.verdicts.get = (key) => (key === "tool:tools/call" && ++asks > 1 ? "budget_exhausted" : undefined);
    const { body } = await instance.rpc(
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: employee.name, arguments: employee.args } },
      { as: agent },
    );
    delete (instance.verdicts as { get?: unknown }).get;
    const calls = instance.asked.decisions.filter((row) => row.ask.action === "tools/call");
    assert.equal(calls.length, 2);
    assert.equal(body.error?.data.code, "budget_exhausted");
    assert.equal(instance.entries[0]?.draft.decisionId, body.error?.data.decision_id);
  });
});

test("too many calls at once are the caller's limit, at /execute as in the contract's dialect", async (t) => {
  const instance = await crudInstance(t, { settings: { MCP_MAX_CALLS: "2" } });
  const params = { name: employee.name, arguments: employee.args };
  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, at) =>
      at % 2 === 0
        ? instance.request("/execute", { body: { tool: employee.name, arguments: employee.args }, as: agent })
        : instance.request("/mcp/jsonrpc", { body: { jsonrpc: "2.0", id: 1, method: "tools/call", params }, as: agent }),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.deepEqual([...new Set(refused.map(({ status, headers }) => `${status} ${headers.get("retry-after")}`))], ["429 1"]);
  for (const at of [0, 1])
    assert.ok(
      answers.some(({ status }, one) => one % 2 === at && status === 429),
      String(at),
    );
});
