import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, crudInstance } from "#testing/crud-instance.ts";
import { until } from "#testing/until.ts";

test("a secrets service that does not answer holds a call no longer than the call may take, and nothing is sent", async (t) => {
  const instance = await crudInstance(t, { settings: { MCP_CALL_TIMEOUT_MS: "300" } });
  const sent = instance.people.requests;
  instance.secrets.status = "silent";
  const call = () => instance.request("/execute", { body: { tool: "people.demo.get_employee", arguments: { id: "e1" } }, as: agent });
  const response = await call();
  const answer = (await response.json()) as Readonly<Record<string, unknown>>;
  assert.deepEqual([response.status, answer["code"]], [503, "secrets_unavailable"]);
  assert.deepEqual(instance.membership.settled, [], "what was reserved is released");
  assert.equal(instance.people.requests, sent);
  await until(() => instance.membership.released.length === 1);
  instance.secrets.status = "ok";
  assert.equal((await call()).status, 200);
});
