import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { test } from "node:test";
import {
  CompactSign,
  createLocalJWKSet,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
  type JWTHeaderParameters,
  type JWTPayload,
} from "jose";
import { Problem } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testIdentity } from "#testing/identity.ts";
import { defaultAssuranceMap } from "#authn/model/assurance.ts";
import { createBearerVerifier } from "./bearer.ts";

const ISSUER = "https://login.example";
const AUDIENCE = "http://localhost:8083";
const NOW = new Date("2026-11-21T10:00:00Z");
const seconds = NOW.getTime() / 1000;
const now = (): Date => NOW;

const pair = await generateKeyPair("ES256", { extractable: true });
const rsa = await generateKeyPair("RS256", { extractable: true });
const stranger = await generateKeyPair("ES256", { extractable: true });
const jwks = createLocalJWKSet({
  keys: [
    { ...(await exportJWK(pair.publicKey)), kid: "good", alg: "ES256" },
    { ...(await exportJWK(rsa.publicKey)), kid: "rsa" },
  ],
});
const instance = testIdentity({ now });
const metrics = createMetrics();
const verify = createBearerVerifier({
  audience: [AUDIENCE, "http://localhost:8080/mcp"],
  issuers: [{ issuer: ISSUER, keys: (header, token) => jwks(header, token) }],
  mapping: { subjectPrefix: "person:", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap },
  serviceKeys: instance.serviceKeys,
  agentOfClient: async (clientId) => (clientId === "hr-bot" ? "agent:hr" : undefined),
  now,
  metrics,
});

const base: JWTPayload = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: "ben",
  org: "tenant:acme",
  scope: "a b",
  client_id: "web",
  iat: seconds,
  exp: seconds + 300,
};
const header: JWTHeaderParameters = { alg: "ES256", typ: "at+jwt", kid: "good" };
const without = (claims: JWTPayload, ...names: readonly string[]): JWTPayload =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)));
const sign = (claims: JWTPayload, more: Partial<JWTHeaderParameters> = {}, key = pair.privateKey): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ ...header, ...more }).sign(key);
/** A token whose parts are put together by hand, as an attacker does. */
const forge = (head: object, claims: object, signature = ""): string =>
  [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".") + `.${signature}`;
const send = (token: string) => verify(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } }));

test("a good token becomes a caller in Sallyport's own words", async () => {
  const caller = await send(
    await sign({
      ...base,
      aud: ["https://other", AUDIENCE],
      acr: "whatever",
      amr: ["pwd", "otp"],
      auth_time: seconds - 9,
      act: { sub: "agent:a", act: { sub: "agent:b" } },
    }),
  );
  const { token: _token, scopes, ...rest } = caller;
  assert.deepEqual([...scopes], ["a", "b"]);
  assert.deepEqual(rest, {
    sub: "person:ben",
    tenant: "tenant:acme",
    agent: "agent:a",
    actors: ["agent:a", "agent:b"],
    clientId: "web",
    acr: "strong",
    amr: ["pwd", "otp"],
    authTime: seconds - 9,
    issuer: ISSUER,
    isInternalService: false,
    expiresAt: seconds + 300,
  });
});

test("each accepted algorithm verifies", async () => {
  for (const alg of ["RS256", "PS256"]) {
    const key =
      alg === "RS256"
        ? rsa.privateKey
        : await crypto.subtle.importKey(
            "jwk",
            await crypto.subtle.exportKey("jwk", rsa.privateKey).then(({ alg: _alg, ...jwk }) => jwk),
            { name: "RSA-PSS", hash: "SHA-256" },
            false,
            ["sign"],
          );
    assert.equal((await send(await sign(base, { alg, kid: "rsa" }, key))).sub, "person:ben", alg);
  }
});

test("a plain JWT that shows itself an access token passes", async () => {
  assert.equal((await send(await sign(base, { typ: "JWT" }))).sub, "person:ben");
  assert.equal((await send(await sign({ ...without(base, "scope", "client_id"), scp: ["a"] }, { typ: "JWT" }))).scopes.has("a"), true);
});

const spki = await exportSPKI(pair.publicKey);
const hs256 = (key: string): string => {
  const unsigned = forge({ ...header, alg: "HS256" }, base).slice(0, -1);
  return `${unsigned}.${createHmac("sha256", key).update(unsigned).digest("base64url")}`;
};
const publicJwk = await exportJWK(stranger.publicKey);

