import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { statement } from "#store/database.ts";
import { until } from "#testing/until.ts";
import { decidingPeer, sharedDatabase, testGateway, type Said, type SignedInBrowser } from "#testing/gateway.ts";

const database = sharedDatabase();
const PATH = "/api/v1/sessions";
interface Row {
  readonly id: string;
  readonly current: boolean;
  readonly subject: string;
}
interface Body {
  readonly sessions: readonly Row[];
  readonly nextCursor?: string;
  readonly code?: string;
  readonly decision_id?: string;
  readonly sessions_ended?: number;
}

/** A tenant of its own for each test: one database serves them all. */
const world = async (t: TestContext, permits: (action: string, subject: string) => Said) => {
  const tenant = `tenant:${t.name.replaceAll(/[^a-z]+/g, "-").slice(0, 60)}`;
  const pdp = decidingPeer((type, action, subject) => type === "sessions" && permits(action, subject));
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const signIn = (subject: string, seconds = 0) => made.signIn(subject, { tenant, createdAt: new Date(Date.now() + seconds * 1000) });
  const get = async (who: SignedInBrowser, query = "") => {
    const response = await made.fetch(`${PATH}${query}`, { headers: who.cookie });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const end = async (who: SignedInBrowser, what: string) => {
    const response = await made.fetch(`${PATH}${what}`, { method: "DELETE", headers: { ...who.headers, "content-type": "" } });
    return { status: response.status, body: (await response.json()) as Body, headers: response.headers };
  };
  return { made, signIn, get, end, pdp, tenant };
};
const leafOf = statement<{ leaf: string }>(
  "test.session_end_leaf",
  "select convert_from(leaf, 'UTF8') as leaf from events.audit_entry where resource_id = $1 order by seq desc limit 1",
);
const refs = (body: Body): readonly string[] => body.sessions.map(({ id }) => id);

test("one sees one's own sessions, without asking anybody, and the tenant's with the right to", async (t) => {
  const { signIn, get, pdp } = await world(t, (action, subject) => action === "view_all" && subject === "person:ada");
  const [ben, phone, ada] = [await signIn("person:ben", -2), await signIn("person:ben", -1), await signIn("person:ada")];
  const asked = pdp.seen.length;
  const own = await get(ben);
  assert.deepEqual(
    own.body.sessions.map(({ id, current }) => [id, current]),
    [
      [phone.record.ref, false],
      [ben.record.ref, true],
    ],
  );
  assert.deepEqual(refs((await get(ben, "?subject=person:ben")).body), refs(own.body));
  assert.equal(pdp.seen.length, asked);
  for (const query of ["?all=true", "?subject=person:ada"]) {
    const refused = await get(ben, query);
    assert.deepEqual([refused.status, refused.body.code, typeof refused.body.decision_id], [403, "access_denied", "string"]);
  }
  assert.deepEqual(refs((await get(ada, "?all=true")).body), [ada.record.ref, phone.record.ref, ben.record.ref]);
  assert.deepEqual(refs((await get(ada, "?subject=person:ben")).body), [phone.record.ref, ben.record.ref]);
  for (const query of ["?all=maybe", "?limit=0", "?limit=201", "?who=x", "?all=true&all=true"])
    assert.equal((await get(ben, query)).status, 400, query);
});

test("a list goes on where it stopped, for its reader and its filter alone", async (t) => {
  const { signIn, get } = await world(t, () => true);
  const made = [await signIn("person:ben", -4), await signIn("person:ben", -3), await signIn("person:ben", -2)];
  const ben = await signIn("person:ben", -1);
  const ada = await signIn("person:ada");
  const first = await get(ben, "?limit=3");
  assert.ok(first.body.nextCursor);
  const second = await get(ben, `?limit=3&cursor=${first.body.nextCursor}`);
  assert.deepEqual(
    [...refs(first.body), ...refs(second.body)],
    [ben, ...made.toReversed()].map(({ record }) => record.ref),
  );
  assert.equal(second.body.nextCursor, undefined);
  assert.equal((await get(ada, `?cursor=${first.body.nextCursor}`)).body.code, "invalid_cursor");
  assert.equal((await get(ben, `?all=true&cursor=${first.body.nextCursor}`)).body.code, "invalid_cursor");
  assert.equal((await get(ben, "?cursor=x")).body.code, "invalid_cursor");
});

test("ending another's session needs the right; without it there is nothing there", async (t) => {
  const { made, signIn, get, end } = await world(t, (action, subject) => action === "revoke" && subject === "person:ada");
  const [ben, phone, ada] = [await signIn("person:ben"), await signIn("person:ben"), await signIn("person:ada")];
  const elsewhere = await made.signIn("person:eve");
  for (const what of [
    `/${ada.record.ref}`,
    `/${elsewhere.record.ref}`,
    "/00000000-0000-4000-8000-000000000000",
    "/x",
    "?subject=person:ada",
  ])
    assert.deepEqual([(await end(ben, what)).status, what], [404, what]);
  assert.equal((await get(ada)).status, 200);
  const own = await end(ben, `/${phone.record.ref}`);
  assert.deepEqual([own.status, own.body.sessions_ended, own.headers.get("set-cookie")], [200, 1, null]);
  for (const what of [`/${elsewhere.record.ref}`, "/00000000-0000-4000-8000-000000000000", "?subject=person:eve", "?subject=person:nobody"])
    assert.deepEqual([(await end(ada, what)).status, what], [404, what], "absent, or of another tenant");
  assert.equal((await made.fetch(PATH, { headers: elsewhere.cookie })).status, 200);
  assert.deepEqual((await end(ada, `/${ben.record.ref}`)).body.sessions_ended, 1);
  assert.equal((await get(ben)).status, 401);
  const again = [await signIn("person:ben"), await signIn("person:ben")] as const;
  assert.equal((await end(ada, "?subject=person:ben")).body.sessions_ended, 2);
  for (const who of again) assert.equal((await get(who)).status, 401);
  assert.equal(await made.counted("bff_sessions_destroyed_total", { reason: "admin" }), 3);
});

test("ending all of one's own clears the cookie; a right that wants a stronger sign-in says so; nothing works without its token", async (t) => {
  const { made, signIn, end } = await world(t, () => "step_up_required");
  const [ben, phone] = [await signIn("person:ben"), await signIn("person:ben")];
  const weak = await end(ben, "?subject=person:ada");
  assert.deepEqual([weak.status, weak.body.code], [401, "step_up_required"]);
  const forged = await made.fetch(`${PATH}/${phone.record.ref}`, { method: "DELETE", headers: ben.cookie });
  assert.equal(forged.status, 403);
  assert.equal((await end(ben, "")).status, 400, "whose?");
  const all = await end(ben, "?subject=person:ben");
  assert.equal(all.body.sessions_ended, 2);
  assert.match(all.headers.get("set-cookie") ?? "", /Max-Age=0/);
});

const mfa = { id: "mfa", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 300 } };
for (const [what, said] of [
  ["denied for want of it", "step_up_required"],
  ["permitted with the obligation", { obligations: [mfa] }],
] as const)
  test(`${what}: sessions of others want the sign-in that the decision wants`, async (t) => {
    const { made, signIn, get, end, tenant } = await world(t, () => said);
    const [ben, weak] = [await signIn("person:ben"), await signIn("person:ada")];
    for (const query of ["?all=true", "?subject=person:ben"]) {
      const response = await made.fetch(`${PATH}${query}`, { headers: weak.cookie });
      const body = (await response.json()) as Body & { step_up?: object };
      assert.deepEqual([response.status, body.code, typeof body.decision_id], [401, "step_up_required", "string"], query);
      assert.deepEqual(body.step_up, {
        acr_value: "strong",
        max_age_seconds: 300,
        url: "http://localhost:8080/auth/login?acr_values=strong&max_age=300",
      });
      assert.match(response.headers.get("www-authenticate") ?? "", /insufficient_user_authentication/, query);
    }
    for (const whose of [`/${ben.record.ref}`, "?subject=person:ben"])
      assert.deepEqual([(await end(weak, whose)).body.code, whose], ["step_up_required", whose]);
    assert.equal((await get(ben)).status, 200, "nothing was ended");
    assert.deepEqual(refs((await get(weak)).body), [weak.record.ref], "one's own are there without it");
    const fresh = { tenant, acr: "strong", amr: ["pwd", "otp"], authTime: Math.floor(Date.now() / 1000) };
    const strong = await made.signIn("person:ada", fresh);
    if (said !== "step_up_required") assert.equal((await get(strong, "?subject=person:ben")).body.sessions.length, 1);
  });

test("an end by an administrator is in the audit log under the administrator's name", async (t) => {
  const { made, signIn, end } = await world(t, () => true);
  const [ben, ada] = [await signIn("person:ben"), await signIn("person:ada")];
  await end(ada, `/${ben.record.ref}`);
  // Entries get their place in the log beside the request.
  const [entry] = await until(
    () => made.database.run(leafOf, [ben.record.ref]),
    (rows) => rows.length > 0,
  );
  const text = entry?.leaf ?? "";
  assert.match(text, /"reason":\s*"admin"/);
  assert.ok(text.includes(ada.record.ref), "who did it");
  assert.doesNotMatch(text, /person:ben/, "never by name");
});
