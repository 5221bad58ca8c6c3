import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test, type TestContext } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import { statement } from "#store/database.ts";
import { testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { whyNoPostgres } from "./postgres-ground.ts";
import type { TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";
import { startTwoInstances, type TwoInstances } from "./two-instances.ts";

const recorded = statement<{ readonly call_id: string; readonly graph_version: bigint; readonly cached: boolean }>(
  "test.recorded_decisions",
  "select call_id, graph_version, (items -> 0 ->> 'cached')::boolean as cached from pdp.call where call_id = any($1)",
);
const reservations = statement<{ readonly call_id: string }>(
  "test.reservations_of_agent",
  `select r.call_id from membership.reservation r join membership.delegation d on d.id = r.delegation_id
   where d.agent_id = 'agent:hr-assistant' order by r.call_id`,
);
const acts = statement<{ readonly correlation_id: string; readonly phase: string }>(
  "test.acts_of_calls",
  "select correlation_id, phase from events.audit_entry where category = 'tool_call' and correlation_id = any($1)",
);
const remembered = statement<{ readonly count: bigint }>(
  "test.remembered_mappings",
  `select count(*) from pdp.call c cross join lateral jsonb_array_elements(c.items) i(item)
   where c.correlation_id = any($1) and i.item ->> 'type' = 'employee' and (i.item ->> 'cached')::boolean`,
);

const DELEGATION = "delegation:ben-hr";
const AGENT = "agent:hr-assistant";
/** Answers of each instance before a change, and to asks that began after it. */
const ENOUGH = 12;
const LANES = 3;
/** A machine with other work is slow, and no fault. */
const PATIENCE_MS = 100_000;

interface Reply<T> {
  readonly status: number;
  readonly body: T & { readonly code?: string };
}

const send = async <T>(url: string, token: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply<T>> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Reply<T>["body"] };
};

/** Something asked of one of the instances; times are of this process's own clock, which only grows. */
interface Asked {
  readonly at: 0 | 1;
  readonly begun: number;
  readonly ended: number;
  readonly permitted: boolean;
}
interface Evaluated extends Asked {
  readonly status: number;
  readonly decisionId: string;
}
interface Called extends Asked {
  readonly correlationId: string;
  readonly callId: string;
  readonly code: string;
}

/**
 * Asks both instances, again and again in several lanes, changes something once both have permitted enough, and goes on until
 * both have answered enough asks that began after the change was acknowledged. However slow the machine is, such an ask began
 * later than the change was known: no clock has to be right, and nothing is bounded by one.
 */
const askAcross = async <A extends Asked, R>(
  lanes: readonly ((at: 0 | 1) => Promise<A>)[],
  change: () => Promise<R>,
  /** Looks at something as soon as the change is acknowledged. */
  look: () => Promise<void> = async () => {},
) => {
  const asked: A[] = [];
  const permitted = [0, 0];
  const since = [0, 0];
  let acknowledged = Number.POSITIVE_INFINITY;
  let failed = false;
  const lane = async (at: 0 | 1, ask: (at: 0 | 1) => Promise<A>): Promise<void> => {
    while (!failed && since.some((count) => count < ENOUGH)) {
      const one = await ask(at);
      asked.push(one);
      if (one.permitted) permitted[at] = (permitted[at] ?? 0) + 1;
      if (one.begun > acknowledged) since[at] = (since[at] ?? 0) + 1;
    }
  };
  const changing = async (): Promise<R> => {
    await until(
      () => permitted,
      (counts) => failed || counts.every((count) => count >= ENOUGH),
      PATIENCE_MS,
    );
    const result = await change();
    acknowledged = performance.now();
    await look();
    return result;
  };
  const orStop = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      failed = true;
      throw error;
    });
  const running = ([0, 1] as const).flatMap((at) => lanes.map((ask) => orStop(lane(at, ask))));
  const [result] = await Promise.all([orStop(changing()), ...running]);
  const afterwards = asked.filter(({ begun }) => begun > acknowledged);
  const permits = asked.filter((one) => one.permitted);
  return {
    result,
    acknowledged,
    asked,
    afterwards,
    permits,
    /** Milliseconds from the acknowledgement to the end of the last permit; all such permits were asked for before it. */
    lastPermit: Math.max(...permits.map(({ ended }) => ended)) - acknowledged,
  };
};

const server = testServer();

