import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testIdentity } from "#testing/identity.ts";
import { opaqueProvider, type OpaqueTokenOf } from "#testing/opaque-provider.ts";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createBearerVerifier } from "#authn/callers/bearer.ts";
import { createIntrospector } from "./introspection.ts";
import type { ProviderConnectionParts } from "./provider-connection.ts";
import { isOpaque } from "./opaque-token.ts";

const AUDIENCE = "http://localhost:8080";
const BEN: OpaqueTokenOf = { sub: "person:ben", scope: "tools.read", audience: AUDIENCE, claims: { tenant: "tenant:acme" } };

const verifierOf = (issuer: string, parts: { fetch?: ProviderConnectionParts["fetch"]; clientSecret: string; clientId: string }) => {
  const clock = { offset: 0 };
  const now = () => new Date(Date.now() + clock.offset);
  const metrics = createMetrics();
  const introspector = createIntrospector({ issuer, metrics, now, ...parts });
  const verifierFor = (audience: string) =>
    createBearerVerifier({
      audience,
      issuers: [{ issuer, keys: () => Promise.reject(new Error("no key is asked for")) }],
      introspector,
      mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
      serviceKeys: testIdentity({ now }).serviceKeys,
      agentOfClient: async (clientId) => (clientId === "hr-bot" ? "agent:hr" : undefined),
      now,
      metrics,
    });
  const sendTo = (verify: ReturnType<typeof verifierFor>) => (token: string) =>
    verify(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } }));
  const counted = async (name: string, labels: string) =>
    Number(
      (await metrics.text())
        .split("\n")
        .find((line) => line.startsWith(`${name}{${labels}}`))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  return { clock, metrics, send: sendTo(verifierFor(AUDIENCE)), sendElsewhere: sendTo(verifierFor("http://localhost:8083")), counted };
};

/** A provider with opaque tokens and a verifier that asks it. */
const world = async (t: TestContext) => {
  const provider = await opaqueProvider(t);
  return { provider, ...verifierOf(provider.url, provider) };
};

/** A provider that is not well, or not honest: what it answers about the token is the test's. */
const answering = (answer: () => Response | Promise<Response>, metadata: object = {}) =>
  verifierOf("http://localhost:1", {
    clientId: "c",
    clientSecret: "s",
    fetch: async (url) =>
      url.includes("/.well-known/")
        ? Response.json({ issuer: "http://localhost:1", introspection_endpoint: "http://localhost:1/introspect", ...metadata })
        : answer(),
  });

const isRefused = (work: Promise<unknown>, code: string, detail?: RegExp) =>
  assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, code);
    if (code === "identity_provider_unavailable") assert.equal(error.options.headers?.["retry-after"], "5");
    if (detail !== undefined) assert.match(error.options.detail ?? "", detail);
    return true;
  });

test("a token that is no JWT is what its issuer says of it", async (t) => {
  const { provider, send, counted } = await world(t);
  const token = await provider.tokenOf({
    ...BEN,
    claims: { tenant: "tenant:acme", amr: ["pwd", "otp"], auth_time: 1_700_000_000, act: { sub: "agent:one" } },
  });
  const { scopes, expiresAt, ...caller } = await send(token);
  assert.deepEqual([...scopes], ["tools.read"]);
  assert.ok(expiresAt > Date.now() / 1000 && expiresAt <= Date.now() / 1000 + 300);
  assert.deepEqual(caller, {
    sub: "person:ben",
    tenant: "tenant:acme",
    acr: "strong",
    amr: ["pwd", "otp"],
    authTime: 1_700_000_000,
    actors: ["agent:one"],
    agent: "agent:one",
    clientId: provider.clientId,
    issuer: provider.url,
    isInternalService: false,
    token,
  });
  assert.equal((await send(await provider.tokenOf({ ...BEN, clientId: "hr-bot" }))).agent, "agent:hr", "the client is the agent");
  assert.equal(await counted("bff_token_validation_total", 'token_type="opaque",status="ok"'), 2);
  assert.equal(await counted("bff_idp_requests_total", 'endpoint="introspection",status="ok"'), 2);
});

