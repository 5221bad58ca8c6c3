import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { pdpWorld, sharedPdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { policyText } from "#testing/rollout.ts";

const shared = sharedPdpWorld();

/** A person's id that is the provider's own and says nothing of what it names. */
const UNFORMED = "00u1a2b3";

const decide = async (
  world: PdpWorld,
  login: string,
  action: string,
  type: string,
  id: string,
  context: Readonly<Record<string, unknown>> = {},
) => {
  const response = await world.ask("/access/v1/evaluation", await world.serviceToken("crud"), {
    subject: {
      type: "identity",
      id: login === UNFORMED ? login : `person:${login}`,
      properties: { tenant: login === "eve" ? "tenant:globex" : "tenant:acme" },
    },
    action: { name: action },
    resource: { type, id, properties: type === "tool" ? { cost_usd: 0.002 } : {} },
    context,
  });
  return (await response.json()) as EvaluationReply;
};
const idOf = (reply: EvaluationReply): string => reply.context?.decision_id ?? "";
const explainAs = (world: PdpWorld, token: string, id: string) => world.ask(`/access/v1/decisions/${id}?remedy=true`, token);
const read = async (response: Response): Promise<DecisionRecord> => {
  assert.equal(response.status, 200);
  return (await response.json()) as DecisionRecord;
};

test("who may have everything explained sees path, policies with their text and place, facts, and what would change it", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "cleo", "view", "pages", "operations"));
  const record = await read(await explainAs(world, await world.personToken("ada"), id));
  assert.equal(record.decision, false);
  assert.equal(record.reason, "approval_required");
  assert.equal(record.requestable, true);
  assert.equal(record.subject?.id, "person:cleo");
  assert.match(record.policy_version ?? "", /^v1\+[0-9a-f]{12}$/);
  assert.ok((record.graph_version ?? 0) > 0);
  assert.ok(record.edges?.some((edge) => edge.kind === "GRANTS_ACCESS" && edge.from === "group:analysts" && !edge.present));
  const [policy] = record.policies ?? [];
  assert.equal(policy?.id, "page-on-approval");
  assert.equal(policy?.decided, false);
  assert.equal(policy?.file, "policies/pages.cedar");
  assert.ok((policy?.line ?? 0) > 1);
  assert.match(policy?.text ?? "", /permit \(principal, action == Action::"pages:view", resource\)/);
  assert.deepEqual(record.now, { decision: false, reason: "approval_required" });
  assert.equal(record.pep, "service:crud");
  assert.equal((record.facts as { subject: { groups: string[] } }).subject.groups[0], "group:analysts");
  assert.deepEqual(
    record.remedy?.changes.map((change) => [change.cost, change.steps.map((step) => step.edge?.kind ?? step.kind).join()]),
    [
      [1, "approval"],
      [4, "GRANTS_ACCESS"],
    ],
  );
  assert.equal(record.remedy?.complete, true);
  assert.deepEqual(record.remedy?.changes[0]?.steps[0]?.who_can, ["person:ada"]);
});

test("a remedy says what else it would open: what the others of the role may, and this person may not", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "dan", "view_all", "tools", "*"));
  const { remedy } = await read(await explainAs(world, await world.personToken("ada"), id));
  assert.deepEqual(
    remedy?.changes.map(({ steps }) => steps.map(({ edge }) => `${edge?.kind} ${edge?.to}`)),
    [["MEMBER_OF role:administrator"], ["MEMBER_OF role:member"]],
  );
  const opened = remedy?.changes.map(({ also_allows }) => also_allows) ?? [];
  assert.ok(0 < (opened[1] ?? 0) && (opened[1] ?? 0) < (opened[0] ?? 0), opened.join());
  const sample = remedy?.changes[1]?.sample ?? [];
  assert.ok(sample.length > 0);
  for (const pair of sample) {
    const [type = "", action = ""] = pair.split("/");
    assert.equal((await decide(world, "cleo", action, type, "*")).decision, true, `cleo, of role:member alone: ${pair}`);
    assert.equal((await decide(world, "dan", action, type, "*")).decision, false, `dan: ${pair}`);
  }
});

