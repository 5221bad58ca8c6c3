import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { pages } from "#contract/screens.ts";
import { uiModules } from "#contract/tools.ts";
import { pairs } from "#pdp-client/pairs.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { pdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();
const row = `
  - { id: paid, path: /api/paid, target_service: crud, upstream_path: /paid, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: policies, action: view } } }
`;
const shipped = await readFile(new URL("../../config/routes.yaml", import.meta.url), "utf8");
const routes = shipped.replace(/\nroutes:\n/, (line) => `${line.trimEnd()}${row}`);

/** Every page, with an id of nobody where it has any. */
const paths = Object.keys(pages).map((path) => path.replaceAll(/\{[^}]+\}/g, "nobody"));

interface Listed {
  readonly subject?: { readonly id: string };
  readonly action: string;
  readonly resource: { readonly type: string };
  readonly enforced?: boolean;
}

const open = async (t: TestContext) => {
  const webFolder = await mkdtemp(join(tmpdir(), "web-"));
  cleanUp(t, () => rm(webFolder, { recursive: true }));
  await writeFile(join(webFolder, "index.html"), "<!doctype html><head></head>");
  const point = await pdpWorld(t);
  const crud = recordingPeer();
  crud.answer = () => Response.json({ modules: Object.fromEntries(uiModules.map((name) => [name, true])), brand: {} });
  const made = await testGateway(t, {
    database: await database(),
    routes,
    parts: { webFolder },
    // The first 200 answers of an engine that has just been made may take longer than a person would wait, beside other work.
    settings: { PDP_TIMEOUT_MS: "60000" },
    identity: point.identity,
    peers: { pdp: (request) => point.service.fetch(request), crud: crud.peer },
  });
  const list = async (query: string): Promise<readonly Listed[]> => {
    const response = await point.ask(`/access/v1/decisions?limit=500&${query}`, await point.personToken("ada", { acr: "strong" }));
    assert.equal(response.status, 200);
    return ((await response.json()) as { decisions: Listed[] }).decisions;
  };
  return { point, made, list };
};

for (const person of ["ben", "dan", "ada"])
  test(`${person} opens every page, and nothing that was asked to draw it is listed as a refusal`, async (t) => {
    const { made, list } = await open(t);
    const who = await made.signIn(`person:${person}`);
    const post = async (path: string, body: object): Promise<void> => {
      const response = await made.fetch(path, { method: "POST", headers: who.headers, body: JSON.stringify(body) });
      assert.equal(response.status, 200, `${path} ${await response.text()}`);
    };
    for (const path of paths) {
      const { status } = await made.fetch(path, { headers: { ...who.cookie, accept: "text/html" } });
      assert.ok([200, 403].includes(status), `${path}: ${status}`);
    }
    const items = pairs
      .filter(({ of, entity }) => of !== "node" || entity === "DelegateAgent")
      .map(({ type, action, of, entity }) => ({
        resource: { type, ...(of === "all" ? {} : { id: entity === "DelegateAgent" ? "agent:reporter" : "x:y" }) },
        action: { name: action },
      }));
    await post("/access/v1/evaluations", { evaluations: items });
    await post("/access/v1/evaluations", { evaluations: items.slice(0, 20), options: { evaluations_semantic: "deny_on_first_deny" } });
    await post("/access/v1/evaluations", { evaluations: Object.fromEntries(items.map((item, index) => [`k${index}`, item])) });
    for (const item of items.slice(-20)) await post("/access/v1/evaluation", { ...item, context: { showing: false } });
    if (person === "ada") await post("/api/v1/routes/explain", { method: "GET", target: "/api/paid", subject: { id: "person:dan" } });

    assert.deepEqual(await list("decision=false"), []);
    const shown = await list("decision=false&enforced=false");
    assert.ok(shown.length > 30, `${shown.length} were shown as not permitted`);
    assert.ok(shown.every((one) => one.enforced === false));
    assert.deepEqual((await list("decision=false&enforced=any")).length, shown.length);
  });

test("what is tried is listed: a row, a token's own question, an enforcement point's", async (t) => {
  const { point, made, list } = await open(t);
  const dan = await made.signIn("person:dan");
  assert.equal((await made.fetch("/api/paid", { headers: dan.cookie })).status, 403);
  const bearer = await made.identity.tokenFor({ sub: "person:dan", tenant: "tenant:acme", scopes: [] });
  const asked = { action: { name: "edit" }, resource: { type: "policies", id: "x" } };
  const own = await made.fetch("/access/v1/evaluation", {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify(asked),
  });
  assert.equal(((await own.json()) as { decision: boolean }).decision, false);
  const pep = await made.identity.tokenFor({ sub: "service:pep", tenant: "*", scopes: ["authzen.pep"], clientId: "service:pep" });
  const subject = { type: "identity", id: "person:dan", properties: { tenant: "tenant:acme" } };
  await point.ask("/access/v1/evaluation", pep, { subject, action: { name: "activate" }, resource: { type: "policies", id: "*" } });
  assert.deepEqual(
    (await list("decision=false")).map(({ resource, action }) => `${resource.type}/${action}`),
    ["policies/activate", "policies/edit", "policies/view"],
  );
});
