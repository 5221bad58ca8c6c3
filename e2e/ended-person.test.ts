import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

test("who is suspended is out: session, token, their agent's token and open streams, until they are active again", async (t) => {
  const instance = await startTestInstance();
  cleanUp(t, () => instance.stop());
  const { origin, port } = instance;
  const session = await signInPerson(origin, "ben");
  const mcp = `${origin}/mcp`;
  const ask = { user: "ben", aud: mcp };
  const tokens = [await fetchToken(port, ask), await fetchToken(port, { ...ask, agent: "agent:hr-assistant" })];
  const member = `http://localhost:${port + 4}`;
  const ada = { authorization: `Bearer ${await fetchToken(port, { user: "ada", acr: "strong", aud: member })}` };

  const listTools = (token: string) =>
    fetch(mcp, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
  /** A stream of the tool protocol: a session of it, and its notifications. */
  const listen = async (token: string): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const begun = await fetch(mcp, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    await begun.body?.cancel();
    const inSession = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-06-18" };
    return fetch(mcp, { headers: { authorization: headers.authorization, accept: "text/event-stream", ...inSession } });
  };
  const statuses = async () => {
    const answers = [
      fetch(`${origin}/auth/verify`, { headers: { cookie: session.cookie } }),
      fetch(`${origin}/api/v1/sessions`, { headers: session.headers }),
      fetch(`${origin}/api/membership/delegations`, { headers: session.headers }),
      ...tokens.map(listTools),
    ].map(async (answer) => {
      const { status, body } = await answer;
      await body?.cancel();
      return status;
    });
    return (await Promise.all(answers)).join();
  };
  const setState = async (state: string): Promise<void> => {
    const node = `${member}/api/v1/nodes/person:ben`;
    const headers = { ...ada, "content-type": "application/json", "if-match": "*" };
    const { status } = await fetch(node, { method: "PATCH", headers, body: JSON.stringify({ state }) });
    assert.equal(status, 200);
  };

  assert.equal(await statuses(), "200,200,200,200,200");
  const opened = await Promise.all([
    ...tokens.map(listen),
    fetch(`${origin}/api/v1/events/activity`, { headers: { cookie: session.cookie, accept: "text/event-stream" } }),
  ]);
  assert.deepEqual(
    opened.map(({ status }) => status),
    [200, 200, 200],
  );
  const ended = new Set<number>();
  for (const [at, stream] of opened.entries()) void stream.text().then(() => ended.add(at));

  await setState("suspended");
  await until(statuses, (found) => found === "401,401,401,401,401");
  await until(() => ended.size === opened.length);
  await setState("active");
  assert.equal(await statuses(), "401,401,401,200,200", "the session has ended, the tokens have not");
  assert.equal((await fetch(`${origin}/auth/verify`, { headers: { cookie: (await signInPerson(origin, "ben")).cookie } })).status, 200);
});