test("each viewer sees as much of a decision as is theirs to know; for the others it does not exist", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "cleo", "view", "pages", "operations"));
  const own = await read(await explainAs(world, await world.personToken("cleo"), id));
  assert.notEqual(own.checks, undefined);
  assert.deepEqual(Object.keys(own.policies?.[0] ?? {}).toSorted(), ["decided", "description", "id"]);
  for (const hidden of ["facts", "inputs", "pep", "now", "tenant"] as const) assert.equal(own[hidden], undefined, hidden);
  assert.ok(own.checks?.every((check) => check.source === undefined));
  assert.deepEqual(own.remedy?.changes[0]?.steps[0]?.who_can, ["someone"]);

  const instance = await read(await explainAs(world, await world.serviceToken("secrets"), id));
  assert.equal(instance.tenant, "tenant:acme");
  assert.equal(instance.subject?.id, "person:cleo");
  assert.equal(instance.checks, undefined);

  const coarseId = idOf(await decide(world, "dan", "view", "pages", "people"));
  const coarse = await read(await explainAs(world, await world.personToken("dan"), coarseId));
  assert.deepEqual(Object.keys(coarse).toSorted(), [
    "action",
    "correlation_id",
    "decided_at",
    "decision",
    "decision_id",
    "reason",
    "requestable",
    "resource",
    "sentence",
  ]);
  assert.equal(coarse.sentence, "Dan Diaz may not view pages people: nothing grants it.");

  const bodies = new Set<string>();
  for (const [token, asked] of [
    [await world.personToken("dan"), id],
    [await world.personToken("eve"), id],
    [await world.personToken("ben"), id],
    [await world.personToken("ada"), "d_01HF7YAT00ZZZZZZZZZZZZZZZZ"],
    [await world.personToken("ada"), `${id}.0`],
    [await world.personToken("ada"), "nonsense"],
    [await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"] }), id],
  ] as const) {
    const response = await world.ask(`/access/v1/decisions/${asked}`, token, undefined, { "x-correlation-id": "same" });
    assert.equal(response.status, 404);
    bodies.add(await response.text());
  }
  assert.equal(bodies.size, 1);
  assert.equal((await world.ask(`/access/v1/decisions/${id}`, undefined)).status, 401);
});

test("the asking enforcement point and a foreign service with the scope see it, within their tenant", async () => {
  const world = await shared();
  const scopes = ["authzen.pep"];
  const pep = await world.identity.tokenFor({ sub: "service:shop", tenant: "tenant:acme", scopes });
  const asked = await world.ask("/access/v1/evaluation", pep, {
    subject: { type: "identity", id: "person:dan" },
    action: { name: "view" },
    resource: { type: "pages", id: "people" },
  });
  const id = idOf((await asked.json()) as EvaluationReply);
  assert.equal((await read(await explainAs(world, pep, id))).checks, undefined);
  const auditor = (tenant: string) => world.identity.tokenFor({ sub: "service:auditor", tenant, scopes: ["pdp.decisions.read"] });
  assert.notEqual((await read(await explainAs(world, await auditor("tenant:acme"), id))).facts, undefined);
  assert.equal((await explainAs(world, await auditor("tenant:globex"), id)).status, 404);
  const both = await world.identity.tokenFor({ sub: "service:shop", tenant: "tenant:acme", scopes: [...scopes, "pdp.decisions.read"] });
  assert.notEqual((await read(await explainAs(world, both, id))).facts, undefined, "its own ask, with the right to all of the tenant");
});

test("an auditor of all tenants lists what it may read one by one, and one of a tenant no more than that", async (t) => {
  const world = await pdpWorld(t);
  const ids = [];
  for (const login of ["ben", "eve", "cleo"]) ids.push(idOf(await decide(world, login, "view", "pages", "operations")));
  const auditor = (tenant: string) =>
    world.identity.tokenFor({ sub: "service:auditor", tenant, scopes: ["pdp.decisions.read"], clientId: "service:auditor" });
  for (const [tenant, seen] of [
    ["*", ["cleo", "eve", "ben"]],
    ["tenant:acme", ["cleo", "ben"]],
    ["tenant:globex", ["eve"]],
  ] as const) {
    const token = await auditor(tenant);
    const listed = await world.ask("/access/v1/decisions", token);
    assert.equal(listed.status, 200, await listed.clone().text());
    const { decisions } = (await listed.json()) as { decisions: DecisionRecord[] };
    assert.deepEqual(
      decisions.map(({ subject }) => subject?.id),
      seen.map((login) => `person:${login}`),
      tenant,
    );
    const readable = [];
    for (const id of ids) if ((await explainAs(world, token, id)).status === 200) readable.push(id);
    assert.deepEqual(decisions.map(({ decision_id: id }) => id).toSorted(), readable.toSorted(), tenant);
    assert.deepEqual(
      decisions.map((record) => record.tenant),
      tenant === "*" ? ["tenant:acme", "tenant:globex", "tenant:acme"] : seen.map(() => undefined),
    );
  }
});

