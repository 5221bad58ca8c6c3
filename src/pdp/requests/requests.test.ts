import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { AccessRequestReply } from "#contract/access-requests.ts";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { silentLog } from "#telemetry/log.ts";
import { forEachDatabase } from "#testing/database.ts";
import { pdpModules, pdpWorld, readerFacts, type PdpWorld } from "#testing/pdp.ts";
import { administer } from "#testing/rollout.ts";
import { until } from "#testing/until.ts";
import { createRequestSweeper } from "./sweep-requests.ts";

const REQUESTS = "/access/v1/requests";
const operations = { type: "pages", id: "operations" };
const view = { name: "view" };

interface Denied {
  readonly decision: boolean;
  readonly context: {
    readonly reason?: string;
    readonly decision_id: string;
    readonly evaluation_id: string;
    readonly evaluated_at: string;
    readonly access_request: { readonly template: string; readonly expires_at: string; readonly binding_token: string };
  };
}
interface Reported {
  readonly status: number;
  readonly body: AccessRequestReply & ProblemBody;
  readonly headers: Headers;
}

const identity = (login: string) => ({ type: "identity", id: `person:${login}`, properties: { tenant: "tenant:acme" } });

/** An instance where persons ask by their tokens and the gateway asks for them. */
const open = async (t: TestContext, options: Parameters<typeof pdpWorld>[1] = {}) => {
  const world = await pdpWorld(t, options);
  const evaluate = async (body: object, from: "gateway" | "crud" = "gateway"): Promise<Denied> => {
    const response = await world.ask("/access/v1/evaluation", await world.serviceToken(from), body);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as Denied;
  };
  const send = async (login: string, path: string, body?: object, key?: string): Promise<Reported> => {
    const response = await world.ask(
      path,
      await world.personToken(login),
      body ?? (path.endsWith("/cancel") ? "" : undefined),
      key === undefined ? {} : { "idempotency-key": key },
    );
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reported["body"] };
  };
  const viewOf = (login: string) => evaluate({ subject: identity(login), action: view, resource: operations });
  const draftOf = (login: string, denied: Denied, more: object = {}) => ({
    subject: identity(login),
    action: view,
    resource: operations,
    denial: {
      evaluation_id: denied.context.evaluation_id,
      expires_at: denied.context.access_request.expires_at,
      binding_token: denied.context.access_request.binding_token,
    },
    ...more,
  });
  const askFor = async (login: string, key = "k1"): Promise<AccessRequestReply["task"]> => {
    const reply = await send(login, REQUESTS, draftOf(login, await viewOf(login)), key);
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    return reply.body.task;
  };
  const pass = (minutes: number): void => void (world.clock.now = new Date(world.clock.now.getTime() + minutes * 60_000));
  /** Does now what Sallyport does by itself every five seconds. What Sallyport is at in this moment is left to it, and may end a moment later. */
  const sweep = async (): Promise<void> => {
    await using sweeper = createRequestSweeper({
      database: world.database,
      change: world.world.change,
      facts: readerFacts(world.world),
      nextId: () => "sweep",
      log: silentLog,
      now: () => world.clock.now,
    });
    await sweeper.sweep();
  };
  return { world, evaluate, send, viewOf, draftOf, askFor, pass, sweep };
};

const answer = (id: string): string => `${REQUESTS}/${id}/answer`;
const published = async (world: PdpWorld): Promise<readonly string[]> =>
  (await world.world.published())
    .filter(({ type }) => type.startsWith("access_request."))
    .map(({ type }) => type.slice("access_request.".length));

