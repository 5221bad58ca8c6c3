import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessRequestReply } from "#contract/access-requests.ts";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord, Remedy } from "#contract/decisions.ts";
import { Problem } from "#contract/problem.ts";
import { pairOf, pairs } from "#pdp-client/pairs.ts";
import { insertDelegation } from "#membership/delegations/put-delegation.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { pdpWorld, readerFacts } from "#testing/pdp.ts";
import { administer } from "#testing/rollout.ts";

type Step = Remedy["changes"][number]["steps"][number];
interface Denied {
  readonly login: string;
  readonly agent?: string;
  readonly type: string;
  readonly action: string;
  readonly id: string;
  /** SQL that makes the denial, and that ends it again. */
  readonly before?: readonly [make: string, undo: string];
}

const secret = "yaml://secret/people/demo";
const list = "people.demo.list_employees";
const hr = "agent:hr-assistant";
const delegation = (set: string): string => `update membership.delegation set ${set} where id = 'delegation:ben-hr'`;
const meter = (set: string): string => `update membership.meter set ${set} where delegation_id = 'delegation:ben-hr'`;
const active = delegation("status = 'active', hold = null, ended_at = null");
const capability = `update membership.edge set digest = $ where kind = 'HAS_CAPABILITY' and dst = '${list}' and src = '${hr}'`;
const byAgent = { login: "ben", agent: hr, type: "tool", action: "tools/call", id: list };

/** Sallyport's own policies let nobody do more with what they own. */
const ownedSecrets = `@id("secret-owned")
@description("Owners write and rotate their secrets")
permit (principal, action in [Action::"secret:write", Action::"secret:rotate"], resource) when { context.owner };`;

/** Denials that have every kind of remedy between them. */
const denials: readonly Denied[] = [
  { login: "ben", type: "pages", action: "view", id: "operations" },
  { login: "cleo", type: "pages", action: "view", id: "operations" },
  { login: "ben", type: "employee", action: "update_salary", id: "*" },
  { login: "ben", agent: hr, type: "employee", action: "update_salary", id: "*" },
  { login: "ada", type: "secret", action: "destroy_versions", id: secret },
  { ...byAgent, id: "people.demo.update_salary" },
  { login: "dan", type: "tools", action: "view_all", id: "*" },
  { login: "cleo", type: "secret", action: "rotate", id: secret },
  { ...byAgent, before: [delegation("status = 'paused', hold = 'manual'"), active] },
  { ...byAgent, before: [delegation("status = 'revoked', ended_at = now()"), active] },
  { ...byAgent, before: [meter("used_steps = limit_steps"), meter("used_steps = 0")] },
  { ...byAgent, before: [meter("used_micro = limit_micro"), meter("used_micro = 0")] },
  { ...byAgent, before: [capability.replace("$", "'b'"), capability.replace("$", "null")] },
  // Nothing comes after it that needs what it drops.
  { ...byAgent, before: [`delete from membership.edge where kind = 'HAS_CAPABILITY' and dst = '${list}' and src = '${hr}'`, "select 1"] },
];

const propsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  OWNS_RESOURCE: { level: "deputy" },
  HAS_CAPABILITY: { granted_by: "person:ben" },
};

