import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { decidingPeer, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { assertAsksFor, signInDemands, type DemandedSignIn, type SignInDemandCase } from "#testing/sign-in-demands.ts";

const database = sharedDatabase();
const pair = "authz: pdp, authz_map: { GET: { resource: pages, action: view_all } }";
const rows = `
  - { id: paid, path: /api/paid, target_service: crud, upstream_path: /paid, methods: [GET], auth: session, ${pair} }
  - { id: paid.bearer, path: /api/paid, target_service: crud, upstream_path: /paid, methods: [GET], auth: bearer, ${pair} }
  - { id: wiki, path: /wiki/*, hosts: ["127.0.0.1:8080"], methods: [GET], auth: session, csrf: origin, ${pair} }
`;
const shipped = await readFile(new URL("../../config/routes.yaml", import.meta.url), "utf8");
const routes = shipped.replace(/\nroutes:\n/, (line) => `${line.trimEnd()}${rows}`);

const open = async (t: TestContext, { obligation }: SignInDemandCase) => {
  assert.notEqual(routes, shipped);
  const webFolder = await mkdtemp(join(tmpdir(), "web-"));
  cleanUp(t, () => rm(webFolder, { recursive: true }));
  await writeFile(join(webFolder, "index.html"), "<!doctype html><head></head>");
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    parts: { webFolder },
    settings: { TRUSTED_PROXIES: "127.0.0.1" },
    peers: { pdp: decidingPeer(() => ({ obligations: [obligation] })).peer, crud: crud.peer },
  });
  const seconds = Math.floor(Date.now() / 1000);
  const cookieOf = async ({ acr, age }: DemandedSignIn) => made.signIn("person:ada", { acr, amr: ["pwd", "otp"], authTime: seconds - age });
  const bearerOf = async ({ acr, age }: DemandedSignIn) => ({
    authorization: `Bearer ${await made.identity.tokenFor({ sub: "person:ada", tenant: "tenant:acme", scopes: [], acr, authTime: seconds - age, clientId: "sallyport-web" })}`,
  });
  return { made, crud, cookieOf, bearerOf };
};

for (const demand of signInDemands)
  test(`the gateway's checks keep sign-ins apart: ${demand.what}`, async (t) => {
    const { made, crud, cookieOf, bearerOf } = await open(t, demand);
    const weak = await cookieOf(demand.tooLittle);
    const post = (path: string, headers: Readonly<Record<string, string>>, body: object) =>
      made.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    const search = { resource: { type: "pages", id: "people" }, action: { name: "view" }, subject: { type: "identity" } };

    await assertAsksFor(await made.fetch("/api/paid", { headers: weak.cookie }), demand, "a row, by cookie");
    await assertAsksFor(await made.fetch("/api/paid", { headers: await bearerOf(demand.tooLittle) }), demand, "a row, by bearer");
    await assertAsksFor(await made.fetch("/api/v1/sessions?all=true", { headers: weak.cookie }), demand, "sessions of others");
    await assertAsksFor(await post("/access/v1/search/subject", weak.headers, search), demand, "a search for others");
    assert.equal(crud.seen.length, 0);

    const page = await made.fetch("/policies", { headers: { ...weak.cookie, accept: "text/html" } });
    const challenge = `acr_values="${demand.acrValue}", max_age=${demand.maxAge}`;
    assert.deepEqual([page.status, page.headers.get("www-authenticate")?.includes(challenge)], [401, true], "a screen");

    const about = { "x-forwarded-method": "GET", "x-forwarded-uri": "/wiki/x", "x-forwarded-host": "127.0.0.1:8080" };
    const asked = { "sec-fetch-site": "same-origin", ...about };
    const verdict = await made.fetch("/auth/verify", { headers: { ...weak.cookie, ...asked } });
    const url = `http://127.0.0.1:8080/auth/login?acr_values=${demand.acrValue}&max_age=${demand.maxAge}&return_to=%2Fwiki%2Fx`;
    assert.deepEqual([verdict.status, verdict.headers.get("x-login-url")], [401, url], "a verdict for a proxy");

    const enough = await cookieOf(demand.enough);
    const explained = await post("/api/v1/routes/explain", enough.headers, { method: "GET", target: "/api/paid" });
    assert.equal(((await explained.json()) as { answer: { outcome: string } }).answer.outcome, "forwarded");
    assert.equal((await made.fetch("/api/paid", { headers: enough.cookie })).status, 200);
    assert.equal((await made.fetch("/api/paid", { headers: await bearerOf(demand.enough) })).status, 200);
    assert.equal((await made.fetch("/api/v1/sessions?all=true", { headers: enough.cookie })).status, 200);
    assert.equal((await made.fetch("/auth/verify", { headers: { ...enough.cookie, ...asked } })).status, 200);
  });

for (const [what, obligation] of [
  ["an unknown kind", { id: "x", type: "custom", properties: { kind: "watermark" } }],
  ["a data scope without filter", { id: "data-scope", type: "custom", properties: { kind: "data_scope" } }],
  ["a sign-in of an unknown strength", { id: "mfa", type: "step-up", properties: { acr_value: "very" } }],
] as const)
  test(`a permit that obliges a row to ${what} is none`, async (t) => {
    const { made, crud, cookieOf } = await open(t, { ...(signInDemands[0] as SignInDemandCase), obligation });
    const who = await cookieOf({ acr: "phishing_resistant", age: 0 });
    const response = await made.fetch("/api/paid", { headers: who.cookie });
    const body = (await response.json()) as { code: string; reason: string };
    assert.deepEqual([response.status, body.code, body.reason], [403, "access_denied", "obligation_unsupported"]);
    assert.equal(crud.seen.length, 0);
  });
