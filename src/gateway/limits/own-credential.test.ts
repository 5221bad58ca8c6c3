import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Problem } from "#contract/problem.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const database = sharedDatabase();
const GOOD = "Bearer scim_good";
const OTHER = "Bearer scim_other";

/** The gateway with the routes that ship, before a membership that knows two tokens. */
const world = async (t: TestContext, rates: string) => {
  const membership = recordingPeer();
  const known = new Set([GOOD, OTHER]);
  membership.answer = () => {
    const authorization = membership.seen.at(-1)?.headers.get("authorization") ?? "";
    return Response.json({}, { status: known.has(authorization) ? 200 : 401, headers: { "content-type": "application/scim+json" } });
  };
  const exchanged: string[] = [];
  const made = await testGateway(t, {
    database: await database(),
    peers: { membership: membership.peer },
    settings: { RATE_LIMITS: rates },
    parts: {
      tokenExchange: async (request) => {
        exchanged.push(request.headers.get("authorization") ?? "");
        return Response.json({}, { status: known.has(request.headers.get("authorization") ?? "") ? 200 : 401 });
      },
    },
  });
  const ask = async (path: string, authorization?: string, init: Init = {}) => {
    const response = await made.fetch(path, {
      ...init,
      headers: { ...(authorization === undefined ? {} : { authorization }), ...init.headers },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  };
  return { made, ask, known, membership };
};

test("each token has a share of its own, tries of an address are bounded, and nobody there loses a sign-in by them", async (t) => {
  const { ask, known } = await world(t, "anonymous=1/min:3,bearer=1/min:5");
  const times = async (count: number, authorization?: string): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n++) statuses.push((await ask("/scim/v2/Users", authorization)).status);
    return statuses;
  };
  assert.deepEqual(await times(7, GOOD), [200, 200, 200, 200, 200, 200, 429], "the first is a try, then its own five");
  for (const spelt of ["bearer scim_good", "Bearer   scim_good"]) assert.deepEqual(await times(1, spelt), [429], "however it is spelt");
  assert.deepEqual(await times(2, OTHER), [200, 200], "another token is not held back by it");
  assert.deepEqual(await times(1, "Bearer scim_guess"), [401]);
  for (const guess of ["Bearer scim_guess", "Bearer scim_guess2", undefined])
    assert.deepEqual(await times(1, guess), [429], "the address has had its three tries");
  assert.deepEqual(await times(1, OTHER), [200], "whose token is good goes on");
  assert.equal((await ask("/auth/session")).status, 200, "and the page of a sign-in is served");
  known.delete(OTHER);
  assert.deepEqual(await times(2, OTHER), [401, 429], "a token that was ended is a stranger's at once");
});

test("what a client proves to /oauth/token by its header has a share of its own too", async (t) => {
  const { ask } = await world(t, "anonymous=1/min:2,bearer=1/min:4");
  const send = async (authorization?: string): Promise<number> =>
    (
      await ask("/oauth/token", authorization, {
        method: "POST",
        body: "grant_type=x",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      })
    ).status;
  for (const expected of [200, 200, 200, 200, 200, 429]) assert.equal(await send(GOOD), expected);
  assert.deepEqual([await send("Bearer a"), await send("Bearer b")], [401, 429]);
  assert.deepEqual([await send(), await send(), await send()], [401, 401, 429], "without a header the address counts, as before");
});

test("every refusal of the gateway at /scim/v2 is an Error message of SCIM", async (t) => {
  const { ask, membership, made } = await world(t, "anonymous=1/min:40,bearer=1/min:1");
  const scim = { "content-type": "application/scim+json" };
  const rows: readonly (readonly [what: string, path: string, init: Init, status: number])[] = [
    ["a method that the row has not", "/scim/v2/Users", { method: "OPTIONS" }, 405],
    ["no resource", "/scim/v2", {}, 404],
    ["a body that is too large", "/scim/v2/Users", { method: "POST", body: "x".repeat(1_048_577), headers: scim }, 413],
    ["a path that has two readings", "/scim/v2/Users/a%2fb", {}, 400],
    ["an empty segment", "/scim//v2/Users", {}, 400],
    ["one at its end", "/scim/v2//Users", {}, 400],
    ["a page of it", "/scim/v2/Users/a%2fb", { headers: { accept: "text/html" } }, 400],
    ["a plugin", "/scim/v2/Users", { headers: { "x-plugin-id": "x" } }, 403],
  ];
  const requireScim = (what: string, status: number, reply: Awaited<ReturnType<typeof ask>>): void => {
    const read = JSON.parse(reply.text) as Record<string, unknown>;
    assert.deepEqual([what, reply.status, reply.headers.get("content-type")], [what, status, "application/scim+json"], reply.text);
    assert.deepEqual(read["schemas"], ["urn:ietf:params:scim:api:messages:2.0:Error"]);
    assert.deepEqual([what, read["status"], typeof read["detail"]], [what, String(status), "string"]);
  };
  for (const [what, path, init, status] of rows) {
    const reply = await ask(path, "Bearer nobody", init);
    requireScim(what, status, reply);
  }
  for (const type of ["text/json", "text/plain", "application/json; charset=latin1", ""]) {
    const { status } = await ask("/scim/v2/Users", "Bearer nobody", { method: "POST", body: type, headers: { "content-type": type } });
    assert.deepEqual([type, status, membership.seen.at(-1)?.headers.get("content-type") ?? ""], [type, 401, type], "membership's to say");
  }
  await ask("/scim/v2/Users", GOOD);
  await ask("/scim/v2/Users", GOOD);
  const over = await ask("/scim/v2/Users", GOOD);
  requireScim("too often", 429, over);
  assert.match(over.headers.get("retry-after") ?? "", /^\d+$/);
  membership.answer = () => Promise.reject(new Problem("upstream_unavailable"));
  const away = await ask("/scim/v2/Users", OTHER);
  assert.ok(away.status >= 502, String(away.status));
  requireScim("membership is away", away.status, away);
  const elsewhere = await made.fetch("/api/membership/scim-tokens");
  assert.equal(elsewhere.headers.get("content-type"), "application/problem+json", "anywhere else as before");
});