test("what a remedy says it would open beside is what real decisions open once it is carried out, for every kind", async (t) => {
  const world = await pdpWorld(t);
  const { draft, activate } = administer(world);
  const { rollout } = await draft({ "policies/owned.cedar": ownedSecrets });
  await activate(rollout.version);
  let authTime: number | undefined;
  const subjectOf = (login: string) => ({
    type: "identity",
    id: `person:${login}`,
    properties: { tenant: "tenant:acme", ...(authTime === undefined ? {} : { acr: "strong", auth_time: authTime }) },
  });
  const ask = async <T>(path: string, body: object): Promise<T> => {
    const response = await world.ask(path, await world.serviceToken("crud"), body);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as T;
  };
  const question = ({ login, agent, type, action, id }: Denied) => ({
    subject: subjectOf(login),
    action: { name: action },
    resource: { type, id, properties: type === "tool" ? { cost_usd: 0.002 } : {} },
    context: agent === undefined ? {} : { agent },
  });
  const decide = (denied: Denied) => ask<EvaluationReply>("/access/v1/evaluation", question(denied));

  // Every thing that the graph holds.
  const things = await world.world.sql<{ readonly type: string; readonly id: string }>(
    `select case when kind = 'Tool' then 'tool' else props ->> 'type' end as type,
       case when kind = 'Tool' then id else external_id end as id
     from membership.node where kind in ('Tool', 'Resource')`,
  );
  assert.ok(things.length > 15);

  /** The other pairs, by the person or by the agent that asked: the collections, this very resource, and all that there is. */
  const permitted = async (denied: Denied): Promise<ReadonlySet<string>> => {
    const entity = pairOf(denied.type, denied.action)?.entity;
    const others = pairs
      .flatMap((pair) => {
        if (pair.of === "all") return [{ pair, id: "*" }];
        const ids = things.flatMap(({ type, id }) => (type === pair.type ? [id] : []));
        return [...new Set([...ids, ...(pair.entity === entity ? [denied.id] : [])])].map((id) => ({ pair, id }));
      })
      .filter(({ pair, id }) => pair.key !== `${denied.type}:${denied.action}` || (pair.of !== "all" && id !== denied.id))
      .flatMap((one) => (denied.agent === undefined ? [undefined] : [undefined, denied.agent]).map((agent) => ({ ...one, agent })));
    const { evaluations } = await ask<{ evaluations: EvaluationReply[] }>("/access/v1/evaluations", {
      evaluations: others.map(({ pair, id, agent }) =>
        question({
          login: denied.login,
          ...(agent === undefined ? {} : { agent }),
          type: pair.type,
          action: pair.action,
          id,
        }),
      ),
    });
    return new Set(
      others.flatMap(({ pair, id, agent }, at) => (evaluations[at]?.decision ? [`${pair.type}/${pair.action} ${id} ${agent ?? ""}`] : [])),
    );
  };

  let made = 0;
  /** Carries a step out; gives back how it is undone. */
  const carryOut = async (step: Step, denied: Denied, reply: EvaluationReply): Promise<() => Promise<unknown>> => {
    const put = async (edge: NonNullable<Step["edge"]>) => {
      const dst = edge.to.replace(/^secret$/, "resource:acme.secret.people.demo");
      await world.world.put({ kind: edge.kind as "MEMBER_OF", src: edge.from, dst, props: propsOf[edge.kind] ?? {} });
      return () => world.world.sql(`delete from membership.edge where kind = '${edge.kind}' and src = '${edge.from}' and dst = '${dst}'`);
    };
    if (step.kind === "sign_in_again") {
      authTime = Math.floor(world.clock.now.getTime() / 1000);
      return async () => (authTime = undefined);
    }
    if (step.kind === "approval") {
      const { evaluation_id, access_request } = reply.context ?? {};
      const { subject, action, resource } = question(denied);
      const principal = await world.personToken(denied.login);
      const request = await world.ask(
        "/access/v1/requests",
        principal,
        {
          subject,
          action,
          resource: { type: resource.type, id: resource.id },
          denial: { evaluation_id, ...access_request, template: undefined, display: undefined },
        },
        { "idempotency-key": `k-${evaluation_id}` },
      );
      assert.equal(request.status, 202, await request.clone().text());
      const { task } = (await request.json()) as AccessRequestReply;
      const path = `/access/v1/requests/${task.id}/answer`;
      assert.equal((await world.ask(path, await world.personToken("ada"), { outcome: "approve" })).status, 200);
      return () => world.world.sql(`update pdp.request set approved_until = answered_at where id = '${task.id}'`);
    }
    if (step.kind === "add_edge" && step.edge !== undefined && step.edge.kind !== "DELEGATES_TO") return put(step.edge);
    if (step.edge?.kind === "DELEGATES_TO" && step.kind === "add_edge") {
      // As it says: with this tool among its tools, and no other.
      const id = `delegation:new-${(made += 1)}`;
      await world.world.write({ actor: "person:ben", source: "api", correlationId: "test", tenantId: "tenant:acme" }, async (tx) => {
        await insertDelegation(tx.sql, {
          id,
          delegatorId: step.edge?.from ?? "",
          agentId: step.edge?.to ?? "",
          capabilities: [denied.id],
          limitMicro: 5_000_000n,
          limitSteps: 50,
          purpose: "As the remedy says",
          validFrom: null,
          expiresAt: null,
          createdBy: "person:ben",
        });
        return { value: undefined };
      });
      return () => world.world.sql(`update membership.delegation set status = 'revoked', ended_at = now() where id = '${id}'`);
    }
    // What the delegation or the definition lacks was taken away for this denial.
    const [make = "", undo = ""] = denied.before ?? [];
    await world.world.sql(undo);
    return () => world.world.sql(make);
  };

  const kinds = new Set<string>();
  for (const denied of denials) {
    if (denied.before !== undefined) await world.world.sql(denied.before[0]);
    const name = `${denied.login} ${denied.agent ?? ""} ${denied.type}/${denied.action} ${denied.id}`;
    const reply = await decide(denied);
    assert.equal(reply.decision, false, name);
    const id = reply.context?.decision_id ?? "";
    const record = (await (
      await world.ask(`/access/v1/decisions/${id}?remedy=true`, await world.personToken("ada"))
    ).json()) as DecisionRecord;
    const before = await permitted(denied);
    for (const { steps, also_allows, also_allows_more, sample } of record.remedy?.changes ?? []) {
      const what = `${name}: ${steps.map((step) => step.text).join("; ")}`;
      const undo = [];
      for (const step of steps) {
        kinds.add(step.edge !== undefined && step.kind === "add_edge" ? step.edge.kind : step.kind);
        undo.push(await carryOut(step, denied, reply));
      }
      const opened = new Set(
        [...(await permitted(denied))].filter((pair) => !before.has(pair)).map((pair) => pair.split(" ", 2).join(" ")),
      );
      // A role opens what no grant leads to: there it says that there may be more.
      const gainsRole = steps.some(({ edge }) => edge?.to.startsWith("role:"));
      assert.equal(also_allows_more, gainsRole ? true : undefined, what);
      const says = `${what}: says ${sample.join()}, opens ${[...opened].join()}`;
      if (gainsRole) assert.ok(0 < also_allows && also_allows <= opened.size, says);
      else assert.equal(also_allows, opened.size, says);
      assert.deepEqual(
        sample.filter((pair) => ![...opened].some((one) => one.split(" ", 1)[0] === pair)),
        [],
        what,
      );
      assert.equal((await decide(denied)).decision, true, what);
      for (const back of undo.toReversed()) await back();
    }
    if (denied.before !== undefined) await world.world.sql(denied.before[1]);
  }
  assert.deepEqual([...kinds].toSorted(), [
    "DELEGATES_TO",
    "GRANTS_ACCESS",
    "HAS_CAPABILITY",
    "MEMBER_OF",
    "OWNS_RESOURCE",
    "approval",
    "raise_limit",
    "reactivate_edge",
    "reapprove_definition",
    "sign_in_again",
  ]);
});

