import assert from "node:assert/strict";
import { test } from "node:test";
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair, SignJWT, type JWTPayload } from "jose";
import { Problem } from "#contract/problem.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testDatabase } from "#testing/database.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { secretDigest } from "#authn/sealing/client-secret.ts";
import { ACCESS_TOKEN_TYPE, EXCHANGE_GRANT } from "./delegated-token.ts";
import { createTokenExchange, type TokenExchangeParts } from "./exchange.ts";
import type { RegisteredClient } from "./registered-clients.ts";
import { createUsedAssertions } from "./used-assertions.ts";

const origin = testAudiences.gateway;
const audiences = [origin, `${origin}/mcp`, testAudiences.crud, testAudiences.membership];
const tokenUrl = `${origin}/oauth/token`;
let time = Date.parse("2026-11-21T10:00:00Z");
const now = (): Date => new Date(time);
const identity = testIdentity({ now });
const key = await generateKeyPair("ES256", { extractable: true });
const publicJwk = await exportJWK(key.publicKey);
const kid = await calculateJwkThumbprint(publicJwk);

const parts: TokenExchangeParts = {
  clients: [
    { clientId: "agent:hr-assistant", agent: "agent:hr-assistant", secretSha256: secretDigest("s3cret") },
    { clientId: "bot", agent: "agent:bot", jwks: { keys: [{ ...publicJwk, kid }] }, scopes: ["mcp.tools.discovery"] },
  ],
  check: async (token) =>
    identity.verifierFor([origin, `${origin}/mcp`])(new Request(origin, { headers: { authorization: `Bearer ${token}` } })),
  serviceKeys: identity.serviceKeys,
  audiences,
  endpoint: tokenUrl,
  now,
  metrics: createMetrics(),
  log: silentLog,
};
const exchange = createTokenExchange(parts);

const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;
const hr = basic("agent:hr-assistant", "s3cret");
const benToken = (
  more: Partial<Parameters<typeof identity.tokenFor>[0]> = {},
  audience: string | readonly string[] = origin,
): Promise<string> =>
  identity.tokenFor(
    { sub: "person:ben", tenant: "tenant:acme", scopes: ["mcp.tools.discovery", "mcp.tools.invoke", "secrets.read"], life: 3600, ...more },
    audience,
  );
const form = async (change: Readonly<Record<string, string | readonly string[] | undefined>> = {}): Promise<URLSearchParams> => {
  const all = { grant_type: EXCHANGE_GRANT, subject_token: await benToken(), subject_token_type: ACCESS_TOKEN_TYPE, ...change };
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(all)) {
    for (const item of typeof value === "string" ? [value] : (value ?? [])) made.append(name, item);
  }
  return made;
};
const post = (
  body: URLSearchParams | string,
  authorization: string | undefined = hr,
  endpoint = exchange,
  headers: Record<string, string> = {},
): Promise<Response> =>
  endpoint(
    new Request(tokenUrl, {
      method: "POST",
      body,
      headers: { ...(authorization === undefined ? {} : { authorization }), ...headers },
    }),
  );
const bodyOf = async (response: Response) => (await response.json()) as Record<string, string> & { expires_in: number };

test("the answer is the person's token with the agent as actor, signed by the gateway, for all of Sallyport", async () => {
  const response = await post(await form({ subject_token: await benToken({ acr: "strong", authTime: time / 1000 - 60 }) }));
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const body = await bodyOf(response);
  const { access_token: token = "", ...rest } = body;
  assert.deepEqual(rest, {
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: "Bearer",
    expires_in: 900,
    scope: "mcp.tools.discovery mcp.tools.invoke",
  });
  const { jti: _jti, ...claims } = decodeJwt(token);
  assert.deepEqual(claims, {
    iss: origin,
    aud: audiences,
    sub: "person:ben",
    tenant: "tenant:acme",
    act: { sub: "agent:hr-assistant" },
    client_id: "agent:hr-assistant",
    scope: "mcp.tools.discovery mcp.tools.invoke",
    acr: "strong",
    amr: ["pwd", "otp"],
    auth_time: time / 1000 - 60,
    iat: time / 1000,
    exp: time / 1000 + 900,
  });
});

test("crud takes the token for what it says", async () => {
  const { access_token: token = "" } = await bodyOf(await post(await form()));
  const caller = await identity.verifierFor(testAudiences.crud)(new Request("http://x", { headers: { authorization: `Bearer ${token}` } }));
  assert.deepEqual(
    [caller.sub, caller.agent, caller.isInternalService, caller.clientId],
    ["person:ben", "agent:hr-assistant", false, "agent:hr-assistant"],
  );
  assert.equal(caller.acr, undefined);
});