test("Cleo is denied operations, asks for it, ada approves, and her next ask is permitted until the approval runs out", async (t) => {
  const { world, send, viewOf, draftOf, pass } = await open(t);
  const denied = await viewOf("cleo");
  assert.equal(denied.decision, false);
  assert.equal(denied.context.reason, "approval_required");
  assert.equal(denied.context.evaluation_id, denied.context.decision_id);
  assert.equal(denied.context.access_request.template, "page-owner");
  assert.equal(Date.parse(denied.context.evaluated_at), world.clock.now.getTime());

  const draft = draftOf("cleo", denied, { justification: "The night shift is mine." });
  const made = await send("cleo", REQUESTS, draft, "k1");
  assert.equal(made.status, 202, JSON.stringify(made.body));
  const { task } = made.body;
  assert.equal(made.headers.get("location"), `${REQUESTS}/${task.id}`);
  assert.equal(task.status, "pending");
  assert.deepEqual(task.links, { cancel: `${REQUESTS}/${task.id}/cancel` });
  assert.deepEqual(task.approvers, ["someone"], "who asks is not told who decides");
  const again = await send("cleo", REQUESTS, draft, "k1");
  assert.deepEqual([again.status, again.body.task.id], [202, task.id], "the same key and body are the same task");
  assert.equal((await viewOf("cleo")).decision, false, "asking permits nothing");

  const inbox = (await send("ada", `${REQUESTS}?as=approver&status=pending`)).body as unknown as { requests: AccessRequestReply["task"][] };
  assert.deepEqual(
    inbox.requests.map(({ id, justification, links, approvers }) => [id, justification, links.review, approvers]),
    [[task.id, "The night shift is mine.", answer(task.id), ["person:ada"]]],
  );
  const approved = await send("ada", answer(task.id), { outcome: "approve", comment: "For tonight." });
  assert.equal(approved.status, 200, JSON.stringify(approved.body));
  assert.equal(approved.body.result?.approval.state, "live");
  assert.equal(
    Date.parse(approved.body.result?.approval.approved_until ?? ""),
    world.clock.now.getTime() + 3_600_000,
    "as long as the template says",
  );
  const seen = await send("cleo", `${REQUESTS}/${task.id}`);
  assert.equal(seen.body.result?.mode, "reevaluate");
  assert.equal(seen.body.task.comment, "For tonight.");
  assert.deepEqual([seen.body.task.approvers, seen.body.task.answered_by], [["someone"], { id: "someone" }]);
  assert.deepEqual(approved.body.task.answered_by, { id: "person:ada", name: "Ada Admin" });
  const mine = (await send("cleo", REQUESTS)).body as unknown as { requests: AccessRequestReply["task"][] };
  assert.ok(!JSON.stringify(mine).includes("person:ada"), "not in her list either");

  for (const minutes of [0, 30, 29]) {
    pass(minutes);
    assert.equal((await viewOf("cleo")).decision, true, `${minutes} minutes on`);
  }
  assert.equal((await viewOf("ben")).decision, false, "nobody else's");
  pass(1);
  const later = await viewOf("cleo");
  assert.deepEqual([later.decision, later.context.reason], [false, "approval_required"]);
  assert.deepEqual(await published(world), ["created", "approved"]);
  const entries = world.entries.filter(({ category }) => category === "task");
  assert.deepEqual(
    entries.map(({ actor, data }) => [actor.subject, data["op"]]),
    [
      ["person:cleo", "created"],
      ["person:ada", "approved"],
    ],
  );
});

