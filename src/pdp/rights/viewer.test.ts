import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { AccessRequestReply } from "#contract/access-requests.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import type { ProblemBody } from "#contract/problem.ts";
import { pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { administer, askFor, policyText, readJson } from "#testing/rollout.ts";

const signInFor = (id: string, actions: string) => `
@id("${id}")
@description("A strong sign-in for it")
@reason("step_up_required")
@obligation("mfa")
forbid (principal, action in [${actions}], resource)
unless { context.mfa };
`;
/** The right as a permit that obliges to the sign-in, in place of a denial for want of it. */
const permitWithSignIn = policyText("administration.cedar").replace('@id("security-admin")', '@id("security-admin")\n@obligation("mfa")');
const sight = 'Action::"decisions:view_all", Action::"decisions:explain"';
const administration = "policies/administration.cedar";

/** Both ways in which policies can ask for a sign-in: a forbid until it is there, and a permit that obliges to it. */
const ways: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a denial for want of a sign-in": { [administration]: policyText("administration.cedar") + signInFor("sight-step-up", sight) },
  "a permit that obliges to a sign-in": { [administration]: permitWithSignIn },
};

const open = async (t: TestContext, files: Readonly<Record<string, string | null>>) => {
  const world = await pdpWorld(t);
  const admin = administer(world);
  await admin.activate((await admin.draft(files)).rollout.version);
  const denied = await askFor(world, "cleo", "pages", "view", "operations");
  const as = async (login: string, path: string, body?: object, acr?: "strong") =>
    world.ask(path, await world.personToken(login, acr === undefined ? {} : { acr }), body);
  return { world, as, denied, id: denied.context?.decision_id ?? "" };
};
const assertChallenge = async (world: PdpWorld, response: Response, what: string): Promise<void> => {
  const body = await readJson<ProblemBody & { decision_id?: string; step_up?: object }>(response, 401);
  assert.equal(body.code, "step_up_required", what);
  assert.deepEqual(body.step_up, {
    acr_value: "strong",
    max_age_seconds: 300,
    url: "http://localhost:8080/auth/login?acr_values=strong&max_age=300",
  });
  assert.match(response.headers.get("www-authenticate") ?? "", /insufficient_user_authentication.*acr_values="strong"/, what);
  const record = await world.ask(`/access/v1/decisions/${body.decision_id}`, await world.serviceToken("gateway"));
  assert.equal((await readJson<DecisionRecord>(record)).subject?.id, "person:ada", `${what}: the refusal is on record`);
};

for (const [way, files] of Object.entries(ways)) {
  test(`${way}: decisions of others, their explanation and replay, and others' requests say that they want one`, async (t) => {
    const { world, as, id, denied } = await open(t, files);
    const { evaluation_id, access_request } = denied.context as { evaluation_id: string; access_request: Record<string, string> };
    const asked = await world.ask(
      "/access/v1/requests",
      await world.personToken("cleo"),
      {
        subject: { type: "identity", id: "person:cleo" },
        action: { name: "view" },
        resource: { type: "pages", id: "operations" },
        denial: { evaluation_id, expires_at: access_request["expires_at"], binding_token: access_request["binding_token"] },
      },
      { "idempotency-key": "cleo-1" },
    );
    const { task } = await readJson<AccessRequestReply>(asked, 202);
    const paths: readonly (readonly [path: string, body?: object])[] = [
      [`/access/v1/decisions/${id}`],
      [`/access/v1/decisions/${id}?remedy=true`],
      [`/access/v1/decisions/${id}/replay`, {}],
      ["/access/v1/decisions"],
      ["/access/v1/decisions?subject=person:cleo"],
      ["/access/v1/what-if", { subject_id: "person:cleo", changes: { facts: { mfa: true } } }],
    ];
    for (const [path, body] of paths) {
      await assertChallenge(world, await as("ada", path, body), path);
      assert.equal((await as("ada", path, body, "strong")).status, 200, path);
    }
    // What is not there, or not the caller's tenant's, wants the same sign-in: asking tells nobody what there is.
    for (const path of ["/access/v1/decisions/d_01JZZZZZZZZZZZZZZZZZZZZZZZ", "/access/v1/requests/ar_01JZZZZZZZZZZZZZZZZZZZZZZZ"]) {
      await assertChallenge(world, await as("ada", path), path);
      assert.equal((await as("ada", path, undefined, "strong")).status, 404, path);
    }
    assert.equal((await as("ben", `/access/v1/decisions/${id}`)).status, 404, "nor would a sign-in show it to everybody");
    assert.equal((await as("ben", `/access/v1/requests/${task.id}`)).status, 404);
    assert.deepEqual((await readJson<{ decisions: readonly DecisionRecord[] }>(await as("ben", "/access/v1/decisions"))).decisions, []);
  });

  test(`${way}: one's own decision stays to be seen without it, coarse`, async (t) => {
    const { world, as, id } = await open(t, files);
    const own = await readJson<DecisionRecord>(await as("cleo", `/access/v1/decisions/${id}`));
    assert.deepEqual([own.decision, own.reason, own.facts], [false, "approval_required", undefined]);
    const { decisions } = await readJson<{ decisions: readonly DecisionRecord[] }>(await as("cleo", "/access/v1/decisions"));
    assert.ok(decisions.some(({ decision_id }) => decision_id === id));
    const ofAda = (await askFor(world, "ada", "workflows", "execute_quick")).context?.decision_id ?? "";
    assert.equal((await readJson<DecisionRecord>(await as("ada", `/access/v1/decisions/${ofAda}`))).facts, undefined);
    const mine = await as("ada", "/access/v1/decisions?subject=person:ada");
    assert.ok((await readJson<{ decisions: readonly DecisionRecord[] }>(mine)).decisions.length > 0);
  });
}

