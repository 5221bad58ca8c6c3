import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { recordingPeer, sharedDatabase, testGateway, type Seen } from "#testing/gateway.ts";
import { pdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();

/**
 * The API gateway scenario of the AuthZEN interop events (openid/authzen, `interop/authzen-api-gateways`): five routes, five
 * users. A gateway asks with the route's pattern as id and the method as action. `Y` = permitted, in the order of `asks`.
 */
const asks = [
  ["GET", "/users/{userId}", "/users/beth@the-smiths.com"],
  ["GET", "/todos", "/todos"],
  ["POST", "/todos", "/todos"],
  ["PUT", "/todos/{todoId}", "/todos/7240d0db-8ff0-41ec-98b2-34a096273b92"],
  ["DELETE", "/todos/{todoId}", "/todos/7240d0db-8ff0-41ec-98b2-34a096273b92"],
] as const;
const users = [
  ["Rick", "CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "YYYYY"],
  ["Morty", "CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "YYYYY"],
  ["Summer", "CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "YYYYY"],
  ["Beth", "CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "YY---"],
  ["Jerry", "CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "YY---"],
] as const;

const mapping = (method: string) => `${method}: { resource: route, action: ${method}, id_from: "{route}" }`;
const row = (id: string, path: string, ...methods: readonly string[]) =>
  `  - { id: ${id}, path: "${path}", target_service: crud, preserve_path: true, methods: [${methods.join(", ")}], auth: session, authz: pdp, authz_map: { ${methods.map(mapping).join(", ")} } }\n`;
const todoRoutes = `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
${row("users", "/users/{userId}", "GET")}${row("todos", "/todos", "GET", "POST")}${row("todo", "/todos/{todoId}", "PUT", "DELETE")}`;

/** Words of a decision point with policies of its own: its schema makes them known. */
const todoSchema = `entity User; entity Route;
action "route:GET", "route:POST", "route:PUT", "route:DELETE" appliesTo { principal: [User], resource: [Route] };
`;

interface Asked {
  readonly subject: { readonly type: string; readonly id: string };
  readonly action: object;
  readonly resource: { readonly type: string; readonly id: string };
}

for (const [name, id, answers] of users)
  test(`the API gateway scenario: ${name}'s five requests are asked and answered as published`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "interop-"));
    cleanUp(t, () => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, "policies"));
    await writeFile(join(folder, "policies/schema.cedarschema"), todoSchema);
    await writeFile(join(folder, "pdp.yaml"), "policy_dir: policies\n");
    const upstream = recordingPeer();
    const pdp = recordingPeer();
    // Answers what is published for exactly the request that is published, and denies every other.
    pdp.answer = () => {
      const { subject, action, resource } = JSON.parse((pdp.seen.at(-1) as Seen).body) as Asked;
      const at = asks.findIndex(([method, route]) => route === resource.id && JSON.stringify(action) === JSON.stringify({ name: method }));
      const user = users.find(([, other]) => subject.type === "identity" && other === subject.id);
      const decision = resource.type === "route" && user?.[2][at] === "Y";
      return Response.json({ decision, context: { decision_id: `d_${pdp.seen.length}`, ...(decision ? {} : { reason: "not_granted" }) } });
    };
    const made = await testGateway(t, {
      database: await database(),
      routes: todoRoutes,
      peers: { pdp: pdp.peer, crud: upstream.peer },
      parts: { pdpConfigFile: join(folder, "pdp.yaml") },
    });
    const { headers, cookie } = await made.signIn(id);
    for (const [index, [method, route, path]] of asks.entries()) {
      const hasBody = method === "POST" || method === "PUT";
      const sent = method === "GET" ? cookie : headers;
      const response = await made.fetch(path, { method, headers: sent, ...(hasBody ? { body: "{}" } : {}) });
      assert.equal(response.status, answers[index] === "Y" ? 200 : 403, `${method} ${path}`);
      const asked = JSON.parse((pdp.seen.at(-1) as Seen).body) as Asked;
      assert.deepEqual(
        {
          subject: { type: asked.subject.type, id: asked.subject.id },
          action: asked.action,
          resource: { type: asked.resource.type, id: asked.resource.id },
        },
        { subject: { type: "identity", id }, action: { name: method }, resource: { type: "route", id: route } },
      );
    }
    assert.equal(pdp.seen.length, asks.length);
    assert.equal(upstream.seen.length, answers.replaceAll("-", "").length);
  });

test("a grant that is taken away denies the very next request: nothing between route and graph remembers", async (t) => {
  const world = await pdpWorld(t);
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    identity: world.identity,
    peers: { crud: crud.peer, pdp: (request) => world.service.fetch(request) },
    routes: `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: page, path: "/api/page/{id}", target_service: crud, preserve_path: true, methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view, id_from: "{id}" } } }
`,
  });
  const ben = await made.signIn("person:ben");
  const look = async () => {
    const response = await made.fetch("/api/page/people", { headers: ben.cookie });
    return [response.status, ((await response.json()) as { reason?: string }).reason];
  };
  for (let round = 0; round < 20; round++) assert.deepEqual(await look(), [200, undefined]);
  const gone = await world.world.sql<{ id: string }>(
    "delete from membership.edge where kind = 'GRANTS_ACCESS' and src = 'group:people-ops' and dst like '%pages.people' returning id",
  );
  assert.ok(gone.length > 0, "Ben's group had the grant");
  assert.deepEqual(await look(), [403, "approval_required"], "the page may be asked for again, by another rule");
  assert.equal(crud.seen.length, 20);
});
