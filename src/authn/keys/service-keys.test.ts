import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { forEachDatabase } from "#testing/database.ts";
import { memoryKeyStore } from "#testing/identity.ts";
import { createServiceKeys } from "./service-keys.ts";
import { createServiceKeyStore, openServiceKeys, resealServiceKeys } from "./service-key-store.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";

const issuer = "http://localhost:8080";
const DAY = 86_400_000;
const clock = (at = Date.parse("2026-11-21T10:00:00Z")) => {
  let now = at;
  return { now: () => new Date(now), forward: (ms: number) => void (now += ms) };
};
const secrets: InstanceSecrets = [randomBytes(32)];

test("a service's token is a signed 60 s access token that names the service and no tenant", async () => {
  const { now } = clock();
  const keys = createServiceKeys({ store: memoryKeyStore(), secrets, issuer, now });
  const token = await keys.identityFor("crud").asService("http://localhost:8084", ["pip.read", "membership.budget"]);
  const header = decodeProtectedHeader(token);
  assert.equal(header.alg, "EdDSA");
  assert.equal(header.typ, "at+jwt");
  const { jti, ...claims } = decodeJwt(token);
  assert.match(String(jti), /^[0-9a-f-]{36}$/);
  const iat = now().getTime() / 1000;
  assert.deepEqual(claims, {
    iss: issuer,
    aud: "http://localhost:8084",
    use: "call",
    sub: "service:crud",
    client_id: "service:crud",
    tenant: "*",
    scope: "pip.read membership.budget",
    iat,
    exp: iat + 60,
  });
});

test("a token on behalf of somebody carries the chain of actors, outermost first, and the sign-in", async () => {
  const keys = createServiceKeys({ store: memoryKeyStore(), secrets, issuer, now: clock().now });
  const token = await keys.identityFor("gateway").onBehalfOf("http://localhost:8083", {
    sub: "person:ben",
    tenant: "tenant:acme",
    scopes: new Set(["mcp.tools.invoke"]),
    actors: ["agent:outer", "agent:inner"],
    clientId: "agent:outer",
    acr: "strong",
    amr: ["pwd", "otp"],
    authTime: 1_700_000_000,
  });
  const claims = decodeJwt(token);
  assert.deepEqual(claims["act"], { sub: "agent:outer", act: { sub: "agent:inner" } });
  assert.deepEqual(
    [claims.sub, claims["tenant"], claims["scope"], claims["acr"], claims["amr"], claims["auth_time"], claims["client_id"]],
    ["person:ben", "tenant:acme", "mcp.tools.invoke", "strong", ["pwd", "otp"], 1_700_000_000, "agent:outer"],
  );
});

test("a service's own token is used again for 20 s, per audience and scopes, and one for somebody never", async () => {
  const time = clock();
  const identity = createServiceKeys({ store: memoryKeyStore(), secrets, issuer, now: time.now }).identityFor("crud");
  const first = await identity.asService("x", ["a"]);
  time.forward(19_999);
  assert.equal(await identity.asService("x", ["a"]), first);
  assert.notEqual(await identity.asService("x", ["b"]), first);
  assert.notEqual(await identity.asService("y", ["a"]), first);
  time.forward(1);
  assert.notEqual(await identity.asService("x", ["a"]), first);
  const ben = { sub: "person:ben", tenant: "tenant:acme", scopes: [] };
  assert.notEqual(await identity.onBehalfOf("x", ben), await identity.onBehalfOf("x", ben));
});

test("services that may not speak for others cannot even be asked to", async () => {
  const keys = createServiceKeys({ store: memoryKeyStore(), secrets, issuer, now: clock().now });
  for (const service of ["pdp", "membership", "secrets"] as const) {
    const asked = keys.identityFor(service).onBehalfOf("x", { sub: "person:ben", tenant: "tenant:acme", scopes: [] });
    await assert.rejects(asked, TypeError, service);
  }
});

test("each service has its own key, made once however many ask together", async () => {
  const store = memoryKeyStore();
  const { now } = clock();
  const keys = createServiceKeys({ store, secrets, issuer, now });
  await Promise.all(Array.from({ length: 20 }, (_, index) => keys.identityFor(index % 2 === 0 ? "crud" : "pdp").asService("x", [])));
  const kept = await store.list(now());
  assert.deepEqual(kept.map((row) => row.service).toSorted(), ["service:crud", "service:pdp"]);
  assert.equal(new Set(kept.map((row) => row.kid)).size, 2);
});

test("a key signs for 30 days, is verified for one more, and is then gone from the key set", async () => {
  const time = clock();
  const keys = createServiceKeys({ store: memoryKeyStore(), secrets, issuer, now: time.now });
  const sign = async (): Promise<string> => String(decodeProtectedHeader(await keys.identityFor("crud").asService("x", [])).kid);
  const first = await sign();
  time.forward(29 * DAY);
  assert.equal(await sign(), first);
  time.forward(1.5 * DAY);
  const second = await sign();
  assert.notEqual(second, first);
  assert.equal((await keys.find(first))?.service, "service:crud");
  assert.deepEqual((await keys.jwks()).keys.map((key) => key.kid).toSorted(), [first, second].toSorted());
  time.forward(DAY);
  assert.equal(await keys.find(first), undefined);
  assert.deepEqual(
    (await keys.jwks()).keys.map((key) => key.kid),
    [second],
  );
});

