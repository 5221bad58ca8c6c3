import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  checkResourceAllowed,
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
  type AuthProvider,
} from "@modelcontextprotocol/client";
import { cleanUp } from "#testing/clean-up.ts";
import { resultOf, toolNames } from "./mcp-client.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchSecret, fetchToken } from "./tokens.ts";

const AGENT = "agent:hr-assistant";
const peopleTools = ["people.demo.get_employee", "people.demo.list_employees", "people.demo.update_salary"];

let instance: TestInstance;
before(async () => {
  // Persons' own tokens come from a client that this deployment does not know as one of its own.
  instance = await startTestInstance({ environment: { FIRST_PARTY_CLIENTS: "a-client-of-our-own" } });
});
after(async () => {
  assert.equal(await instance?.stop(), 0);
});

/** What a registered agent does with a 401: reads where the resource is described, and takes a token for that resource. */
const agentOf = (person: string, secret: string) => {
  const seen: string[] = [];
  let held: string | undefined;
  const provider: AuthProvider = {
    token: async () => held,
    onUnauthorized: async ({ response, serverUrl, fetchFn }) => {
      const { resourceMetadataUrl } = extractWWWAuthenticateParams(response);
      assert.ok(resourceMetadataUrl, "the 401 names its metadata");
      const metadata = await discoverOAuthProtectedResourceMetadata(serverUrl, { resourceMetadataUrl }, fetchFn);
      seen.push(String(resourceMetadataUrl), metadata.resource, ...(metadata.scopes_supported ?? []));
      assert.ok(
        checkResourceAllowed({ requestedResource: serverUrl, configuredResource: metadata.resource }),
        "it describes the very resource that was asked",
      );
      const answer = await fetch(`${instance.origin}/oauth/token`, {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${encodeURIComponent(AGENT)}:${encodeURIComponent(secret)}`).toString("base64")}` },
        body: new URLSearchParams({
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          subject_token: person,
          subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
          audience: metadata.resource,
          scope: (metadata.scopes_supported ?? []).join(" "),
        }),
      });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      held = (JSON.parse(text) as { access_token: string }).access_token;
    },
  };
  return { provider, seen, held: () => held };
};

for (const [era, versionNegotiation] of [
  ["2025-11-25", { mode: "legacy" }],
  ["2026-07-28", { mode: { pin: "2026-07-28" } }],
] as const)
  test(`a stock client (${era}) finds its way from the 401 to a token of the gateway, calls, and hears at once what is told to it`, async (t) => {
    const ben = await fetchToken(instance.port, { user: "ben" });
    const agent = agentOf(ben, await fetchSecret(instance.data, AGENT));
    const reported = Promise.withResolvers<readonly string[]>();
    const client = new Client(
      { name: "stock", version: "1.0.0" },
      {
        versionNegotiation,
        listChanged: {
          tools: {
            onChanged: (_error, tools) => {
              if (tools?.length === peopleTools.length + 2) reported.resolve(tools.map(({ name }) => name).sort());
            },
          },
        },
      },
    );
    cleanUp(t, () => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(`${instance.origin}/mcp`), { authProvider: agent.provider }));
    assert.deepEqual(agent.seen, [
      `${instance.origin}/.well-known/oauth-protected-resource/mcp`,
      `${instance.origin}/mcp`,
      "mcp.tools.discovery",
      "mcp.tools.invoke",
    ]);
    const claims = JSON.parse(Buffer.from(agent.held()?.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
    assert.deepEqual([claims["iss"], claims["sub"], claims["act"]], [instance.origin, "person:ben", { sub: AGENT }]);
    assert.deepEqual([claims["aud"]].flat(), [`${instance.origin}/mcp`]);

    assert.deepEqual(await toolNames(client), [...peopleTools, "system.health"].sort());
    const listed = resultOf(await client.callTool({ name: "people.demo.list_employees", arguments: { limit: 2 } }));
    assert.equal(listed.isError, false, listed.text);

    // The stream stays open without an end: what is told on it arrives only if nobody on the way keeps it.
    const person = await signInPerson(instance.origin, "ben");
    const send = (path: string, body: unknown) =>
      fetch(`${instance.origin}/api/membership/delegations${path}`, {
        method: "POST",
        headers: { ...person.headers, "idempotency-key": crypto.randomUUID() },
        body: JSON.stringify(body),
      });
    const made = await send("", {
      agent_id: AGENT,
      capabilities: ["sallyport.local.search_identities"],
      budget_usd: 1,
      max_steps: 5,
      purpose: "One tool more",
    });
    const { delegation_id: id } = (await made.json()) as { delegation_id: string };
    assert.equal(made.status, 201);
    assert.deepEqual(await reported.promise, [...peopleTools, "sallyport.local.search_identities", "system.health"].sort());
    assert.equal((await send(`/${id}/revoke`, { reason: "Enough" })).status, 200);
  });

test("a client that nobody registered gets no further than recognition, with a token that is good elsewhere", async () => {
  const ben = await fetchToken(instance.port, { user: "ben" });
  const client = new Client({ name: "stranger", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
  const transport = new StreamableHTTPClientTransport(new URL(`${instance.origin}/mcp`), { authProvider: { token: async () => ben } });
  await assert.rejects(client.connect(transport), /unknown_client/);
  const refused = await fetch(`${instance.origin}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${ben}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [403, "unknown_client"]);
  const elsewhere = await fetch(`${instance.origin}/access/v1/evaluation`, {
    method: "POST",
    headers: { authorization: `Bearer ${ben}`, "content-type": "application/json" },
    body: JSON.stringify({ action: { name: "view_all" }, resource: { type: "pages" } }),
  });
  assert.equal(elsewhere.status, 200);
});

for (const [place, serverPath, metadataPath, resourcePath, portOffset] of [
  ["the tools' own port", "/mcp", "/.well-known/oauth-protected-resource/mcp", "/mcp", 3],
  ["the gateway's other address of the tools", "/api/crud/mcp", "/.well-known/oauth-protected-resource", "", 0],
] as const)
  test(`a stock client that is sent to ${place} finds that resource described, and its token opens it`, async (t) => {
    const agent = agentOf(await fetchToken(instance.port, { user: "ben" }), await fetchSecret(instance.data, AGENT));
    const base = `http://localhost:${instance.port + portOffset}`;
    const client = new Client({ name: "stock", version: "1.0.0" });
    cleanUp(t, () => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(`${base}${serverPath}`), { authProvider: agent.provider }));
    assert.deepEqual(agent.seen.slice(0, 2), [`${base}${metadataPath}`, `${base}${resourcePath}`]);
    assert.ok((await toolNames(client)).includes("people.demo.list_employees"));
  });
