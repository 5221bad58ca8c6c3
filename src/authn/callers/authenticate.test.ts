import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { testIdentity } from "#testing/identity.ts";

const identity = testIdentity();
const shape = { reply: z.object({}), summary: "For this test." };
const open = endpoint("crud", "GET", "/open", { ...shape, auth: "none" });
const plain = endpoint("crud", "GET", "/plain", { ...shape, auth: "bearer", agents: "never" });
const scoped = endpoint("crud", "GET", "/scoped", { ...shape, auth: "bearer", agents: "never", scope: ["a.read", "a.write"] });
const browsers = endpoint("gateway", "GET", "/browsers", { ...shape, auth: "session" });

const request = (token?: string): Request =>
  new Request("http://localhost:8083/x", token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
const ben = (scopes: readonly string[]) => identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes });
const refused = (code: string, challenge?: string) => (error: unknown) => {
  assert.ok(error instanceof Problem);
  assert.equal(error.code, code);
  if (challenge !== undefined) assert.equal(error.options.headers?.["www-authenticate"], challenge);
  return true;
};

test("an open endpoint has no caller and does not look at a credential", async () => {
  assert.equal(await identity.authenticate(request(), open), undefined);
  assert.equal(await identity.authenticate(request("not a token"), open), undefined);
});

test("a bearer endpoint asks for a token and says so", async () => {
  await assert.rejects(identity.authenticate(request(), plain), refused("unauthenticated", "Bearer"));
  await assert.rejects(identity.authenticate(request("abc"), plain), refused("invalid_token", 'Bearer error="invalid_token"'));
  assert.equal((await identity.authenticate(request(await ben([])), plain)).sub, "person:ben");
});

test("one of the endpoint's scopes is enough, none of them is 403 with the scopes named", async () => {
  assert.equal((await identity.authenticate(request(await ben(["a.write", "x"])), scoped)).sub, "person:ben");
  await assert.rejects(
    identity.authenticate(request(await ben(["x"])), scoped),
    refused("insufficient_scope", 'Bearer error="insufficient_scope", scope="a.read a.write"'),
  );
});

test("a token without tenant is 403 tenant_required", async () => {
  const token = await identity.tokenFor({ sub: "person:ben", tenant: undefined, scopes: [] });
  await assert.rejects(identity.authenticate(request(token), plain), refused("tenant_required"));
});

test("a bearer token never opens what is for sessions", async () => {
  await assert.rejects(identity.authenticate(request(await ben([])), browsers), refused("session_required"));
});