test("an owner whose id says nothing of what it names answers as any other, and who asks is not told who that is", async (t) => {
  const { world, send, askFor } = await open(t);
  const owner = "00u1a2b3";
  await world.world.put(
    { kind: "Person", id: owner, name: "Mira", tenant_id: "tenant:acme" },
    {
      kind: "Account",
      id: "account:mira@acme",
      name: "mira@acme",
      tenant_id: "tenant:acme",
      props: { login: "mira", system: "directory" },
    },
    { kind: "BELONGS_TO", src: owner, dst: "account:mira@acme" },
    { kind: "MEMBER_OF", src: "account:mira@acme", dst: "group:analysts" },
    { kind: "OWNS_RESOURCE", src: owner, dst: "resource:acme.pages.operations", props: { level: "deputy" } },
  );
  const task = await askFor("cleo");
  assert.deepEqual(task.approvers, ["someone"]);
  const token = await world.identity.tokenFor({ sub: owner, tenant: "tenant:acme", scopes: ["openid"] });
  const approved = await world.ask(answer(task.id), token, { outcome: "approve" });
  assert.equal(approved.status, 200, await approved.text());
  const { body } = await send("cleo", `${REQUESTS}/${task.id}`);
  assert.deepEqual([body.task.approvers, body.task.answered_by], [["someone"], { id: "someone" }]);
  assert.deepEqual(
    world.entries.filter(({ category }) => category === "task").map(({ actor }) => [actor.subject, actor.kind]),
    [
      ["person:cleo", "person"],
      [owner, "person"],
    ],
  );
});

const salary = (amount: number, digest = `args-${amount}`, definition = "def-1") => ({
  subject: identity("ben"),
  action: { name: "update_salary" },
  resource: { type: "employee", id: "*" },
  context: {
    claimed: { salary: amount },
    arguments_digest: digest,
    definition_digest: definition,
    shown_call: { tool: { name: "people.demo.update_salary" }, cost_usd: 0.01, arguments: { id: "e1", salary: amount }, masked: [] },
  },
});

/** Ben asks for a salary and ada grants it. */
const approveSalary = async ({ evaluate, send }: Awaited<ReturnType<typeof open>>, key = "s1", amount = 160_000): Promise<string> => {
  const denied = await evaluate(salary(amount), "crud");
  assert.equal(denied.context.reason, "approval_required", JSON.stringify(denied));
  assert.equal(denied.context.access_request.template, "four-eyes");
  const { subject, action, resource } = salary(amount);
  const { evaluation_id } = denied.context;
  const { expires_at, binding_token } = denied.context.access_request;
  const made = await send("ben", REQUESTS, { subject, action, resource, denial: { evaluation_id, expires_at, binding_token } }, key);
  assert.equal(made.status, 202, JSON.stringify(made.body));
  assert.equal((await send("ada", answer(made.body.task.id), { outcome: "approve" })).status, 200);
  return made.body.task.id;
};

forEachDatabase("an approval for one use permits the very same act once, and no other arguments", pdpModules, async (t, database) => {
  const instance = await open(t, { database });
  const { evaluate, send, world } = instance;
  const id = await approveSalary(instance);
  for (const other of [salary(160_001), salary(160_000, "args-of-another-employee"), salary(170_000, "args-160000")]) {
    assert.equal((await evaluate(other, "crud")).context.reason, "approval_required");
  }
  const permit = await evaluate(salary(160_000), "crud");
  assert.equal(permit.decision, true);
  const used = (await send("ben", `${REQUESTS}/${id}`)).body.result?.approval;
  assert.equal(used?.state, "used");
  assert.equal((await evaluate(salary(160_000), "crud")).decision, false, "once");
  assert.deepEqual(await published(world), ["created", "approved", "used"]);
});

forEachDatabase("of many who use one approval at once, one is permitted", pdpModules, async (t, database) => {
  const instance = await open(t, { database });
  await approveSalary(instance);
  const asked = salary(160_000);
  const token = await instance.world.serviceToken("crud");
  const batch = instance.world
    .ask("/access/v1/evaluations", token, { evaluations: [asked, asked] })
    .then(async (response) => ((await response.json()) as { evaluations: EvaluationReply[] }).evaluations);
  const singles = Promise.all(Array.from({ length: 6 }, () => instance.evaluate(asked, "crud")));
  const all = [...(await batch), ...(await singles)];
  assert.equal(all.filter(({ decision }) => decision).length, 1);
});

