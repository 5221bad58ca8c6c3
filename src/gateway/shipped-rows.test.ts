import assert from "node:assert/strict";
import { test } from "node:test";
import { decidingPeer, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();

const evaluation = "POST, OPTIONS";
const readOnly = "GET, OPTIONS, HEAD";
for (const [rest, allow, refused] of [
  ["evaluation", evaluation, "GET"],
  ["evaluations", evaluation, "DELETE"],
  ["search/subject", evaluation, "GET"],
  ["search/resource", evaluation, "GET"],
  ["search/action", evaluation, "GET"],
  ["budgets/effective", readOnly, "POST"],
  ["budgets/effective", readOnly, "DELETE"],
] as const)
  for (const base of ["/access/v1", "/api/pdp"])
    test(`OPTIONS ${base}/${rest} says what may be sent, without a credential; ${refused} is no part of it`, async (t) => {
      const pdp = recordingPeer();
      const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
      const options = await made.fetch(`${base}/${rest}`, { method: "OPTIONS" });
      assert.deepEqual([options.status, options.headers.get("allow"), await options.text()], [204, allow, ""]);
      const { headers } = await made.signIn("person:ben");
      const other = await made.fetch(`${base}/${rest}`, { method: refused, headers, ...(refused === "POST" ? { body: "{}" } : {}) });
      assert.deepEqual([other.status, other.headers.get("allow")], [405, allow]);
      assert.deepEqual(pdp.seen, [], "the decision point hears of none of it");
    });

test("effective budgets are the decision point's, under both names and by both credentials", async (t) => {
  const pdp = recordingPeer();
  const made = await testGateway(t, { database: await database(), peers: { pdp: pdp.peer } });
  const { cookie } = await made.signIn("person:ben");
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  for (const base of ["/access/v1", "/api/pdp"])
    for (const headers of [cookie, { authorization: `Bearer ${token}` }]) {
      const response = await made.fetch(`${base}/budgets/effective?scope=user`, { headers });
      assert.equal(response.status, 200, await response.text());
      const { method, path, query } = pdp.seen.at(-1) ?? {};
      assert.deepEqual([method, path, query], ["GET", "/access/v1/budgets/effective", "?scope=user"]);
    }
});

const kinds: readonly (readonly [
  target: string,
  methods: string,
  question: readonly [type: string, action: string, id: string] | undefined,
])[] = [
  ["/api/crud/pages", "GET", ["pages", "view_all", "*"]],
  ["/api/crud/pages/people", "GET", ["pages", "view", "people"]],
  ["/api/crud/pages/people/history", "GET POST", ["pages", "view", "people"]],
  ["/api/crud/pages/people/grids/1/rows", "GET POST", ["pages", "view", "people"]],
  ["/api/crud/forms/7", "GET", ["forms", "view", "7"]],
  ["/api/crud/tasks", "GET", ["tasks", "view_all", "*"]],
  ["/api/crud/tasks/7", "GET", ["tasks", "view_all", "*"]],
  ["/api/crud/tasks/7/history", "GET", ["tasks", "view_all", "*"]],
  ["/api/crud/workflows", "GET", ["workflows", "view_all", "*"]],
  ["/api/crud/workflows/grant_access", "GET", ["workflows", "view_all", "*"]],
  ["/api/crud/workflows/runs/7", "GET", ["workflows", "view_all", "*"]],
  ["/api/crud/pages", "POST", undefined],
  ["/api/crud/pages/people", "PUT DELETE", undefined],
  ["/api/crud/forms", "GET POST", undefined],
  ["/api/crud/forms/7", "PUT DELETE", undefined],
  ["/api/crud/tasks/7/complete", "POST", undefined],
  ["/api/crud/workflows/grant_access/start", "POST", undefined],
  ["/api/crud/systems", "GET POST", undefined],
];
for (const [target, methods, question] of kinds)
  for (const method of methods.split(" "))
    test(`${method} ${target} is ${question === undefined ? "the service's to decide" : `decided as ${question.join(" ")}, then the service's`}`, async (t) => {
      const crud = recordingPeer();
      crud.answer = () => Response.json({ code: "not_found" }, { status: 404 });
      let permits = true;
      const pdp = decidingPeer(() => permits);
      const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer, pdp: pdp.peer } });
      const { headers } = await made.signIn("person:ben");
      const ask = () => made.fetch(target, { method, headers, ...(method === "POST" || method === "PUT" ? { body: "{}" } : {}) });
      assert.equal((await ask()).status, 404, "what is not there, the service says");
      assert.deepEqual(
        crud.seen.map(({ method: sent, path }) => `${sent} ${path}`),
        [`${method} ${target.slice("/api/crud".length)}`],
      );
      permits = false;
      assert.equal((await ask()).status, question === undefined ? 404 : 403);
      assert.equal(crud.seen.length, question === undefined ? 2 : 1);
      const asked = pdp.seen.map(({ body }) => {
        const { resource, action } = JSON.parse(body) as { resource: { type: string; id: string }; action: { name: string } };
        return [resource.type, action.name, resource.id];
      });
      assert.deepEqual(asked, question === undefined ? [] : [question, question]);
    });

for (const [path, upstream, action] of [
  ["/api/v1/events/workflow", "/events/workflow", "workflow"],
  ["/events/workflow", "/events/workflow", "workflow"],
  ["/api/v1/events/config", "/events/config", "config"],
  ["/events/config", "/events/config", "config"],
  ["/api/v1/events/activity", "/events/activity", "activity"],
  ["/events/activity", "/events/activity", "activity"],
  ["/api/v1/configs/stream", "/configs/stream", "config"],
] as const)
  test(`${path} is the tool service's ${upstream} for whom streams/${action} is permitted, its refusal too`, async (t) => {
    const crud = recordingPeer();
    const pdp = decidingPeer((type, asked, subject) => type === "streams" && asked === action && subject === "person:ben");
    const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer, pdp: pdp.peer } });
    crud.answer = () => new Response("data: x\n\n", { headers: { "content-type": "text/event-stream" } });
    const open = await made.fetch(path, { headers: (await made.signIn("person:ben")).cookie });
    assert.equal(open.headers.get("content-type"), "text/event-stream");
    assert.match(await open.text(), /^retry: 3000\n\n[^]*data: x\n\n[^]*event: bye\ndata: .*"upstream"/);
    crud.answer = () => Response.json({ code: "not_found" }, { status: 404 });
    assert.equal((await made.fetch(path, { headers: (await made.signIn("person:ben")).cookie })).status, 404);
    assert.deepEqual(
      crud.seen.map((request) => request.path),
      [upstream, upstream],
    );
    assert.equal((await made.fetch(path, { headers: (await made.signIn("person:eve")).cookie })).status, 403);
    assert.equal(crud.seen.length, 2);
  });