test("who controls an agent may have its decisions explained, without learning for whom it acted", async (t) => {
  const world = await pdpWorld(t);
  await world.world.put(
    { kind: "Person", id: UNFORMED, name: "Mira", tenant_id: "tenant:acme" },
    {
      kind: "Account",
      id: "account:mira@acme",
      name: "mira@acme",
      tenant_id: "tenant:acme",
      props: { login: "mira", system: "directory" },
    },
    { kind: "BELONGS_TO", src: UNFORMED, dst: "account:mira@acme" },
    { kind: "MEMBER_OF", src: "account:mira@acme", dst: "group:analysts" },
  );
  for (const [login, ...names] of [
    ["ada", "person:ada", "Ada"],
    [UNFORMED, UNFORMED, "Mira"],
  ] as const) {
    const id = idOf(await decide(world, login, "tools/call", "tool", "memory.demo.read_graph", { agent: "agent:hr-assistant" }));
    const record = await read(await explainAs(world, await world.personToken("ben"), id));
    assert.equal(record.reason, "delegation_required");
    assert.equal(record.subject?.id, "someone");
    assert.match(record.sentence, /^someone through HR assistant may not call/);
    assert.equal(record.checks?.[0]?.input, "someone");
    for (const name of names) assert.ok(!JSON.stringify(record).includes(name), name);
  }
});

test("a permit is explained too: the policy that decided, the checks that passed, no remedy", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "ben", "tools/call", "tool", "people.demo.list_employees", { agent: "agent:hr-assistant" }));
  const record = await read(await explainAs(world, await world.personToken("ada"), id));
  assert.equal(record.decision, true);
  assert.deepEqual(
    record.policies?.map((policy) => [policy.id, policy.decided]),
    [["tool-delegated", true]],
  );
  assert.deepEqual(
    record.checks?.map((check) => [check.name, check.outcome]),
    [
      ["subject", "pass"],
      ["delegation", "pass"],
      ["capability", "pass"],
      ["chain", "pass"],
      ["steps", "pass"],
      ["budget", "pass"],
      ["step-up", "skipped"],
      ["policy", "pass"],
      ["data-scope", "pass"],
    ],
  );
  // Each check names the line that asks for it.
  const lines = policyText("tools.cedar").split("\n");
  const begins = lines.indexOf('@id("tool-delegated")');
  const lineOf = (text: string): number => lines.findIndex((line, index) => index >= begins && line.includes(text)) + 1;
  assert.deepEqual(
    Object.fromEntries(record.checks?.map((check) => [check.name, check.source]) ?? []),
    Object.fromEntries([
      ["subject", undefined],
      ...[
        ["delegation", "context.delegation.active"],
        ["capability", "context.capability"],
        ["chain", "context.chain"],
        ["steps", "context.delegation.steps_left"],
        ["budget", "context.delegation.budget_left"],
      ].map(([name = "", text = ""]) => [name, { file: "policies/tools.cedar", line: lineOf(text) }]),
      ["step-up", undefined],
      ["policy", { file: "policies/tools.cedar", line: begins + 1 }],
      ["data-scope", { file: "policies/tools.cedar", line: lineOf("@obligation") }],
    ]),
  );
  assert.deepEqual(record.remedy?.changes, []);
  assert.ok(record.edges?.some((edge) => edge.kind === "DELEGATES_TO" && edge.id === "delegation:ben-hr" && edge.present));
});

