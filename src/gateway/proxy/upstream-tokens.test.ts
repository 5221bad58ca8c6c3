import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { decodeJwt, UnsecuredJWT } from "jose";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createBearerVerifier } from "#authn/callers/bearer.ts";
import { remoteIssuer } from "#authn/provider/issuer-keys.ts";
import { createOidcClient } from "#authn/provider/oidc.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { testDatabase } from "#testing/database.ts";
import { foreignProvider, type ForeignProvider, type Misbehaviour } from "#testing/foreign-provider.ts";
import { gatewayModules, sharedDatabase, testGateway, type SignedInBrowser } from "#testing/gateway.ts";
import { testAudiences, testIdentity } from "#testing/identity.ts";
import { testIssuer } from "#testing/issuer.ts";
import { signIn, visitor } from "#testing/sign-in.ts";
import { until } from "#testing/until.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { guardOwn } from "./exchanged-token.ts";

const database = sharedDatabase();
const A = "https://a.example";
const B = "https://b.example";
const C = "https://reports.example";

/** Audience of the foreign provider's own tokens. */
const HOME = "https://api.foreign.test";

interface SeenAt {
  readonly service: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

const tableOf = (url: string): string => {
  const row = (id: string, service: string, policy: string, auth = "session", more = "") =>
    `  - { id: ${id}, path: /x/${id}, target_service: ${service}, upstream_path: /${service}, methods: [GET], auth: ${auth}, authz: none${policy === "" ? "" : `, token_policy: { ${policy} }`}${more} }\n`;
  return `version: 1
services:
  a: { base_urls: ["${url}"], audience: "${A}" }
  b: { base_urls: ["${url}"], audience: "${B}" }
  bare: { base_urls: ["${url}"] }
audiences: ["${C}"]
routes:
${row("canary", "bare", "mode: on_behalf_of, scopes: [read], service: a")}${row("canary-own", "bare", "mode: service_token, scopes: [read], service: b")}${row("canary-pass", "bare", "mode: session_passthrough, service: a")}${row("reports", "bare", `mode: on_behalf_of, scopes: [read], service: reports, audience: "${C}"`)}${row("reports-a", "a", `mode: on_behalf_of, scopes: [read], service: reports, audience: "${C}"`)}${row("named-a", "a", `mode: on_behalf_of, scopes: [read], service: reports`)}
${row("none", "a", "")}${row("pass", "a", "mode: session_passthrough")}${row("service", "a", "mode: service_token, scopes: [read]")}${row("a", "a", "mode: on_behalf_of, scopes: [read]")}${row("a-write", "a", "mode: on_behalf_of, scopes: [write]")}${row("a-both", "a", "mode: on_behalf_of, scopes: [write, read]")}${row("a-same", "a", "mode: on_behalf_of, scopes: [read, write]")}${row("b", "b", "mode: on_behalf_of, scopes: [read]")}${row("short", "b", "mode: on_behalf_of, scopes: [read], cache_ttl: 5")}${row("all", "a", "mode: on_behalf_of")}${row("bearer", "a", "mode: session_passthrough", "bearer", `, bearer: { audiences: ["${A}"] }`)}${row("bearer-a", "a", "mode: on_behalf_of, scopes: [read]", "bearer", `, bearer: { audiences: ["${HOME}"] }`)}${row("bearer-b", "b", "mode: on_behalf_of, scopes: [read]", "bearer", `, bearer: { audiences: ["${HOME}"] }`)}${row("bearer-own", "a", "mode: session_passthrough", "bearer")}`;
};

/** A gateway before two services of others, at a provider of ours or of others. */
const setUp = async (
  t: TestContext,
  provider: { url: string; clientId: string; clientSecret: string },
  now?: () => Date,
  parts: Partial<GatewayParts> = {},
) => {
  const seen: SeenAt[] = [];
  const server = createServer((request, response) => {
    seen.push({
      service: String(request.url).slice(1),
      token: String(request.headers.authorization ?? "").replace("Bearer ", ""),
      headers: request.headers,
    });
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const oidc = createOidcClient({
    issuer: provider.url,
    clientId: provider.clientId,
    clientSecret: provider.clientSecret,
    scopes: ["openid"],
    mapping: { subjectPrefix: "person:", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
    now: now ?? (() => new Date()),
    metrics: createMetrics(),
  });
  const made = await testGateway(t, {
    database: await database(),
    routes: tableOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    parts: { oidc, ...parts },
    ...(now === undefined ? {} : { now }),
  });
  const get = async (id: string, who: SignedInBrowser | string) => {
    const response = await made.fetch(`/x/${id}`, {
      headers: typeof who === "string" ? { authorization: `Bearer ${who}` } : who.cookie,
    });
    const body = (await response.json()) as { code?: string };
    return response.status === 200 ? 200 : `${response.status} ${body.code}`;
  };
  const last = () => seen.at(-1) as SeenAt;
  return { made, get, seen, last };
};

const person = async (op: ForeignProvider, made: Awaited<ReturnType<typeof setUp>>["made"], sub: string, more: { act?: unknown } = {}) =>
  made.signIn(`person:${sub}`, { issuer: op.url, accessToken: await op.tokenOf(sub, "read write", more.act) });

test("no policy sends no token; a service token is the gateway's own, and who asks stands in the headers alone", async (t) => {
  const op = await foreignProvider(t);
  const { made, get, last } = await setUp(t, op);
  const ben = await person(op, made, "ben");
  assert.equal(await get("none", ben), 200);
  assert.equal(last().headers["authorization"], undefined);
  assert.equal(last().headers["x-user-id"], "person:ben");
  assert.equal(await get("service", ben), 200);
  assert.deepEqual(
    [decodeJwt(last().token).sub, decodeJwt(last().token).aud, decodeJwt(last().token)["scope"], last().headers["x-user-id"]],
    ["gateway", A, "read", "person:ben"],
  );
  const eve = await person(op, made, "eve");
  assert.equal(await get("service", eve), 200);
  assert.equal(op.asked.length, 1, "it is the gateway's, whoever asks");
  assert.equal(await made.counted("bff_token_exchange_total", { grant_type: "client_credentials", status: "ok" }), 1);
});

test("an exchanged token keeps its subject and its actors, and has the audience and the scopes asked, no more", async (t) => {
  const op = await foreignProvider(t);
  const { made, get, last } = await setUp(t, op);
  const ben = await person(op, made, "ben");
  assert.equal(await get("a", ben), 200);
  const claims = decodeJwt(last().token);
  assert.deepEqual([claims.sub, claims.aud, claims["scope"], claims["act"]], ["ben", A, "read", undefined]);
  const acting = await person(op, made, "ben", { act: { sub: "agent:x", act: { sub: "agent:y" } } });
  assert.equal(await get("all", acting), 200);
  assert.deepEqual(decodeJwt(last().token)["act"], { sub: "agent:x", act: { sub: "agent:y" } });
  assert.equal(decodeJwt(last().token)["scope"], "read write");
});

test("tokens are kept by session, service, audience and scopes: none of one reaches another", async (t) => {
  const op = await foreignProvider(t);
  const { made, get, seen } = await setUp(t, op);
  const [ben, again, eve] = [await person(op, made, "ben"), await person(op, made, "ben"), await person(op, made, "eve")];
  for (const [who, id] of [
    [ben, "a"],
    [ben, "b"],
    [ben, "a-write"],
    [ben, "a-both"],
    [again, "a"],
    [eve, "a"],
    // known by now
    [ben, "a"],
    [ben, "a-same"],
    [eve, "a"],
  ] as const)
    assert.equal(await get(id, who), 200);
  assert.equal(op.asked.length, 6);
  assert.equal(new Set(seen.map(({ token }) => token)).size, 6);
  for (const { service, token } of seen) assert.equal(decodeJwt(token).aud, service === "a" ? A : B);
  assert.deepEqual(
    seen.map(({ token }) => decodeJwt(token).sub),
    ["ben", "ben", "ben", "ben", "ben", "eve", "ben", "ben", "eve"],
  );
});

test("a session whose tokens were refreshed gets tokens of the new ones, and one of another issuer its own", async (t) => {
  const op = await foreignProvider(t);
  const { made, get, seen } = await setUp(t, op);
  const ben = await person(op, made, "ben");
  assert.deepEqual([await get("a", ben), await get("a", ben)], [200, 200]);
  assert.equal(op.asked.length, 1);
  const renewed = await op.tokenOf("ben", "read write");
  const tokens = createSessionKeys(made.identity.secrets).sealTokens({ accessToken: renewed }, ben.record.sidHash, 2);
  assert.ok(await made.store.replaceTokens(ben.record.sidHash, 1, { tokens, accessExpiresAt: new Date(Date.now() + 300_000) }));
  await until(
    async () => {
      assert.equal(await get("a", ben), 200);
      return op.asked.length;
    },
    (count) => count === 2,
  );
  assert.equal(op.asked.at(-1)?.["subject_token"], renewed, "the former token is no longer exchanged");
  assert.equal(await get("a", ben), 200);
  assert.equal(op.asked.length, 2);
  const accessToken = await op.tokenOf("ben", "read write");
  const elsewhere = await made.signIn("person:ben", { issuer: "https://other.example", accessToken });
  assert.equal(await get("a", elsewhere), 200);
  assert.equal(op.asked.length, 3);
  assert.equal(new Set(seen.map(({ token }) => token)).size, 3);
});

test("a bearer's own token is exchanged, by its hash, for each audience, and keeps its actors", async (t) => {
  const op = await foreignProvider(t);
  const identity = testIdentity();
  const { made, get, last, seen } = await setUp(t, op, undefined, {
    verifierFor: (audience) =>
      createBearerVerifier({
        audience,
        issuers: [remoteIssuer({ issuer: op.url, metrics: createMetrics() })],
        mapping: {
          subjectPrefix: "person:",
          subjectClaim: "sub",
          tenantClaim: "tenant",
          defaultTenant: "tenant:acme",
          assurance: defaultAssuranceMap,
        },
        serviceKeys: identity.serviceKeys,
        now: () => new Date(),
        metrics: createMetrics(),
      }),
  });
  const act = { sub: "agent:x", act: { sub: "agent:y" } };
  const [own, acting, other] = [
    await op.tokenOf("ben", "read write"),
    await op.tokenOf("ben", "read write", act),
    await op.tokenOf("eve", "read write"),
  ];
  assert.equal(await get("bearer-a", own), 200);
  const { sub, aud, scope, act: none } = decodeJwt(last().token);
  assert.deepEqual([sub, aud, scope, none], ["ben", A, "read", undefined]);
  assert.equal(await get("bearer-a", acting), 200);
  assert.deepEqual([decodeJwt(last().token)["act"], last().headers["x-agent-id"]], [act, "agent:x"]);
  assert.equal(await get("bearer-b", own), 200);
  assert.equal(decodeJwt(last().token).aud, B);
  assert.equal(await get("bearer-a", other), 200);
  assert.equal(decodeJwt(last().token).sub, "eve");
  assert.equal(op.asked.length, 4);
  for (const [id, token] of [
    ["bearer-a", own],
    ["bearer-a", acting],
    ["bearer-b", own],
    ["bearer-a", other],
  ] as const)
    assert.equal(await get(id, token), 200);
  assert.equal(op.asked.length, 4, "each is kept by its own hash");
  assert.deepEqual(
    seen.slice(4).map(({ token }) => token),
    seen.slice(0, 4).map(({ token }) => token),
  );
  const ben = await person(op, made, "ben");
  assert.equal(await get("a", ben), 200);
  assert.equal(op.asked.length, 5, "nor does a session get what a bearer brought");
});

test("signing out drops what was fetched for the session", async (t) => {
  const op = await foreignProvider(t);
  const { made, get } = await setUp(t, op);
  const [ben, eve] = [await person(op, made, "ben"), await person(op, made, "eve")];
  for (const who of [ben, eve, ben, eve]) assert.equal(await get("a", who), 200);
  assert.equal(op.asked.length, 2);
  const left = await made.fetch("/auth/logout", { method: "POST", headers: ben.headers, body: "{}" });
  assert.deepEqual([left.status, ((await left.json()) as { sessions_ended: number }).sessions_ended], [200, 1]);
  assert.equal(await get("a", ben), "401 unauthenticated");
  await made.store.create(ben.record);
  assert.deepEqual([await get("a", ben), await get("a", eve)], [200, 200]);
  assert.equal(op.asked.length, 3, "ben's was dropped, eve's was not");
});

test("whoever asks while a token is fetched waits for that one; the end of the session drops it, fetched or being fetched", async (t) => {
  const op = await foreignProvider(t);
  const { made, get } = await setUp(t, op);
  const ben = await person(op, made, "ben");
  const gate = Promise.withResolvers<void>();
  op.hold = gate.promise;
  const all = Promise.all(Array.from({ length: 20 }, () => get("a", ben)));
  while (op.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await made.store.end({ sidHash: ben.record.sidHash }, "logout");
  gate.resolve();
  assert.deepEqual(new Set(await all), new Set([200]));
  assert.equal(op.asked.length, 1);
  op.hold = undefined;
  assert.equal(await get("a", ben), "401 unauthenticated");
  // The same session come back: nothing was kept of it, neither the flight's token nor a later one.
  await made.store.create(ben.record);
  assert.equal(await get("a", ben), 200);
  assert.equal(op.asked.length, 2);
  await made.store.end({ sidHash: ben.record.sidHash }, "logout");
  await made.store.create(ben.record);
  assert.equal(await get("a", ben), 200);
  assert.equal(op.asked.length, 3);
});

test("a token is kept until shortly before its end, or as long as the row says; found expired it is counted and replaced", async (t) => {
  let now = Date.now();
  const op = await foreignProvider(t);
  const { made, get } = await setUp(t, op, () => new Date(now));
  const ben = await person(op, made, "ben");
  const fetched = async (id: string) => {
    assert.equal(await get(id, ben), 200);
    return op.asked.length;
  };
  assert.deepEqual([await fetched("short"), await fetched("a")], [1, 2]);
  now += 4000;
  assert.deepEqual([await fetched("short"), await fetched("a")], [2, 2]);
  now += 2000;
  assert.deepEqual([await fetched("short"), await fetched("a")], [3, 3]);
  const expired = (service: string) => made.counted("bff_token_expiry_total", { service });
  assert.deepEqual([await expired("b"), await expired("a")], [1, 0]);
  // The provider's clock is the wall's, in whole seconds: some seconds on either side of the edge tell the two apart.
  now += 300_000 - 30_000 - 6000 - 5000;
  assert.equal(await fetched("a"), 3);
  now += 20_000;
  assert.equal(await fetched("a"), 4);
  assert.equal(await expired("a"), 1);
});

const lies: readonly (readonly [what: string, how: Misbehaviour])[] = [
  ["another audience", { audience: B }],
  ["an audience of Sallyport", { audience: testAudiences.crud }],
  ["wider scopes", { scope: "read write" }],
  ["another subject", { sub: "eve" }],
  ["an actor out of nowhere", { act: { sub: "agent:x" } }],
  ["no readable form", { isOpaque: true }],
];
for (const [what, misbehave] of lies)
  test(`an exchanged token with ${what} goes to nobody`, async (t) => {
    const op = await foreignProvider(t);
    const { made, get, seen } = await setUp(t, op);
    const ben = await person(op, made, "ben");
    op.misbehave = misbehave;
    assert.equal(await get("a", ben), "502 upstream_auth_failed");
    assert.equal(seen.length, 0);
    op.misbehave = {};
    assert.equal(await get("a", ben), 200, "and is not kept");
    assert.equal(await made.counted("bff_token_exchange_total", { grant_type: "token_exchange", status: "upstream_auth_failed" }), 1);
  });

test("a token for an upstream that opens a view of Sallyport's tools too goes to nobody", () => {
  const tokensFor = (...audiences: readonly string[]) => ({
    accessToken: new UnsecuredJWT().setAudience([...audiences]).encode(),
    accessExpiresAt: 0,
  });
  const wish = { audience: A, scopes: undefined, internalAudiences: [`${testAudiences.gateway}/mcp`] };
  guardOwn(tokensFor(A, `${testAudiences.gateway}/mcp/people/more`), wish);
  assert.throws(() => guardOwn(tokensFor(A, `${testAudiences.gateway}/mcp/people`), wish), { code: "upstream_auth_failed" });
});

test("a provider that refuses is 502, one that is gone is 503 for rows that need it, and comes back by itself", async (t) => {
  const op = await foreignProvider(t);
  const { made, get } = await setUp(t, op);
  const stranger = await made.signIn("person:ben", { accessToken: (await op.tokenOf("ben", "read")).slice(0, -6) });
  assert.equal(await get("a", stranger), "502 upstream_auth_failed");
  const [ben, eve] = [await person(op, made, "ben"), await person(op, made, "eve")];
  assert.equal(await get("a", ben), 200);
  await op.stop();
  assert.equal(await get("a", eve), "503 identity_provider_unavailable");
  assert.equal(await get("service", eve), "503 identity_provider_unavailable");
  assert.deepEqual([await get("none", eve), await get("a", ben)], [200, 200], "what needs nobody, and what is kept");
  await op.start();
  assert.equal(await get("a", eve), 200);
});

test("a token is passed on only to whom it is for, and while it is good", async (t) => {
  const op = await foreignProvider(t);
  const { made, get, last } = await setUp(t, op);
  const forA = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] }, A);
  const ben = await made.signIn("person:ben", { accessToken: forA });
  assert.equal(await get("pass", ben), 200);
  assert.equal(last().token, forA, "unchanged");
  const past = await made.signIn("person:ben", { accessToken: forA, accessExpiresAt: new Date(Date.now() - 1000) });
  assert.equal(await get("pass", past), "401 no_token_available");
  const forGateway = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  assert.equal(await get("pass", await made.signIn("person:ben", { accessToken: forGateway })), "401 no_token_available");
  assert.equal(await get("pass", await made.signIn("person:ben", { accessToken: "opaque" })), "401 no_token_available");
  assert.equal(await get("bearer", forA), 200);
  assert.equal(last().token, forA);
  assert.equal(await get("bearer-own", forGateway), "401 no_token_available", "a token for Sallyport leaves it for nobody");
});

test("a policy's service is the key of whom the token is for, whichever upstream the row has", async (t) => {
  const op = await foreignProvider(t);
  const { made, get, last } = await setUp(t, op);
  const ben = await person(op, made, "ben");
  for (const [row, audience, exchanged] of [
    ["canary", A, 1],
    ["a", A, 1],
    ["canary-own", B, 1],
    ["reports", C, 2],
    ["reports-a", C, 2],
    ["named-a", A, 3],
  ] as const) {
    assert.equal(await get(row, ben), 200, row);
    assert.deepEqual([decodeJwt(last().token).aud, decodeJwt(last().token)["scope"]], [audience, "read"], row);
    assert.equal(
      op.asked.filter((asked) => asked["subject_token"] !== undefined).length,
      exchanged,
      "one token for one key, audience and scopes",
    );
  }
  const forA = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] }, A);
  assert.equal(await get("canary-pass", await made.signIn("person:ben", { accessToken: forA })), 200);
  assert.equal(await get("canary-pass", ben), "401 no_token_available");
});

