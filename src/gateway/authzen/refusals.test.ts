import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { permittingPoint } from "#testing/permitting-point.ts";

const database = sharedDatabase();

const open = async (t: TestContext, settings: Readonly<Record<string, string>>) => {
  const point = await pdpWorld(t, { settings });
  const made = await testGateway(t, {
    database: await database(),
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request) },
  });
  const session = (await made.signIn("person:ada")).headers;
  const pep = {
    "content-type": "application/json",
    authorization: `Bearer ${await made.identity.tokenFor({
      sub: "service:pep",
      tenant: "*",
      scopes: ["authzen.pep", "authzen.search"],
      clientId: "service:pep",
    })}`,
  };
  const post = async (path: string, headers: Readonly<Record<string, string>>, body: unknown) => {
    const response = await made.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, headers: response.headers, body: (await response.json()) as { code?: string; decision?: boolean } };
  };
  const served = async () => {
    const response = await made.fetch("/.well-known/authzen-configuration");
    return [response.status, (await response.json()) as unknown] as const;
  };
  return { session, pep, post, served };
};

const ben = { subject: { type: "identity", id: "person:ben", properties: { tenant: "tenant:acme" } } };
const viewAll = { action: { name: "view_all" }, resource: { type: "pages", id: "*" } };
const own = { action: { name: "view_all" }, resource: { type: "pages" } };

test("over another decision point a search says that there is none, however often, and pages go on being decided", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "pdp.yaml");
  await writeFile(file, JSON.stringify({ decision_point: { kind: "remote", identifier: await permittingPoint(t) } }));
  const { session, pep, post, served } = await open(t, { PDP_CONFIG_FILE: file });
  assert.deepEqual(await served(), [
    200,
    {
      policy_decision_point: "http://localhost:8080",
      access_evaluation_endpoint: "http://localhost:8080/access/v1/evaluation",
      access_evaluations_endpoint: "http://localhost:8080/access/v1/evaluations",
    },
  ]);
  const searches = {
    subject: { subject: { type: "identity" }, action: { name: "view" }, resource: { type: "pages", id: "people" } },
    resource: { ...ben, action: { name: "view" }, resource: { type: "pages" } },
    action: { ...ben, resource: { type: "pages", id: "people" } },
  } as const;
  for (const headers of [session, pep])
    for (const kind of ["subject", "resource", "action"] as const)
      for (let time = 0; time < 6; time += 1) {
        const answer = await post(`/access/v1/search/${kind}`, headers, searches[kind]);
        assert.deepEqual([answer.status, answer.body.code], [501, "not_supported"], `${kind}, time ${time + 1}`);
      }
  const decided = await post("/access/v1/evaluation", session, own);
  assert.deepEqual([decided.status, decided.body.decision], [200, true]);
});

test("an enforcement point that asks too often is told so itself, and nobody else waits for it", async (t) => {
  const { session, pep, post } = await open(t, { PDP_CALLS_PER_SECOND: "1" });
  for (const [path, body] of [
    ["/access/v1/evaluation", { ...ben, ...viewAll }],
    ["/access/v1/evaluations", { ...ben, ...viewAll, evaluations: [{}, {}] }],
    ["/access/v1/search/action", { ...ben, resource: { type: "pages", id: "people" } }],
  ] as const) {
    const answers = [];
    for (let time = 0; time < 12; time += 1) answers.push(await post(path, pep, body));
    const refused = answers.filter(({ status }) => status !== 200);
    assert.ok(refused.length >= 5, path);
    for (const answer of refused) {
      assert.deepEqual([answer.status, answer.body.code], [429, "rate_limited"], path);
      assert.equal(answer.headers.get("retry-after"), "1");
    }
  }
  const decided = await post("/access/v1/evaluation", session, own);
  assert.deepEqual([decided.status, decided.body.decision], [200, true]);
});

test("the metadata names what is served under the origin addressed: access requests and searches of Sallyport's own decision point", async (t) => {
  const { served } = await open(t, {});
  const origin = "http://localhost:8080";
  assert.deepEqual(await served(), [
    200,
    {
      policy_decision_point: origin,
      access_evaluation_endpoint: `${origin}/access/v1/evaluation`,
      access_evaluations_endpoint: `${origin}/access/v1/evaluations`,
      search_subject_endpoint: `${origin}/access/v1/search/subject`,
      search_resource_endpoint: `${origin}/access/v1/search/resource`,
      search_action_endpoint: `${origin}/access/v1/search/action`,
      access_request_endpoint: `${origin}/access/v1/requests`,
    },
  ]);
});

test("metadata is no guess: without a word of the decision point there is none, and its last word outlives it", async (t) => {
  const pdp = recordingPeer();
  const clock = { now: new Date() };
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer }, now: () => clock.now });
  const ask = async () => {
    const response = await made.fetch("/.well-known/authzen-configuration");
    return [response.status, ((await response.json()) as { code?: string }).code] as const;
  };
  pdp.answer = () => new Response(null, { status: 503 });
  assert.deepEqual(await ask(), [503, "pdp_unavailable"]);
  pdp.answer = () => Response.json({ policy_decision_point: "x", access_evaluation_endpoint: "x", access_evaluations_endpoint: "x" });
  clock.now = new Date(clock.now.getTime() + 1000);
  assert.deepEqual(await ask(), [200, undefined]);
  pdp.answer = () => new Response(null, { status: 503 });
  clock.now = new Date(clock.now.getTime() + 60_001);
  assert.deepEqual(await ask(), [200, undefined]);
});

test("that everything is permitted is said on every answer, in every mode", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "pdp.yaml");
  await writeFile(file, "enable_authorization: false");
  for (const [settings, said] of [
    [{ PDP_CONFIG_FILE: file }, "1"],
    [{}, null],
  ] as const) {
    const { session, pep, post } = await open(t, settings);
    for (const [path, headers, body] of [
      ["/access/v1/evaluation", session, own],
      ["/access/v1/evaluations", session, { evaluations: [own, own] }],
      ["/access/v1/search/action", session, { resource: { type: "pages", id: "people" } }],
      ["/access/v1/evaluation", pep, { ...ben, ...viewAll }],
      ["/access/v1/evaluations", pep, { ...ben, ...viewAll, evaluations: [{}, {}] }],
      ["/access/v1/search/action", pep, { ...ben, resource: { type: "pages", id: "people" } }],
    ] as const) {
      const answer = await post(path, headers, body);
      assert.deepEqual([answer.status, answer.headers.get("x-authorization-disabled")], [200, said], path);
    }
  }
});