test("the published key set holds no private part", async () => {
  const keys = createServiceKeys({ store: memoryKeyStore(), secrets, issuer, now: clock().now });
  await keys.identityFor("gateway").asService("x", []);
  for (const key of (await keys.jwks()).keys) assert.deepEqual(Object.keys(key).toSorted(), ["alg", "crv", "kid", "kty", "use", "x"]);
});

test("with another instance secret a service makes itself a new key, and the old one still verifies", async () => {
  const store = memoryKeyStore();
  const { now } = clock();
  const before = createServiceKeys({ store, secrets, issuer, now });
  const old = String(decodeProtectedHeader(await before.identityFor("crud").asService("x", [])).kid);
  const after = createServiceKeys({ store, secrets: [randomBytes(32)], issuer, now });
  const fresh = String(decodeProtectedHeader(await after.identityFor("crud").asService("x", [])).kid);
  assert.notEqual(fresh, old);
  assert.equal((await after.find(old))?.service, "service:crud");
});

test("unknown keys are looked up in the database at most once a second", async () => {
  let reads = 0;
  const inner = memoryKeyStore();
  const time = clock();
  const store = { ...inner, list: (now: Date) => (reads++, inner.list(now)) };
  const keys = createServiceKeys({ store, secrets, issuer, now: time.now });
  await keys.jwks();
  assert.equal(reads, 1);
  const found = await Promise.all(Array.from({ length: 50 }, (_, index) => keys.find(`../${index}`)));
  assert.ok(found.every((key) => key === undefined));
  assert.equal(reads, 2, "all of them waited for one look");
});

test("while the database does not answer, the keys that were known sign, verify and are published; an unknown one is not judged", async () => {
  const { now, forward } = clock();
  const store = memoryKeyStore();
  let isAway = false;
  const answer = <T>(work: () => Promise<T>): Promise<T> => (isAway ? Promise.reject(new Error("away")) : work());
  const keys = createServiceKeys({
    store: { list: (at) => answer(() => store.list(at)), add: (row) => answer(() => store.add(row)) },
    secrets,
    issuer,
    now,
  });
  const kidOf = async () => decodeProtectedHeader(await keys.sign("gateway", { sub: "person:ben" }, 60)).kid ?? "";
  const kid = await kidOf();
  isAway = true;
  for (const later of [0, 2000, 3_600_000]) {
    forward(later);
    assert.deepEqual(
      (await keys.jwks()).keys.map((key) => key.kid),
      [kid],
    );
    assert.equal((await keys.find(kid))?.service, "service:gateway");
    assert.equal(await kidOf(), kid);
    await assert.rejects(keys.find("unknown"), /away/);
  }
  forward(31 * DAY);
  assert.deepEqual((await keys.jwks()).keys, [], "they retire all the same");
  assert.equal(await keys.find(kid).catch(() => undefined), undefined);
  isAway = false;
  assert.notEqual(await kidOf(), kid);
});

forEachDatabase("keys outlive the process, and another process verifies with them", ["authn"], async (_t, database) => {
  const time = clock();
  const make = () => createServiceKeys({ store: createServiceKeyStore(database), secrets, issuer, now: time.now });
  const one = make();
  const other = make();
  assert.equal(await other.find("nothing yet"), undefined);
  const kid = String(decodeProtectedHeader(await one.identityFor("crud").asService("x", [])).kid);
  assert.equal((await other.find(kid))?.service, "service:crud");
  const again = String(decodeProtectedHeader(await make().identityFor("crud").asService("x", [])).kid);
  assert.equal(again, kid);
});

forEachDatabase("a secret that is not the database's is told from one that takes the place of another", ["authn"], async (_t, database) => {
  const [old, fresh, other] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const keysUnder = (given: InstanceSecrets) =>
    createServiceKeys({ store: createServiceKeyStore(database), secrets: given, issuer, now: () => new Date() });
  assert.ok(await openServiceKeys(database, [other]), "an empty database is anybody's");
  const before = decodeProtectedHeader(await keysUnder([old]).sign("gateway", {}, 60)).kid;
  assert.deepEqual(
    [await openServiceKeys(database, [old]), await openServiceKeys(database, [other]), await openServiceKeys(database, [other, fresh])],
    [true, false, false],
  );

  assert.ok(await openServiceKeys(database, [fresh, old]));
  await resealServiceKeys(database, [fresh, old]);
  assert.deepEqual([await openServiceKeys(database, [fresh]), await openServiceKeys(database, [old])], [true, false]);
  const after = decodeProtectedHeader(await keysUnder([fresh]).sign("gateway", {}, 60)).kid;
  assert.equal(after, before, "no key was lost");

  await resealServiceKeys(database, [other]);
  assert.ok(await openServiceKeys(database, [fresh]), "what a secret does not open, it does not touch");
});
