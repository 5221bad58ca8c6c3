import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { testAudiences } from "#testing/identity.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";
import { createDecider, refusalOf, whyRefused, type Asker } from "./decide.ts";

const shared = sharedPdpWorld();
const decider = async (service: "gateway" | "crud" | "secrets" = "gateway") => {
  const world = await shared;
  return createDecider({
    pdp: world.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: world.identity.identityOf(service),
    publicOrigin: "http://localhost:8080",
    now: () => world.clock.now,
    timeoutMs: 10_000,
  });
};
const asker = (login: string, more: Partial<Asker> = {}): Asker => ({
  sub: `person:${login}`,
  tenant: "tenant:acme",
  amr: [],
  scopes: new Set(["mcp.tools.invoke"]),
  ...more,
});

test("a room's question is decided, recorded and answered with its id", async () => {
  const { decide, decideMany } = await decider();
  const decided = await decide(asker("ben"), { type: "tools", action: "view_all" }, "c1");
  assert.equal(decided.decision, true);
  assert.match(decided.decisionId, /^d_/);
  const many = await decideMany(
    asker("dan"),
    [
      { type: "streams", action: "config" },
      { type: "tools", action: "view_all" },
    ],
    "c2",
  );
  assert.deepEqual(
    many.map((one) => [one.decision, one.reason]),
    [
      [true, undefined],
      [false, "not_granted"],
    ],
  );
});

test("a denial becomes 403 with its decision, want of assurance the step-up challenge", async () => {
  const { require: requireDecision } = await decider("crud");
  await assert.rejects(
    requireDecision(asker("dan"), { type: "tools", action: "view_all" }, "c3"),
    (error: unknown) =>
      error instanceof Problem && error.code === "access_denied" && typeof error.options.members?.["decision_id"] === "string",
  );
  const call = { type: "tool", action: "tools/call", id: "people.demo.update_salary", properties: { cost_usd: 0.01 } };
  await assert.rejects(
    requireDecision(asker("ben"), call, "c4"),
    (error: unknown) =>
      error instanceof Problem &&
      error.code === "step_up_required" &&
      error.options.headers?.["www-authenticate"]?.includes('acr_values="strong"') === true,
  );
  const now = Math.floor((await shared).clock.now.getTime() / 1000);
  const permitted = await requireDecision(asker("ben", { acr: "strong", authTime: now }), call, "c5");
  assert.equal(permitted.obligations[0]?.id, "data-scope");
  assert.equal(refusalOf({ decision: false, decisionId: "d", obligations: [] }, "x").status, 403);
});

test("the tool server uses a secret for the call it was permitted, and for no other", async () => {
  const world = await shared;
  const crud = await decider("crud");
  const secrets = await decider("secrets");
  const call = (tool: string) =>
    crud.decide(asker("ben", { agent: "agent:hr-assistant" }), { type: "tool", action: "tools/call", id: tool }, "c6");
  const permitted = await call("people.demo.list_employees");
  assert.equal(permitted.decision, true);
  const use = (tool: string, decisionId: string, service = "service:crud") =>
    secrets.decide(
      { sub: service, tenant: "*", amr: [], scopes: new Set() },
      {
        type: "secret",
        action: "use",
        id: "yaml://secret/people/demo#api_key",
        context: { tool: { id: tool, decision_id: decisionId, call_id: "x" } },
      },
      "c7",
    );
  assert.equal((await use("people.demo.list_employees", permitted.decisionId)).decision, true);
  assert.equal((await use("people.demo.get_employee", permitted.decisionId)).decision, false);
  assert.equal((await use("people.demo.list_employees", "d_01HF7YAT00ZZZZZZZZZZZZZZZZ")).decision, false);
  assert.equal((await use("people.demo.list_employees", permitted.decisionId, "service:gateway")).decision, false);
  const denied = await call("sallyport.local.search_identities");
  assert.equal(denied.decision, false);
  assert.equal((await use("sallyport.local.search_identities", denied.decisionId)).decision, false);
  world.clock.now = new Date(world.clock.now.getTime() + 301_000);
  assert.equal((await use("people.demo.list_employees", permitted.decisionId)).decision, false);
});

test("a decision point that does not answer cleanly makes no decision", async () => {
  const world = await shared;
  for (const answer of [
    "",
    "{}",
    '{"decision":"true"}',
    '{"decision":true}',
    '{"decision":true,"context":{"error":{"status":400,"message":"x"}}}',
  ]) {
    const { decide } = createDecider({
      pdp: async () => new Response(answer, { headers: { "content-type": "application/json" } }),
      pdpAudience: testAudiences.pdp,
      identity: world.identity.identityOf("gateway"),
      publicOrigin: "http://localhost:8080",
      now: () => world.clock.now,
      timeoutMs: 10_000,
    });
    await assert.rejects(
      decide(asker("ben"), { type: "tools", action: "view_all" }, "c8"),
      (error: unknown) => error instanceof Problem && error.code === "decision_unavailable",
      answer,
    );
  }
});

test("a permit that obliges to a sign-in waits for a fresh one, and one that obliges to what cannot be met is none", () => {
  const now = new Date("2026-03-01T12:00:00Z");
  const seconds = now.getTime() / 1000;
  const permit = (...types: readonly string[]) => ({
    decision: true,
    decisionId: "d_1",
    obligations: types.map((type) => ({ id: type, type })),
  });
  const fresh = { acr: "strong", authTime: seconds - 300 };
  const old = { acr: "strong", authTime: seconds - 301 };
  const cases: readonly (readonly [types: readonly string[], asker: { acr?: string; authTime?: number }, code: string | undefined])[] = [
    [[], {}, undefined],
    [["custom"], {}, undefined],
    [["other"], fresh, "access_denied"],
    [["step-up"], fresh, undefined],
    [["step-up"], old, "step_up_required"],
    [["step-up"], { acr: "strong" }, "step_up_required"],
    [["step-up"], {}, "step_up_required"],
    [["step-up", "custom"], fresh, undefined],
    [["step-up", "other"], old, "access_denied"],
  ];
  for (const [types, who, code] of cases) {
    const refusal = whyRefused(permit(...types), who, { publicOrigin: "https://x.example", now, canMeet: ({ type }) => type === "custom" });
    assert.equal(refusal?.code, code, `${types.join()} ${JSON.stringify(who)}`);
    if (code === "step_up_required")
      assert.deepEqual(refusal?.options.members?.["step_up"], {
        acr_value: "strong",
        max_age_seconds: 300,
        url: "https://x.example/auth/login?acr_values=strong&max_age=300",
      });
    if (code === "access_denied") assert.equal(refusal?.options.members?.["reason"], "obligation_unsupported");
  }
});