const refusedTokens: Record<string, () => Promise<string> | string> = {
  "alg none": () => forge({ ...header, alg: "none" }, base),
  "alg None, another spelling": () => forge({ ...header, alg: "None" }, base),
  "HS256 with the public key as secret": () => hs256(spki),
  "HS256 with the JWK as secret": async () => hs256(JSON.stringify(await exportJWK(pair.publicKey))),
  "signature taken away": async () => `${(await sign(base)).split(".").slice(0, 2).join(".")}.`,
  "signature of another token": async () =>
    [...(await sign(base)).split(".").slice(0, 2), (await sign({ ...base, sub: "eve" })).split(".")[2]].join("."),
  "claims exchanged": async () => {
    const [head, , signature] = (await sign(base)).split(".");
    return `${head}.${Buffer.from(JSON.stringify({ ...base, sub: "ada" })).toString("base64url")}.${signature}`;
  },
  "another's key under our kid": () => sign(base, {}, stranger.privateKey),
  "kid ../x": () => sign(base, { kid: "../x" }),
  "kid with SQL": () => sign(base, { kid: "' or 1=1 --" }),
  "jku that points elsewhere": () => sign(base, { jku: "https://evil.example/jwks" }, stranger.privateKey),
  "x5u that points elsewhere": () => sign(base, { x5u: "https://evil.example/cert" }, stranger.privateKey),
  "jwk with its own key": () => sign(base, { jwk: publicJwk, kid: undefined } as never, stranger.privateKey),
  "jku even when rightly signed": () => sign(base, { jku: "https://login.example/jwks" }),
  "crit it does not know, rightly signed": async () =>
    new CompactSign(new TextEncoder().encode(JSON.stringify(base)))
      .setProtectedHeader({ ...header, "urn:x": 1, crit: ["urn:x"] })
      .sign(pair.privateKey, { crit: { "urn:x": true } }),
  "crit b64, rightly signed": async () =>
    new CompactSign(new TextEncoder().encode(JSON.stringify(base)))
      .setProtectedHeader({ ...header, b64: true, crit: ["b64"] })
      .sign(pair.privateKey),
  expired: () => sign({ ...base, iat: seconds - 600, exp: seconds - 1 }),
  "expires this second": () => sign({ ...base, exp: seconds }),
  "no exp": () => sign(without(base, "exp")),
  "no iat": () => sign(without(base, "iat")),
  "iat an hour ahead": () => sign({ ...base, iat: seconds + 3600, exp: seconds + 7200 }),
  "iat 61 s ahead": () => sign({ ...base, iat: seconds + 61 }),
  "nbf in the future": () => sign({ ...base, nbf: seconds + 10 }),
  "exp as text": () => sign({ ...base, exp: "9999999999" as never }),
  "wrong audience": () => sign({ ...base, aud: "http://localhost:8084" }),
  "audience with a slash more": () => sign({ ...base, aud: `${AUDIENCE}/` }),
  "no audience": () => sign(without(base, "aud")),
  "wrong issuer": () => sign({ ...base, iss: "https://evil.example" }),
  "issuer with a slash more": () => sign({ ...base, iss: `${ISSUER}/` }),
  "issuer a list": () => sign({ ...base, iss: [ISSUER] as never }),
  "no issuer": () => sign(without(base, "iss")),
  "ID token by nonce": () => sign({ ...base, nonce: "n" }, { typ: "JWT" }),
  "ID token by at_hash": () => sign({ ...base, at_hash: "h" }, { typ: "JWT" }),
  "ID token by its bareness": () => sign(without(base, "scope", "client_id"), { typ: "JWT" }),
  "ID token that says its type in the claims": () => sign({ ...base, typ: "ID" }, { typ: "JWT" }),
  "refresh token that says its type in the claims": () => sign({ ...base, typ: "Refresh" }, { typ: "JWT" }),
  "logout token": () => sign({ ...base, events: { "http://schemas.openid.net/event/backchannel-logout": {} } }, { typ: "JWT" }),
  "typ logout+jwt": () => sign(base, { typ: "logout+jwt" }),
  "typ dpop+jwt": () => sign(base, { typ: "dpop+jwt" }),
  "no typ": () => sign(base, { typ: undefined } as never),
  "act that is a text": () => sign({ ...base, act: "agent:a" }),
  "act of nine": () =>
    sign({
      ...base,
      act: Array.from({ length: 9 }).reduce<unknown>((act) => ({ sub: "agent:a", ...(act === undefined ? {} : { act }) }), undefined),
    }),
  "five parts": () => "a.b.c.d.e",
  "three letters": () => "a.b.c",
  "longer than 8 KiB": () => sign({ ...base, pad: "x".repeat(9000) }),
};
for (const [name, make] of Object.entries(refusedTokens)) {
  test(`refused with invalid_token: ${name}`, async () => {
    await assert.rejects(
      async () => send(await make()),
      (error) => {
        assert.ok(error instanceof Problem, String(error));
        assert.equal(error.code, "invalid_token");
        assert.equal(error.status, 401);
        return true;
      },
    );
  });
}

