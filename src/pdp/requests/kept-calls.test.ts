import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { MAX_SHOWN_BYTES, type AccessRequestReply, type AccessRequestTask } from "#contract/access-requests.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { forEachDatabase } from "#testing/database.ts";
import { pdpModules, pdpWorld, type PdpWorld } from "#testing/pdp.ts";

const REQUESTS = "/access/v1/requests";
const subject = { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } };
const action = { name: "update_salary" };
const resource = { type: "employee", id: "*" };

interface Denied {
  readonly decision: boolean;
  readonly context: {
    readonly reason?: string;
    readonly evaluation_id?: string;
    readonly access_request?: { readonly expires_at: string; readonly binding_token: string };
  };
}

/** As the tool server asks about one call. */
const called = (amount: number, more: object = {}, digest = `args-${amount}`) => ({
  subject,
  action,
  resource,
  context: {
    claimed: { salary: amount },
    arguments_digest: digest,
    definition_digest: "def-1",
    shown_call: {
      tool: { name: "people.demo.update_salary", title: "Change a salary" },
      cost_usd: 0.01,
      arguments: { id: "e1", salary: amount, note: "[hidden]" },
      masked: ["/note"],
    },
    ...more,
  },
});

/** All that is kept and told of what happened: rows of requests and decisions, events, audit entries. */
const inTheOpen = async ({ world, entries }: PdpWorld): Promise<string> => {
  const rows = [
    ...(await world.sql("select row_to_json(r)::text as text from pdp.request r")),
    ...(await world.sql("select row_to_json(c)::text as text from pdp.call c")),
  ];
  return JSON.stringify([rows, await world.published(), entries]);
};

const open = async (t: TestContext, options: Parameters<typeof pdpWorld>[1] = {}) => {
  const world = await pdpWorld(t, options);
  const evaluate = async (body: object, from: "gateway" | "crud" = "crud"): Promise<Denied> => {
    const response = await world.ask("/access/v1/evaluation", await world.serviceToken(from), body);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as Denied;
  };
  const sendAs = async <T = AccessRequestReply & ProblemBody>(token: string, path: string, body?: object, key?: string) => {
    const response = await world.ask(path, token, body, key === undefined ? {} : { "idempotency-key": key });
    return { status: response.status, body: (await response.json()) as T };
  };
  const send = async <T = AccessRequestReply & ProblemBody>(login: string, path: string, body?: object, key?: string) =>
    sendAs<T>(await world.personToken(login), path, body, key);
  let keys = 0;
  const askFor = async (asked: object, from: "gateway" | "crud" = "crud"): Promise<AccessRequestTask> => {
    const { context } = await evaluate(asked, from);
    assert.ok(context.access_request !== undefined, JSON.stringify(context));
    const { expires_at, binding_token } = context.access_request;
    // The ticket goes through many hands; none of them can read what it carries.
    const ticket = Buffer.from(binding_token.split(".")[1] ?? "", "base64url").toString();
    assert.ok(ticket.includes("binding") && !ticket.includes("salary"), ticket);
    const denial = { evaluation_id: context.evaluation_id, expires_at, binding_token };
    const made = await send("ben", REQUESTS, { subject, action, resource, denial }, `k${(keys += 1)}`);
    assert.equal(made.status, 202, JSON.stringify(made.body));
    return made.body.task;
  };
  const callAs = async (login: string, id: string) => (await send(login, `${REQUESTS}/${id}`)).body.task.call;
  return { world, evaluate, send, sendAs, askFor, callAs };
};

forEachDatabase("who asked and who may answer see what would be done; nobody else does, and no list", pdpModules, async (t, database) => {
  const { world, send, sendAs, askFor, callAs } = await open(t, { database });
  const { id, call: unread } = await askFor(called(160_000));
  assert.equal(unread, undefined);
  const { shown_call: call } = called(160_000).context;
  assert.deepEqual(await callAs("ben", id), call);
  assert.deepEqual(await callAs("ada", id), call);
  for (const [login, as] of [
    ["ben", "requester"],
    ["ada", "approver"],
  ] as const) {
    const { body } = await send<{ requests: AccessRequestTask[] }>(login, `${REQUESTS}?as=${as}`);
    assert.deepEqual(
      body.requests.map((task) => [task.id, task.call]),
      [[id, undefined]],
    );
  }
  // Sallyport may know of the request, but neither is the caller nor could answer; an agent that took no part knows of nothing.
  const { status, body } = await sendAs(await world.serviceToken("gateway"), `${REQUESTS}/${id}`);
  assert.deepEqual([status, body.task.id, body.task.call], [200, id, undefined]);
  const otherAgent = await world.personToken("ben", { agent: "agent:reporter" });
  assert.deepEqual((await sendAs(otherAgent, `${REQUESTS}/${id}`)).status, 404);
  assert.equal((await send("ada", `${REQUESTS}/${id}/answer`, { outcome: "approve" })).status, 200);
  assert.deepEqual(await callAs("ada", id), call, "afterwards too");

  // Those who may answer are notified, by the same commit: a title without what would be done, who asks, a link.
  const notices = await world.world.sql("select data::text as text from events.outbox where sink = 'notice'");
  assert.deepEqual(
    notices.map((row) => JSON.parse(String((row as { text: unknown }).text)) as unknown),
    [
      {
        kind: "tool_approval",
        id,
        tenant: "tenant:acme",
        title: "Set the salary of an employee",
        from: "person:ben",
        href: `/requests/${id}`,
        recipients: ["account:ada@acme", "person:ada"],
      },
    ],
  );

  const text = await inTheOpen(world);
  assert.ok(text.includes(id));
  for (const word of ["160000", "Change a salary"]) assert.ok(!text.includes(word), word);
});