test("a changed definition voids the approval", async (t) => {
  const instance = await open(t);
  const id = await approveSalary(instance);
  assert.equal((await instance.evaluate(salary(160_000, "args-160000", "def-2"), "crud")).decision, false);
  assert.equal((await instance.evaluate(salary(160_000), "crud")).decision, false, "it stays void when the old one is back");
  const { result } = (await instance.send("ben", `${REQUESTS}/${id}`)).body;
  assert.deepEqual([result?.approval.state, result?.approval.reason], ["voided", "definition_changed"]);
  assert.deepEqual(await published(instance.world), ["created", "approved", "voided"]);
});

test("the tool server may name the approval; one that does not fit is refused as such", async (t) => {
  const instance = await open(t);
  const id = await approveSalary(instance);
  const approval = (await instance.send("ben", `${REQUESTS}/${id}`)).body.result?.approval.id ?? "";
  const named = (asked: ReturnType<typeof salary>, of: unknown) => ({ ...asked, context: { ...asked.context, approval: of } });
  for (const wrong of [
    named(salary(160_000), { id: "ap_other" }),
    named(salary(160_000), {}),
    named(salary(160_001), { id: approval }),
    named(salary(100_000), { id: approval }),
  ]) {
    assert.equal((await instance.evaluate(wrong, "crud")).context.reason, "approval_invalid");
  }
  assert.equal((await instance.evaluate(named(salary(160_000), { id: approval }), "crud")).decision, true);
});

test("nobody answers a request of their own, nor one that is not theirs to answer", async (t) => {
  const { world, send, askFor, viewOf } = await open(t);
  const task = await askFor("cleo");
  const own = await send("cleo", answer(task.id), { outcome: "approve" });
  assert.deepEqual([own.status, own.body.code], [403, "access_denied"]);
  for (const login of ["ben", "dan", "eve"]) {
    for (const [path, body] of [
      [`${REQUESTS}/${task.id}`, undefined],
      [answer(task.id), { outcome: "approve" }],
      [`${REQUESTS}/${task.id}/cancel`, undefined],
    ] as const) {
      const stranger = await send(login, path, body);
      assert.deepEqual([stranger.status, stranger.body.code], [404, "unknown_task"], `${login} ${path}`);
      assert.equal(stranger.body.type, "urn:openid:authzen:access-request:error:unknown_task");
    }
  }
  const agent = await world.identity.tokenFor({
    sub: "person:ada",
    tenant: "tenant:acme",
    scopes: ["openid"],
    agent: "agent:hr-assistant",
  });
  const response = await world.ask(answer(task.id), agent, { outcome: "approve" });
  assert.equal(response.status, 403, "an agent is no second person");
  assert.equal((await viewOf("cleo")).decision, false);
  const taken = await send("ada", `${REQUESTS}/${task.id}/cancel`);
  assert.deepEqual([taken.status, taken.body.code], [403, "access_denied"]);
});

forEachDatabase("a request is answered, cancelled or runs out once", pdpModules, async (t, database) => {
  const { world, send, askFor, viewOf, pass } = await open(t, { database });
  const denied = await askFor("cleo", "a");
  assert.equal((await send("ada", answer(denied.id), { outcome: "deny", comment: "Not now." })).body.task.status, "denied");
  for (const [login, path, body] of [
    ["ada", answer(denied.id), { outcome: "approve" }],
    ["cleo", `${REQUESTS}/${denied.id}/cancel`, undefined],
  ] as const) {
    const late = await send(login, path, body);
    assert.deepEqual([late.status, late.body.code], [409, "invalid_task_state"]);
    const { status, request_status, type } = late.body as unknown as Record<string, unknown>;
    assert.deepEqual(
      [status, request_status, type],
      [409, "denied", "urn:openid:authzen:access-request:error:invalid_task_state"],
      "the status of RFC 9457 is that of the answer",
    );
  }
  const cancelled = await askFor("cleo", "b");
  assert.equal((await send("cleo", `${REQUESTS}/${cancelled.id}/cancel`)).body.task.status, "cancelled");
  assert.equal((await send("ada", answer(cancelled.id), { outcome: "approve" })).status, 409);
  const expiring = await askFor("cleo", "c");
  pass(1440);
  const late = await send("ada", answer(expiring.id), { outcome: "approve" });
  assert.deepEqual([late.status, late.body.code], [410, "task_expired"]);
  assert.equal((await send("cleo", `${REQUESTS}/${expiring.id}`)).body.task.status, "expired");
  assert.equal((await viewOf("cleo")).decision, false);
  assert.deepEqual(await published(world), ["created", "denied", "created", "cancelled", "created"]);
});

