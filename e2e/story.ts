import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { getDecision } from "#contract/decisions.ts";
import { ask, readProblem, type Peer } from "#contract/ask.ts";
import { createDelegation, delegationImpact, getDelegation, revokeMany, whatIfDelegation } from "#contract/delegations.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import { connectMcp, resultOf, toolNames } from "./mcp-client.ts";
import { fetchToken } from "./tokens.ts";

const peopleTools = ["people.demo.get_employee", "people.demo.list_employees", "people.demo.update_salary"];
const search = "sallyport.local.search_identities";

const to = (port: number, offset: number): { readonly baseUrl: string } => ({ baseUrl: `http://localhost:${port + offset}` });
const peer: Peer = (request) => fetch(request);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const rpc = async (
  port: number,
  token: string,
  method: string,
  params: unknown,
): Promise<{ readonly status: number; readonly body: RpcResponse }> => {
  const response = await fetch(`http://localhost:${port}/api/crud/mcp/jsonrpc`, {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "1", method, params }),
  });
  return { status: response.status, body: (await response.json()) as RpcResponse };
};

const callTool = (port: number, token: string, name: string, args: unknown) => rpc(port, token, "tools/call", { name, arguments: args });

const outputOf = (body: RpcResponse): unknown => JSON.parse((body.result as { content: { text: string }[] }).content[0]?.text ?? "null");

/**
 * Steps 3 to 6 of the main story, by the wire alone: delegate with a what-if, call as the agent by both dialects and both protocol
 * eras, step up, revoke, explain. The same function runs against one process and against one process a service.
 */