test("a wish for a strong sign-in is the cheapest remedy where it suffices", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "ben", "tools/call", "tool", "people.demo.update_salary", { agent: "agent:hr-assistant" }));
  const record = await read(await explainAs(world, await world.personToken("ben"), id));
  assert.equal(record.reason, "step_up_required");
  assert.deepEqual(
    record.remedy?.changes[0]?.steps.map((step) => step.kind),
    ["sign_in_again"],
  );
  assert.equal(record.remedy?.changes[0]?.cost, 1);
  assert.deepEqual(record.remedy?.changes[0]?.steps[0]?.who_can, ["person:ben"]);
  assert.equal(record.checks?.find((check) => check.name === "step-up")?.outcome, "fail");
  const seenByAda = await read(await explainAs(world, await world.personToken("ada"), id));
  const line = policyText("tools.cedar").split("\n").indexOf("unless { context.mfa };") + 1;
  assert.deepEqual(seenByAda.checks?.find((check) => check.name === "step-up")?.source, { file: "policies/tools.cedar", line });
  assert.ok(
    record.checks?.every((check) => check.source === undefined),
    "who has only this one explained sees no places",
  );
});

test("what another tenant owns is explained as what does not exist", async () => {
  const world = await shared();
  const foreign = await read(
    await explainAs(world, await world.personToken("ada"), idOf(await decide(world, "ada", "view", "identities", "person:eve"))),
  );
  const absent = await read(
    await explainAs(world, await world.personToken("ada"), idOf(await decide(world, "ada", "view", "identities", "person:nobody"))),
  );
  const strip = ({
    decision_id: _id,
    decided_at: _at,
    correlation_id: _c,
    latency_ms: _l,
    sentence: _s,
    resource: _r,
    ...rest
  }: DecisionRecord) => rest;
  assert.equal(foreign.reason, "resource_unresolved");
  assert.deepEqual(strip(foreign), strip(absent));
});

test("the explanation of a secret's decision names the secret to nobody", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "cleo", "rotate", "secret", "yaml://secret/people/demo#canary"));
  const text = await (await explainAs(world, await world.personToken("ada"), id)).text();
  for (const hidden of ["canary", "people/demo", "resource:acme.secret", "Key of the people"]) assert.ok(!text.includes(hidden), hidden);
  assert.match(text, /"sentence":"Cleo Chen may not rotate a secret: nothing grants it\."/);
  assert.match(text, /Make Cleo Chen a member of role:administrator/);
});

test("a remedy that is carried out permits, in the real graph", async (t) => {
  const world = await pdpWorld(t);
  const ada = await world.personToken("ada");
  const cases: readonly (readonly [
    login: string,
    action: string,
    type: string,
    id: string,
    context?: Readonly<Record<string, unknown>>,
  ])[] = [
    ["cleo", "view", "pages", "operations"],
    ["dan", "view", "pages", "people"],
    ["dan", "view_all", "tools", "*"],
    ["cleo", "tools/call", "tool", "people.demo.get_employee"],
    ["cleo", "diagnose", "graph", "*"],
    ["cleo", "rotate", "secret", "yaml://secret/people/demo"],
  ];
  for (const [login, action, type, id, context] of cases) {
    const record = await read(await explainAs(world, ada, idOf(await decide(world, login, action, type, id, context))));
    const change = record.remedy?.changes.find((one) => one.steps.every((step) => step.kind === "add_edge"));
    assert.ok(change, `${login} ${action} ${type}: ${JSON.stringify(record.remedy)}`);
    const drafts = change.steps.map((step) => ({
      kind: step.edge?.kind as "MEMBER_OF",
      src: step.edge?.from ?? "",
      dst: (step.edge?.to ?? "").replace(/^secret$/, "resource:acme.secret.people.demo"),
    }));
    await world.world.put(...drafts);
    const after = await decide(world, login, action, type, id, context);
    assert.equal(after.decision, true, `${login} ${action} ${type} after ${JSON.stringify(drafts)}`);
    for (const draft of drafts)
      await world.world.sql(`delete from membership.edge where kind = '${draft.kind}' and src = '${draft.src}' and dst = '${draft.dst}'`);
  }
});