test("only the denial itself is its own ticket", async (t) => {
  const { world, send, viewOf, draftOf, pass } = await open(t);
  const denied = await viewOf("cleo");
  const other = await viewOf("cleo");
  const good = draftOf("cleo", denied);
  const token = denied.context.access_request.binding_token;
  const cases: readonly (readonly [name: string, login: string, body: object])[] = [
    ["somebody else's", "ben", good],
    ["somebody else's, named as his own", "ben", { ...good, subject: identity("ben") }],
    ["another page", "cleo", { ...good, resource: { type: "pages", id: "people" } }],
    ["another action", "cleo", { ...good, action: { name: "edit" } }],
    ["another decision's token", "cleo", { ...good, denial: { ...good.denial, evaluation_id: other.context.evaluation_id } }],
    ["an altered token", "cleo", { ...good, denial: { ...good.denial, binding_token: `${token.slice(0, -4)}AAAA` } }],
    ["a later end", "cleo", { ...good, denial: { ...good.denial, expires_at: "2099-01-01T00:00:00.000Z" } }],
    ["no token", "cleo", { ...good, denial: { ...good.denial, binding_token: "e30.e30." } }],
  ];
  for (const [name, login, body] of cases) {
    const refused = await send(login, REQUESTS, body, name.replaceAll(/[^a-z]/g, "-"));
    assert.deepEqual([refused.status, refused.body.code], [422, "invalid_denial_binding"], name);
    assert.equal(refused.body.type, "urn:openid:authzen:access-request:error:invalid_denial_binding");
  }
  assert.equal((await send("cleo", REQUESTS, good)).body.code, "idempotency_key_required");
  assert.equal((await send("cleo", REQUESTS, { ...good, denial: {} }, "x")).status, 400);
  assert.equal((await send("cleo", REQUESTS, good, "k")).status, 202);
  const reworded = await send("cleo", REQUESTS, { ...good, justification: "Please." }, "k");
  assert.deepEqual([reworded.status, reworded.body.code], [409, "duplicate_request"]);
  const twice = await send("cleo", REQUESTS, good, "k2");
  assert.deepEqual([twice.status, twice.body.code], [409, "duplicate_request"], "one open request for one thing");
  const late = await viewOf("ben");
  pass(11);
  assert.equal((await send("ben", REQUESTS, draftOf("ben", late), "late")).body.code, "invalid_denial_binding");
  assert.deepEqual(await published(world), ["created"]);
});

test("a request that nobody but its caller could answer fails at once", async (t) => {
  const { world, askFor } = await open(t);
  await world.world
    .sql("update membership.edge set valid_to = now() - interval '1 second' where kind = 'OWNS_RESOURCE'")
    .catch(() => undefined);
  await world.world.sql("delete from membership.edge where kind = 'OWNS_RESOURCE'");
  const task = await askFor("cleo");
  assert.deepEqual([task.status, task.failure], ["failed", "no_approver"]);
  assert.deepEqual(await published(world), ["failed"]);
});