test("an answer is kept for 30 seconds, for its audience alone, and equal questions are one", async (t) => {
  const { provider, clock, send, sendElsewhere } = await world(t);
  const token = await provider.tokenOf(BEN);
  await Promise.all([send(token), send(token), send(token)]);
  assert.equal(provider.introspections(), 1);
  await isRefused(sendElsewhere(token), "invalid_token", /audience/);
  assert.equal(provider.introspections(), 2, "nothing was learned from the other audience");
  clock.offset = 29_000;
  await send(token);
  await isRefused(sendElsewhere(token), "invalid_token", /audience/);
  assert.equal(provider.introspections(), 2, "a refusal is kept as well");
  clock.offset = 31_000;
  await send(token);
  assert.equal(provider.introspections(), 3);
});

test("what is kept of a token ends with it", async (t) => {
  const { provider, clock, send } = await world(t);
  const token = await provider.tokenOf({ ...BEN, life: 10 });
  await send(token);
  clock.offset = 10_000;
  await isRefused(send(token), "invalid_token", /expired/);
});

test("a revoked token is refused as soon as the answer about it is too old", async (t) => {
  const { provider, clock, send, counted } = await world(t);
  const token = await provider.tokenOf(BEN);
  await send(token);
  await provider.revoke(token);
  clock.offset = 30_000;
  await isRefused(send(token), "invalid_token", /no longer good/);
  assert.equal(await counted("bff_token_validation_total", 'token_type="opaque",status="invalid_token"'), 1);
});

for (const [what, order, detail] of [
  ["for another audience", { audience: "http://localhost:8083" }, /audience/],
  ["for no audience in particular", { audience: undefined }, /audience/],
  ["whose person has no tenant", { claims: {} }, undefined],
] as const)
  test(`a token ${what} is refused`, async (t) => {
    const { provider, send } = await world(t);
    await isRefused(send(await provider.tokenOf({ ...BEN, ...order })), detail === undefined ? "tenant_required" : "invalid_token", detail);
  });

test("a token that the issuer does not know, and one that is no access token, are refused", async (t) => {
  const { provider, send } = await world(t);
  await isRefused(send("a".repeat(43)), "invalid_token", /not known/);
  await isRefused(send(await provider.refreshTokenOf("person:ben")), "invalid_token", /bearer/);
});

test("without its issuer a token is 503, never good and never bad; what is still kept serves on", async (t) => {
  const { provider, clock, send, counted } = await world(t);
  const [known, unknown] = [await provider.tokenOf(BEN), await provider.tokenOf(BEN)];
  await send(known);
  await provider.stop();
  await send(known);
  await isRefused(send(unknown), "identity_provider_unavailable");
  clock.offset = 30_000;
  await isRefused(send(known), "identity_provider_unavailable");
  assert.equal(await counted("bff_token_validation_total", 'token_type="opaque",status="identity_provider_unavailable"'), 2);
  assert.equal(await counted("bff_idp_requests_total", 'endpoint="introspection",status="error"'), 2);
  await provider.start();
  await send(known);
  await send(unknown);
});

test("an issuer that was away from the start is found when it is there", async (t) => {
  const { provider, send } = await world(t);
  const token = await provider.tokenOf(BEN);
  await provider.stop();
  await isRefused(send(token), "identity_provider_unavailable");
  await provider.start();
  assert.equal((await send(token)).sub, "person:ben");
});

test("credentials that the issuer refuses are our fault, not the token's", async (t) => {
  const provider = await opaqueProvider(t);
  const { send } = verifierOf(provider.url, { clientId: provider.clientId, clientSecret: "another" });
  await isRefused(send(await provider.tokenOf(BEN)), "identity_provider_unavailable");
});

const active = {
  active: true,
  sub: "person:ben",
  tenant: "tenant:acme",
  aud: AUDIENCE,
  token_type: "Bearer",
  scope: "a",
  exp: 4_000_000_000,
};

