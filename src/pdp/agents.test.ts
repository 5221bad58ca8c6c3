import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { AccessRequestReply } from "#contract/access-requests.ts";
import { createAgentOfClient } from "#membership/graph/agent-of-client.ts";
import { createLivingDelegations } from "#membership/graph/living-delegations.ts";
import { testDatabase } from "#testing/database.ts";
import { testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { pdpModules, pdpWorld } from "#testing/pdp.ts";

const hr = "agent:hr-assistant";
const reporter = "agent:reporter";
const REQUESTS = "/access/v1/requests";
const ben = { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } };
const because = "My own words to whoever answers";

const salary = (agent: string | undefined) => ({
  subject: ben,
  action: { name: "update_salary" },
  resource: { type: "employee", id: "*" },
  context: {
    claimed: { salary: 160_000 },
    arguments_digest: "args",
    definition_digest: "def-1",
    shown_call: { tool: { name: "people.demo.update_salary" }, cost_usd: 0.01, arguments: { id: "e1", salary: 160_000 }, masked: [] },
    ...(agent === undefined ? {} : { agent }),
  },
});

/** Ben, his two agents, what each did, what was asked for each, and their budgets; membership's ledger is on the same graph. */
const setUp = async (t: TestContext) => {
  const database = await testDatabase(t, [...new Set([...pdpModules, ...graphModules])]);
  const identity = testIdentity({ agentOfClient: createAgentOfClient(database), lives: createLivingDelegations(database) });
  const membership = await servedWorld(t, database, { identity });
  const world = await pdpWorld(t, { identity, database, parts: { peers: { membership: (request) => membership.service.fetch(request) } } });
  const token = (more: { agent?: string; clientId?: string; login?: string }) =>
    identity.tokenFor({ sub: `person:${more.login ?? "ben"}`, tenant: "tenant:acme", scopes: ["openid"], ...more });
  const holders = {
    ben: await token({}),
    "ben+hr": await token({ agent: hr }),
    "ben by hr's client": await token({ clientId: hr }),
    "ben+reporter": await token({ agent: reporter }),
    "cleo+hr": await token({ login: "cleo", agent: hr }),
  };
  type Holder = keyof typeof holders;
  const ask = async (holder: Holder, path: string, body?: object) => {
    const response = await world.ask(path, holders[holder], body, { "idempotency-key": crypto.randomUUID() });
    // Tests look into bodies of many shapes.
    // oxlint-disable-next-line typescript/no-explicit-any
    return { status: response.status, body: (await response.json()) as any };
  };
  const decide = async (body: object) => {
    const response = await world.ask("/access/v1/evaluation", await world.serviceToken("crud"), body);
    // oxlint-disable-next-line typescript/no-explicit-any
    return (await response.json()) as any;
  };
  const decisionOf = async (agent: string | undefined): Promise<string> => {
    const call = { subject: ben, action: { name: "tools/call" }, resource: { type: "tool", id: "people.demo.list_employees" } };
    return (await decide({ ...call, context: agent === undefined ? {} : { agent } })).context.decision_id as string;
  };
  const requestFor = async (agent: string | undefined): Promise<string> => {
    const question = salary(agent);
    const { context } = await decide(question);
    const { access_request: offer, evaluation_id } = context;
    assert.ok(offer !== undefined, JSON.stringify(context));
    const denial = { evaluation_id, expires_at: offer.expires_at, binding_token: offer.binding_token };
    const { subject, action, resource } = question;
    const made = await ask("ben", REQUESTS, { subject, action, resource, denial, justification: because });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    return (made.body as AccessRequestReply).task.id;
  };
  const set = (text: string) => world.world.sql(`update membership.delegation set ${text} where id = 'delegation:ben-hr'`);
  const decisions = { own: await decisionOf(undefined), hr: await decisionOf(hr), reporter: await decisionOf(reporter) };
  const requests = { own: await requestFor(undefined), hr: await requestFor(hr) };
  for (const agent_id of [undefined, hr, reporter]) {
    const body = { scope: "user", node_id: "person:ben", period: "daily", limit_usd: 1, ...(agent_id === undefined ? {} : { agent_id }) };
    const put = await membership.call("ada", "PUT", "/api/v1/budget-limits", { scopes: ["membership.write"], body });
    assert.equal(put.status, 200, JSON.stringify(put.body));
  }
  return { world, ask, set, decisions, requests };
};
type Instance = Awaited<ReturnType<typeof setUp>>;
type Holder = Parameters<Instance["ask"]>[0];

