import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { statement } from "#store/database.ts";
import { decidingPeer, sharedDatabase, testGateway, type SignedInBrowser } from "#testing/gateway.ts";
import { graphChanged, kafkaInUse, testEvents } from "#testing/events.ts";

const database = sharedDatabase();
const PATH = "/api/v1/events/outbox";
interface Item {
  readonly id: string;
  readonly key: string;
  readonly error?: string;
  readonly tenant?: string;
  readonly dead_at?: string;
  readonly next_at?: string;
}
interface Body {
  readonly items: readonly Item[];
  readonly next_cursor?: string;
  readonly code?: string;
  readonly decision_id?: string;
}

const KILL = statement(
  "test.outbox_kill",
  "update events.outbox set dead_at = clock_timestamp(), attempts = 10, error = 'MESSAGE_TOO_LARGE' where tenant = $1 and key like 'dead-%'",
);
const STATE = statement<{ dead: boolean; sent: boolean; attempts: number }>(
  "test.outbox_state",
  "select dead_at is not null as dead, sent_at is not null as sent, attempts from events.outbox where id = $1",
);
const LEAF = statement<{ leaf: string }>(
  "test.outbox_leaf",
  "select convert_from(leaf, 'UTF8') as leaf from events.audit_entry where resource_id = $1 order by seq desc limit 1",
);