for (const [what, claims, code] of [
  ["what a good issuer says", {}, undefined],
  ["an audience among others", { aud: ["x", AUDIENCE] }, undefined],
  ["not active", { active: false }, "invalid_token"],
  ["another issuer", { iss: "http://localhost:2" }, "invalid_token"],
  ["an audience that only begins like ours", { aud: `${AUDIENCE}/x` }, "invalid_token"],
  ["an audience that is no text", { aud: [{ toString: AUDIENCE }] }, "invalid_token"],
  ["no audience", { aud: undefined }, "invalid_token"],
  ["no end", { exp: undefined }, "invalid_token"],
  ["an end that is no number", { exp: "4000000000" }, "invalid_token"],
  ["an end that is past", { exp: 1 }, "invalid_token"],
  ["a beginning ahead", { nbf: 4_000_000_000 }, "invalid_token"],
  ["a beginning that is no number", { nbf: "1" }, "invalid_token"],
  ["an issue ahead", { iat: 3_999_999_999 }, "invalid_token"],
  ["no type", { token_type: undefined }, "invalid_token"],
  ["a type that wants a key", { token_type: "DPoP" }, "invalid_token"],
  ["a key that must be shown", { cnf: { jkt: "x" } }, "invalid_token"],
  ["a refresh token's use", { token_use: "refresh_token" }, "invalid_token"],
  ["no subject", { sub: undefined }, "identity_rejected"],
  ["a service of Sallyport", { sub: "service:crud" }, "invalid_token"],
  ["active that is no boolean", { active: "true" }, "identity_provider_unavailable"],
] as const)
  test(`an introspection that says ${what} is ${code ?? "a caller"}`, async () => {
    const { send } = answering(() => Response.json({ ...active, ...claims }));
    if (code === undefined) assert.equal((await send("opaque")).sub, "person:ben");
    else await isRefused(send("opaque"), code);
  });

for (const [what, answer] of [
  ["500", () => Response.json(active, { status: 500 })],
  ["429", () => Response.json(active, { status: 429 })],
  ["401", () => new Response(null, { status: 401, headers: { "www-authenticate": "Basic" } })],
  ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
  ["a list", () => Response.json([active])],
  ["null", () => Response.json(null)],
  ["JSON that ends early", () => new Response('{"active":tr', { headers: { "content-type": "application/json" } })],
  ["too much", () => Response.json({ ...active, filler: "x".repeat(70_000) })],
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "http://localhost:1/yes" } })],
  ["a cut connection", () => Promise.reject(new TypeError("fetch failed"))],
] as const)
  test(`an introspection endpoint that answers ${what} makes nobody a caller: 503`, async () => {
    await isRefused(answering(answer).send("opaque"), "identity_provider_unavailable");
  });

test("an issuer that offers no introspection, or none that is asked, takes no opaque token", async () => {
  const none = answering(() => Response.json(active), { introspection_endpoint: undefined });
  await isRefused(none.send("opaque"), "invalid_token");
  const identity = testIdentity();
  await isRefused(identity.verify(new Request("http://x/", { headers: { authorization: "Bearer opaque" } })), "invalid_token");
});

test("only so many questions are under way at once", async () => {
  const { promise: held, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const { send } = answering(async () => {
    asked++;
    await held;
    return Response.json(active);
  });
  const tokens = Array.from({ length: 70 }, (_none, index) => `token-${index}`);
  const outcomes = tokens.map((token) =>
    send(token).then(
      () => "ok",
      (error: Problem) => error.code,
    ),
  );
  const refused = await Promise.all(outcomes.slice(64));
  assert.deepEqual(
    refused,
    Array.from({ length: 6 }, () => "identity_provider_unavailable"),
  );
  resolve();
  assert.deepEqual(new Set(await Promise.all(outcomes.slice(0, 64))), new Set(["ok"]));
  assert.equal(asked, 64);
  assert.equal((await send("later")).sub, "person:ben", "and then there is room again");
});

test("what calls itself a JWT is checked as one, and never asked about", async () => {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  let asked = 0;
  const { send, counted } = answering(() => {
    asked++;
    return Response.json(active);
  });
  const forged = [
    `${encoded({ alg: "none" })}.${encoded(active)}.`,
    `${encoded({ alg: "none" })}.${encoded(active)}`,
    `${encoded({ alg: "HS256", typ: "at+jwt" })}.${encoded({ ...active, iss: "http://localhost:1" })}.c2ln`,
    `${encoded({ alg: "dir", enc: "A256GCM" })}..a.b.c`,
    encoded({ alg: "none" }),
  ];
  for (const token of forged) {
    assert.equal(isOpaque(token), false, token);
    await isRefused(send(token), "invalid_token");
  }
  assert.equal(asked, 0);
  assert.equal(await counted("bff_token_validation_total", 'token_type="jwt",status="invalid_token"'), forged.length);
  for (const token of ["x", "a.b", "ory_at_abc.def", "a".repeat(43), encoded(7), encoded("text"), encoded(null), "a.b.c"])
    assert.equal(isOpaque(token), true, token);
});