test("who could make a change after a sign-in is asked for it, by the right that wants it", async (t) => {
  const files = {
    // Its cases ask without a sign-in.
    "policies/cases/pages.yaml": null,
    "policies/identities.cedar":
      policyText("identities.cedar") + signInFor("delegations-step-up", 'Action::"delegations:create", Action::"delegations:revoke"'),
  };
  const { world, as } = await open(t, files);
  const ending = {
    subject_id: "person:ben",
    changes: { edges: { remove: [{ kind: "DELEGATES_TO", from: "person:ben", to: "agent:hr-assistant" }] } },
  };
  const weak = await readJson<ProblemBody & { decision_id?: string }>(await as("ben", "/access/v1/what-if", ending), 401);
  assert.equal(weak.code, "step_up_required");
  const record = await world.ask(`/access/v1/decisions/${weak.decision_id}`, await world.serviceToken("gateway"));
  assert.deepEqual((await readJson<DecisionRecord>(record)).resource, { type: "delegations", id: "delegation:ben-hr" });
  assert.equal((await as("ben", "/access/v1/what-if", ending, "strong")).status, 200);
  assert.equal((await as("cleo", "/access/v1/what-if", ending)).status, 403, "no sign-in makes it hers");
});

test("whose decision it is and who may not have it decided again is refused by a decision on record", async (t) => {
  const world = await pdpWorld(t);
  const id = (await askFor(world, "dan", "pages", "view", "people")).context?.decision_id ?? "";
  const refused = await world.ask(`/access/v1/decisions/${id}/replay`, await world.personToken("dan"), {});
  const body = await readJson<ProblemBody & { decision_id?: string; reason?: string }>(refused, 403);
  assert.deepEqual([body.code, body.reason], ["access_denied", "not_granted"]);
  const record = await world.ask(`/access/v1/decisions/${body.decision_id}`, await world.serviceToken("gateway"));
  assert.deepEqual((await readJson<DecisionRecord>(record)).resource, { type: "decisions", id });
});

test("a reason that no denial has is no filter", async (t) => {
  const world = await pdpWorld(t);
  const ask = async (reason: string) => world.ask(`/access/v1/decisions?reason=${reason}`, await world.personToken("ada"));
  assert.equal((await ask("bogus")).status, 400);
  assert.equal((await ask("chain_not_eligible")).status, 200);
});

test("what is wrong with a single question is said all at once", async (t) => {
  const world = await pdpWorld(t);
  const response = await world.ask("/access/v1/evaluation", await world.serviceToken("gateway"), {});
  const { errors = [] } = await readJson<ProblemBody>(response, 400);
  assert.deepEqual(errors.map(({ path }) => path).toSorted(), ["/action", "/resource", "/subject"]);
});
