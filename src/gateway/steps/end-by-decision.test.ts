import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Obligation } from "#contract/authzen.ts";
import { recordingPeer, sharedDatabase, testGateway, type Seen } from "#testing/gateway.ts";

const database = sharedDatabase();
const endSession: Obligation = { id: "end-session", type: "session_termination", properties: {} };
const stepUp: Obligation = { id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 300 } };

/** A gateway whose decision point answers so, and one row that asks it. */
const world = async (t: TestContext, decision: boolean, obligations: readonly Obligation[]) => {
  const pdp = recordingPeer();
  pdp.answer = () =>
    Response.json({ decision, context: { decision_id: "d_1", ...(decision ? {} : { reason: "forbidden" }), obligations } });
  const crud = recordingPeer();
  const now = new Date();
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer, crud: crud.peer }, now: () => now });
  const seconds = Math.floor(now.getTime() / 1000);
  const open = (path: string, headers: Readonly<Record<string, string>>) => made.fetch(path, { headers });
  return { made, seconds, open, forwarded: (): readonly Seen[] => crud.seen };
};
const gated = "/api/v1/stream/health";

test("a denial that ends the session ends it: this call and every later one finds none", async (t) => {
  const { made, open } = await world(t, false, [endSession]);
  const ben = await made.signIn("person:ben");
  const other = await made.signIn("person:ben");
  assert.equal((await open("/api/v1/sessions", ben.cookie)).status, 200);
  assert.equal((await open(gated, ben.cookie)).status, 401);
  assert.equal((await open("/api/v1/sessions", ben.cookie)).status, 401);
  assert.equal((await open("/api/v1/sessions", other.cookie)).status, 200, "the session that asked, no other");
});

test("an evaluation that ends the session is answered, and then there is none", async (t) => {
  const { made, open } = await world(t, false, [endSession]);
  const ben = await made.signIn("person:ben");
  const body = JSON.stringify({ resource: { type: "pages", id: "people" }, action: { name: "view" } });
  const answer = await made.fetch("/access/v1/evaluation", { method: "POST", headers: ben.headers, body });
  assert.deepEqual([answer.status, ((await answer.json()) as { decision: boolean }).decision], [200, false]);
  assert.equal((await open("/api/v1/sessions", ben.cookie)).status, 401);
});

test("a denial without it leaves the session alone", async (t) => {
  const { made, open } = await world(t, false, []);
  const ben = await made.signIn("person:ben");
  assert.equal((await open(gated, ben.cookie)).status, 403);
  assert.equal((await open("/api/v1/sessions", ben.cookie)).status, 200);
});

test("a permit that wants a fresh strong sign-in is one only after it", async (t) => {
  const { made, open, seconds } = await world(t, true, [stepUp]);
  for (const [what, more, status] of [
    ["a password", {}, 401],
    ["a strong sign-in of long ago", { acr: "strong", authTime: seconds - 301 }, 401],
    ["a fresh strong one", { acr: "strong", authTime: seconds - 10 }, 200],
  ] as const) {
    const response = await open(gated, (await made.signIn("person:ben", more)).cookie);
    assert.equal(response.status, status, what);
    if (status === 401) assert.equal(((await response.json()) as { code: string }).code, "step_up_required");
  }
});

test("a permit with an obligation that nobody here knows is a denial", async (t) => {
  const { made, open } = await world(t, true, [{ id: "x", type: "cake", properties: {} }]);
  assert.equal((await open(gated, (await made.signIn("person:ben")).cookie)).status, 403);
});