const rejectedIdentities: Record<string, Partial<JWTPayload> | Record<string, unknown>> = {
  "sub an array": { sub: ["ben"] },
  "sub a number": { sub: 7 },
  "sub empty": { sub: "" },
  "sub 300 long": { sub: "b".repeat(300) },
  "sub with a Cyrillic look-alike": { sub: "bеn" },
  "sub with a space": { sub: "ben x" },
  "sub with a line end": { sub: "ben\n" },
  "tenant a list": { org: ["tenant:acme"] },
  "tenant of another form": { org: "acme" },
  "tenant with capitals": { org: "tenant:ACME" },
  "tenant star for a person": { org: "*" },
  "actor a list": { act: { sub: ["agent:a"] } },
};
for (const [name, change] of Object.entries(rejectedIdentities)) {
  test(`rejected with identity_rejected: ${name}`, async () => {
    await assert.rejects(
      async () => send(await sign({ ...base, ...change } as JWTPayload)),
      (error) => {
        assert.ok(error instanceof Problem, String(error));
        assert.equal(error.code, "identity_rejected");
        return true;
      },
    );
  });
}

test("no tenant is tenant_required, unless a default is set", async () => {
  await assert.rejects(async () => send(await sign(without(base, "org"))), { code: "tenant_required" });
});

test("a provider cannot name a service of Sallyport; a service client of its own may stand in all tenants", async () => {
  const plain = createBearerVerifier({
    audience: AUDIENCE,
    issuers: [{ issuer: ISSUER, keys: (head, token) => jwks(head, token) }],
    mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap },
    serviceKeys: instance.serviceKeys,
    now,
    metrics,
  });
  const ask = async (claims: JWTPayload) =>
    plain(new Request("http://x/", { headers: { authorization: `Bearer ${await sign({ ...base, ...claims })}` } }));
  await assert.rejects(ask({ sub: "service:crud", client_id: "service:crud", org: "*" }), { code: "invalid_token" });
  await assert.rejects(ask({ sub: "service:pep", client_id: "web", org: "*" }), { code: "identity_rejected" });
  const pep = await ask({ sub: "service:pep", client_id: "service:pep", org: "*" });
  assert.deepEqual([pep.tenant, pep.isInternalService], ["*", false]);
});

test("the e-mail decides nothing", async () => {
  const caller = await send(await sign({ ...base, email: "ada@acme.example", preferred_username: "ada" }));
  assert.equal(caller.sub, "person:ben");
});

test("the header is one bearer token, whatever its case; queries and other schemes are none", async () => {
  const token = await sign(base);
  const ask = (authorization?: string, url = "http://x/") =>
    verify(new Request(url, authorization === undefined ? {} : { headers: { authorization } }));
  assert.equal((await ask(`bearer ${token}`)).sub, "person:ben");
  await assert.rejects(ask(undefined, `http://x/?access_token=${token}`), { code: "unauthenticated" });
  for (const wrong of [`Basic ${token}`, `Bearer ${token}, Bearer ${token}`, "Bearer", `Bearer ${token} x`, `Token ${token}`])
    await assert.rejects(ask(wrong), { code: "invalid_token" }, wrong);
});

test("the agent is the outermost actor, else the agent with the token's client id; an instance service in act is none", async () => {
  assert.equal((await send(await sign({ ...base, client_id: "hr-bot" }))).agent, "agent:hr");
  assert.deepEqual((await send(await sign({ ...base, client_id: "hr-bot" }))).actors, ["agent:hr"]);
  assert.equal((await send(await sign({ ...base, azp: "hr-bot", client_id: undefined } as never))).agent, "agent:hr");
  assert.equal((await send(await sign({ ...base, client_id: "hr-bot", act: { sub: "agent:other" } }))).agent, "agent:other");
  assert.equal((await send(await sign({ ...base, act: { sub: "service:crud", act: { sub: "agent:a" } } }))).agent, "agent:a");
  assert.equal((await send(await sign(base))).agent, undefined);
});

