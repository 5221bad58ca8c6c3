import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT, type JWTPayload } from "jose";
import { parse, stringify } from "yaml";
import type { DecisionRecord } from "#contract/decisions.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchSecret, fetchToken } from "./tokens.ts";

const AGENT = "agent:hr-assistant";
const FAR = "https://far.example";
const NEAR = "https://near.example";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

/** Two services elsewhere in one: what each was given as `Authorization`. */
const upstream = async (t: TestContext) => {
  const seen = new Map<string, string>();
  const server = createServer((request, response) => {
    seen.set(request.url ?? "", request.headers.authorization ?? "");
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
};

const writeRoutes = async (folder: string, url: string): Promise<string> => {
  const table = parse(await readFile(join(import.meta.dirname, "../config/routes.yaml"), "utf8")) as {
    services: Record<string, unknown>;
    routes: unknown[];
  };
  table.services["far"] = { base_urls: [url], audience: FAR };
  table.services["near"] = { base_urls: [url], audience: NEAR };
  const row = { methods: ["GET"], auth: "bearer", authz: "none" };
  table.routes.push({
    ...row,
    id: "far",
    path: "/far",
    target_service: "far",
    upstream_path: "/far",
    token_policy: { mode: "on_behalf_of" },
  });
  table.routes.push({ ...row, id: "near", path: "/near", target_service: "near", upstream_path: "/near" });
  const file = join(folder, "routes.yaml");
  await writeFile(file, stringify(table, { aliasDuplicateObjects: false }));
  return file;
};

test("who acts for whom stays in the token: from the embedded issuer to a decision, to a service outside and to one of INTERNAL_AUDIENCES", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-act-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const { url, seen } = await upstream(t);
  const port = await findFreePorts();
  const own = [0, 2, 3, 4, 5].map((offset) => `http://localhost:${port + offset}`);
  const instance = await startTestInstance({
    port,
    environment: {
      ROUTES_FILE: await writeRoutes(folder, url),
      INTERNAL_AUDIENCES: [...own, NEAR].join(","),
      FIRST_PARTY_CLIENTS: "a-client-of-our-own",
    },
  });
  cleanUp(t, async () => void (await instance.stop()));
  const issuer = `http://localhost:${port + 1}`;
  const basic = (id: string, secret: string) =>
    `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;
  const exchange = async (endpoint: string, subjectToken: string, client: string) => {
    const answer = await fetch(endpoint, {
      method: "POST",
      headers: { authorization: basic(client, await fetchSecret(instance.data, client)) },
      body: new URLSearchParams({ grant_type: EXCHANGE, subject_token: subjectToken, subject_token_type: ACCESS_TOKEN }),
    });
    return (await answer.json()) as { access_token?: string; error?: string };
  };
  const get = (path: string, token: string) => fetch(`${instance.origin}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const tokenAt = (path: string): JWTPayload => decodeJwt((seen.get(path) ?? "").replace("Bearer ", ""));
  const listTools = async (token: string) => {
    const response = await fetch(`${instance.origin}/api/crud/mcp/jsonrpc`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "people.demo.list_employees", arguments: {} } }),
    });
    return { status: response.status, decision: response.headers.get("x-decision-id") ?? "", body: await response.text() };
  };

  const ben = await fetchToken(port, { user: "ben" });
  const [ofIssuer, ofGateway] = [
    await exchange(`${issuer}/token`, ben, AGENT),
    await exchange(`${instance.origin}/oauth/token`, ben, AGENT),
  ];
  assert.deepEqual([ofIssuer.error, ofGateway.error], [undefined, undefined]);
  const token = ofIssuer.access_token ?? "";

  // A service outside: the issuer's own token for it alone, of the same person and the same agent.
  const far = await get("/far", token);
  assert.equal(far.status, 200, await far.text());
  const abroad = tokenAt("/far");
  assert.deepEqual([abroad.iss, abroad.aud, abroad.sub, abroad["act"]], [issuer, [FAR], "person:ben", { sub: AGENT }]);
  assert.equal((await get("/far", ben)).status, 200);
  assert.deepEqual([tokenAt("/far").sub, tokenAt("/far")["act"]], ["person:ben", undefined], "ben himself, with no agent");

  // One that INTERNAL_AUDIENCES names: the gateway's own word, for this one call.
  assert.equal((await get("/near", token)).status, 200);
  const near = tokenAt("/near");
  assert.deepEqual([near.iss, near.aud, near.sub, near["act"]], [instance.origin, NEAR, "person:ben", { sub: AGENT }]);
  assert.equal((near.exp ?? 0) - (near.iat ?? 0), 60);

  // The agent of the token is whom the decision point decides about.
  for (const given of [token, ofGateway.access_token ?? ""]) {
    const called = await listTools(given);
    assert.equal(called.status, 200, called.body);
    const record = (await (await get(`/access/v1/decisions/${called.decision}`, ben)).json()) as DecisionRecord;
    assert.deepEqual([record.action, record.resource.id, record.agent?.id], ["tools/call", "people.demo.list_employees", AGENT]);
  }
  const reporter = await exchange(`${issuer}/token`, ben, "agent:reporter");
  const refused = await listTools(reporter.access_token ?? "");
  assert.match(refused.body, /"code":"delegation_inactive"/, "ben's delegation to that one was revoked");

  // What an agent holds goes to no further agent, and a person's client of another instance enters no tool endpoint.
  for (const endpoint of [`${issuer}/token`, `${instance.origin}/oauth/token`])
    assert.equal((await exchange(endpoint, token, "agent:reporter")).error, "invalid_grant", endpoint);
  assert.match((await listTools(ben)).body, /unknown_client/);

  // Forged: another's signature under the same words, an actor put in or taken out, no signature at all.
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const header = { ...decodeProtectedHeader(token), jwk: await exportJWK(publicKey) };
  const claims = decodeJwt(token);
  const [head = "", , signature = ""] = token.split(".");
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const { act: _act, ...plain } = claims;
  const forged: Readonly<Record<string, string>> = {
    "another key": await new SignJWT(claims).setProtectedHeader({ ...header, alg: "ES256" }).sign(privateKey),
    "an actor taken out": `${head}.${encoded(plain)}.${signature}`,
    "a longer chain": `${head}.${encoded({ ...claims, act: { sub: "agent:reporter", act: claims["act"] } })}.${signature}`,
    "no signature": `${encoded({ alg: "none", typ: "at+jwt" })}.${encoded(claims)}.`,
  };
  for (const [what, one] of Object.entries(forged)) {
    seen.clear();
    for (const path of ["/far", "/near"]) assert.equal((await get(path, one)).status, 401, what);
    assert.equal(seen.size, 0, what);
    for (const endpoint of [`${issuer}/token`, `${instance.origin}/oauth/token`])
      assert.equal((await exchange(endpoint, one, AGENT)).error, "invalid_grant", `${what}: ${endpoint}`);
  }
});