test("where not everything that a group is granted could be asked about, the remedy says that there may be more", async (t) => {
  const source: { facts?: FactSource } = {};
  const facts: FactSource = {
    gather: async (asks) => (source.facts as FactSource).gather(asks),
    ready: async () => true,
    gatherIf: async (asks, change) => (source.facts as Required<FactSource>).gatherIf(asks, change),
  };
  const world = await pdpWorld(t, { parts: { facts } });
  const real = readerFacts(world.world);
  const remedyWith = async (given: FactSource) => {
    source.facts = given;
    const asked = { subject: { type: "identity", id: "person:dan" }, action: { name: "list" }, resource: { type: "employee", id: "*" } };
    const subject = { ...asked.subject, properties: { tenant: "tenant:acme" } };
    const denied = (await (
      await world.ask("/access/v1/evaluation", await world.serviceToken("crud"), { ...asked, subject })
    ).json()) as EvaluationReply;
    const path = `/access/v1/decisions/${denied.context?.decision_id}?remedy=true`;
    const { remedy } = (await (await world.ask(path, await world.personToken("ada"))).json()) as DecisionRecord;
    const change = remedy?.changes.find(({ steps }) => steps[0]?.edge?.to === "group:people-ops");
    assert.ok(change !== undefined);
    return change;
  };
  const whole = await remedyWith(real);
  assert.equal(whole.also_allows_more, undefined);

  const away = await remedyWith({ ...real, gatherIf: () => Promise.reject(new Problem("membership_unavailable")) });
  assert.equal(away.also_allows_more, true);
  assert.ok(0 < away.also_allows && away.also_allows < whole.also_allows, "what the group is granted is not known now");

  // Each of a secret's pairs is a question.
  const ids = Array.from({ length: 40 }, (_none, at) => `resource:acme.secret.more.${at}`);
  await world.world.put(
    ...ids.map((id, at) => ({
      id,
      kind: "Resource" as const,
      name: id,
      external_id: `yaml://secret/more/${at}`,
      tenant_id: "tenant:acme",
      props: { type: "secret" },
    })),
    ...ids.map((dst) => ({ kind: "GRANTS_ACCESS" as const, src: "group:people-ops", dst })),
  );
  const cut = await remedyWith(real);
  assert.equal(cut.also_allows_more, true);
  assert.ok(cut.also_allows >= whole.also_allows);
});