test("an approval holds only for the call that was shown", async (t) => {
  const { evaluate, send, askFor } = await open(t);
  const { id } = await askFor(called(160_000));
  assert.equal((await send("ada", `${REQUESTS}/${id}/answer`, { outcome: "approve" })).status, 200);
  const { shown_call: call } = called(160_000).context;
  for (const other of [
    { shown_call: { ...call, arguments: { id: "e2", salary: 160_000, note: "[hidden]" } } },
    { shown_call: { ...call, masked: [] } },
    { shown_call: { ...call, cost_usd: 0.02 } },
    { shown_call: { ...call, tool: { name: "people.demo.update_salary" } } },
    { shown_call: undefined },
  ])
    assert.equal((await evaluate(called(160_000, other))).decision, false, JSON.stringify(other));
  assert.equal((await evaluate(called(160_000))).decision, true);
});

test("what cannot be shown whole cannot be asked for", async (t) => {
  const { evaluate, askFor } = await open(t);
  const long = (length: number) => ({ shown_call: { arguments: { note: "x".repeat(length) }, masked: [] } });
  for (const more of [{ shown_call: undefined }, long(MAX_SHOWN_BYTES)]) {
    const { decision, context } = await evaluate(called(160_000, more));
    assert.deepEqual([decision, context.reason, context.access_request], [false, "approval_required", undefined]);
  }
  await askFor(called(160_000, long(MAX_SHOWN_BYTES - 100)));
});

test("a call of the wrong shape is refused, and so is a foreign service's of any shape", async (t) => {
  const { world, evaluate } = await open(t);
  for (const call of [7, {}, { arguments: {}, masked: [7] }, { arguments: {}, masked: [], cost_usd: "free" }]) {
    const response = await world.ask("/access/v1/evaluation", await world.serviceToken("crud"), called(160_000, { shown_call: call }));
    assert.equal(response.status, 400, JSON.stringify(call));
  }
  const foreign = await world.identity.tokenFor({
    sub: "service:pep",
    clientId: "service:pep",
    tenant: "tenant:acme",
    scopes: ["authzen.pep"],
  });
  for (const call of [7, called(160_000).context.shown_call]) {
    const response = await world.ask("/access/v1/evaluation", foreign, { subject, action, resource, context: { shown_call: call } });
    const { code } = (await response.json()) as ProblemBody;
    assert.deepEqual([response.status, code], [400, "reserved_context_member"]);
  }
  assert.equal((await evaluate(called(100_000))).decision, true);
});

test("where no tool is called, what the policies read of the question is shown, without its secrets", async (t) => {
  const { world, askFor, callAs, evaluate, send } = await open(t);
  const asked = { subject, action, resource, context: { claimed: { salary: 160_000, api_token: "canary-4711" } } };
  const { id } = await askFor(asked, "gateway");
  const shown = { arguments: { claimed: { salary: 160_000, api_token: "[hidden]" } }, masked: ["/claimed/api_token"] };
  assert.deepEqual(await callAs("ada", id), shown);
  assert.equal((await send("ada", `${REQUESTS}/${id}/answer`, { outcome: "approve" })).status, 200);
  const other = { ...asked, context: { claimed: { salary: 160_000, api_token: "canary-4712" } } };
  assert.equal((await evaluate(other, "gateway")).decision, false, "another secret is another act");
  assert.equal((await evaluate(asked, "gateway")).decision, true);
  assert.ok(!(await inTheOpen(world)).includes("canary-471"));
});

forEachDatabase("a row that was written to by hand shows nothing and is approved by nobody", pdpModules, async (t, database) => {
  const { world, send, askFor, callAs } = await open(t, { database });
  const tampered: readonly (readonly [name: string, change: (id: string, other: string) => string])[] = [
    [
      "the call of another request",
      (id, other) => `update pdp.request r set call = o.call from pdp.request o where r.id = '${id}' and o.id = '${other}'`,
    ],
    ["no call", (id) => `update pdp.request set call = null where id = '${id}'`],
    ["an altered call", (id) => `update pdp.request set call = set_byte(call, 60, get_byte(call, 60) # 1) where id = '${id}'`],
    [
      "another binding",
      (id, other) => `update pdp.request r set act_digest = o.act_digest from pdp.request o where r.id = '${id}' and o.id = '${other}'`,
    ],
  ];
  const { id: other } = await askFor(called(190_000));
  for (const [index, [name, change]] of tampered.entries()) {
    const { id } = await askFor(called(160_000 + index));
    await world.world.sql(change(id, other));
    assert.equal(await callAs("ada", id), undefined, name);
    const refused = await send("ada", `${REQUESTS}/${id}/answer`, { outcome: "approve" });
    assert.deepEqual([refused.status, refused.body.code], [409, "invalid_task_state"], name);
    assert.equal((await send("ada", `${REQUESTS}/${id}/answer`, { outcome: "deny" })).status, 200, name);
  }
  assert.deepEqual((await callAs("ada", other))?.arguments, { id: "e1", salary: 190_000, note: "[hidden]" });
});
