import assert from "node:assert/strict";
import { before, test } from "node:test";
import { sharedInstance } from "./shared-instance.ts";
import { fetchSecret, fetchToken } from "./tokens.ts";

const AGENT = "agent:hr-assistant";
const PING = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

let instance: Awaited<ReturnType<typeof sharedInstance>>;
before(async () => {
  instance = await sharedInstance();
});

const statusOf = async (url: string, token: string, body: unknown = PING): Promise<number> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(body),
  });
  await response.body?.cancel();
  return response.status;
};

for (const [place, offset] of [
  ["the gateway", 0],
  ["the tools' own port", 3],
] as const)
  test(`a client that is sent to a view at ${place} gets a token for what its metadata name, which opens that view alone`, async () => {
    const base = `http://localhost:${instance.port + offset}`;
    const described = await fetch(`${base}/.well-known/oauth-protected-resource/mcp/people`);
    const { resource } = (await described.json()) as { resource: string };
    assert.equal(resource, `${base}/mcp/people`);
    const ofIssuer = await fetchToken(instance.port, { user: "ben", agent: AGENT, aud: resource });
    const exchanged = await fetch(`${instance.origin}/oauth/token`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${encodeURIComponent(AGENT)}:${encodeURIComponent(await fetchSecret(instance.data, AGENT))}`).toString("base64")}`,
      },
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token: await fetchToken(instance.port, { user: "ben" }),
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
        resource,
      }),
    });
    const { access_token: ofGateway = "" } = (await exchanged.json()) as { access_token?: string };
    for (const token of [ofIssuer, ofGateway])
      assert.deepEqual(
        await Promise.all(
          ["/mcp/people", "/mcp/people-demo", "/mcp/memory", "/mcp", "/mcp/jsonrpc"].map((path) => statusOf(`${base}${path}`, token)),
        ),
        [200, 401, 401, 401, 401],
      );
    const ofAll = await fetchToken(instance.port, { user: "ben", agent: AGENT, aud: `${base}/mcp` });
    assert.deepEqual(await Promise.all(["/mcp/people", "/mcp"].map((path) => statusOf(`${base}${path}`, ofAll))), [200, 200]);
  });
