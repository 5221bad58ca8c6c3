import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { createPdp } from "#pdp/service.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { testDatabase } from "#testing/database.ts";
import { testEvents } from "#testing/events.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { pdpConfig, pdpModules, pdpWorld, sharedPdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { permittingPoint } from "#testing/permitting-point.ts";

const shared = sharedPdpWorld();

const question = (
  world: PdpWorld,
  type: string,
  action: string,
  id: string,
  more: { strong?: true; claimed?: object; assigned?: true } = {},
) => ({
  subject: {
    type: "identity",
    id: "person:ben",
    properties: {
      tenant: "tenant:acme",
      ...(more.strong === undefined ? {} : { acr: "strong", auth_time: Math.floor(world.clock.now.getTime() / 1000) - 10 }),
    },
  },
  action: { name: action },
  resource: { type, id, properties: more.assigned === undefined ? {} : { assigned: true } },
  context: more.claimed === undefined ? {} : { claimed: more.claimed },
});

const explained = async (world: PdpWorld, body: unknown): Promise<DecisionRecord> => {
  const reply = (await (await world.ask("/access/v1/evaluation", await world.serviceToken("crud"), body)).json()) as EvaluationReply;
  const response = await world.ask(`/access/v1/decisions/${reply.context?.decision_id}`, await world.personToken("ada"));
  assert.equal(response.status, 200);
  return (await response.json()) as DecisionRecord;
};

test("what is answered now is said where the question can be asked again as it was", async () => {
  const world = await shared();
  const permitted = await explained(world, question(world, "pages", "view", "people"));
  assert.deepEqual([permitted.decision, permitted.now], [true, { decision: true }]);
  const strong = await explained(world, question(world, "pages", "view", "people", { strong: true }));
  assert.deepEqual([strong.decision, strong.now], [true, { decision: true }], "no policy reads how one signed in");
  const without = await explained(world, question(world, "pages", "view", "*"));
  assert.deepEqual([without.reason, without.now], ["resource_id_required", { decision: false, reason: "resource_id_required" }]);
  for (const [type, action, id, reason] of [
    ["identities", "view", "person:eve", "resource_unresolved"],
    ["identities", "fly", "person:eve", "unknown_action"],
    ["secret", "rotate", "#api_key", "resource_unresolved"],
  ] as const) {
    const refused = await explained(world, question(world, type, action, id));
    assert.deepEqual([refused.reason, refused.now], [reason, { decision: false, reason }], `${type} ${action} ${id}`);
  }
});

test("what is answered now is left out where it hangs on what was sent and is not kept", async () => {
  const world = await shared();
  for (const [salary, decision] of [
    [100_000, true],
    [160_000, false],
  ] as const) {
    const record = await explained(world, question(world, "employee", "update_salary", "*", { claimed: { salary } }));
    assert.deepEqual([record.decision, record.now], [decision, undefined], `a claimed salary of ${salary}`);
  }
  const unclaimed = await explained(world, question(world, "employee", "update_salary", "*"));
  assert.deepEqual(unclaimed.now, { decision: false, reason: "approval_required" }, "nothing was sent that is not kept");
});

test("what is answered now is left out where it hangs on a sign-in that was fresh then", async () => {
  const world = await shared();
  const record = await explained(world, question(world, "tool", "tools/call", "people.demo.update_salary", { strong: true }));
  assert.deepEqual([record.decision, record.inputs?.["mfa"], record.now], [true, true, undefined]);
  const weak = await explained(world, question(world, "tool", "tools/call", "people.demo.update_salary"));
  assert.deepEqual(weak.now, { decision: false, reason: "step_up_required" });
});

test("over a file of facts a remedy does not say that all was tried, and now is left out where properties were read", async (t) => {
  const identity = testIdentity();
  const database = await testDatabase(t, pdpModules);
  const service = await createPdp({
    config: pdpConfig({ PDP_CONFIG_FILE: fileURLToPath(new URL("../../../config/interop/pdp.yaml", import.meta.url)) }),
    database,
    change: (await testEvents(t, database)).change,
    authenticate: identity.authenticateFor(testAudiences.pdp),
    identity: identity.identityOf("pdp"),
    peers: { membership: async () => assert.fail("a file of facts asks membership nothing") },
    audiences: testAudiences,
    publicOrigin: "http://localhost:8080",
    secrets: identity.secrets,
    log: silentLog,
    metrics: createMetrics(),
    now: () => new Date(),
    environment: "test",
  });
  cleanUp(t, () => service[Symbol.asyncDispose]());
  const token = await identity.tokenFor(
    { sub: "service:pep", tenant: "*", scopes: ["authzen.pep"], clientId: "service:pep" },
    testAudiences.pdp,
  );
  const auditor = await identity.tokenFor(
    { sub: "service:auditor", tenant: "tenant:interop", scopes: ["pdp.decisions.read"], clientId: "service:auditor" },
    testAudiences.pdp,
  );
  const [morty, beth] = [
    "CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs",
    "CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs",
  ];
  const explainTodo = async (subject: string | undefined, action: string, properties: object = {}): Promise<DecisionRecord> => {
    const asked = await service.fetch(
      new Request("http://localhost:8082/access/v1/evaluation", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({
          subject: { type: "user", id: subject },
          action: { name: action },
          resource: { type: "todo", id: "1", properties },
        }),
      }),
    );
    const record = await service.fetch(
      new Request(`http://localhost:8082/access/v1/decisions/${asked.headers.get("x-decision-id")}?remedy=true`, {
        headers: { authorization: `Bearer ${auditor}` },
      }),
    );
    assert.equal(record.status, 200);
    return (await record.json()) as DecisionRecord;
  };
  const denied = await explainTodo(beth, "can_delete_todo");
  assert.deepEqual([denied.decision, denied.remedy], [false, { complete: false, changes: [], blocked_by: [] }]);
  const owned = await explainTodo(morty, "can_update_todo", { ownerID: "morty@the-citadel.com" });
  assert.deepEqual([owned.decision, owned.now], [true, undefined]);
  const plain = await explainTodo(beth, "can_read_todos");
  assert.deepEqual([plain.decision, plain.now], [true, { decision: true }]);
});

test("over another decision point all that was recorded is explained, and only what it alone knows is left out", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "pdp.yaml");
  const identifier = await permittingPoint(t);
  await writeFile(file, JSON.stringify({ decision_point: { kind: "remote", identifier } }));
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: file } });
  const record = await explained(world, question(world, "pages", "view", "people"));
  assert.equal(record.policy_version, `remote:${identifier}`);
  assert.deepEqual(
    record.checks?.filter(({ name }) => name === "subject" || name === "policy"),
    [
      { name: "subject", outcome: "pass", input: "person:ben" },
      { name: "policy", outcome: "pass", input: `decided by ${identifier}` },
    ],
  );
  assert.ok(record.edges?.some(({ kind, present }) => kind === "GRANTS_ACCESS" && present));
  assert.equal((record.facts as { subject: { id: string } }).subject.id, "person:ben");
  assert.deepEqual([record.inputs?.["mfa"], record.obligations, record.errors], [false, [], []]);
  assert.deepEqual([record.policies, record.remedy, record.now], [undefined, undefined, undefined]);
});