test("a page may be asked for through a batch too, and the metadata names where", async (t) => {
  const { world, send, draftOf } = await open(t);
  const response = await world.ask("/access/v1/evaluations", await world.serviceToken(), {
    subject: identity("cleo"),
    action: view,
    evaluations: [{ resource: { type: "pages", id: "people" } }, { resource: operations }],
  });
  const { evaluations } = (await response.json()) as { evaluations: Denied[] };
  assert.equal(evaluations[0]?.context.access_request, undefined);
  const denied = evaluations[1];
  assert.ok(denied !== undefined);
  assert.match(denied.context.evaluation_id, /^d_.+\.1$/);
  assert.equal((await send("cleo", REQUESTS, draftOf("cleo", denied), "k")).status, 202);
  const metadata = (await (await world.ask("/.well-known/authzen-configuration", undefined)).json()) as Record<string, unknown>;
  assert.equal(metadata["access_request_endpoint"], "http://localhost:8082/access/v1/requests");
});

test("the first remedy of cleo's denial, carried out, permits: ada is named in it and answers", async (t) => {
  const { world, send, viewOf, draftOf, pass } = await open(t);
  const denied = await viewOf("cleo");
  const explained = async (login: string) =>
    (await (
      await world.ask(`/access/v1/decisions/${denied.context.decision_id}?remedy=true`, await world.personToken(login))
    ).json()) as DecisionRecord;
  const [first] = (await explained("ada")).remedy?.changes ?? [];
  assert.deepEqual(
    first?.steps.map(({ kind, who_can, context }) => [kind, who_can, context?.["template"]]),
    [["approval", ["person:ada"], denied.context.access_request.template]],
  );
  assert.deepEqual((await explained("cleo")).remedy?.changes[0]?.steps[0]?.who_can, ["someone"]);
  const { task } = (await send("cleo", REQUESTS, draftOf("cleo", denied), "k")).body;
  assert.equal((await send("ada", answer(task.id), { outcome: "approve" })).status, 200);
  const permit = await viewOf("cleo");
  assert.equal(permit.decision, true);
  const recordOf = async (id: string) =>
    (await (await world.ask(`/access/v1/decisions/${id}`, await world.personToken("ada"))).json()) as DecisionRecord;
  const record = await recordOf(permit.context.decision_id);
  assert.deepEqual([record.policies?.[0]?.id, record.inputs?.["approved"]], ["page-on-approval", true]);
  assert.deepEqual((await recordOf(denied.context.decision_id)).now, { decision: true }, "the denial would be a permit by now");
  pass(60);
  assert.deepEqual((await recordOf(permit.context.decision_id)).now, { decision: false, reason: "approval_required" });
});

test("other policies void what was approved and end what was asked under them", async (t) => {
  const { world, send, askFor, viewOf, sweep } = await open(t);
  const approved = await askFor("cleo", "a");
  assert.equal((await send("ada", answer(approved.id), { outcome: "approve" })).status, 200);
  const pending = await askFor("ben", "b");
  const { draft, activate } = administer(world);
  const text = 'permit (principal, action == Action::"system:view", resource) when { context.mfa };';
  const { rollout } = await draft({
    "policies/more.cedar": `@id("system-view-strong")\n@description("A strong sign-in shows the system")\n${text}`,
  });
  await activate(rollout.version);
  assert.equal((await viewOf("cleo")).context.reason, "approval_required", "it holds under other policies no more");
  const late = await send("ada", answer(pending.id), { outcome: "approve" });
  assert.deepEqual([late.status, late.body.code], [409, "invalid_task_state"]);
  await sweep();
  await until(
    async () => (await published(world)).length,
    (count) => count === 5,
  );
  assert.deepEqual((await published(world)).slice(3).toSorted(), ["failed", "voided"]);
  const { task, result } = (await send("cleo", `${REQUESTS}/${approved.id}`)).body;
  assert.deepEqual([task.status, result?.approval.state, result?.approval.reason], ["approved", "voided", "policies_changed"]);
});

