import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { testAudiences } from "#testing/identity.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";
import { createPdpClient, type Principal, type EvaluationQuery } from "./pdp-client.ts";

const shared = sharedPdpWorld();
const pdpClient = async (service: "gateway" | "crud" | "secrets" = "gateway") => {
  const world = await shared();
  return createPdpClient({
    pdp: world.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: world.identity.identityOf(service),
    publicOrigin: "http://localhost:8080",
    now: () => world.clock.now,
    timeoutMs: 10_000,
  });
};
const principal = (login: string, more: Partial<Principal> = {}): Principal => ({
  sub: `person:${login}`,
  tenant: "tenant:acme",
  amr: [],
  scopes: new Set(["mcp.tools.invoke"]),
  ...more,
});

test("a module's question is decided, recorded and answered with its id", async () => {
  const { decide, decideMany } = await pdpClient();
  const decided = await decide(principal("ben"), { type: "tools", action: "view_all" }, "c1");
  assert.equal(decided.decision, true);
  assert.match(decided.decisionId, /^d_/);
  const many = await decideMany(
    principal("dan"),
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
  const { require: requireDecision } = await pdpClient("crud");
  await assert.rejects(
    requireDecision(principal("dan"), { type: "tools", action: "view_all" }, "c3"),
    (error: unknown) =>
      error instanceof Problem && error.code === "access_denied" && typeof error.options.members?.["decision_id"] === "string",
  );
  const call: EvaluationQuery = {
    type: "tool",
    action: "tools/call",
    id: "people.demo.update_salary",
    properties: { cost_usd: 0.01 },
    meets: ["data_scope"],
  };
  await assert.rejects(
    requireDecision(principal("ben"), call, "c4"),
    (error: unknown) =>
      error instanceof Problem &&
      error.code === "step_up_required" &&
      error.options.headers?.["www-authenticate"]?.includes('acr_values="strong"') === true,
  );
  const now = Math.floor((await shared()).clock.now.getTime() / 1000);
  const permitted = await requireDecision(principal("ben", { acr: "strong", authTime: now }), call, "c5");
  assert.equal(permitted.obligations[0]?.id, "data-scope");
  const { meets: _meets, ...alone } = call;
  await assert.rejects(
    requireDecision(principal("ben", { acr: "strong", authTime: now }), alone, "c6"),
    (error: unknown) =>
      error instanceof Problem && error.code === "access_denied" && error.options.members?.["reason"] === "obligation_unsupported",
    "who does not say that it cuts rows is not let through",
  );
});

test("the tool server uses a secret for the call it was permitted, and for no other", async () => {
  const world = await shared();
  const crud = await pdpClient("crud");
  const secrets = await pdpClient("secrets");
  const call = (tool: string) =>
    crud.decide(
      principal("ben", { agent: "agent:hr-assistant" }),
      { type: "tool", action: "tools/call", id: tool, meets: ["data_scope"] },
      "c6",
    );
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
  const world = await shared();
  for (const answer of [
    "",
    "{}",
    '{"decision":"true"}',
    '{"decision":true}',
    '{"decision":true,"context":{"error":{"status":400,"message":"x"}}}',
  ]) {
    const { decide } = createPdpClient({
      pdp: async () => new Response(answer, { headers: { "content-type": "application/json" } }),
      pdpAudience: testAudiences.pdp,
      identity: world.identity.identityOf("gateway"),
      publicOrigin: "http://localhost:8080",
      now: () => world.clock.now,
      timeoutMs: 10_000,
    });
    await assert.rejects(
      decide(principal("ben"), { type: "tools", action: "view_all" }, "c8"),
      (error: unknown) => error instanceof Problem && error.code === "decision_unavailable",
      answer,
    );
  }
});

test("is decision_unavailable too where the question could not be signed, in every way of asking", async () => {
  const world = await shared();
  const { decide, decideMany, require, gained } = createPdpClient({
    pdp: world.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: { ...world.identity.identityOf("gateway"), asService: async () => Promise.reject(new Error("the key cannot be read")) },
    publicOrigin: "http://localhost:8080",
    now: () => world.clock.now,
    timeoutMs: 10_000,
  });
  const item = { type: "tools", action: "view_all" };
  for (const ask of [
    () => decide(principal("ben"), item, "c9"),
    () => decideMany(principal("ben"), [item], "c9"),
    () => require(principal("ben"), item, "c9"),
    () => gained(principal("ben"), { edges: { add: [], remove: [] }, actions: ["tools/view_all"] }, "c9"),
  ])
    await assert.rejects(ask, (error: unknown) => error instanceof Problem && error.code === "decision_unavailable");
});
