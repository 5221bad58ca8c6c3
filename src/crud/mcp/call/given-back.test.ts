import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, crudHouse, type CrudHouse } from "#testing/crud-house.ts";
import { until } from "#testing/until.ts";

/** A call that ends before anything is sent; answers its code and what was held for it. */
const refused = async (house: CrudHouse): Promise<{ readonly code: string | undefined; readonly id: string }> => {
  const { body } = await house.rpc(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } },
    { as: agent },
  );
  return { code: body.error?.data.code, id: `r-${body.error?.data.call_id}` };
};

test("what is held for a call that is never sent is given back, also where an answer of membership is lost", async (t) => {
  const house = await crudHouse(t);
  const { membership } = house;

  await t.test("the answer that says what is held", async () => {
    membership.lost.push("reserve");
    const { code, id } = await refused(house);
    assert.equal(code, "membership_unavailable");
    await until(() => membership.released.includes(id));
  });

  house.audit.isDown = true;
  await t.test("the answer that says that it is given back", async () => {
    membership.lost.push("release");
    const { code, id } = await refused(house);
    assert.equal(code, "audit_unavailable");
    await until(() => membership.released.filter((released) => released === id).length === 2);
  });

  await t.test("and it ends by itself before the next try", async () => {
    membership.lost.push("release");
    const { id } = await refused(house);
    for (const reservation of membership.reservations.values()) if (reservation.id === id) reservation.state = "lapsed";
    await until(() => membership.settled.length > 0);
    assert.deepEqual(membership.settled, [{ id, usd: 0, steps: 0, outcome: "failed" }]);
  });

  assert.equal(house.people.requests, 0);
});
