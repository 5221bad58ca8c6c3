import assert from "node:assert/strict";
import { test } from "node:test";
import type { RefreshOutcome } from "#authn/provider/oidc-client.ts";
import { Problem } from "#contract/problem.ts";
import { attackWorld, rawGet, rawJson, send } from "#testing/attack-world.ts";
import { absentProvider, sharedDatabase, type SignedInBrowser } from "#testing/gateway.ts";

const database = sharedDatabase();

test("attack 40: a secret of a session shows in no log line, metric or answer, whatever fails", async (t) => {
  const lines: string[] = [];
  const REFRESH = "canary-refresh-token-7f3a9c";
  const ACCESS = "canary-access-token-51be02";
  const COOKIE = "canary-foreign-cookie-88d1";
  const QUERY = "canary-query-0c44";
  let refresh = (): Promise<RefreshOutcome> => Promise.resolve({ kind: "denied" });
  const oidc = absentProvider({ refresh: () => refresh() });
  const world = await attackWorld(t, await database(), { lines, parts: { oidc } });
  const bodies: string[] = [];
  const canaries = new Set([REFRESH, ACCESS, COOKIE, QUERY, world.token, world.token.split(".")[2] ?? ""]);

  const tell = (who: SignedInBrowser): void => void [who.sid, who.headers["x-csrf-token"] ?? ""].map((secret) => canaries.add(secret));
  const ask = async (who: SignedInBrowser, expected: number, target: string, body?: string): Promise<void> => {
    const cookie = `Cookie: ${who.cookie.cookie}; other=${COOKIE}\r\n`;
    const proofs = Object.entries(who.headers)
      .filter(([name]) => name !== "cookie" && name !== "content-type")
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    const { text, answers } = await send(
      world,
      body === undefined ? rawGet(`${target}?code=${QUERY}`, cookie) : rawJson(target, cookie + proofs, body),
    );
    assert.equal(answers[0]?.status, expected, text);
    bodies.push(text);
  };
  const aged = (seconds: number) => ({ accessExpiresAt: new Date(Date.now() + seconds * 1000), refreshToken: REFRESH });

  const who = await world.made.signIn("person:ben");
  tell(who);
  await ask(who, 200, "/api/t/x");
  await ask(who, 200, "/api/t/x", "{}");
  await ask(who, 200, "/auth/session");
  await ask({ ...who, cookie: { cookie: `${who.cookie.cookie}x` } }, 401, "/api/t/x");
  const decide = world.pdp.answer;
  world.pdp.answer = () => Response.json({ decision: false, context: { decision_id: "d", reason: "not_granted" } });
  await ask(who, 403, "/admin/x");
  world.pdp.answer = decide;
  await ask({ ...who, headers: { ...who.headers, "x-csrftoken": "other" } }, 403, "/api/t/x", "{}");
  const minted: string[] = [];
  const failing = (make: (request: Request) => Error) => (request: Request) => {
    minted.push(request.headers.get("authorization")?.slice(7) ?? "");
    return Promise.reject(make(request));
  };
  // Errors of others carry whatever they were given.
  world.upstream.answer = failing((request) => new Error(`boom: ${JSON.stringify([...request.headers])}`));
  await ask(who, 500, "/api/t/x");
  world.upstream.answer = failing(
    (request) => new Problem("upstream_bad_response", { cause: new Error(`bad: ${request.headers.get("authorization") ?? ""}`) }),
  );
  await ask(who, 502, "/api/t/x");
  world.upstream.answer = () => Response.json({ ok: true });
  refresh = async () => ({ kind: "unsent", cause: new Error(`refresh_token=${REFRESH}`) });
  const expired = await world.made.signIn("person:ben", aged(-10));
  tell(expired);
  await ask(expired, 503, "/api/t/x");
  refresh = async () => ({ kind: "denied" });
  const ended = await world.made.signIn("person:ben", aged(-10));
  tell(ended);
  await ask(ended, 401, "/api/t/x");
  const bearer = await send(world, rawGet("/api/b/x", "<T>"));
  assert.equal(bearer.answers[0]?.status, 200);
  bodies.push(bearer.text);

  assert.ok(minted.length === 2 && minted.every((token) => token.split(".").length === 3));
  for (const token of minted) canaries.add(token.split(".")[2] ?? token);
  assert.ok(lines.length > 10, "the log was heard");
  const places = { log: lines.join("\n"), metrics: await world.made.metrics.text() };
  for (const canary of canaries)
    for (const [place, text] of Object.entries(places)) {
      const line = text.split("\n").find((one) => one.includes(canary));
      assert.equal(line, undefined, `${canary.slice(0, 12)}.. stands in the ${place}`);
    }
  // The one secret that a page is given is its own session's CSRF token, in the answer to /auth/session.
  const csrf = new Set([who, expired, ended].map(({ headers }) => headers["x-csrf-token"] ?? ""));
  for (const canary of canaries)
    for (const body of bodies)
      assert.ok(csrf.has(canary) || !body.includes(canary), `${canary.slice(0, 12)}.. is answered: ${body.slice(0, 400)}`);
  assert.equal(bodies.filter((body) => [...csrf].some((token) => body.includes(token))).length, 1);
});