test("the embedded provider makes a session's token for the services that rows pass it on to, and for none of Sallyport", async (t) => {
  const op = await testIssuer(t, await testDatabase(t, [...gatewayModules, "authn"]));
  const { made, get, last } = await setUp(t, op);
  const who = visitor(op);
  const { tokens } = await signIn(who, "ben", { audiences: [A, "reports of ben#1"] });
  const ben = await made.signIn("person:ben", { accessToken: tokens.accessToken });
  const { aud, scope } = decodeJwt(tokens.accessToken);
  assert.deepEqual(aud, [A, "reports of ben#1", op.url]);
  assert.equal(await get("pass", ben), 200);
  assert.equal(last().token, tokens.accessToken, "unchanged");
  assert.equal(await get("all", ben), 200, "it is exchanged all the same");
  assert.deepEqual([[decodeJwt(last().token).aud].flat(), decodeJwt(last().token)["scope"]], [[A], scope]);
  const refreshed = await who.client.refresh(tokens.refreshToken ?? "");
  assert.deepEqual(refreshed.kind === "tokens" && decodeJwt(refreshed.tokens.accessToken).aud, aud);
  for (const instance of Object.values(testAudiences))
    await assert.rejects(
      made.identity.verifierFor(instance)(new Request("http://x/", { headers: { authorization: `Bearer ${tokens.accessToken}` } })),
      { code: "invalid_token" },
    );
});

