import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision } from "#pdp-client/obligations.ts";
import type { EvaluationQuery, PdpClient } from "#pdp-client/pdp-client.ts";
import { testDatabase } from "#testing/database.ts";
import { graphModules, refusalBy, servedWorld } from "#testing/membership.ts";

/** Permits what is a whole collection, and denies the rest. */
const askedBy = (asked: EvaluationQuery[]): PdpClient => {
  const one = (ask: EvaluationQuery): Decision => {
    asked.push(ask);
    const decision = ask.action === "view_all";
    return { decision, decisionId: `d_${asked.length}`, obligations: [], ...(decision ? {} : { reason: "not_granted" }) };
  };
  return {
    decide: async (_principal, ask) => one(ask),
    decideMany: async (_principal, asks) => asks.map(one),
    refusal: refusalBy,
    gained: async () => new Set(),
    replayTools: async () => undefined,
    require: async (principal, ask) => {
      const decided = one(ask);
      const refusal = refusalBy(principal, decided);
      if (refusal !== undefined) throw refusal;
      return decided;
    },
  };
};

const BASE = "/api/v1/delegations";
const draft = { agent_id: "agent:reporter", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "For a test" };
const key = { headers: { "idempotency-key": "k1" } };
const cases: readonly (readonly [what: string, method: string, path: string, more: object, isShown: boolean])[] = [
  ["what a form would give", "POST", `${BASE}/what-if`, { body: draft }, true],
  ["what an end would take", "POST", `${BASE}/what-if`, { body: { revoke: "delegation:cleo-rep" } }, true],
  ["which rows of a list are one's to see", "GET", `${BASE}?whose=all`, {}, true],
  ["to give", "POST", BASE, { body: draft, ...key }, false],
  ["to end", "POST", `${BASE}/delegation:cleo-rep/revoke`, { body: { reason: "over" } }, false],
  ["to end many", "POST", `${BASE}/revoke-many`, { body: { agent_id: "agent:reporter", mode: "revoke", reason: "over" }, ...key }, false],
  ["to look at one", "GET", `${BASE}/delegation:cleo-rep`, {}, false],
];
for (const [what, method, path, more, isShown] of cases)
  test(`${isShown ? "asked to be shown" : "tried"}: ${what}`, async (t) => {
    const asked: EvaluationQuery[] = [];
    const world = await servedWorld(t, await testDatabase(t, graphModules), { pdpClient: askedBy(asked) });
    const { status } = await world.call("ada", method, path, more);
    assert.equal(status, path.includes("whose") ? 200 : 403);
    const denied = asked.filter(({ action }) => action !== "view_all");
    assert.ok(denied.length > 0);
    for (const one of denied) assert.equal(one.context?.showing, isShown ? true : undefined);
  });