test("its life is never beyond the subject token's", async () => {
  const body = await bodyOf(await post(await form({ subject_token: await benToken({ life: 120 }) })));
  assert.equal(body.expires_in, 120);
  assert.equal(decodeJwt(body["access_token"] ?? "").exp, time / 1000 + 120);
});

test("scopes and audiences that are asked for are all there is", async () => {
  const body = await bodyOf(
    await post(await form({ scope: "mcp.tools.discovery", audience: testAudiences.crud, resource: `${origin}/mcp` })),
  );
  const claims = decodeJwt(body["access_token"] ?? "");
  assert.deepEqual([claims["scope"], claims.aud], ["mcp.tools.discovery", [testAudiences.crud, `${origin}/mcp`]]);
});

test("an agent's scopes are bounded by what the subject token has, by what agents may have, and by its own list", async () => {
  const narrow = await bodyOf(await post(await form({ subject_token: await benToken({ scopes: ["mcp.tools.discovery", "audit.read"] }) })));
  assert.equal(narrow["scope"], "mcp.tools.discovery");
  for (const scope of ["secrets.read", "membership.read", "mcp.tools.discovery authzen.pep"]) {
    const response = await post(await form({ scope }));
    assert.deepEqual([response.status, (await bodyOf(response))["error"]], [400, "invalid_scope"], scope);
  }
});

const bad: Record<string, { form?: Parameters<typeof form>[0]; token?: () => Promise<string>; status?: number; error: string }> = {
  "no subject token": { form: { subject_token: undefined }, error: "invalid_request" },
  "two subject tokens": { form: { subject_token: ["a", "b"] }, error: "invalid_request" },
  "no subject token type": { form: { subject_token_type: undefined }, error: "invalid_request" },
  "an ID token as subject": { form: { subject_token_type: "urn:ietf:params:oauth:token-type:id_token" }, error: "invalid_request" },
  "a refresh token wanted": { form: { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }, error: "invalid_request" },
  "an actor token": { form: { actor_token: "x", actor_token_type: ACCESS_TOKEN_TYPE }, error: "invalid_request" },
  "two scopes fields": { form: { scope: ["a", "b"] }, error: "invalid_request" },
  "another grant": { form: { grant_type: "password" }, error: "unsupported_grant_type" },
  "no grant": { form: { grant_type: undefined }, error: "unsupported_grant_type" },
  "another client's id": { form: { client_id: "bot" }, error: "invalid_request" },
  "a secret in the form": { form: { client_secret: "s3cret" }, status: 401, error: "invalid_client" },
  "two proofs": { form: { client_assertion: "a.b.c" }, error: "invalid_request" },
  "a foreign audience": { form: { audience: "https://evil.example" }, error: "invalid_target" },
  "one foreign audience among ours": { form: { audience: [testAudiences.crud, "https://evil.example"] }, error: "invalid_target" },
  "no token at all": { form: { subject_token: "x" }, error: "invalid_grant" },
  "an expired token": { token: () => benToken({ life: -1 }), error: "invalid_grant" },
  "a token for another instance": { token: () => benToken({}, "https://other.example"), error: "invalid_grant" },
  "a token for one service only": { token: () => benToken({}, testAudiences.crud), error: "invalid_grant" },
  "a token without tenant": { token: () => benToken({ tenant: undefined }), error: "invalid_grant" },
  "an agent's token": { token: () => benToken({ agent: "agent:reporter" }), error: "invalid_grant" },
  "a token made for one call inside Sallyport": {
    token: () =>
      identity.identityOf("gateway").onBehalfOf(origin, { sub: "person:ben", tenant: "tenant:acme", scopes: ["mcp.tools.invoke"] }),
    error: "invalid_grant",
  },
  "a service's token": { token: () => identity.identityOf("crud").asService(origin, ["mcp.tools.invoke"]), error: "invalid_grant" },
};
for (const [name, row] of Object.entries(bad)) {
  test(`refused: ${name}`, async () => {
    const response = await post(await form({ ...row.form, ...(row.token === undefined ? {} : { subject_token: await row.token() }) }));
    const body = await bodyOf(response);
    assert.deepEqual([response.status, body["error"]], [row.status ?? 400, row.error], JSON.stringify(body));
    assert.equal(body["access_token"], undefined);
    assert.doesNotMatch(JSON.stringify(body), /eyJ/);
  });
}

