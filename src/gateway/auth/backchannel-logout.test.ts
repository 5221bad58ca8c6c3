import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogoutToken } from "#authn/provider/logout-token.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Database } from "#store/database.ts";
import { sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();
const ISSUER = "http://localhost:8081";

/** The token's text is what it says, as if it had been checked. */
const checkLogoutToken = async (text: string): Promise<LogoutToken> => {
  if (!text.startsWith("{")) throw new Problem("invalid_request", { detail: "It does not verify here." });
  return { issuer: ISSUER, jti: "j", tooOldAt: new Date(Date.now() + 60_000), ...(JSON.parse(text) as object) };
};
const form = (...tokens: readonly object[]): RequestInit => ({
  method: "POST",
  body: new URLSearchParams(tokens.map((token) => ["logout_token", JSON.stringify(token)])),
});
const PATH = "/auth/backchannel-logout";

test("the provider ends its session here, or all of a person's, in every tenant; a token counts once", async (t) => {
  const made = await testGateway(t, { database: await database(), parts: { checkLogoutToken } });
  const of = (idpSid: string, idpSub: string, more: object = {}) => made.signIn("person:ben", { idpSid, idpSub, ...more });
  const [a, b, c, d] = [
    await of("s1", "u1"),
    await of("s2", "u1"),
    await of("s3", "u1", { tenant: "tenant:globex" }),
    await of("s4", "u2"),
  ];
  const status = async (who: typeof a) => (await made.fetch("/api/v1/sessions", { headers: who.cookie })).status;
  const reported = await made.fetch(PATH, form({ sid: "s1", sub: "u1", jti: "1" }));
  assert.deepEqual([reported.status, await reported.text(), reported.headers.get("cache-control")], [200, "", "no-store"]);
  assert.deepEqual([await status(a), await status(b)], [401, 200], "the session, not the person");
  const again = await made.fetch(PATH, form({ sid: "s2", sub: "u1", jti: "1" }));
  assert.deepEqual([again.status, ((await again.json()) as { error: string }).error], [400, "invalid_request"]);
  assert.equal(await status(b), 200, "a replay ends nothing");
  assert.equal((await made.fetch(PATH, form({ sub: "u1", jti: "2" }))).status, 200);
  assert.deepEqual([await status(b), await status(c), await status(d)], [401, 401, 200]);
  assert.equal((await made.fetch(PATH, form({ sub: "nobody", jti: "3" }))).status, 200, "nobody to sign out is no issue");
  assert.equal(await made.counted("bff_sessions_destroyed_total", { reason: "backchannel" }), 3);
});

for (const [what, init, status] of [
  ["no token", { method: "POST", body: new URLSearchParams() }, 400],
  ["two tokens", form({ sub: "a", jti: "x" }, { sub: "b", jti: "y" }), 400],
  ["a token that does not verify", { method: "POST", body: new URLSearchParams({ logout_token: "x" }) }, 400],
  ["JSON", { method: "POST", body: "{}", headers: { "content-type": "application/json" } }, 400],
  ["no POST", { method: "GET" }, 405],
] as const)
  test(`a back-channel logout with ${what} is ${status}`, async (t) => {
    const made = await testGateway(t, { database: await database(), parts: { checkLogoutToken } });
    const response = await made.fetch(PATH, init);
    assert.equal(response.status, status);
    if (status === 400) assert.equal(((await response.json()) as { error: string }).error, "invalid_request");
  });

test("a logout that could not be done is 503 and its token is still good", async (t) => {
  const real = await database();
  const state = { isDown: false };
  const flaky: Database = {
    ...real,
    run: (wanted, values) =>
      state.isDown && wanted.name.startsWith("gateway.session_end")
        ? Promise.reject(new Error("gone"))
        : real.run(statement(wanted.name, wanted.text), values),
  };
  const made = await testGateway(t, { database: flaky, parts: { checkLogoutToken } });
  const ben = await made.signIn("person:ben", { idpSid: "s9", idpSub: "u9" });
  state.isDown = true;
  const refused = await made.fetch(PATH, form({ sid: "s9", jti: "retry" }));
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  state.isDown = false;
  assert.equal((await made.fetch(PATH, form({ sid: "s9", jti: "retry" }))).status, 200);
  assert.equal((await made.fetch("/api/v1/sessions", { headers: ben.cookie })).status, 401);
});