describe("two instances on one PostgreSQL", () => {
  const closing: (() => unknown)[] = [];
  let two: TwoInstances;
  let missing: string | undefined;
  let ben: string;
  let agents: readonly string[];
  before(async () => {
    const t = { after: (close: () => unknown) => void closing.push(close) } as Pick<TestContext, "after">;
    const started = await startTwoInstances(t, server);
    if (started === undefined) {
      missing = whyNoPostgres(server);
      return;
    }
    two = started;
    ben = await fetchToken(instanceAt(0).port, { user: "ben" });
    agents = await Promise.all([0, 1].map((at) => fetchToken(instanceAt(at as 0 | 1).port, { user: "ben", agent: AGENT })));
  });
  after(async () => {
    for (const close of closing) await close();
  });
  const real = (title: string, work: (t: TestContext) => Promise<void>): void =>
    void test(title, async (t) => (missing === undefined ? work(t) : t.skip(missing)));

  const instanceAt = (at: 0 | 1): TestInstance => two.instances[at];
  const membership = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    send<{ readonly graph_version: number }>(`http://localhost:${instanceAt(0).port + 4}/api/v1/delegations${path}`, ben, body, headers);
  /** Through the first instance; resolves to the graph's version once it is acknowledged. */
  const change = async (verb: "pause" | "resume"): Promise<number> => {
    // An instance that stands still may hold a lock until the database takes it away.
    const { status, body } = await until(
      () => membership(`/${DELEGATION}/${verb}`, { reason: "A short stop" }, { "if-match": "*" }),
      (reply) => reply.status !== 503,
      PATIENCE_MS,
    );
    assert.equal(status, 200, JSON.stringify(body));
    return body.graph_version;
  };

  /** May Ben's agent list employees? Permitted while the delegation is live; no reservation guards it. */
  const evaluate = async (at: 0 | 1): Promise<Evaluated> => {
    const begun = performance.now();
    const { status, body } = await send<EvaluationReply>(`${instanceAt(at).origin}/access/v1/evaluation`, agents[at] ?? "", {
      action: { name: "list" },
      resource: { type: "employee" },
    });
    return {
      at,
      begun,
      ended: performance.now(),
      status,
      permitted: body.decision === true,
      decisionId: body.context?.decision_id ?? "",
    };
  };
  const warm = async (): Promise<void> => {
    for (const at of [0, 1, 0, 1] as const) assert.equal((await evaluate(at)).permitted, true);
  };
  const recordsOf = async (evaluated: readonly Evaluated[]) => {
    const rows = new Map(
      (await two.database.run(recorded, [evaluated.map(({ decisionId }) => decisionId)])).map((row) => [row.call_id, row]),
    );
    return evaluated.map((one) => {
      const row = rows.get(one.decisionId);
      assert.ok(row, `${one.decisionId} is on record`);
      return { ...one, version: Number(row.graph_version), cached: row.cached };
    });
  };

  real(
    "what one instance remembers ends with the graph it was true of: no ask after a change's answer is permitted by either",
    async (t) => {
      for (let round = 1; round <= 3; round++) {
        await warm();
        const {
          result: version,
          asked,
          afterwards,
          permits,
          lastPermit,
        } = await askAcross(
          Array.from({ length: LANES }, () => evaluate),
          () => change("pause"),
        );
        assert.deepEqual(
          asked.filter(({ status }) => status !== 200),
          [],
        );
        assert.deepEqual(
          afterwards.filter(({ permitted }) => permitted),
          [],
          "permitted, though the change had been acknowledged before it was asked",
        );
        // What the answers say of themselves: each was decided on the graph before the change, or on that after it.
        const records = await recordsOf(asked);
        assert.deepEqual(
          records.filter((one) => one.permitted !== one.version < version),
          [],
        );
        for (const at of [0, 1])
          assert.ok(records.filter((one) => one.permitted && one.cached && one.at === at).length >= ENOUGH - 1, "from memory, in both");
        t.diagnostic(
          `round ${round}: ${permits.length} permits, ${afterwards.length} denials after the answer; the last permit ended ${lastPermit.toFixed(1)} ms after it`,
        );
        await change("resume");
      }
      await warm();
    },
  );

  real("an instance whose database stands still permits nothing from memory; moving again it denies what was taken meanwhile", async () => {
    await warm();
    two.queries.freeze();
    try {
      await change("pause");
      const blind = await Promise.all(Array.from({ length: ENOUGH }, () => evaluate(1)));
      assert.deepEqual(
        blind.map(({ status, permitted }) => [status, permitted]),
        blind.map(() => [503, false]),
      );
      assert.equal((await evaluate(0)).permitted, false);
      const budgets = await fetch(`${instanceAt(1).origin}/access/v1/budgets/effective`, {
        headers: { authorization: `Bearer ${agents[1]}` },
      });
      // It cannot even tell whether a delegation to the agent lives.
      assert.deepEqual([budgets.status, ((await budgets.json()) as { code?: string }).code], [503, "store_unavailable"]);
    } finally {
      two.queries.thaw();
    }
    const first = await until(
      () => evaluate(1),
      ({ status }) => status === 200,
      PATIENCE_MS,
    );
    assert.equal(first.permitted, false);
    await change("resume");
    await warm();
  });

  real("an instance that hears of no change looks by itself, and what it has seen holds", async () => {
    await warm();
    two.notifications.freeze();
    try {
      await change("pause");
      await until(
        () => evaluate(1),
        ({ status, permitted }) => status === 200 && !permitted,
      );
      for (let ask = 0; ask < ENOUGH; ask++) {
        const { status, permitted } = await evaluate(1);
        assert.deepEqual([status, permitted], [200, false]);
      }
      await change("resume");
      await until(
        () => evaluate(1),
        ({ permitted }) => permitted,
      );
    } finally {
      two.notifications.thaw();
    }
  });

  real("Ben revokes his agent under load on both: no tool call is reserved or begun after the answer, and nothing permitted", async (t) => {
    const created = await membership(
      "",
      {
        agent_id: AGENT,
        capabilities: ["people.demo.list_employees"],
        budget_usd: 10,
        max_steps: 5000,
        // Sooner than the demo's ends, so that calls are charged here.
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        purpose: "Revoked under load",
      },
      { "idempotency-key": randomUUID() },
    );
    assert.equal(created.status, 201, JSON.stringify(created.body));
    await warm();
    const call = async (at: 0 | 1): Promise<Called> => {
      const correlationId = randomUUID();
      const begun = performance.now();
      const { body } = await send<RpcResponse>(
        `${instanceAt(at).origin}/api/crud/mcp/jsonrpc`,
        agents[at] ?? "",
        { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: "people.demo.list_employees", arguments: { limit: 2 } } },
        { "x-correlation-id": correlationId },
      );
      const refusal = body.error?.data;
      const permitted = body.result !== undefined;
      return { at, begun, ended: performance.now(), permitted, correlationId, callId: refusal?.call_id ?? "", code: refusal?.code ?? "" };
    };
    const evaluations: Evaluated[] = [];
    let reserved: readonly string[] = [];
    const idsOf = async (): Promise<readonly string[]> => (await two.database.run(reservations)).map(({ call_id: id }) => id);
    let isOver = false;
    const evaluating = async (at: 0 | 1): Promise<void> => {
      while (!isOver) evaluations.push(await evaluate(at));
    };
    const revoke = async (): Promise<void> => {
      const { status, body } = await membership(
        "/revoke-many",
        { agent_id: AGENT, mode: "revoke", reason: "Stop it now" },
        { "idempotency-key": randomUUID() },
      );
      assert.equal(status, 200, JSON.stringify(body));
    };
    const calling = askAcross(
      Array.from({ length: LANES }, () => call),
      revoke,
      async () => {
        reserved = await idsOf();
      },
    ).finally(() => {
      isOver = true;
    });
    const [{ acknowledged, asked, afterwards, permits, lastPermit }] = await Promise.all([calling, evaluating(0), evaluating(1)]);

    // A call under way at that moment may find its chain broken before it finds the delegation ended: refused either way.
    assert.deepEqual(
      asked.filter(({ permitted, code }) => !permitted && code !== "delegation_inactive" && code !== "chain_not_eligible"),
      [],
    );
    assert.deepEqual(
      afterwards.filter(({ permitted }) => permitted),
      [],
      "a call that began after the answer",
    );
    // Whoever began it and when: what is held or was charged at the end was so when the answer came.
    assert.deepEqual(await idsOf(), reserved);
    assert.ok(reserved.length >= permits.length, "each that was carried out was reserved");
    const late = new Map(afterwards.map(({ correlationId, callId }) => [correlationId, callId]));
    assert.deepEqual(
      reserved.filter((id) => [...late.values()].includes(id)),
      [],
    );
    // The audit log has the refusal of each of them, and no beginning.
    const entries = await until(
      () => two.database.run(acts, [[...late.keys()]]),
      (rows) => new Set(rows.map((row) => row.correlation_id)).size === late.size,
      PATIENCE_MS,
    );
    assert.deepEqual(
      entries.filter(({ phase }) => phase !== "single"),
      [],
    );
    const laterEvaluations = evaluations.filter(({ begun }) => begun > acknowledged);
    assert.ok(laterEvaluations.length > 0);
    assert.deepEqual(
      laterEvaluations.filter(({ status, permitted }) => status !== 200 || permitted),
      [],
    );
    for (const at of [0, 1]) {
      const mine = permits.filter((one) => one.at === at).map(({ correlationId }) => correlationId);
      const [row] = await two.database.run(remembered, [mine]);
      assert.ok(Number(row?.count) > 0, "decided from memory too");
    }
    t.diagnostic(
      `${permits.length} calls carried out, ${afterwards.length} refused after the answer; the last one under way ended ${lastPermit.toFixed(1)} ms after it`,
    );
  });
});