test("assurance is translated: our own words mean nothing in a provider's token, one factor is never two", async () => {
  const acrOf = async (claims: JWTPayload) => (await send(await sign({ ...base, ...claims }))).acr;
  assert.equal(await acrOf({ acr: "strong" }), undefined);
  assert.equal(await acrOf({ amr: ["otp"] }), undefined);
  assert.equal(await acrOf({ amr: ["hwk"] }), undefined);
  assert.equal(await acrOf({ amr: ["mfa"] }), "strong");
  assert.equal(await acrOf({ amr: ["hwk", "pwd"] }), "strong");
  assert.equal(await acrOf({ acr: "phr" }), "phishing_resistant");
});

test("provider down is 503, never a bad token", async () => {
  const down = createBearerVerifier({
    audience: AUDIENCE,
    issuers: [{ issuer: ISSUER, keys: async () => Promise.reject(new Problem("identity_provider_unavailable")) }],
    mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap },
    serviceKeys: instance.serviceKeys,
    now,
    metrics,
  });
  const token = await sign(base);
  await assert.rejects(down(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } })), {
    code: "identity_provider_unavailable",
  });
});

const sendTo = (token: string, audience = AUDIENCE) =>
  instance.verifierFor(audience)(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } }));

test("a service of Sallyport is known by its own key, and speaks for persons only if it may", async () => {
  const crud = await sendTo(await instance.identityOf("crud").asService(AUDIENCE, ["pip.read"]));
  assert.deepEqual([crud.sub, crud.tenant, crud.isInternalService, crud.agent], ["service:crud", "*", true, undefined]);
  const ben = await sendTo(
    await instance
      .identityOf("crud")
      .onBehalfOf(AUDIENCE, { sub: "person:ben", tenant: "tenant:acme", scopes: ["a"], actors: ["agent:a"], acr: "strong" }),
  );
  assert.deepEqual([ben.sub, ben.isInternalService, ben.agent, ben.acr], ["person:ben", false, "agent:a", "strong"]);
});

test("a token for one service is refused by another", async () => {
  const token = await instance.identityOf("crud").asService("http://localhost:8084", ["pip.read"]);
  await assert.rejects(sendTo(token), { code: "invalid_token" });
});

const impostors: readonly (readonly [string, "pdp" | "membership" | "gateway" | "crud", JWTPayload])[] = [
  ["pdp says it is crud", "pdp", { sub: "service:crud", tenant: "*" }],
  ["crud says it is the gateway", "crud", { sub: "service:gateway", tenant: "*" }],
  ["membership speaks for ben", "membership", { sub: "person:ben", tenant: "tenant:acme" }],
  ["pdp speaks for a service client", "pdp", { sub: "service:pep", tenant: "*" }],
  ["a service with a tenant", "crud", { sub: "service:crud", tenant: "tenant:acme" }],
];
for (const [name, service, claims] of impostors) {
  test(`refused: ${name}`, async () => {
    const token = await instance.serviceKeys.sign(service, { aud: AUDIENCE, scope: "", jti: randomUUID(), ...claims }, 60);
    await assert.rejects(sendTo(token), { code: "invalid_token" });
  });
}

test("a person never gets the tenant of services, not even from the gateway's key", async () => {
  const token = await instance.serviceKeys.sign("gateway", { aud: AUDIENCE, scope: "", sub: "person:ben", tenant: "*" }, 60);
  await assert.rejects(sendTo(token), { code: "identity_rejected" });
});

test("a token seen a moment ago is refused all the same once it has expired or its client has become an agent", async () => {
  let time = NOW.getTime();
  const agents = new Map<string, string>();
  const bearer = createBearerVerifier({
    audience: AUDIENCE,
    issuers: [{ issuer: ISSUER, keys: (head, token) => jwks(head, token) }],
    mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap },
    serviceKeys: instance.serviceKeys,
    agentOfClient: async (clientId) => agents.get(clientId),
    now: () => new Date(time),
    metrics,
  });
  const token = await sign({ ...base, exp: seconds + 20 });
  const ask = () => bearer(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } }));
  assert.equal((await ask()).agent, undefined);
  agents.set("web", "agent:late");
  assert.equal((await ask()).agent, "agent:late");
  time += 19_999;
  await ask();
  time += 1;
  await assert.rejects(ask(), { code: "invalid_token" });
});

