import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import type { EffectiveBudget } from "#contract/budgets.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import { createPglite } from "#store/pglite.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { awayKafka, makeDataFolder, startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const outbox = statement<{ readonly type: string; readonly row: string }>(
  "test.outbox",
  "select type, o::text as row from events.outbox o",
);

const DELEGATION = "delegation:ben-hr";
/** Canaries: what was asked with, and whose it is. */
const DEPARTMENT = "Canary department of arguments";
const SALARY = 141_421;
const SECRET = "yaml://secret/people/demo";

/** In whole micro-USD, so that no rounding of binary fractions is compared. */
const micro = (usd: number): number => Math.round(usd * 1e6);

test("one priced call moves Ben's budget row by exactly its price; secret, argument and subject stand raw in no event or log line", async () => {
  const data = await makeDataFolder();
  const instance = await startTestInstance({
    data,
    environment: { LOG_LEVEL: "debug", PDP_EVENTS: "all", TENANT_SALT: "0123456789abcdef0123456789abcdef", ...awayKafka },
  });
  try {
    const { port, origin } = instance;
    const [ben, agent] = [await fetchToken(port, { user: "ben" }), await fetchToken(port, { user: "ben", agent: "agent:hr-assistant" })];
    const rows = async (): Promise<readonly EffectiveBudget[]> => {
      const response = await fetch(`${origin}/access/v1/budgets/effective`, { headers: { authorization: `Bearer ${ben}` } });
      assert.equal(response.status, 200);
      return ((await response.json()) as { readonly snapshot: readonly EffectiveBudget[] }).snapshot;
    };
    const call = async (name: string, args: unknown): Promise<string> => {
      const response = await fetch(`${origin}/api/crud/mcp/jsonrpc`, {
        method: "POST",
        headers: { authorization: `Bearer ${agent}`, "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: "1", method: "tools/call", params: { name, arguments: args } }),
      });
      const body = (await response.json()) as RpcResponse;
      return body.error === undefined ? "ok" : String(body.error.data?.code);
    };
    /** What a call moved in Ben's row: dollars charged, dollars left, steps; nothing is held and no other row moves. */
    const moved = async (name: string, args: unknown) => {
      const before = await rows();
      const outcome = await call(name, args);
      const after = await rows();
      const at = before.findIndex((row) => row.delegation_id === DELEGATION);
      const [was, is] = [before[at], after[at]];
      assert.ok(was && is && is.delegation_id === DELEGATION);
      assert.deepEqual(after.toSpliced(at, 1), before.toSpliced(at, 1));
      assert.deepEqual([was.reserved_usd, is.reserved_usd], [0, 0]);
      return [
        outcome,
        micro(is.consumed_usd) - micro(was.consumed_usd),
        micro(is.remaining_policy_usd) - micro(was.remaining_policy_usd),
        (is.steps_used ?? 0) - (was.steps_used ?? 0),
      ];
    };
    assert.deepEqual(await moved("people.demo.list_employees", { department: DEPARTMENT }), ["ok", 2000, -2000, 1]);
    assert.deepEqual(await moved("people.demo.get_employee", { id: "e1" }), ["ok", 1000, -1000, 1]);
    // Refused before anything was held; and carried out, but in vain: a step, and no dollar.
    assert.deepEqual(await moved("people.demo.update_salary", { id: "e1", salary: SALARY }), ["step_up_required", 0, 0, 0]);
    assert.deepEqual(await moved("people.demo.get_employee", { id: "e999999" }), ["not_found", 0, 0, 1]);

    // A secret that he may see and one that he may not, and a page that another may not.
    const cleo = await fetchToken(port, { user: "cleo" });
    const uri = encodeURIComponent(`${SECRET}#api_key`);
    for (const token of [ben, cleo])
      await (await fetch(`${origin}/api/secrets?uri=${uri}`, { headers: { authorization: `Bearer ${token}` } })).text();
    const denied = await fetch(`${origin}/access/v1/evaluation`, {
      method: "POST",
      headers: { authorization: `Bearer ${cleo}`, "content-type": "application/json" },
      body: JSON.stringify({ action: { name: "read" }, resource: { type: "secret", id: SECRET, properties: { note: DEPARTMENT } } }),
    });
    assert.equal(((await denied.json()) as { decision: boolean }).decision, false);

    assert.equal(await instance.stop(), 0);
    const database = await createPglite({ dataFolder: data, log: silentLog });
    const events = await database.run(outbox);
    await database[Symbol.asyncDispose]();
    const decisions = events.filter(({ type }) => type.startsWith("authz."));
    const of = (text: string): boolean => decisions.some(({ row }) => row.includes(text));
    assert.ok(of("tools/call") && of("secret") && of("employee"), "what happened was told");
    const text = (reported: readonly { readonly row: string }[]): string => reported.map(({ row }) => row).join("\n");
    // The tool server's own protocol lines say who calls, by contract.
    const lines = instance.output().split("\n");
    const plain = lines.filter((line) => !line.includes('"event":"mcp_')).join("\n");
    for (const [place, whole, canaries] of [
      ["events", text(events), [DEPARTMENT, String(SALARY), "people/demo"]],
      ["decisions told", text(decisions), ["person:ben", "person:cleo"]],
      ["log", lines.join("\n"), [DEPARTMENT, String(SALARY), "people/demo"]],
      ["log but for the protocol", plain, ["person:ben", "person:cleo"]],
    ] as const) {
      assert.ok(whole.length > 500, place);
      for (const canary of canaries)
        assert.ok(
          !whole.includes(canary),
          `${canary} in ${place}: ${whole.slice(Math.max(whole.indexOf(canary) - 300, 0), whole.indexOf(canary) + 40)}`,
        );
    }
  } finally {
    await instance.stop();
    await rm(data, { recursive: true, force: true });
  }
});