/** What a holder sees of everything, in short. */
const sightOf = async ({ ask, decisions, requests }: Instance, holder: Holder) => {
  const list = await ask(holder, "/access/v1/decisions?limit=500");
  if (list.status !== 200) return `${list.status} ${list.body.code}`;
  const named = new Set<string>((list.body.decisions as { agent?: { id: string } }[]).map(({ agent }) => agent?.id ?? "in person"));
  const one: Record<string, string> = {};
  for (const [name, id] of Object.entries(decisions)) one[name] = String((await ask(holder, `/access/v1/decisions/${id}`)).status);
  for (const [name, id] of Object.entries(requests)) {
    const read = await ask(holder, `${REQUESTS}/${id}`);
    one[`asked for ${name}`] =
      read.status === 200 ? `200${read.body.task.justification === because ? " with the words" : ""}` : `${read.status}`;
  }
  const asked = (await ask(holder, REQUESTS)).body.requests as { id: string; justification?: string; links: { cancel?: string } }[];
  const budgets = (await ask(holder, "/access/v1/budgets/effective")).body.snapshot as { selector: { provider: string | null } }[];
  return {
    decisions: [...named].toSorted(),
    one,
    requests: Object.entries(requests).flatMap(([name, id]) => (asked.some((row) => row.id === id) ? [name] : [])),
    words: asked.some((row) => row.justification !== undefined),
    links: asked.some((row) => row.links.cancel !== undefined),
    toAnswer: ((await ask(holder, `${REQUESTS}?as=approver`)).body.requests as object[]).length,
    budgets: [...new Set(budgets.map(({ selector }) => selector.provider))].toSorted(),
  };
};

test("of what is a person's an agent sees its own part, while a delegation to it lives", async (t) => {
  const instance = await setUp(t);
  const whole = {
    decisions: [hr, reporter, "in person"].toSorted(),
    one: { own: "200", hr: "200", reporter: "200", "asked for own": "200 with the words", "asked for hr": "200 with the words" },
    requests: ["own", "hr"],
    words: true,
    links: true,
    toAnswer: 0,
    budgets: [hr, reporter, null],
  };
  const part = {
    decisions: [hr],
    one: { own: "404", hr: "200", reporter: "404", "asked for own": "404", "asked for hr": "200" },
    requests: ["hr"],
    words: false,
    links: false,
    toAnswer: 0,
    budgets: [hr],
  };
  assert.deepEqual(await sightOf(instance, "ben"), whole);
  assert.deepEqual(await sightOf(instance, "ben+hr"), part);
  assert.deepEqual(await sightOf(instance, "ben by hr's client"), part);
  for (const other of ["ben+reporter", "cleo+hr"] as const) assert.equal(await sightOf(instance, other), "403 delegation_inactive", other);

  // Filters widen nothing.
  for (const filter of [`agent=${reporter}`, "subject=person:cleo", `subject=person:ben&agent=${reporter}`])
    assert.deepEqual((await instance.ask("ben+hr", `/access/v1/decisions?${filter}`)).body, { decisions: [] }, filter);

  const ends = {
    paused: ["status = 'paused', hold = 'manual'", "status = 'active', hold = null"],
    "past its end": ["expires_at = now() - interval '1 second'", "expires_at = null"],
    "not begun": ["valid_from = now() + interval '1 hour'", "valid_from = now() - interval '1 hour'"],
    revoked: ["status = 'revoked', ended_at = now()", "status = 'active', ended_at = null"],
  } as const;
  for (const [what, [end, begin]] of Object.entries(ends)) {
    await instance.set(end);
    for (const holder of ["ben+hr", "ben by hr's client"] as const)
      assert.equal(await sightOf(instance, holder), "403 delegation_inactive", `${what}: ${holder}`);
    assert.equal(typeof (await sightOf(instance, "ben")), "object", what);
    await instance.set(begin);
    assert.deepEqual(await sightOf(instance, "ben+hr"), part, `no more ${what}`);
  }
  for (const id of [hr, "person:ben"]) {
    await instance.world.world.sql(`update membership.node set state = 'suspended' where id = '${id}'`);
    assert.equal(await sightOf(instance, "ben+hr"), "403 delegation_inactive", `${id} is suspended`);
    await instance.world.world.sql(`update membership.node set state = 'active' where id = '${id}'`);
  }
});

test("what a person does about requests no agent does for him", async (t) => {
  const { ask, requests } = await setUp(t);
  const id = requests.hr;
  const acts = [
    [`${REQUESTS}/${id}/cancel`, {}],
    [`${REQUESTS}/${id}/answer`, { outcome: "approve" }],
    [REQUESTS, {}],
  ] as const;
  for (const holder of ["ben+hr", "ben by hr's client", "ben+reporter"] as const)
    for (const [path, body] of acts) {
      const { status, body: published } = await ask(holder, path, body);
      assert.deepEqual([status, published.code], [403, "person_required"], `${holder} ${path}`);
    }
  assert.equal((await ask("ben", `${REQUESTS}/${id}`)).body.task.status, "pending");
});
