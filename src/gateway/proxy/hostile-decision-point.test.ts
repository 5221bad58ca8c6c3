import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { faultProxy } from "#testing/fault-proxy.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { testAudiences } from "#testing/identity.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();
const ID = "d_5f6b3b0e-0000-4000-8000-000000000000";
const permit = JSON.stringify({ decision: true, context: { decision_id: ID } });

const json =
  (body: string, status = 200, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);

const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "the word true": json(`{"decision":"true","context":{"decision_id":"${ID}"}}`),
  "the number 1": json(`{"decision":1,"context":{"decision_id":"${ID}"}}`),
  null: json(`{"decision":null,"context":{"decision_id":"${ID}"}}`),
  "no decision": json(`{"context":{"decision_id":"${ID}"}}`),
  "no decision id": json('{"decision":true}'),
  "an error beside its permit": json(`{"decision":true,"context":{"decision_id":"${ID}","error":{"status":500,"message":"x"}}}`),
  "an array": json(`[${permit}]`),
  "a batch": json(`{"evaluations":[${permit}]}`),
  nothing: json(""),
  "half an object": json(permit.slice(0, -2)),
  "a page": (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>true</html>"),
  "a permit as 500": json(permit, 500),
  "a permit as 202 without content": (response) => void response.writeHead(204).end(),
  "too many": json('{"code":"rate_limited"}', 429),
  "another place": json(permit, 302, { location: "/elsewhere" }),
  silence: () => {},
  "a head and then silence": (response) => void response.writeHead(200, { "content-type": "application/json" }).write('{"decision":true,'),
  "a body without end": (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const write = (): void => {
      while (response.writable) {
        if (response.write(" ".repeat(65_536))) continue;
        response.once("drain", write);
        return;
      }
    };
    write();
  },
  "a broken connection": (response) => void response.destroy(),
};

test("a decision point that answers anything but a decision permits nothing, and only where it is asked", async (t) => {
  const point = await serverUpstream(t);
  const proxy = await faultProxy(t, point.url);
  const upstream = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    settings: { PDP_TIMEOUT_MS: "700" },
    routes: `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: decided, path: /decided, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view_all } } }
  - { id: free, path: /free, target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: none }
`,
    parts: { peers: { crud: upstream.peer }, serviceUrls: { ...testAudiences, pdp: proxy.url } },
  });
  const { cookie } = await made.signIn("person:ben");
  const outcome = async (path: string): Promise<string> => {
    const response = await made.fetch(path, { headers: cookie });
    return response.status === 200 ? "200" : `${response.status} ${((await response.json()) as { code?: string }).code}`;
  };
  const well = json(permit);
  for (const [what, answer] of Object.entries(answers)) {
    await t.test(what, async () => {
      point.answer = (_request, response) => answer(response);
      const before = upstream.seen.length;
      assert.equal(await outcome("/decided"), "503 decision_unavailable");
      assert.equal(upstream.seen.length, before, "the upstream hears nothing");
      assert.equal(await outcome("/free"), "200");
      point.answer = (_request, response) => well(response);
      assert.equal(await outcome("/decided"), "200", "and nothing was kept");
    });
  }
  await t.test("being gone, until its breaker spares everybody the wait, and coming back", async () => {
    await proxy.die();
    const denied = await Promise.all(Array.from({ length: 60 }, () => outcome("/decided")));
    assert.deepEqual(new Set(denied), new Set(["503 decision_unavailable"]));
    assert.equal(await made.counted("circuit_breaker_status", { service: "pdp" }), 2);
    assert.equal(await outcome("/free"), "200");
    await proxy.revive();
    await until(async () => (await outcome("/decided")) === "200");
    assert.equal(await made.counted("circuit_breaker_status", { service: "pdp" }), 0);
  });
});