test("a remedy never crosses a tenant: groups of others are not offered, and roles are everybody's", async () => {
  const world = await shared();
  const id = idOf(await decide(world, "eve", "view_all", "workflows", "*"));
  const auditor = await world.identity.tokenFor({ sub: "service:auditor", tenant: "tenant:globex", scopes: ["pdp.decisions.read"] });
  const record = await read(await explainAs(world, auditor, id));
  assert.equal(record.reason, "not_granted");
  assert.deepEqual(record.remedy?.changes.flatMap(({ steps }) => steps.map(({ edge }) => edge?.to)).toSorted(), [
    "role:administrator",
    "role:member",
  ]);
});

test("after a revocation the refusal shows the ended delegation, and that a new one would mend it", async (t) => {
  const world = await pdpWorld(t);
  await world.world.sql("update membership.delegation set status = 'revoked', ended_at = now() where id = 'delegation:ben-hr'");
  const reply = await decide(world, "ben", "tools/call", "tool", "people.demo.list_employees", { agent: "agent:hr-assistant" });
  assert.equal(reply.context?.reason, "delegation_inactive");
  const record = await read(await explainAs(world, await world.personToken("ada"), idOf(reply)));
  assert.deepEqual(
    record.edges?.find((edge) => edge.kind === "DELEGATES_TO"),
    {
      kind: "DELEGATES_TO",
      from: "person:ben",
      to: "agent:hr-assistant",
      id: "delegation:ben-hr",
      present: false,
    },
  );
  assert.equal(record.checks?.find((check) => check.name === "delegation")?.input, "delegation:ben-hr revoked");
  assert.deepEqual(
    record.policies?.map((policy) => [policy.id, policy.decided]),
    [["tool-delegated", false]],
  );
  const [change] = record.remedy?.changes ?? [];
  assert.equal(change?.cost, 4);
  assert.deepEqual(
    change?.steps.map((step) => step.edge),
    [{ kind: "DELEGATES_TO", from: "person:ben", to: "agent:hr-assistant" }],
  );
  assert.deepEqual(change?.steps[0]?.who_can, ["person:ben"]);
});

test("an agent that is not the person's own is first given to it: nobody delegates to the agent of somebody else", async () => {
  const world = await shared();
  const asked = await decide(world, "ben", "tools/call", "tool", "people.demo.list_employees", { agent: "agent:reporter" });
  const record = await read(await explainAs(world, await world.personToken("ben"), idOf(asked)));
  const [change] = record.remedy?.changes ?? [];
  assert.deepEqual(
    change?.steps.map(({ edge, who_can: who }) => [edge?.kind, edge?.from, edge?.to, who.length]),
    [
      ["CONTROLLED_BY", "agent:reporter", "person:ben", 1],
      ["DELEGATES_TO", "person:ben", "agent:reporter", 1],
    ],
  );
  assert.deepEqual([change?.cost, change?.also_allows_more], [8, true]);
  assert.notDeepEqual(change?.steps[0]?.who_can, ["person:ben"], "it is not ben's to do");
});

test("paused, exhausted and short of money are each mended by the one thing", async (t) => {
  const world = await pdpWorld(t);
  const ben = await world.personToken("ben");
  const call = async (sql: string, undo: string): Promise<readonly (readonly [string, number])[]> => {
    await world.world.sql(sql);
    const record = await read(
      await explainAs(
        world,
        ben,
        idOf(await decide(world, "ben", "tools/call", "tool", "people.demo.list_employees", { agent: "agent:hr-assistant" })),
      ),
    );
    await world.world.sql(undo);
    return (record.remedy?.changes ?? []).slice(0, 1).map((change) => [change.steps.map((step) => step.kind).join(), change.cost] as const);
  };
  const status = (value: string, hold: string) =>
    `update membership.delegation set status = '${value}', hold = ${hold} where id = 'delegation:ben-hr'`;
  const meter = (set: string) => `update membership.meter set ${set} where delegation_id = 'delegation:ben-hr'`;
  assert.deepEqual(await call(status("paused", "'manual'"), status("active", "null")), [["reactivate_edge", 2]]);
  assert.deepEqual(await call(meter("used_steps = limit_steps"), meter("used_steps = 0")), [["raise_limit", 3]]);
  assert.deepEqual(await call(meter("used_micro = limit_micro"), meter("used_micro = 0")), [["raise_limit", 3]]);
});