forEachDatabase("what other policies ended does not come to life when the former decide again", pdpModules, async (t, database) => {
  const { world, send, askFor, viewOf, sweep } = await open(t, { database });
  const approved = await askFor("cleo", "a");
  assert.equal((await send("ada", answer(approved.id), { outcome: "approve" })).status, 200);
  assert.equal((await viewOf("cleo")).decision, true);
  const pending = await askFor("ben", "b");
  const { draft, activate, rollBack } = administer(world);
  const text = 'permit (principal, action == Action::"system:view", resource) when { context.mfa };';
  const { rollout } = await draft({
    "policies/more.cedar": `@id("system-view-strong")\n@description("A strong sign-in shows the system")\n${text}`,
  });
  await activate(rollout.version);
  await rollBack();
  const again = await viewOf("cleo");
  assert.deepEqual([again.decision, again.context.reason], [false, "approval_required"]);
  const { task, result } = (await send("cleo", `${REQUESTS}/${approved.id}`)).body;
  assert.deepEqual([task.status, result?.approval.state, result?.approval.reason], ["approved", "voided", "policies_changed"]);
  const late = await send("ada", answer(pending.id), { outcome: "approve" });
  assert.deepEqual([late.status, late.body.code, late.body["request_status"]], [409, "invalid_task_state", "failed"]);
  assert.deepEqual((await send("ben", `${REQUESTS}?as=requester&status=pending`)).body["requests"], []);
  await sweep();
  await until(
    async () => (await published(world)).length,
    (count) => count === 5,
  );
  assert.deepEqual((await published(world)).slice(3).toSorted(), ["failed", "voided"]);
  const anew = await askFor("cleo", "c");
  assert.equal((await send("ada", answer(anew.id), { outcome: "approve" })).status, 200);
  assert.equal((await viewOf("cleo")).decision, true, "asked and approved anew it holds");
});

forEachDatabase(
  "what other policies or time ended is so for every reader at once, and may be asked for anew",
  pdpModules,
  async (t, database) => {
    const { world, send, askFor, viewOf, draftOf, pass } = await open(t, { database });
    const listOf = async (login: string, query: string) =>
      (
        (await send(login, `${REQUESTS}?${query}`)).body as unknown as { readonly requests: readonly AccessRequestReply["task"][] }
      ).requests.map(({ id, status, failure }) => [id, status, failure]);
    const pending = await askFor("ben", "a");
    const { draft, activate, rollBack } = administer(world);
    const { rollout } = await draft({
      "policies/more.cedar": `@id("system-view-strong")\n@description("A strong sign-in shows the system")
permit (principal, action == Action::"system:view", resource) when { context.mfa };`,
    });
    await activate(rollout.version);
    const { task } = (await send("ben", `${REQUESTS}/${pending.id}`)).body;
    assert.deepEqual([task.status, task.failure, task.links], ["failed", "policies_changed", {}]);
    assert.deepEqual(await listOf("ada", "as=approver&status=pending"), []);
    assert.deepEqual(await listOf("ben", "status=failed"), [[pending.id, "failed", "policies_changed"]]);
    const cancelled = await send("ben", `${REQUESTS}/${pending.id}/cancel`);
    assert.deepEqual([cancelled.status, cancelled.body["request_status"]], [409, "failed"]);
    await rollBack();
    const anew = await askFor("ben", "b");
    assert.notEqual(anew.id, pending.id);
    assert.deepEqual(await published(world), ["created", "failed", "created"]);

    pass(1440);
    assert.deepEqual(await listOf("ada", "as=approver&status=pending"), []);
    const third = await askFor("ben", "c");
    assert.deepEqual(await published(world), ["created", "failed", "created", "expired", "created"]);
    assert.deepEqual(await listOf("ada", "as=approver&status=pending"), [[third.id, "pending", undefined]]);

    // Another process has activated a version that this one has not heard of.
    const denied = await viewOf("cleo");
    await world.world.sql(`update pdp.pointer set active = '${rollout.version}'`);
    const late = await send("cleo", REQUESTS, draftOf("cleo", denied), "d");
    assert.deepEqual([late.status, late.body.code], [422, "invalid_denial_binding"]);
  },
);