/** A tenant of its own for each test, with dead letters `dead-1` to `dead-3` and one that waits. */
const world = async (t: TestContext, permits: (subject: string) => boolean = () => true) => {
  const tenant = `tenant:${t.name.replaceAll(/[^a-z]+/g, "-").slice(0, 60)}`;
  const pdp = decidingPeer(
    (type, action, subject) =>
      (type === "outbox" && action === "manage" && permits(subject)) ||
      (`${type}/${action}` === "deployment/manage_events" && subject === "person:ada"),
  );
  let notify = 0;
  const made = await testGateway(t, {
    database: await database(),
    peers: { pdp: pdp.peer },
    parts: { backlog: { issues: () => [], notify: () => notify++ } },
  });
  const { change } = await testEvents(t, made.database, { sink: kafkaInUse });
  const keys = ["dead-1", "dead-2", "dead-3", "waits"];
  await change(async () => ({ result: undefined, events: keys.map((key, n) => ({ ...graphChanged(key, n), tenant })) }));
  await made.database.run(KILL, [tenant]);
  const ada = await made.signIn("person:ada", { tenant });
  const get = async (query: string, headers: Readonly<Record<string, string>> = ada.cookie) => {
    const response = await made.fetch(`${PATH}${query}`, { headers });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const post = async (id: string, act: string, who: SignedInBrowser | Readonly<Record<string, string>> = ada) => {
    const headers = "headers" in who ? (who as SignedInBrowser).headers : (who as Readonly<Record<string, string>>);
    const response = await made.fetch(`${PATH}/${id}/${act}`, { method: "POST", headers });
    return { status: response.status, body: (await response.json()) as Body & Item };
  };
  return { made, tenant, ada, get, post, notify: () => notify };
};
const keysOf = ({ items }: Body): readonly string[] => items.map(({ key }) => key);

test("what was refused for good and what waits is listed, page by page, without its data", async (t) => {
  const { get } = await world(t);
  const dead = await get("");
  assert.deepEqual([dead.status, keysOf(dead.body)], [200, ["dead-1", "dead-2", "dead-3"]]);
  assert.ok(
    dead.body.items.every(
      ({ error, dead_at: at, next_at: next }) => error === "MESSAGE_TOO_LARGE" && at !== undefined && next === undefined,
    ),
  );
  assert.ok(!JSON.stringify(dead.body).includes("graph_version"));
  const waiting = await get("?state=pending");
  assert.deepEqual([keysOf(waiting.body), typeof waiting.body.items[0]?.next_at], [["waits"], "string"]);
  const first = await get("?limit=2");
  const second = await get(`?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual([...keysOf(first.body), ...keysOf(second.body)], ["dead-1", "dead-2", "dead-3"]);
  assert.equal(second.body.next_cursor, undefined);
  for (const [query, code] of [
    ["?state=sent", "invalid_query"],
    ["?limit=0", "invalid_query"],
    ["?limit=501", "invalid_query"],
    ["?who=x", "invalid_query"],
    ["?state=dead&state=dead", "ambiguous_query"],
    ["?cursor=x", "invalid_cursor"],
    [`?state=pending&cursor=${first.body.next_cursor}`, "invalid_cursor"],
  ] as const)
    assert.deepEqual([(await get(query)).body.code, query], [code, query]);
});

test("a dead letter is sent again or given up once, on record, and the relay hears of it", async (t) => {
  const { made, get, post, notify } = await world(t);
  const [one, two] = (await get("")).body.items;
  assert.ok(one !== undefined && two !== undefined);
  const retried = await post(one.id, "retry");
  assert.deepEqual([retried.status, retried.body.key], [200, "dead-1"]);
  assert.deepEqual(await made.database.run(STATE, [one.id]), [{ dead: false, sent: false, attempts: 0 }]);
  assert.equal((await post(two.id, "drop")).status, 200);
  assert.deepEqual(await made.database.run(STATE, [two.id]), [{ dead: false, sent: true, attempts: 10 }]);
  assert.equal(notify(), 2);
  assert.deepEqual(keysOf((await get("")).body), ["dead-3"]);
  for (const [id, act] of [
    [one.id, "retry"],
    [two.id, "drop"],
    ["00000000-0000-4000-8000-000000000000", "retry"],
    ["x", "drop"],
  ] as const)
    assert.deepEqual([(await post(id, act)).body.code, id], ["not_found", id]);
  await made.events.integrator.integrate();
  for (const [{ id }, event] of [
    [one, "outbox_retried"],
    [two, "outbox_dropped"],
  ] as const) {
    const [row] = await made.database.run(LEAF, [id]);
    const { category, data, actor } = JSON.parse(row?.leaf ?? "{}") as { category: string; data: object; actor: { session_ref?: string } };
    assert.deepEqual([category, data], ["system", { event, type: "graph.changed", topic: "graph.events.v1" }]);
    assert.equal(typeof actor.session_ref, "string");
  }
});

test("what is of no tenant is seen and tended by the operator, with what is of every tenant", async (t) => {
  const { made, tenant, get, post } = await world(t, (subject) => subject === "service:operator" || subject === "person:ada");
  const { change } = await testEvents(t, made.database, { sink: kafkaInUse });
  await change(async () => ({ result: undefined, events: [{ ...graphChanged("dead-of-the-deployment", 9), tenant: "*" }] }));
  await made.database.run(KILL, ["*"]);
  const operator = {
    authorization: `Bearer ${await made.identity.tokenFor({ sub: "service:operator", tenant: "*", scopes: ["outbox.manage"] }, made.origin)}`,
  };
  assert.ok(!keysOf((await get("?limit=500")).body).includes("dead-of-the-deployment"), "an administrator of a tenant does not");
  const { items } = (await get("?limit=500", operator)).body;
  const mine = items.find(({ key }) => key === "dead-of-the-deployment");
  assert.deepEqual([mine?.tenant, items.find(({ tenant: of }) => of === tenant)?.key], ["*", "dead-1"]);
  assert.equal((await post(mine?.id ?? "", "retry", operator)).status, 200);
  assert.deepEqual(await made.database.run(STATE, [mine?.id ?? ""]), [{ dead: false, sent: false, attempts: 0 }]);
  await made.database.run(KILL, ["*"]);
  assert.equal((await post(mine?.id ?? "", "drop", operator)).status, 200);
});

test("a person who may do that for the deployment sees and tends the events of all tenants and of none, nobody else", async (t) => {
  const { made, tenant, ada, get, post } = await world(t);
  const { change } = await testEvents(t, made.database, { sink: kafkaInUse });
  await change(async () => ({ result: undefined, events: [{ ...graphChanged("dead-of-nobody", 9), tenant: "*" }] }));
  await made.database.run(KILL, ["*"]);
  const ben = await made.signIn("person:ben", { tenant });
  const refused = await get("?whose=all", ben.cookie);
  assert.deepEqual([refused.status, refused.body.code], [403, "access_denied"]);
  const { items } = (await get("?whose=all&limit=500")).body;
  const shared = items.find(({ key, tenant: of }) => key === "dead-of-nobody" && of === "*");
  assert.ok(shared !== undefined && items.some(({ tenant: of }) => of === tenant));
  const first = await get("?whose=all&limit=1");
  assert.equal((await get(`?limit=1&cursor=${first.body.next_cursor}`)).body.code, "invalid_cursor", "a page of all is none of the tenant");
  for (const [act, query, who, code] of [
    ["retry", "", ada, "not_found"],
    ["drop", "?whose=all", ben, "access_denied"],
    ["drop", "?whose=others", ada, "invalid_query"],
  ] as const)
    assert.deepEqual([act, (await post(shared.id, `${act}${query}`, who)).body.code], [act, code]);
  assert.equal((await post(shared.id, "drop?whose=all")).status, 200);
  assert.deepEqual(await made.database.run(STATE, [shared.id]), [{ dead: false, sent: true, attempts: 10 }]);
});

test("nobody without the right, of another tenant, without the scope, with an agent's token or without CSRF sees or does anything", async (t) => {
  const { made, tenant, ada, get, post } = await world(t, (subject) => subject === "person:ada");
  const [item] = (await get("")).body.items;
  assert.ok(item !== undefined);
  const ben = await made.signIn("person:ben", { tenant });
  const elsewhere = await made.signIn("person:ada", { tenant: "tenant:elsewhere" });
  const bearer = async (scopes: readonly string[], more: { readonly agent?: string } = {}) => ({
    authorization: `Bearer ${await made.identity.tokenFor({ sub: "person:ada", tenant, scopes, ...more }, made.origin)}`,
  });
  for (const act of ["retry", "drop"]) {
    const refused = await post(item.id, act, ben);
    assert.deepEqual([refused.status, refused.body.code, typeof refused.body.decision_id], [403, "access_denied", "string"]);
    assert.equal((await post(item.id, act, elsewhere)).body.code, "not_found");
    assert.equal((await post(item.id, act, await bearer(["config.write"]))).body.code, "insufficient_scope");
    assert.equal((await post(item.id, act, await bearer(["outbox.manage"], { agent: "agent:a" }))).status, 403);
    assert.equal((await post(item.id, act, ada.cookie)).body.code, "csrf_failed");
    assert.equal((await post(item.id, act, {})).status, 401);
  }
  assert.equal((await get("", ben.cookie)).status, 403);
  assert.deepEqual((await get("", elsewhere.cookie)).body.items, []);
  assert.equal((await get("", await bearer(["config.write"]))).body.code, "insufficient_scope");
  assert.equal((await get("", await bearer(["outbox.manage"], { agent: "agent:a" }))).body.code, "person_required");
  assert.deepEqual(await made.database.run(STATE, [item.id]), [{ dead: true, sent: false, attempts: 10 }]);
  assert.equal(keysOf((await get("", await bearer(["outbox.manage"]))).body).length, 3);
  assert.equal((await post(item.id, "retry", await bearer(["outbox.manage"]))).status, 200);
});
