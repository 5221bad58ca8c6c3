import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { ProblemBody } from "#contract/problem.ts";
import type { replayTools } from "#contract/replay-tools.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { readJson } from "#testing/rollout.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createEngine } from "#pdp/engine/engine.ts";
import type { Recorded } from "#pdp/records/record.ts";
import { replayTools as decideToolsAgain } from "./replay-tools.ts";

type Reply = ReplyOf<typeof replayTools>;
const LIST = "people.demo.list_employees";
const PATH = "/access/v1/tools/replay";

test("recorded calls of a tool are decided again as the tool would be, and only what that changes is told", async (t) => {
  const world = await pdpWorld(t);
  const crud = await world.serviceToken("crud");
  const properties = (more: Readonly<Record<string, unknown>> = {}) => ({ cost_usd: 0.002, destructive: false, ...more });
  const call = (subject: string, agent: string | undefined, tool = LIST) =>
    world.ask("/access/v1/evaluation", crud, {
      subject: { type: "identity", id: subject, properties: { tenant: subject === "person:eve" ? "tenant:globex" : "tenant:acme" } },
      action: { name: "tools/call" },
      resource: { type: "tool", id: tool, properties: properties() },
      context: { ...(agent === undefined ? {} : { agent }), arguments_digest: "x", view: "" },
    });
  await call("person:ben", "agent:hr-assistant");
  await call("person:ben", undefined);
  await call("person:eve", undefined);
  await call("person:ben", "agent:hr-assistant", "people.demo.get_employee");
  const tool = { tool_id: LIST, before: properties(), after: properties(), state: "approved", drifted_for: [] as string[] };
  const replay = async (more: object, tenant = "tenant:acme"): Promise<Reply> =>
    readJson<Reply>(await world.ask(PATH, crud, { tenant_id: tenant, tools: [{ ...tool, ...more }] }));
  const published = ({
    evaluated,
    unchanged,
    newly_allowed: allowed,
    newly_denied: denied,
    changed,
    not_replayable: lost,
    complete,
  }: Reply) => [[evaluated, unchanged, allowed, denied, changed, lost], complete];

  assert.deepEqual(published(await replay({})), [[2, 2, 0, 0, 0, 0], true]);
  const drifted = await replay({ drifted_for: ["agent:hr-assistant"] });
  assert.deepEqual(published(drifted), [[2, 1, 0, 1, 0, 0], true]);
  assert.deepEqual(
    drifted.examples.map(({ tool: name, before, after }) => [name, before.decision, after.decision, after.reason]),
    [[LIST, true, false, "definition_drifted"]],
  );
  assert.match(drifted.examples[0]?.decision_id ?? "", /^d_/);
  assert.equal(JSON.stringify(drifted).includes("person:"), false, "nobody is named");
  const dear = await replay({ after: properties({ cost_usd: 1000 }) });
  assert.deepEqual(
    dear.examples.map(({ after }) => after.reason),
    ["budget_exhausted"],
  );
  assert.deepEqual(published(await replay({ state: "retired" })), [[2, 0, 0, 2, 0, 0], true]);
  assert.deepEqual(published(await replay({}, "tenant:globex")), [[1, 1, 0, 0, 0, 0], true], "each tenant has its own");

  // A policy that looks at what the tool service vouches for is asked with what it would vouch for.
  const files = await readPolicyFolder(policyFolder);
  const [schema, policies] = ["schema.cedarschema", "tools.cedar"] as const;
  const engine = createEngine(
    readBundle({
      ...files,
      [schema]: files[schema]?.replace("props?: { kind?: String,", "props?: { kind?: String, destructive?: Bool,") ?? "",
      [policies]: `${files[policies]}
@id("nothing-destructive")
@description("Nobody calls what destroys")
@reason("not_granted")
forbid (principal, action == Action::"tool:tools/call", resource)
when { context has props && context.props has destructive && context.props.destructive };
`,
    }),
  );
  const ask = { subject_id: "person:ben", action: "tools/call", resource: { type: "tool", external_id: LIST }, tenant_id: "tenant:acme" };
  const [facts] = (await world.world.reader.facts(wholeGraph, [ask])).value;
  assert.ok(facts);
  const about = { tenant: "tenant:acme", subject: "person:ben", pep: "service:crud", policy_version: "v1", correlation_id: "c" };
  const recorded: Recorded = {
    ...about,
    decision_id: "d_1",
    call_id: "d_1",
    decided_at: "2026-01-01T00:00:00Z",
    graph_version: null,
    latency_us: 1,
    names: {},
    resourceId: LIST,
    item: {
      action: "tools/call",
      type: "tool",
      id: LIST,
      decision: true,
      policies: [],
      obligations: [],
      requestable: false,
      cached: false,
      inputs: {
        mfa: false,
        approved: false,
        could: false,
        tools_scope: true,
        assigned: false,
        cost_micro: 0,
      },
      facts: "facts",
      context: "what was sent",
    },
  };
  const records = {
    list: async () => ({ recorded: [recorded] }),
    factsOfAll: async () => new Map([["facts", facts]]),
    emptyContext: "nothing",
  };
  for (const [destructive, denied] of [
    [false, 0],
    [true, 1],
  ] as const) {
    const after = properties({ destructive });
    const reply = await decideToolsAgain({ records, engine }, { tenant_id: "tenant:acme", limit: 200, tools: [{ ...tool, after }] });
    assert.deepEqual([reply.newly_denied, reply.not_replayable], [denied, 0]);
  }

  for (const [who, token] of [
    ["a person", await world.personToken("ada")],
    [
      "an enforcement point of its own",
      await world.identity.tokenFor({ sub: "service:robot", tenant: "tenant:acme", clientId: "service:robot", scopes: ["authzen.pep"] }),
    ],
  ] as const) {
    const response = await world.ask(PATH, token, { tenant_id: "tenant:acme", tools: [tool] });
    assert.equal(response.status, 403, who);
    assert.ok(["access_denied", "insufficient_scope"].includes(((await response.json()) as ProblemBody).code), who);
  }
});
