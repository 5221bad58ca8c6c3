import assert from "node:assert/strict";
import { test } from "node:test";
import { httpPeer } from "#http/peer.ts";
import { agent, crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { freePort } from "#testing/free-port.ts";
import { until } from "#testing/until.ts";

/** A call that ends before anything is sent; answers its code and what was held for it. */
const refused = async (instance: CrudInstance): Promise<{ readonly code: string | undefined; readonly id: string }> => {
  const { body } = await instance.rpc(
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.get_employee", arguments: { id: "e1" } } },
    { as: agent },
  );
  return { code: body.error?.data.code, id: `r-${body.error?.data.call_id}` };
};

test("what is held for a call that is never sent is given back, also where an answer of membership is lost", async (t) => {
  const instance = await crudInstance(t);
  const { membership } = instance;

  await t.test("the answer that says what is held", async () => {
    membership.lost.push("reserve");
    const { code, id } = await refused(instance);
    assert.equal(code, "membership_unavailable");
    await until(() => membership.released.includes(id));
  });

  instance.audit.isDown = true;
  await t.test("the answer that says that it is given back", async () => {
    membership.lost.push("release");
    const { code, id } = await refused(instance);
    assert.equal(code, "audit_unavailable");
    await until(() => membership.released.filter((released) => released === id).length === 2);
  });

  await t.test("and it ends by itself before the next try", async () => {
    membership.lost.push("release");
    const { id } = await refused(instance);
    for (const reservation of membership.reservations.values()) if (reservation.id === id) reservation.state = "lapsed";
    await until(() => membership.settled.length > 0);
    assert.deepEqual(membership.settled, [{ id, usd: 0, steps: 0, outcome: "failed" }]);
  });

  assert.equal(instance.people.requests, 0);
});

test("where membership is not reached nothing is held, and it is not asked again to give it back", async (t) => {
  const away = httpPeer({ baseUrl: `http://127.0.0.1:${await freePort()}`, timeoutMs: 5000, unavailable: "membership_unavailable" });
  const asked: string[] = [];
  const instance = await crudInstance(t, {
    membership: async (_identity, double) => (request) => {
      if (!new URL(request.url).pathname.endsWith("/reservations")) return double(request);
      asked.push(request.method);
      return away(request);
    },
  });
  const { code } = await refused(instance);
  assert.deepEqual([code, asked], ["membership_unavailable", ["POST"]]);
});
