import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { purgeRecords } from "#pdp/records/record-store.ts";
import type { StoredCall, StoredItem } from "#pdp/records/record.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { pdpModules, pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { administer, askFor, opensOperations, readJson } from "#testing/rollout.ts";

const callRow = statement<StoredCall & { readonly items: readonly StoredItem[] }>(
  "test.call_of_record",
  `select call_id, part, decided_at, tenant, subject, agent, pep, policy_version, graph_version, latency_us, request_id, correlation_id, items
   from pdp.call where call_id = $1`,
);
const kept = statement<{ readonly call_id: string; readonly place: number }>(
  "test.shadow_decisions",
  "select call_id, place from pdp.shadow_decision order by call_id, place",
);

const recordOf = async (world: PdpWorld, id: string, token: string): Promise<DecisionRecord> =>
  readJson(await world.ask(`/access/v1/decisions/${id}`, token));
const idOf = (reply: EvaluationReply): string => reply.context?.decision_id ?? "";

const shadowed = async (world: PdpWorld): Promise<string> => {
  const admin = administer(world);
  const { rollout } = await admin.draft(opensOperations);
  await admin.shadow(rollout.version);
  return rollout.version;
};

forEachDatabase(
  "a record says what the shadow made of it, to who sees everything, and stays as it was audited",
  pdpModules,
  async (t, database) => {
    const world = await pdpWorld(t, { database });
    const ada = await world.personToken("ada", { acr: "strong" });
    const cleo = await world.personToken("cleo");
    const before = await askFor(world, "cleo", "pages", "view", "operations");
    const version = await shadowed(world);

    const different = await askFor(world, "cleo", "pages", "view", "operations");
    assert.deepEqual([different.decision, different.context?.reason], [false, "approval_required"]);
    const shown = await recordOf(world, idOf(different), ada);
    assert.deepEqual(shown.shadow, {
      policy_version: version,
      decision: true,
      obligations: [],
      policies: ["operations-for-analysts"],
    });
    assert.deepEqual([shown.decision, shown.reason], [false, "approval_required"]);

    const same = await recordOf(world, idOf(await askFor(world, "dan", "pages", "view", "operations")), ada);
    assert.deepEqual(same.shadow, {
      policy_version: version,
      decision: false,
      reason: "not_granted",
      obligations: [],
      policies: [],
    });
    const secret = await recordOf(world, idOf(await askFor(world, "dan", "secret", "read", "yaml://secret/people/demo")), ada);
    assert.deepEqual([secret.shadow?.policy_version, secret.shadow?.decision], [version, false]);

    const batch = await readJson<{ readonly evaluations: readonly EvaluationReply[] }>(
      await world.ask("/access/v1/evaluations", await world.serviceToken(), {
        subject: { type: "identity", id: "person:cleo", properties: { tenant: "tenant:acme" } },
        action: { name: "view" },
        evaluations: ["people", "operations"].map((id) => ({ resource: { type: "pages", id } })),
      }),
    );
    const [first, second] = await Promise.all(batch.evaluations.map((reply) => recordOf(world, idOf(reply), ada)));
    assert.deepEqual([first?.shadow?.decision, first?.shadow?.policies], [true, ["page-granted"]]);
    assert.deepEqual([second?.shadow?.decision, second?.shadow?.policies], [true, ["operations-for-analysts"]]);

    // Whose own it is sees how it was decided; what another version would say is for who sees everything.
    const own = await recordOf(world, idOf(different), cleo);
    assert.deepEqual([own.reason, own.checks !== undefined, "shadow" in own], ["approval_required", true, false]);
    const asking = await recordOf(world, idOf(different), await world.serviceToken());
    assert.equal("shadow" in asking, false);
    assert.equal("shadow" in (await recordOf(world, idOf(before), ada)), false, "decided before there was one");
    assert.equal((await world.ask(`/access/v1/decisions/${idOf(different)}`, await world.personToken("eve"))).status, 404);

    // The row that the audit log has the digest of is the row that is there.
    const [row] = await database.run(callRow, [idOf(different)]);
    assert.ok(row);
    const text = canonicalize({ ...row, graph_version: Number(row.graph_version) }) ?? "";
    const entry = world.entries.find(({ decisionId }) => decisionId === idOf(different));
    assert.equal(entry?.data["record_digest"], createHash("sha256").update(text).digest("hex"));

    await administer(world).activate(version);
    const after = await askFor(world, "cleo", "pages", "view", "operations");
    assert.equal(after.decision, true);
    assert.equal("shadow" in (await recordOf(world, idOf(after), ada)), false, "there is none beside it any more");
    assert.equal((await recordOf(world, idOf(different), ada)).shadow?.decision, true, "what was decided then stays");
  },
);

test("what a shadow made of a decision goes with its record when that is old", async (t) => {
  const world = await pdpWorld(t);
  await shadowed(world);
  const old = await askFor(world, "dan", "pages", "view", "operations");
  world.clock.now = new Date(world.clock.now.getTime() + 60_000);
  const young = await askFor(world, "dan", "pages", "view", "operations");
  const ada = await world.personToken("ada", { acr: "strong" });
  for (const reply of [old, young]) assert.ok((await recordOf(world, idOf(reply), ada)).shadow);
  const places = async () => (await world.database.run(kept)).map((row) => [row.call_id, row.place]);
  assert.ok((await places()).some(([id]) => id === idOf(old)));
  await purgeRecords(world.database, new Date(world.clock.now.getTime() - 30_000));
  const left = await places();
  assert.ok(!left.some(([id]) => id === idOf(old)));
  assert.ok(left.some(([id, place]) => id === idOf(young) && place === -1));
});