test("an exchanged token cannot be exchanged again", async () => {
  const first = await bodyOf(await post(await form()));
  const second = await post(await form({ subject_token: first["access_token"] }));
  assert.equal((await bodyOf(second))["error"], "invalid_grant");
});

const badClients: Record<string, string | undefined> = {
  "no proof": undefined,
  "wrong secret": basic("agent:hr-assistant", "s3cre"),
  "empty secret": basic("agent:hr-assistant", ""),
  "unknown client": basic("agent:nobody", "s3cret"),
  "a client that has only a key": basic("bot", ""),
  "a colon that is not encoded": `Basic ${Buffer.from("agent:hr-assistant:s3cret").toString("base64")}`,
  "not Basic": "Bearer s3cret",
  "broken escapes": `Basic ${Buffer.from("%zz:s3cret").toString("base64")}`,
};
for (const [name, authorization] of Object.entries(badClients)) {
  test(`client refused: ${name}`, async () => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const response = await exchange(new Request(tokenUrl, { method: "POST", body: await form(), headers }));
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate") ?? "", /^Basic /);
    assert.equal((await bodyOf(response))["error"], "invalid_client");
  });
}

test("a body that is no form, or too large a one, is invalid_request", async () => {
  const json = await post(JSON.stringify({ grant_type: EXCHANGE_GRANT }), hr, exchange, { "content-type": "application/json" });
  assert.deepEqual([json.status, (await bodyOf(json))["error"]], [400, "invalid_request"]);
  const large = await post(await form({ scope: "x".repeat(40_000) }));
  assert.deepEqual([large.status, (await bodyOf(large))["error"]], [400, "invalid_request"]);
});

test("an issuer that does not answer is 503 with Retry-After, and an issue of ours tells nothing", async () => {
  const away = createTokenExchange({ ...parts, check: () => Promise.reject(new Problem("identity_provider_unavailable")) });
  const response = await post(await form(), hr, away);
  assert.deepEqual([response.status, (await bodyOf(response))["error"]], [503, "temporarily_unavailable"]);
  assert.ok(Number(response.headers.get("retry-after")) > 0);
  const broken = createTokenExchange({ ...parts, check: () => Promise.reject(new Error("password=hunter2")) });
  const failed = await post(await form(), hr, broken);
  assert.equal(failed.status, 500);
  assert.doesNotMatch(await failed.text(), /hunter2/);
});

