import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EvaluationReply } from "#contract/authzen.ts";
import { question } from "#testing/questions.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createDecisionCache } from "./decision-cache.ts";
import { createEngine, type Engine } from "./engine.ts";
import { isBuiltInTool, pairs } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";
import { evaluate } from "./evaluation.ts";

const engine = createEngine(readBundle(await readPolicyFolder(policyFolder)));
const moment = { version: "v1+000000000000", graphVersion: 1 };
const start = new Date("2026-01-01T00:00:00Z");

test("what is remembered is what the policies say, whatever was asked before", () => {
  const cache = createDecisionCache({ seconds: 60, now: () => start });
  let hits = 0;
  fc.assert(
    fc.property(question, fc.boolean(), (asked, again) => {
      for (let round = 0; round < (again ? 2 : 1); round++) {
        const remembering = cache.over(engine, asked, moment);
        assert.deepEqual(evaluate(remembering.engine, asked), evaluate(engine, asked));
        if (remembering.wasHit()) hits += 1;
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(hits > 0);
});

test("no remembered permit crosses a tenant: the same question of another tenant's resource is another question", () => {
  const cache = createDecisionCache({ seconds: 60, now: () => start });
  fc.assert(
    fc.property(question, (asked) => {
      const { resource } = asked.facts;
      fc.pre(resource !== null && asked.pair.of !== "all" && !isBuiltInTool(asked.pair, asked.resourceId));
      const at = (tenant: string): Question => ({
        ...asked,
        facts: { ...asked.facts, resource: { ...(resource as NonNullable<typeof resource>), tenant_ids: [tenant] } },
      });
      const own = at(asked.tenant);
      const foreign = at(asked.tenant === "tenant:acme" ? "tenant:globex" : "tenant:acme");
      cache.over(engine, own, moment).engine.judge(own);
      assert.equal(cache.over(engine, foreign, moment).engine.judge(foreign).permit, false);
    }),
    { numRuns: 300 },
  );
});

/** An engine that permits everything and says how often it was asked. */
const countingEngine = () => {
  let asked = 0;
  const counting: Engine = {
    ...engine,
    judgeRequest: () => {
      asked += 1;
      return { permit: true, policies: [], errors: [] };
    },
  };
  return { counting, asked: () => asked };
};

const sample = (more: Partial<Question["facts"]> = {}): Question => {
  const [asked] = fc.sample(question, { numRuns: 1, seed: 1 });
  assert.ok(asked);
  return {
    ...asked,
    pair: pairs[0] as Question["pair"],
    inputs: { ...asked.inputs, could: false },
    facts: { ...asked.facts, delegation: null, ...more },
  };
};

test("another version, another graph, another fact or the end of its time is asked anew", () => {
  let now = start;
  const cache = createDecisionCache({ seconds: 60, now: () => now });
  const { counting, asked } = countingEngine();
  const one = sample();
  const judge = (about: Question = one, at = moment) => {
    const before = asked();
    cache.over(counting, about, at).engine.judge(about);
    return asked() > before;
  };
  assert.equal(judge(), true);
  assert.equal(judge(), false);
  assert.equal(judge(one, { ...moment, version: "v2+000000000000" }), true);
  assert.equal(judge(one, { ...moment, graphVersion: 2 }), true);
  assert.equal(judge({ ...one, inputs: { ...one.inputs, mfa: !one.inputs.mfa } }), true);
  assert.equal(judge({ ...one, tenant: "tenant:other" }), true);
  now = new Date(start.getTime() + 59_999);
  assert.equal(judge(), false);
  now = new Date(start.getTime() + 60_000);
  assert.equal(judge(), true);
});

test("nothing is remembered beyond the end of the delegation that it rests on", () => {
  let now = start;
  const cache = createDecisionCache({ seconds: 60, now: () => now });
  const { counting, asked } = countingEngine();
  const at = (seconds: number) => new Date(start.getTime() + seconds * 1000);
  const one = sample({
    delegation: { id: "d", status: "active", active: true, steps_left: 1, budget_left_micro_usd: 1, expires_at: at(10).toISOString() },
  });
  const judge = () => cache.over(counting, one, moment).engine.judge(one);
  judge();
  now = at(9);
  judge();
  assert.equal(asked(), 1);
  now = at(10);
  judge();
  judge();
  assert.equal(asked(), 3);
});

test("it holds so many and no more, the oldest leaving first", () => {
  const cache = createDecisionCache({ seconds: 60, maxKept: 3, now: () => start });
  const { counting, asked } = countingEngine();
  const ask = (graphVersion: number) => cache.over(counting, sample(), { ...moment, graphVersion }).engine.judge(sample());
  for (const version of [1, 2, 3, 4]) ask(version);
  ask(4);
  ask(2);
  assert.equal(asked(), 4);
  ask(1);
  assert.equal(asked(), 5);
});

test("each answer from memory has an id and a record of its own that says so, and a change of the graph ends it at once", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.serviceToken();
  const ask = async (): Promise<EvaluationReply> =>
    (await (
      await world.ask("/access/v1/evaluation", token, {
        subject: { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } },
        action: { name: "view" },
        resource: { type: "pages", id: "people" },
      })
    ).json()) as EvaluationReply;
  const replies = [await ask(), await ask(), await ask()];
  assert.deepEqual(
    replies.map(({ decision }) => decision),
    [true, true, true],
  );
  assert.equal(new Set(replies.map(({ context }) => context?.decision_id)).size, 3);
  const metrics = await world.metrics.text();
  assert.match(metrics, /pdp_decisions_total\{type="pages",action="view",decision="true",cached="false"\} 1\n/);
  assert.match(metrics, /pdp_decisions_total\{type="pages",action="view",decision="true",cached="true"\} 2\n/);
  const ada = await world.personToken("ada", { acr: "strong" });
  const cachedOf = async (reply: EvaluationReply) =>
    ((await (await world.ask(`/access/v1/decisions/${reply.context?.decision_id}`, ada)).json()) as { cached?: boolean }).cached;
  assert.deepEqual([await cachedOf(replies[0] as EvaluationReply), await cachedOf(replies[2] as EvaluationReply)], [false, true]);
  // Any change of the graph makes another question of it, even one elsewhere.
  await world.world.put({ kind: "Group", id: "group:new", name: "New", tenant_id: "tenant:acme" });
  const after = await ask();
  assert.deepEqual([after.decision, await cachedOf(after)], [true, false]);
  // Even a change that left the version of the graph alone is seen by the very next answer: the facts are part of the question.
  await world.world.sql("delete from membership.edge where kind = 'GRANTS_ACCESS' and dst = 'resource:acme.pages.people'");
  assert.equal((await ask()).decision, false);
});

/** Changes of the graph that leave its version alone: where the key's own digest of the facts is all that tells them apart. */
const changes = [
  [
    "update membership.node set state = 'disabled' where id = 'person:ben'",
    "update membership.node set state = 'active' where id = 'person:ben'",
  ],
  [
    "update membership.node set state = 'disabled' where id = 'group:analysts'",
    "update membership.node set state = 'active' where id = 'group:analysts'",
  ],
  [
    "update membership.delegation set status = 'paused', hold = 'manual' where id = 'delegation:ben-hr'",
    "update membership.delegation set status = 'active', hold = null where id = 'delegation:ben-hr'",
  ],
  [
    "update membership.meter set used_steps = limit_steps where delegation_id = 'delegation:cleo-rep'",
    "update membership.meter set used_steps = 0 where delegation_id = 'delegation:cleo-rep'",
  ],
] as const;
const asking = [
  ["ben", undefined],
  ["ben", "agent:hr-assistant"],
  ["cleo", undefined],
  ["cleo", "agent:reporter"],
  ["eve", undefined],
] as const;
const about = [
  ["pages", "view", "people"],
  ["pages", "view", "operations"],
  ["employee", "list", "*"],
  ["tool", "tools/call", "people.demo.list_employees"],
  ["workflows", "execute_quick", "*"],
] as const;

test("whatever changes in between, a decision point with a memory answers as one without", async (t) => {
  const remembering = await pdpWorld(t);
  const forgetful = await pdpWorld(t, { over: remembering, settings: { PDP_CACHE_SECONDS: "0" } });
  const token = await remembering.serviceToken();
  let permits = 0;
  const answerOf = async (world: typeof remembering, [login, agent]: (typeof asking)[number], what: (typeof about)[number]) => {
    const [type, action, id] = what;
    const tenant = login === "eve" ? "tenant:globex" : "tenant:acme";
    const response = await world.ask("/access/v1/evaluation", token, {
      subject: { type: "identity", id: `person:${login}`, properties: { tenant } },
      action: { name: action },
      resource: { type, id },
      context: agent === undefined ? {} : { agent },
    });
    const { decision, context } = (await response.json()) as EvaluationReply;
    if (decision) permits += 1;
    return { status: response.status, decision, reason: context?.reason, obligations: context?.obligations };
  };
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ who: fc.constantFrom(...asking), what: fc.constantFrom(...about) }) },
    { weight: 1, arbitrary: fc.record({ change: fc.constantFrom(...changes), undone: fc.boolean() }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      for (const one of steps) {
        if ("change" in one) await remembering.world.sql(one.change[one.undone ? 1 : 0]);
        else assert.deepEqual(await answerOf(remembering, one.who, one.what), await answerOf(forgetful, one.who, one.what));
      }
    }),
    { numRuns: 25 },
  );
  assert.ok(permits > 0);
  assert.match(await remembering.metrics.text(), /pdp_decisions_total\{[^}]*decision="true",cached="true"\} [1-9]/);
  assert.doesNotMatch(await forgetful.metrics.text(), /cached="true"/);
});