test("what somebody did is listed apart from what was asked to know what to show", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.serviceToken();
  const item = (action: string, type: string, id = "*", context: Readonly<Record<string, unknown>> = {}) => ({
    subject: { type: "identity", id: "person:dan", properties: { tenant: "tenant:acme" } },
    action: { name: action },
    resource: { type, id },
    context,
  });
  const batch = (evaluations: readonly unknown[], options = {}) => world.ask("/access/v1/evaluations", token, { evaluations, ...options });
  await batch([item("view_all", "tools"), item("view", "pages", "operations"), item("revoke", "delegations", "delegation:ben-hr")]);
  await batch([item("view", "delegations", "delegation:ben-hr")], { options: { evaluations_semantic: "deny_on_first_deny" } });
  await batch([item("read_birth_date", "employee", "*", { showing: true })], { options: { evaluations_semantic: "deny_on_first_deny" } });
  await world.ask("/access/v1/evaluation", token, item("view_all", "policies"));
  const ada = await world.personToken("ada");
  const listed = async (query: string) => {
    const response = await world.ask(`/access/v1/decisions?subject=person:dan${query}`, ada);
    return ((await response.json()) as { decisions: DecisionRecord[] }).decisions.map(
      (one) => `${one.resource.type}/${one.action} ${one.enforced}`,
    );
  };
  const done = ["policies/view_all true", "delegations/view true", "delegations/revoke true"];
  const shown = ["employee/read_birth_date false", "pages/view false", "tools/view_all false"];
  assert.deepEqual(await listed("&enforced=true"), done);
  assert.deepEqual(await listed("&enforced=false"), shown);
  assert.deepEqual((await listed("")).toSorted(), [...done, ...shown].toSorted());
  assert.equal((await world.ask("/access/v1/decisions?enforced=yes", ada)).status, 400);
});

test("decisions are listed newest first: one's own, or all of the tenant for who may see them, in sealed pages", async (t) => {
  const world = await pdpWorld(t);
  for (const login of ["ben", "cleo", "dan", "eve", "cleo"]) await decide(world, login, "view", "pages", "operations");
  const list = async (token: string, query = "") => {
    const response = await world.ask(`/access/v1/decisions${query}`, token);
    return {
      status: response.status,
      body: (await response.json()) as { decisions: DecisionRecord[]; nextCursor?: string; code?: string },
    };
  };
  const subjects = (found: { body: { decisions: DecisionRecord[] } }) => found.body.decisions.map((record) => record.subject?.id);
  const ada = await world.personToken("ada");
  assert.deepEqual(subjects(await list(ada)), ["person:cleo", "person:dan", "person:cleo", "person:ben"]);
  assert.deepEqual(subjects(await list(ada, "?subject=person:cleo&limit=1")), ["person:cleo"]);
  assert.deepEqual(subjects(await list(ada, "?reason=approval_required&decision=false")), ["person:cleo", "person:cleo", "person:ben"]);
  const cleo = await world.personToken("cleo");
  assert.deepEqual(subjects(await list(cleo)), ["person:cleo", "person:cleo"]);
  assert.deepEqual(subjects(await list(cleo, "?subject=person:ben")), []);
  assert.deepEqual(subjects(await list(await world.personToken("eve"))), ["person:eve"]);

  const first = await list(ada, "?limit=3");
  const cursor = encodeURIComponent(first.body.nextCursor ?? "");
  const second = await list(ada, `?limit=3&cursor=${cursor}`);
  assert.deepEqual([...subjects(first), ...subjects(second)], ["person:cleo", "person:dan", "person:cleo", "person:ben"]);
  assert.equal(second.body.nextCursor, undefined);
  for (const [token, query] of [
    [cleo, `?limit=3&cursor=${cursor}`],
    [ada, `?limit=3&subject=person:cleo&cursor=${cursor}`],
    [ada, `?cursor=x${cursor}`],
    [ada, "?cursor=nonsense"],
    [ada, "?cursor="],
  ] as const) {
    const refused = await list(token, query);
    assert.equal(refused.status, 400);
    assert.equal(refused.body.code, "invalid_cursor");
  }
  world.clock.now = new Date(world.clock.now.getTime() + 601_000);
  assert.equal((await list(await world.personToken("ada"), `?limit=3&cursor=${cursor}`)).status, 400);
});