test("a client that holds a key proves itself by a signed assertion, each of them once", async (t) => {
  const database = await testDatabase(t, ["authn"]);
  const endpoint = createTokenExchange({ ...parts, isFirstUse: createUsedAssertions(database, now) });
  const assertion = (change: JWTPayload = {}, signer = key.privateKey): Promise<string> =>
    new SignJWT({ iss: "bot", sub: "bot", aud: tokenUrl, jti: crypto.randomUUID(), iat: time / 1000, exp: time / 1000 + 60, ...change })
      .setProtectedHeader({ alg: "ES256", kid })
      .sign(signer);
  const send = async (given: string, to = endpoint): Promise<Response> =>
    to(
      new Request(tokenUrl, {
        method: "POST",
        body: await form({ client_assertion: given, client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" }),
      }),
    );
  const good = await assertion();
  const body = await bodyOf(await send(good));
  assert.deepEqual([body["scope"], decodeJwt(body["access_token"] ?? "")["act"]], ["mcp.tools.discovery", { sub: "agent:bot" }]);
  assert.equal((await send(good)).status, 401, "replayed");
  assert.equal((await send(await assertion({ aud: "https://elsewhere" }))).status, 401, "audience");
  assert.equal((await send(await assertion({ exp: time / 1000 - 1 }))).status, 401, "expired");
  assert.equal((await send(await assertion({ exp: time / 1000 + 3600 }))).status, 401, "too long a life");
  assert.equal((await send(await assertion({ sub: "agent:hr-assistant" }))).status, 401, "sub");
  assert.equal((await send(await assertion({ iss: "agent:hr-assistant" }))).status, 401, "a client without key");
  assert.equal((await send(await assertion({}, (await generateKeyPair("ES256")).privateKey))).status, 401, "another's key");
  assert.equal((await send("a.b.c")).status, 401, "no assertion");
  assert.equal((await send(await assertion(), exchange)).status, 401, "where none are taken");
});

test("time passes: the token of ten minutes ago is good for five more", async () => {
  const { access_token: token = "" } = await bodyOf(await post(await form()));
  const ask = () => identity.verifierFor(testAudiences.crud)(new Request("http://x", { headers: { authorization: `Bearer ${token}` } }));
  time += 899_000;
  assert.equal((await ask()).sub, "person:ben");
  time += 1000;
  await assert.rejects(ask(), { code: "invalid_token" });
});

test("clients whose credentials Sallyport keeps: agents exchange within their tenant, services ask in their own name, each at once and until it ends", async () => {
  const kept = new Map<string, RegisteredClient>();
  let isAway = false;
  const endpoint = createTokenExchange({
    ...parts,
    findClient: async (clientId) => {
      if (isAway) throw new Problem("store_unavailable");
      return kept.get(clientId);
    },
  });
  const [secret, other] = ["kept-secret", "overlapping"];
  const helper = { clientId: "agent:helper", kind: "agent", tenant: "tenant:acme", scopes: ["mcp.tools.invoke"] } as const;
  const hook = { clientId: "service:hook", kind: "service", tenant: "tenant:acme", scopes: ["pip.read", "authzen.pep"] } as const;
  const own = (more: Readonly<Record<string, string | readonly string[]>> = {}) =>
    form({ grant_type: "client_credentials", subject_token: undefined, subject_token_type: undefined, ...more });
  const said = async (body: URLSearchParams, id: string, proof = secret) => {
    const answered = await bodyOf(await post(body, basic(id, proof), endpoint));
    return answered["error"] ?? answered["access_token"] ?? "";
  };
  const claimsOf = async (...asked: Parameters<typeof said>): Promise<JWTPayload> => decodeJwt(await said(...asked));
  assert.equal(await said(await form(), "agent:helper"), "invalid_client", "not yet");
  kept.set("agent:helper", { ...helper, digests: [secretDigest(secret), secretDigest(other)] });
  kept.set("service:hook", { ...hook, digests: [secretDigest(secret)] });

  for (const proof of [secret, other]) {
    const { act, sub, scope } = await claimsOf(await form(), "agent:helper", proof);
    assert.deepEqual([act, sub, scope], [{ sub: "agent:helper" }, "person:ben", "mcp.tools.invoke"]);
  }
  const foreign = await form({ subject_token: await benToken({ sub: "person:eve", tenant: "tenant:globex" }) });
  assert.equal(await said(foreign, "agent:helper"), "invalid_grant");
  const { sub, tenant, scope, aud, act, client_id } = await claimsOf(await own(), "service:hook");
  assert.deepEqual(
    [sub, tenant, scope, act, client_id],
    ["service:hook", "tenant:acme", "pip.read authzen.pep", undefined, "service:hook"],
  );
  assert.deepEqual(aud, audiences);
  const token = (
    await bodyOf(await post(await own({ scope: "pip.read", resource: testAudiences.membership }), basic("service:hook", secret), endpoint))
  )["access_token"];
  const caller = await identity.verifierFor(testAudiences.membership)(
    new Request(origin, { headers: { authorization: `Bearer ${token}` } }),
  );
  assert.deepEqual(
    [caller.sub, caller.tenant, caller.isInternalService, [...caller.scopes]],
    ["service:hook", "tenant:acme", false, ["pip.read"]],
  );

  for (const [what, body, id, proof, code] of [
    ["a wider scope", await own({ scope: "pip.read membership.budget" }), "service:hook", secret, "invalid_scope"],
    ["another's service", await own({ resource: "https://elsewhere.example" }), "service:hook", secret, "invalid_target"],
    ["a service that exchanges", await form(), "service:hook", secret, "unauthorized_client"],
    ["an agent in its own name", await own(), "agent:helper", secret, "unauthorized_client"],
    ["an agent of a file in its own name", await own(), "agent:hr-assistant", "s3cret", "unauthorized_client"],
    ["another secret", await own(), "service:hook", other, "invalid_client"],
    ["the digest", await own(), "service:hook", secretDigest(secret), "invalid_client"],
    ["another grant", await own({ grant_type: "password" }), "service:hook", secret, "unsupported_grant_type"],
    ["scope twice", await own({ scope: ["pip.read", "pip.read"] }), "service:hook", secret, "invalid_request"],
  ] as const)
    assert.equal(await said(body, id, proof), code, what);
  isAway = true;
  assert.equal(await said(await own(), "service:hook"), "temporarily_unavailable");
  isAway = false;
  kept.clear();
  assert.equal(await said(await own(), "service:hook"), "invalid_client", "ended");
});