test("a request for an agent's act fails with its delegation, before anybody answers it", async (t) => {
  const { evaluate, send, world } = await open(t);
  const asked = { ...salary(160_000), context: { ...salary(160_000).context, agent: "agent:hr-assistant" } };
  const { context } = await evaluate(asked, "crud");
  const { expires_at, binding_token } = context.access_request;
  const { subject, action, resource } = asked;
  const draft = { subject, action, resource, denial: { evaluation_id: context.evaluation_id, expires_at, binding_token } };
  const { task } = (await send("ben", REQUESTS, draft, "agent")).body;
  const delegation = (set: string) => world.world.sql(`update membership.delegation set ${set} where id = 'delegation:ben-hr'`);
  const inbox = async () => (await send("ada", `${REQUESTS}?as=approver&status=pending`)).body["requests"] as readonly object[];
  await delegation("status = 'paused', hold = 'manual'");
  assert.equal((await inbox()).length, 1, "it may go on");
  await delegation("status = 'revoked', hold = null, ended_at = now()");
  const read = (await send("ben", `${REQUESTS}/${task.id}`)).body.task;
  assert.deepEqual([read.status, read.failure, read.links], ["failed", "revoked", {}]);
  assert.deepEqual(await inbox(), []);
  for (const [login, path, body] of [
    ["ada", answer(task.id), { outcome: "approve" }],
    ["ben", `${REQUESTS}/${task.id}/cancel`, undefined],
  ] as const) {
    const late = await send(login, path, body);
    assert.deepEqual([late.status, late.body.code, late.body["request_status"]], [409, "invalid_task_state", "failed"], path);
  }
  await until(
    async () => (await published(world)).length,
    (count) => count === 2,
    20_000,
  );
  assert.deepEqual(await published(world), ["created", "failed"]);
  assert.equal((await send("ben", `${REQUESTS}/${task.id}`)).body.task.failure, "revoked");
});

test("an approval of an agent's act ends with its delegation, and holds for no other agent", async (t) => {
  const instance = await open(t);
  const { evaluate, send, world, sweep } = instance;
  const by = (agent: string | undefined) => {
    const asked = salary(160_000);
    return agent === undefined ? asked : { ...asked, context: { ...asked.context, agent } };
  };
  const agent = "agent:hr-assistant";
  const denied = await evaluate(by(agent), "crud");
  assert.equal(denied.context.reason, "approval_required", JSON.stringify(denied));
  const { subject, action, resource } = by(agent);
  const { expires_at, binding_token } = denied.context.access_request;
  const draft = { subject, action, resource, denial: { evaluation_id: denied.context.evaluation_id, expires_at, binding_token } };
  const token = await world.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: ["openid"], agent });
  assert.equal((await world.ask(REQUESTS, token, draft, { "idempotency-key": "agent" })).status, 403, "the person asks, not the agent");
  const made = await send("ben", REQUESTS, draft, "agent");
  assert.equal(made.status, 202, JSON.stringify(made.body));
  const { task } = made.body;
  assert.equal(task.agent?.id, agent);
  assert.equal((await send("ben", answer(task.id), { outcome: "approve" })).status, 403, "its own person answers nothing");
  assert.equal((await send("ada", answer(task.id), { outcome: "approve" })).status, 200);
  assert.equal((await evaluate(by(undefined), "crud")).decision, false, "it was approved for the agent");
  const state = async () => (await send("ben", `${REQUESTS}/${task.id}`)).body.result?.approval;
  await sweep();
  assert.equal((await state())?.state, "live");
  await world.world.sql("update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'");
  assert.equal((await evaluate(by(agent), "crud")).decision, false);
  await sweep();
  const ended = await until(state, (approval) => approval?.state === "voided");
  assert.equal(ended?.reason, "revoked");
  assert.deepEqual(await published(world), ["created", "approved", "voided"]);
});