export const liveTheStory = async (port: number): Promise<void> => {
  const origin = `http://localhost:${port}`;
  const ben = await fetchToken(port, { user: "ben" });
  const headers = bearer(ben);

  // What-if, then create: it adds the search tool to what hr-assistant may already do for ben.
  const draft = {
    agent_id: "agent:hr-assistant",
    capabilities: [...peopleTools, search],
    budget_usd: 1,
    max_steps: 40,
    purpose: "Story of Sallyport",
  };
  const preview = await ask(peer, whatIfDelegation, { ...to(port, 4), headers, body: draft });
  assert.deepEqual(preview.tools.added, [search]);
  assert.deepEqual(preview.tools.removed, []);
  const made = await ask(peer, createDelegation, {
    ...to(port, 4),
    headers: { ...headers, "idempotency-key": randomUUID() },
    body: { ...draft, what_if_digest: preview.what_if_digest },
  });
  assert.equal(made.status, "active");

  // The agent's list holds exactly health and what was delegated, in every dialect and era.
  const agent = await fetchToken(port, { user: "ben", agent: "agent:hr-assistant" });
  const expected = [...peopleTools, search, "system.health"].sort();
  for (const era of ["legacy", "modern"] as const) {
    const client = await connectMcp(origin, agent, era);
    assert.deepEqual(await toolNames(client), expected, era);
    const listed = resultOf(await client.callTool({ name: "people.demo.list_employees", arguments: { limit: 3 } }));
    assert.equal(listed.isError, false, listed.text);
    const rows = (listed.value as { items: { tenant: string; birth_date: string; salary: unknown }[] }).items;
    assert.ok(rows.length > 0);
    for (const row of rows) {
      assert.equal(row.tenant, "tenant:acme");
      assert.match(row.birth_date, /^\d{4}$/);
      assert.equal(typeof row.salary, "number");
    }
    const refused = resultOf(await client.callTool({ name: "people.demo.update_salary", arguments: { id: "e1", salary: 70_000 } }));
    assert.equal(refused.isError, true);
    assert.match(refused.text, /step_up_required/);
    assert.match(refused.text, /\/auth\/login\?/);
    await client.close();
  }
  const list = await rpc(port, agent, "tools/list", { limit: 50 });
  assert.deepEqual((list.body.result as { tools: { name: string }[] }).tools.map((tool) => tool.name).sort(), expected);
  const found = await callTool(port, agent, "sallyport_local_search_identities", { search: "cleo" });
  assert.equal(found.body.error, undefined, JSON.stringify(found.body));
  assert.match(JSON.stringify(outputOf(found.body)), /person:cleo/);

  // Step-up: refused with the way out, then done with a strong sign-in.
  const weak = await callTool(port, agent, "people.demo.update_salary", { id: "e1", salary: 70_000 });
  assert.deepEqual([weak.status, weak.body.error?.code, weak.body.error?.data?.code], [200, -32001, "step_up_required"]);
  assert.equal((weak.body.error?.data?.["step_up"] as { level?: string } | undefined)?.level, "strong");
  const strong = await fetchToken(port, { user: "ben", agent: "agent:hr-assistant", acr: "strong" });
  const raised = await callTool(port, strong, "people.demo.update_salary", { id: "e1", salary: 70_000 });
  assert.equal(raised.body.error, undefined, JSON.stringify(raised.body));
  assert.equal((outputOf(raised.body) as { salary?: number }).salary, 70_000);

  // What was used was charged.
  const meter = await ask(peer, getDelegation, { ...to(port, 4), headers, params: { id: made.delegation_id } });
  const other = await ask(peer, getDelegation, { ...to(port, 4), headers, params: { id: "delegation:ben-hr" } });
  assert.equal(meter.used_steps + other.used_steps, 4);
  assert.equal(meter.held_steps + other.held_steps, 0);
  const budgets = await fetch(`${origin}/access/v1/budgets/effective?period=delegation`, { headers });
  assert.equal(budgets.status, 200);
  const { snapshot } = (await budgets.json()) as { snapshot: { delegation_id: string; consumed_usd: number }[] };
  for (const { delegation_id, used_usd } of [meter, other])
    assert.equal(snapshot.find((row) => row.delegation_id === delegation_id)?.consumed_usd, used_usd);

  // Revoke all that the agent holds from ben: the next call is refused, the client still connects and lists health.
  const impact = await ask(peer, delegationImpact, { ...to(port, 4), headers, params: { id: made.delegation_id } });
  assert.deepEqual(
    impact.tools_lost.map((lost) => lost.tool_id),
    [search],
  );
  const kept = await connectMcp(origin, agent, "legacy");
  await ask(peer, revokeMany, {
    ...to(port, 4),
    headers: { ...headers, "idempotency-key": randomUUID() },
    body: { agent_id: "agent:hr-assistant", delegator_id: "person:ben", mode: "revoke", reason: "The story ends" },
  });
  const after = await callTool(port, agent, "people.demo.list_employees", {});
  assert.equal(after.body.error?.code, -32001, JSON.stringify(after.body));
  assert.match(String(after.body.error?.data?.code), /^delegation_(inactive|required)$/);
  assert.deepEqual(await toolNames(kept), ["system.health"]);
  await kept.close();
  const again = await connectMcp(origin, agent, "modern");
  assert.deepEqual(await toolNames(again), ["system.health"]);
  await again.close();

  // Security opens the refusal: path, policy or its absence, remedy. A stranger finds nothing.
  const decisionId = String(after.body.error?.data?.["decision_id"]);
  const ada = await fetchToken(port, { user: "ada" });
  const record = await ask(peer, getDecision, {
    ...to(port, 2),
    headers: bearer(ada),
    params: { id: decisionId },
    query: { remedy: "true" },
  });
  assert.equal(record.decision, false);
  assert.ok(
    record.edges?.some(
      (edge) => edge.kind === "DELEGATES_TO" && edge.from === "person:ben" && edge.to === "agent:hr-assistant" && !edge.present,
    ),
  );
  assert.ok((record.checks ?? []).some((check) => check.name === "delegation" && check.outcome === "fail"));
  assert.ok((record.remedy?.changes.length ?? 0) > 0, JSON.stringify(record.remedy));
  const eve = await fetchToken(port, { user: "eve" });
  const hidden = await fetch(`http://localhost:${port + 2}/access/v1/decisions/${decisionId}`, { headers: bearer(eve) });
  assert.equal(hidden.status, 404);
  assert.equal((await readProblem(hidden)).code, "not_found");
};
