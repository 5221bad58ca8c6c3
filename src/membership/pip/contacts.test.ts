import assert from "node:assert/strict";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const PATH = "/api/v1/pip/membership/contacts";
interface Reply {
  readonly contacts: readonly { readonly id: string; readonly name: string; readonly email: string | null }[];
}

forEachDatabase("contacts: persons of the tenant, named or in a group or role, active, once each", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const ask = async (ids: readonly string[], tenant = "tenant:acme") => {
    const { status, body } = await world.call("service:crud", "POST", PATH, { body: { tenant_id: tenant, ids } });
    assert.equal(status, 200, JSON.stringify(body));
    return (body as Reply).contacts;
  };
  const idsOf = async (...asked: Parameters<typeof ask>): Promise<readonly string[]> => (await ask(...asked)).map(({ id }) => id);

  await database.run(
    statement(
      "test.email",
      `update membership.node set props = props || '{"email": "ben@acme.test"}', display_name = 'Ben B.' where id = 'person:ben'`,
    ),
  );
  assert.deepEqual(await ask(["person:ben"]), [{ id: "person:ben", name: "Ben B.", email: "ben@acme.test" }]);
  const inGroup = await idsOf(["group:people-ops"]);
  assert.ok(inGroup.includes("person:ben"), inGroup.join());
  assert.deepEqual(await idsOf(["group:people-ops", "person:ben", "person:ben"]), inGroup, "once each");
  const members = await idsOf(["role:member"]);
  assert.ok(members.includes("person:ben") && !members.includes("person:eve"), members.join());
  assert.ok((await idsOf(["role:member"], "tenant:globex")).every((id) => id === "person:eve" || !members.includes(id)));

  // Of another tenant, of nobody, of what is no person: nothing.
  for (const ids of [["person:eve"], ["person:nobody"], ["tenant:acme"], ["agent:hr-assistant"], []])
    assert.deepEqual(await idsOf(ids), [], ids.join());
  await database.run(statement("test.off", "update membership.node set state = 'disabled' where id = 'person:ben'"));
  assert.deepEqual(await idsOf(["person:ben"]), []);
  assert.ok(!(await idsOf(["group:people-ops"])).includes("person:ben"));

  const refused = await world.call("person:cleo", "POST", PATH, { body: { tenant_id: "tenant:acme", ids: ["person:ben"] } });
  assert.equal(refused.status, 403);
});
