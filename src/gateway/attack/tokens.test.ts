import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { exportSPKI, generateKeyPair, SignJWT, type CryptoKey } from "jose";
import { createLogoutTokenCheck } from "#authn/provider/logout-token.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { answerTo, attackWorld, rawGet, rawPost } from "#testing/attack-world.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

test("attack 38: a token that is not an access token for this deployment opens no bearer row", async (t) => {
  const world = await attackWorld(t, await database());
  const { identity } = world.made;
  const [head = "", claims = "", signature = ""] = world.token.split(".");
  const read = JSON.parse(Buffer.from(claims, "base64url").toString()) as Record<string, unknown>;
  const seconds = Math.floor(Date.now() / 1000);
  const header = { typ: "at+jwt", kid: "test" };
  const sign = (change: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    identity.sign({ ...read, ...change }, { ...header, ...more });
  const forService = await identity.identityOf("gateway").onBehalfOf("http://localhost:8083", {
    sub: "person:ben",
    tenant: "tenant:acme",
    scopes: new Set<string>(),
    amr: [],
  });
  const { kid: serviceKid } = (await identity.serviceKeys.jwks()).keys[0] ?? {};
  const serviceKey = JSON.stringify((await identity.serviceKeys.jwks()).keys[0]);
  const tokens: Readonly<Record<string, string>> = {
    "alg none": `${part({ ...header, alg: "none" })}.${claims}.`,
    "alg none, with the old signature": `${part({ ...header, alg: "none" })}.${claims}.${signature}`,
    "HS256 with the issuer's public key": await new SignJWT(read)
      .setProtectedHeader({ ...header, alg: "HS256" })
      .sign(new TextEncoder().encode(JSON.stringify(await identity.publicJwk()))),
    "HS256 with Sallyport's public key": await new SignJWT({ ...read, iss: "http://localhost:8080" })
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: serviceKid ?? "" })
      .sign(new TextEncoder().encode(serviceKey)),
    "an ID token": await sign({ nonce: "n", aud: ["sallyport-web", "http://localhost:8080"] }, { typ: "JWT" }),
    "kid ../x": await sign({}, { kid: "../x" }),
    "kid /dev/null": await sign({}, { kid: "/dev/null" }),
    jku: await sign({}, { jku: "http://evil.example/jwks" }),
    x5u: await sign({}, { x5u: "http://evil.example/cert" }),
    jwk: await sign({}, { jwk: await identity.publicJwk() }),
    expired: await sign({ iat: seconds - 600, exp: seconds - 1 }),
    "iat an hour ahead": await sign({ iat: seconds + 3600, exp: seconds + 7200 }),
    "for another audience": await sign({ aud: "http://localhost:8084" }),
    "of another issuer": await sign({ iss: "http://evil.example" }),
    "claims exchanged": `${head}.${part({ ...read, sub: "person:ada" })}.${signature}`,
    "no signature": `${head}.${claims}.`,
    "of the gateway for a service": forService,
    "no token at all": "x",
  };
  for (const [what, token] of Object.entries(tokens))
    await t.test(`attack 38: ${what}`, async () => {
      const answer = await answerTo(world, rawGet("/api/b/x", `Authorization: Bearer ${token}\r\n`));
      assert.deepEqual([answer.status, answer.code], [401, "invalid_token"]);
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer error="invalid_token"/);
      assert.deepEqual(world.upstream.seen, []);
    });
  for (const [what, bytes] of [
    ["in the query", rawGet(`/api/b/x?access_token=${world.token}`)],
    ["in a cookie", rawGet("/api/b/x", `Cookie: access_token=${world.token}\r\n`)],
    ["as Basic", rawGet("/api/b/x", `Authorization: Basic ${world.token}\r\n`)],
    ["twice in one line", rawGet("/api/b/x", `Authorization: Bearer ${world.token}, Bearer ${world.token}\r\n`)],
  ] as const)
    await t.test(`attack 38: a good token ${what}`, async () => {
      assert.equal((await answerTo(world, bytes)).status, 401);
      assert.deepEqual(world.upstream.seen, []);
    });
});