test("the embedded provider exchanges for services outside and for none of Sallyport", async (t) => {
  const op = await testIssuer(t, await testDatabase(t, [...gatewayModules, "authn"]));
  const { made, get, last } = await setUp(t, op);
  const { tokens } = await signIn(visitor(op), "ben");
  const ben = await made.signIn("person:ben", { accessToken: tokens.accessToken });
  assert.equal(await get("all", ben), 200);
  const claims = decodeJwt(last().token);
  assert.deepEqual([claims.sub, [claims.aud].flat(), claims["act"]], ["person:ben", [A], undefined]);
  assert.equal(claims["scope"], decodeJwt(tokens.accessToken)["scope"]);
  assert.equal(await get("a", ben), "502 upstream_auth_failed", "a scope that the person's token has not");
  assert.equal(await get("service", ben), 200);
  assert.deepEqual([decodeJwt(last().token).sub, [decodeJwt(last().token).aud].flat()], [op.clientId, [A]]);
  assert.equal(decodeJwt(last().token)["scope"], "read");
  const oidc = visitor(op).client;
  for (const audience of [op.publicOrigin, testAudiences.crud]) {
    const instance = { audience, scopes: undefined };
    await assert.rejects(oidc.exchange({ ...instance, subjectToken: tokens.accessToken }), { code: "upstream_auth_failed" });
    await assert.rejects(oidc.clientCredentials(instance), { code: "upstream_auth_failed" });
  }
  await assert.rejects(
    made.identity.verifierFor(testAudiences.crud)(
      new Request("http://x/", {
        headers: {
          authorization: `Bearer ${await made.identity.identityOf("gateway").onBehalfOf(testAudiences.secrets, { sub: "person:ben", tenant: "tenant:acme", scopes: [] })}`,
        },
      }),
    ),
    { code: "invalid_token" },
  );
});
