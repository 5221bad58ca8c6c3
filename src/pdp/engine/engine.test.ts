import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Problem } from "#contract/problem.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { question } from "#testing/questions.ts";
import { inspectBundle, readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { cedarGeneration, policySetTextToParts } from "#pdp/model/cedar-program.ts";
import { pathsAbove } from "./cedar-request.ts";
import { createEngine } from "./engine.ts";
import { isBuiltInTool, pairs } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";
import { evaluate } from "./evaluation.ts";

const files = await readPolicyFolder(policyFolder);
const bundle = readBundle(files);
const engine = createEngine(bundle);

test("the policies of one action with the parents they name decide as all policies with everything", () => {
  const whole = createEngine(bundle, "whole");
  const seen = { permits: 0, denials: 0 };
  fc.assert(
    fc.property(question, (asked) => {
      const judged = engine.judge(asked);
      assert.deepEqual(judged, whole.judge(asked));
      seen[judged.permit ? "permits" : "denials"] += 1;
    }),
    { numRuns: 400 },
  );
  assert.ok(seen.permits > 0 && seen.denials > 0, JSON.stringify(seen));
});

test("actions that have types and policies in common share what is made of them for Cedar", () => {
  const { actions, ofAction } = bundle.schema;
  const schemas = new Map([...actions.keys()].map((action) => [action, ofAction(action)]));
  assert.ok(new Set(schemas.values()).size * 3 < actions.size, "a schema for many actions");
  for (const [action, schema] of schemas) {
    assert.ok(typeof schema === "object" && schema[""] !== undefined && action in schema[""].actions, action);
    for (const group of actions.get(action)?.groups ?? []) assert.ok(group in schema[""].actions, `${group} of ${action}`);
  }
  const slices = new Set([...actions.keys()].map((action) => engine.slice(action)));
  const policies = new Set([...slices].map((slice) => slice.policies.map(({ id }) => id).join(" ")));
  assert.equal(slices.size, policies.size);
  assert.ok(slices.size * 2 < actions.size);
});

test("no permit crosses a tenant, whoever asks and however", () => {
  let opened = 0;
  fc.assert(
    fc.property(question, (asked) => {
      const { resource } = asked.facts;
      fc.pre(asked.pair.of !== "all" && resource !== null && !isBuiltInTool(asked.pair, asked.resourceId));
      const of = (tenant: string): Question => ({ ...asked, facts: { ...asked.facts, resource: { ...resource, tenant_ids: [tenant] } } });
      assert.equal(engine.judge(of(asked.tenant === "tenant:acme" ? "tenant:globex" : "tenant:acme")).permit, false);
      // The same of one's own tenant is permitted often enough to show that it is the wall that denies.
      if (engine.judge(of(asked.tenant)).permit) opened += 1;
    }),
    { numRuns: 400 },
  );
  assert.ok(opened > 0);
});

test("nothing is permitted to a disabled subject, nor through a disabled agent", () => {
  fc.assert(
    fc.property(question, (asked) => {
      fc.pre(asked.facts.subject.disabled || asked.facts.agent?.disabled === true);
      assert.equal(engine.judge(asked).permit, false);
    }),
    { numRuns: 300 },
  );
});

test("what the subject claims of itself opens nothing but what a forbid closes by it", () => {
  const claims = fc.dictionary(
    fc.constantFrom("owner", "owners", "granted", "tenant", "groups", "kind", "mfa", "approved", "assigned", "salary"),
    fc.constantFrom(true, "person:ben", 1, "tenant:acme", ["group:platform-admins"], { id: "x" }),
  );
  fc.assert(
    fc.property(question, claims, (asked, claimed) => {
      fc.pre(asked.pair.key !== "employee:update_salary");
      assert.deepEqual(engine.judge({ ...asked, claimed }), engine.judge({ ...asked, claimed: {} }));
    }),
    { numRuns: 300 },
  );
});

test("more assurance, approval and limits never permit less, so a list never shows what no call can reach", () => {
  fc.assert(
    fc.property(question, (asked) => {
      fc.pre(engine.judge(asked).permit);
      assert.equal(engine.judge({ ...asked, inputs: { ...asked.inputs, mfa: true, approved: true, could: true } }).permit, true);
    }),
    { numRuns: 400 },
  );
});

test("a denial called step-up or approval is lifted by exactly that", () => {
  fc.assert(
    fc.property(question, (asked) => {
      const evaluation = evaluate(engine, asked);
      assert.equal(evaluation.permit, evaluation.reason === undefined);
      if (evaluation.requestable) assert.equal(engine.judge({ ...asked, inputs: { ...asked.inputs, approved: true } }).permit, true);
      if (evaluation.reason === "step_up_required") {
        assert.equal(engine.judge({ ...asked, inputs: { ...asked.inputs, mfa: true, approved: true } }).permit, true);
        assert.deepEqual(evaluation.obligations, ["mfa"]);
      }
    }),
    { numRuns: 400 },
  );
});

test("a policy that fails to evaluate makes a denial, though Cedar itself would skip it and permit", () => {
  const failing = `@id("overflow") @description("x") forbid (principal, action == Action::"pages:view_all", resource)
    when { context has delegation && context.delegation.steps_left * 9223372036854775807 > 0 };`;
  // Lint would not let it decide; what slips through is still no permit.
  const added = inspectBundle({ ...files, "extra.cedar": failing }).bundle;
  assert.ok(added);
  const asked = fc.sample(question, 1)[0];
  assert.ok(asked);
  const base: Question = {
    ...asked,
    pair: pairs.find((pair) => pair.key === "pages:view_all") ?? asked.pair,
    tenant: "tenant:acme",
    facts: {
      ...asked.facts,
      subject: { ...asked.facts.subject, id: "person:ben", kind: "Person", disabled: false, groups: ["role:member"] },
      agent: null,
      resource: null,
      delegation: { id: "d", status: "active", active: true, steps_left: 2, budget_left_micro_usd: 0, expires_at: null },
    },
    inputs: { ...asked.inputs, could: false },
  };
  const { agentId: _agent, ...direct } = base;
  assert.equal(engine.judge(direct).permit, true);
  const judged = createEngine(added).judge(direct);
  assert.deepEqual(judged.errors, ["overflow"]);
  assert.equal(judged.permit, false);
  assert.equal(evaluate(createEngine(added), direct).reason, "forbidden");
});

test("more policies of one action than Cedar parses at a time decide as all of them at once", () => {
  const rule = (id: string, effect: string, page: string): string =>
    `@id("${id}") @description("x") ${effect} (principal, action == Action::"pages:view", resource == Page::"${page}");`;
  const many = [
    ...Array.from({ length: 600 }, (_none, at) => rule(`permit-${at}`, "permit", `p${at % 300}`)),
    ...Array.from({ length: 50 }, (_none, at) => rule(`forbid-${at}`, "forbid", `p${at * 2}`)),
  ];
  const added = inspectBundle({ ...files, "many.cedar": many.join("\n") }).bundle;
  assert.ok(added);
  const [apart, whole] = [createEngine(added), createEngine(added, "whole")];
  const pair = pairs.find(({ key }) => key === "pages:view");
  const sampled = fc.sample(question, 1)[0];
  assert.ok(pair !== undefined && sampled !== undefined);
  const { agentId: _agent, ...sent } = sampled;
  const subject = { ...sent.facts.subject, id: "person:ben", kind: "Person", disabled: false } as const;
  const asked: Question = {
    ...sent,
    pair,
    tenant: "tenant:acme",
    facts: { ...sent.facts, subject: { ...subject, tenant_ids: ["tenant:acme"] }, agent: null, resource: null, delegation: null },
  };
  const seen = { permits: 0, denials: 0 };
  for (const page of ["p0", "p1", "p2", "p4", "p98", "p99", "p299", "p300"]) {
    for (const omit of [new Set<string>(), new Set(["forbid-0", "permit-1", "permit-301", "permit-99", "forbid-49"])]) {
      const judged = apart.judge({ ...asked, resourceId: page }, omit);
      assert.deepEqual(judged, whole.judge({ ...asked, resourceId: page }, omit), page);
      seen[judged.permit ? "permits" : "denials"] += 1;
    }
  }
  assert.ok(seen.permits > 2 && seen.denials > 2, JSON.stringify(seen));
});

test("the paths above a secret end at its mount", () => {
  assert.deepEqual(pathsAbove("yaml://secret/people/demo"), ["yaml://secret/people", "yaml://secret"]);
  assert.deepEqual(pathsAbove("yaml://secret"), []);
});

test("if Cedar breaks down, who broke it is told and everybody else is answered as before", () => {
  const asked = fc.sample(question, { numRuns: 50, seed: 11 });
  const before = asked.map((one) => engine.judge(one));
  const other = createEngine(bundle);
  const generation = cedarGeneration();
  for (const round of [1, 2]) {
    assert.throws(
      () => policySetTextToParts(`permit (principal, action, resource) when { ${"(".repeat(500)}true${")".repeat(500)} };`),
      (error) => error instanceof Problem && error.code === "engine_failed" && error.status === 503,
    );
    assert.equal(cedarGeneration(), generation + round);
    for (const one of [engine, other, createEngine(bundle)])
      assert.deepEqual(
        asked.map((question) => one.judge(question)),
        before,
      );
  }
});

test("a policy may ask which policies are bound to the tool that is called", () => {
  const frozen = `@id("frozen") @description("x") forbid (principal, action == Action::"tool:tools/call", resource)
    when { resource has policies && resource.policies.contains("policy:frozen") };`;
  const asking = createEngine(readBundle({ ...files, "extra.cedar": frozen }));
  const bound = (asked: Question, policies?: readonly string[]): Question => {
    const { resource } = asked.facts;
    const attributes = { ...resource?.attributes, ...(policies === undefined ? {} : { policies: [...policies] }) };
    return { ...asked, facts: { ...asked.facts, resource: resource === null ? null : { ...resource, attributes } } };
  };
  const asked = fc
    .sample(question, { numRuns: 20_000, seed: 1 })
    .find((one) => one.pair.key === "tool:tools/call" && one.facts.resource !== null && engine.judge(one).permit);
  assert.ok(asked);
  for (const [policies, permit] of [
    [undefined, true],
    [["policy:other"], true],
    [["policy:frozen", "policy:other"], false],
  ] as const)
    assert.equal(asking.judge(bound(asked, policies)).permit, permit, String(policies));
});
