import assert from "node:assert/strict";
import { test } from "node:test";
import { crudInstance } from "#testing/crud-instance.ts";
import type { TestTokenOf } from "#testing/identity.ts";
import { until } from "#testing/until.ts";

const scopes = [
  "config.write",
  "mcp.tools.discovery",
  "mcp.tools.invoke",
  "workflows.read",
  "workflows.start",
  "workflows.operate",
  "tasks.complete",
];
const ada = { sub: "person:ada", scopes };
const ben = { sub: "person:ben", scopes };
const cleo = { sub: "person:cleo", scopes };
const agentOf = (agent: string) => ({ ...ben, agent });
const own = ["workflow.status", "workflow.resume", "workflow.cancel", "workflow.simulate"];

const started = ["workflow.grant_access", "workflow.hello", "workflow.offboard"];

const text = `document:
  dsl: 1.0.0
  namespace: acme
  name: hello
  version: 1.0.0
  title: Hello
  metadata: { owner: "group:people-ops", mcp: { enabled: true } }
evaluate: { language: cel }
do:
  - ask: { call: human.task, with: { title: Go on, assign: ["person:cleo"] } }
`;

test("the tools of runs are those of their endpoints: each with its scope, its rights and its checks", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const publish = { method: "POST", as: ada, raw: text, headers: { "content-type": "application/yaml" } };
  const listed = async (as: typeof ada, path?: string): Promise<readonly string[]> => {
    const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { as, ...(path === undefined ? {} : { path }) });
    return body.result.tools.map(({ name }) => name).filter((name) => name.startsWith("workflow."));
  };
  const published = await instance.request("/config/workflows", publish);
  assert.equal(published.status, 201, await published.text());
  for (const path of ["/mcp/jsonrpc", "/mcp/workflows/jsonrpc"]) assert.deepEqual(await listed(ada, path), [...own, ...started], path);
  assert.deepEqual(await listed(ada, "/mcp/people/jsonrpc"), []);
  instance.verdicts.set("workflows:view_all", false);
  assert.deepEqual(await listed(ada), started);
  instance.verdicts.delete("workflows:view_all");

  const call = async (as: Partial<TestTokenOf>, name: string, given: object) => {
    const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } }, { as });
    // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
    return body.error?.data.code ?? (JSON.parse(body.result.content[0]?.text ?? "null") as any);
  };
  instance.verdicts.set("workflows:view_runs", ({ type }) => type === "none");
  instance.verdicts.set("workflows:operate", false);
  instance.verdicts.set("tasks:view", false);
  const { run_id: id } = await call(ben, "workflow.hello", {});
  await until(
    async () => (await call(ben, "workflow.status", { run_id: id })) as { readonly status: string },
    ({ status }) => status === "waiting",
  );
  const unscoped = { ...ben, scopes: ["mcp.tools.invoke"] };
  const answer = { run_id: id, decision: "approve", state_version: 1, idempotency_key: "k1" };
  const rows = [
    ["nobody of another tenant", { ...ben, tenant: "tenant:globex" }, "workflow.status", { run_id: id }, "not_found"],
    ["nobody else", cleo, "workflow.status", { run_id: id }, "not_found"],
    ["nobody else, by an underscore", cleo, "workflow_cancel", { run_id: id }, "not_found"],
    ["not without the scope of reads", unscoped, "workflow.status", { run_id: id }, "insufficient_scope"],
    ["not without the scope of verbs", unscoped, "workflow.cancel", { run_id: id }, "insufficient_scope"],
    ["no agent that did not start it", agentOf("agent:hr-assistant"), "workflow.status", { run_id: id }, "not_found"],
    ["no agent may end it either", agentOf("agent:hr-assistant"), "workflow.cancel", { run_id: id }, "not_found"],
    ["no run that is not there", ben, "workflow.status", { run_id: "run_none" }, "not_found"],
    ["no member that is not known", ben, "workflow.status", { run_id: id, all: true }, "invalid_arguments"],
    ["no key that is none", ben, "workflow.resume", { ...answer, idempotency_key: "a b" }, "invalid_arguments"],
    ["no version that is over", ben, "workflow.resume", { ...answer, state_version: 0 }, "stale_version"],
  ] as const;
  for (const [what, as, name, given, code] of rows) assert.equal(await call(as, name, given), code, what);

  const seen = await call(ben, "workflow.status", { run_id: id });
  assert.deepEqual([seen.id, seen.reason, seen.waiting.required_actions[0].title], [id, "human", "Go on"]);
  // The initiator decides no approval of their own, whatever tool they take.
  const answered = { ...answer, task_id: seen.waiting.required_actions[0].task_id, state_version: seen.state_version };
  assert.equal(await call(ben, "workflow.resume", answered), "separation_of_duties");
  instance.verdicts.delete("tasks:view");
  const resumed = await call(cleo, "workflow.resume", answered);
  assert.equal(resumed.id, id);
  assert.deepEqual(await call(cleo, "workflow.resume", answered), resumed, "the same key, the same answer");
  await until(
    async () => (await call(ben, "workflow.status", { run_id: id })) as { readonly status: string },
    ({ status }) => status === "completed",
  );
  assert.equal(await call(ben, "workflow.cancel", { run_id: id }), "wrong_phase");

  const other = await call(ben, "workflow.hello", {});
  assert.equal((await call(ben, "workflow.cancel", { run_id: other.run_id, undo: false })).id, other.run_id);
  await until(
    async () => (await call(ben, "workflow.status", { run_id: other.run_id })) as { readonly status: string },
    ({ status }) => status === "cancelled",
  );
});