test("a linked subject is its person, in that person's tenant alone; where links alone count, nobody else is anybody", async () => {
  const links = new Map([[`${ISSUER} ben`, { id: "person:oidc:b", tenant: "tenant:acme" }]]);
  const doorOf = (isLinkedOnly: boolean) =>
    createBearerVerifier({
      audience: AUDIENCE,
      issuers: [{ issuer: ISSUER, keys: (head, token) => jwks(head, token) }],
      mapping: { subjectPrefix: "person:", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap, isLinkedOnly },
      serviceKeys: instance.serviceKeys,
      personOf: async (issuer, subject) => links.get(`${issuer} ${subject}`),
      now,
    });
  const rows: readonly (readonly [what: string, claims: JWTPayload, open: string, linkedOnly: string])[] = [
    ["linked", base, "person:oidc:b tenant:acme", "person:oidc:b tenant:acme"],
    ["linked, no tenant named", without(base, "org"), "person:oidc:b tenant:acme", "person:oidc:b tenant:acme"],
    ["linked, another tenant named", { ...base, org: "tenant:globex" }, "identity_rejected", "identity_rejected"],
    ["linked, all tenants named", { ...base, org: "*" }, "identity_rejected", "identity_rejected"],
    ["not linked", { ...base, sub: "cleo" }, "person:cleo tenant:acme", "unknown_person"],
    ["with the id of a person for a subject", { ...base, sub: "oidc:b" }, "person:oidc:b tenant:acme", "unknown_person"],
  ];
  for (const [what, claims, ...expected] of rows)
    for (const [at, isLinkedOnly] of [false, true].entries()) {
      const token = await sign(claims);
      const said = await doorOf(isLinkedOnly)(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } })).then(
        ({ sub, tenant }) => `${sub} ${tenant}`,
        (error: Problem) => error.code,
      );
      assert.equal(said, expected[at], `${what}, linked only: ${isLinkedOnly}`);
    }
  const token = await sign({ ...base, sub: "service:own", client_id: "service:own", org: "*" });
  const bearer = createBearerVerifier({
    audience: AUDIENCE,
    issuers: [{ issuer: ISSUER, keys: (head, given) => jwks(head, given) }],
    mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap, isLinkedOnly: true },
    serviceKeys: instance.serviceKeys,
    now,
  });
  const { sub } = await bearer(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } }));
  assert.equal(sub, "service:own", "a service client is itself");
});

test("a provider cannot be trusted under Sallyport's own name", () => {
  assert.throws(
    () =>
      createBearerVerifier({
        audience: AUDIENCE,
        issuers: [{ issuer: instance.serviceKeys.issuer, keys: (head, token) => jwks(head, token) }],
        mapping: { subjectPrefix: "", subjectClaim: "sub", tenantClaim: "tenant", assurance: defaultAssuranceMap },
        serviceKeys: instance.serviceKeys,
        now,
        metrics,
      }),
    TypeError,
  );
});

test("checks are counted by their outcome", async () => {
  assert.match(await metrics.text(), /bff_token_validation_total\{token_type="jwt",status="invalid_token"\} \d+/);
});

test("a token of a person who has ended is none, an agent's for that person neither; a call between services is its caller's to answer for", async () => {
  const ended = new Set<string>();
  const check = createBearerVerifier({
    audience: AUDIENCE,
    issuers: [{ issuer: ISSUER, keys: (head, token) => jwks(head, token) }],
    mapping: { subjectPrefix: "person:", subjectClaim: "sub", tenantClaim: "org", assurance: defaultAssuranceMap },
    serviceKeys: instance.serviceKeys,
    hasEnded: async (person) => ended.has(person),
    now,
  });
  const who = { sub: "person:ben", tenant: "tenant:acme", amr: [], scopes: new Set<string>() };
  const tokens = {
    own: await sign(base),
    agent: await sign({ ...base, act: { sub: "agent:hr" } }),
    other: await sign({ ...base, sub: "cleo" }),
    call: await instance.identityOf("gateway").onBehalfOf(AUDIENCE, who),
  };
  const statuses = () =>
    Promise.all(
      Object.values(tokens).map((token) =>
        check(new Request("http://x/", { headers: { authorization: `Bearer ${token}` } })).then(
          () => 200,
          (error: Problem) => `${error.status} ${error.code}`,
        ),
      ),
    );
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  ended.add("person:ben");
  assert.deepEqual(await statuses(), ["401 invalid_token", "401 invalid_token", 200, 200]);
  ended.clear();
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
});