test("attack 38: a logout token that is no fresh one of the provider signs nobody out", async (t) => {
  const provider = "https://provider.example";
  const client = "sallyport-client";
  const [key, other] = [await generateKeyPair("ES256", { extractable: true }), await generateKeyPair("ES256")];
  const checkLogoutToken = createLogoutTokenCheck({
    issuer: { issuer: provider, keys: async () => key.publicKey },
    clientId: client,
    now: () => new Date(),
    metrics: createMetrics(),
  });
  const world = await attackWorld(t, await database(), { parts: { checkLogoutToken } });
  const own = { issuer: provider, idpSid: randomUUID(), idpSub: randomUUID() };
  const { cookie } = await world.made.signIn("person:ben", own);
  const status = async (): Promise<number> => (await answerTo(world, rawGet("/api/t/x", `Cookie: ${cookie.cookie}\r\n`))).status;
  const seconds = Math.floor(Date.now() / 1000);
  const good = (): Record<string, unknown> => ({
    iss: provider,
    aud: client,
    iat: seconds,
    exp: seconds + 60,
    jti: randomUUID(),
    sid: own.idpSid,
    sub: own.idpSub,
    events: { "http://schemas.openid.net/event/backchannel-logout": {} },
  });
  const header = { typ: "logout+jwt", kid: "k1", alg: "ES256" };
  const sign = (change: Record<string, unknown> = {}, more: Record<string, unknown> = {}, by: CryptoKey = key.privateKey) =>
    new SignJWT({ ...good(), ...change }).setProtectedHeader({ ...header, ...more }).sign(by);
  const post = (token: string) => {
    const body = `logout_token=${encodeURIComponent(token)}`;
    const lines = `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n`;
    return answerTo(world, rawPost("/auth/backchannel-logout", lines, body));
  };
  const tokens: Readonly<Record<string, string>> = {
    "with a nonce": await sign({ nonce: "n" }),
    "an ID token": await sign({ nonce: "n", events: undefined }, { typ: "JWT" }),
    "alg none": `${part({ ...header, alg: "none" })}.${part(good())}.`,
    "HS256 with the provider's public key": await new SignJWT(good())
      .setProtectedHeader({ ...header, alg: "HS256" })
      .sign(new TextEncoder().encode(await exportSPKI(key.publicKey))),
    "of another key": await sign({}, {}, other.privateKey),
    jku: await sign({}, { jku: "http://evil.example/jwks" }),
    "of another issuer": await sign({ iss: "https://evil.example" }),
    "for another client": await sign({ aud: "another" }),
    expired: await sign({ iat: seconds - 100, exp: seconds - 1 }),
    "iat an hour ahead": await sign({ iat: seconds + 3600, exp: seconds + 7200 }),
    "without the event": await sign({ events: {} }),
    "that names nobody": await sign({ sid: undefined, sub: undefined }),
    "no token at all": "x",
  };
  for (const [what, token] of Object.entries(tokens))
    await t.test(`attack 38: a logout token ${what}`, async () => {
      const answer = await post(token);
      assert.deepEqual([answer.status, (JSON.parse(answer.body) as { error: string }).error], [400, "invalid_request"]);
      assert.equal(await status(), 200, "the session lives on");
    });
  await t.test("attack 38: a logout token replayed", async () => {
    const token = await sign();
    assert.equal((await post(token)).status, 200);
    assert.equal(await status(), 401);
    const again = await world.made.signIn("person:ben", own);
    const replayed = await post(token);
    assert.deepEqual([replayed.status, (JSON.parse(replayed.body) as { error: string }).error], [400, "invalid_request"]);
    const alive = await answerTo(world, rawGet("/api/t/x", `Cookie: ${again.cookie.cookie}\r\n`));
    assert.equal(alive.status, 200, "who signed in anew since then stays so");
  });
});

test("attack 39: a subject that is not one plain name opens no bearer row, and an e-mail address decides nothing", async (t) => {
  const world = await attackWorld(t, await database());
  const { identity } = world.made;
  const read = JSON.parse(Buffer.from(world.token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
  const header = { typ: "at+jwt", kid: "test" };
  for (const [what, change] of [
    ["an array", { sub: ["person:ben"] }],
    ["300 long", { sub: `person:${"b".repeat(300)}` }],
    ["with a Cyrillic look-alike", { sub: "person:b\u0435n" }],
    ["with a line end", { sub: "person:ben\r\nX-User-ID: person:ada" }],
    ["with a tenant that is a list", { tenant: ["tenant:acme"] }],
  ] as const)
    await t.test(`attack 39: ${what}`, async () => {
      const answer = await answerTo(
        world,
        rawGet("/api/b/x", `Authorization: Bearer ${await identity.sign({ ...read, ...change }, header)}\r\n`),
      );
      assert.deepEqual([answer.status, answer.code], [403, "identity_rejected"]);
      assert.deepEqual(world.upstream.seen, []);
    });
  const named = await identity.sign({ ...read, email: "a@b@c", email_verified: true, preferred_username: "person:ada" }, header);
  assert.equal((await answerTo(world, rawGet("/api/b/x", `Authorization: Bearer ${named}\r\n`))).status, 200);
  assert.equal(world.upstream.seen[0]?.headers.get("x-user-id"), "person:ben");
});
