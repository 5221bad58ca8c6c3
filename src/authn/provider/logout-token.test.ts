import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { exportSPKI, generateKeyPair, SignJWT, type JWTHeaderParameters, type JWTPayload } from "jose";
import { Problem } from "#contract/problem.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { createLogoutTokenCheck } from "./logout-token.ts";

const ISSUER = "https://provider.example";
const CLIENT = "sallyport-client";
const EVENT = "http://schemas.openid.net/event/backchannel-logout";
const now = new Date("2026-03-01T08:00:00.000Z");
const seconds = now.getTime() / 1000;
const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
const other = await generateKeyPair("ES256");
const spki = await exportSPKI(publicKey);

const good = (): JWTPayload => ({
  iss: ISSUER,
  aud: CLIENT,
  iat: seconds - 5,
  exp: seconds + 60,
  jti: randomUUID(),
  sid: "s1",
  sub: "ben",
  events: { [EVENT]: {} },
});
const sign = (claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}, key: Parameters<SignJWT["sign"]>[0] = privateKey) =>
  new SignJWT(claims).setProtectedHeader({ alg: "ES256", typ: "logout+jwt", kid: "k1", ...header }).sign(key);

const check = createLogoutTokenCheck({
  issuer: { issuer: ISSUER, keys: async () => publicKey },
  clientId: CLIENT,
  now: () => now,
  metrics: createMetrics(),
});

test("a logout token names a session, a person, or both", async () => {
  const both = await check(await sign(good()));
  assert.deepEqual([both.issuer, both.sid, both.sub, both.tooOldAt.getTime()], [ISSUER, "s1", "ben", now.getTime() + 115_000]);
  const { sid: _sid, ...ofPerson } = good();
  assert.equal((await check(await sign(ofPerson))).sid, undefined);
  const { sub: _sub, ...ofSession } = good();
  assert.equal((await check(await sign({ ...ofSession, aud: ["x", CLIENT] }, { typ: "JWT" }))).sub, undefined);
});

const without = (name: string): JWTPayload => Object.fromEntries(Object.entries(good()).filter(([member]) => member !== name));
const unsigned = (header: object, claims: JWTPayload): string =>
  `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.`;

const bad: readonly (readonly [string, () => string | Promise<string>])[] = [
  ["of another key", () => sign(good(), {}, other.privateKey)],
  ["of no algorithm", () => unsigned({ alg: "none", typ: "logout+jwt" }, good())],
  ["signed with the public key as a secret", () => sign(good(), { alg: "HS256" }, new TextEncoder().encode(spki))],
  ["of another issuer", () => sign({ ...good(), iss: "https://evil.example" })],
  ["for another client", () => sign({ ...good(), aud: "another-client" })],
  ["older than two minutes", () => sign({ ...good(), iat: seconds - 121 })],
  ["of the time to come", () => sign({ ...good(), iat: seconds + 121 })],
  ["that has expired", () => sign({ ...good(), exp: seconds - 1 })],
  ["with a nonce", () => sign({ ...good(), nonce: "n" })],
  ["without the event", () => sign({ ...good(), events: { "http://schemas.openid.net/event/other": {} } })],
  ["with an event that is no object", () => sign({ ...good(), events: { [EVENT]: true } } as JWTPayload)],
  ["that names nobody", () => sign(Object.fromEntries(Object.entries(good()).filter(([name]) => name !== "sid" && name !== "sub")))],
  ["whose sid is no text", () => sign({ ...good(), sid: ["s1"] } as JWTPayload)],
  ["that is an access token", () => sign(good(), { typ: "at+jwt" })],
  ["that brings its own key", () => sign(good(), { jku: "https://evil.example/keys" })],
  ["that is none", () => "x"],
  ["that is too long", () => "x".repeat(9000)],
  ...["iat", "exp", "jti", "events", "aud", "iss"].map((name) => [`without ${name}`, () => sign(without(name))] as const),
];
for (const [what, make] of bad)
  test(`a logout token ${what} is refused`, async () => {
    await assert.rejects(check(await make()), { code: "invalid_request" });
  });

test("keys that cannot be had are no bad token", async () => {
  const away = createLogoutTokenCheck({
    issuer: { issuer: ISSUER, keys: () => Promise.reject(new Problem("identity_provider_unavailable")) },
    clientId: CLIENT,
    now: () => now,
    metrics: createMetrics(),
  });
  await assert.rejects(away(await sign(good())), { code: "identity_provider_unavailable" });
});
