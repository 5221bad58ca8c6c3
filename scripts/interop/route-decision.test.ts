import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readSets } from "./read-sets.ts";
import { recordingPeer, sharedDatabase, testGateway, type SignedInBrowser } from "#testing/gateway.ts";
import { testIdentity } from "#testing/identity.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { profileFile, profilePdp } from "#testing/pdp-profile.ts";

const database = sharedDatabase();

/**
 * The API gateway scenario of the AuthZEN interop events (openid/authzen, `interop/authzen-api-gateways`): five routes, five
 * users. A gateway asks with the route's pattern as id and the method as action. What each is answered stands in
 * `scripts/interop/cases/api-gateway.yaml`, one request a row, as it is published.
 */
const targets: Readonly<Record<string, string>> = {
  "/users/{userId}": "/users/beth@the-smiths.com",
  "/todos": "/todos",
  "/todos/{todoId}": "/todos/7240d0db-8ff0-41ec-98b2-34a096273b92",
};
const mapping = (method: string) => `${method}: { resource: route, action: ${method}, id_from: "{route}" }`;
const row = (id: string, path: string, ...methods: readonly string[]) =>
  `  - { id: ${id}, path: "${path}", target_service: crud, preserve_path: true, methods: [${methods.join(", ")}], auth: session, authz: pdp, authz_map: { ${methods.map(mapping).join(", ")} } }\n`;
const todoRoutes = `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
${row("users", "/users/{userId}", "GET")}${row("todos", "/todos", "GET", "POST")}${row("todo", "/todos/{todoId}", "PUT", "DELETE")}`;

interface Asked {
  readonly subject: { readonly type: string; readonly id: string };
  readonly action: { readonly name: string };
  readonly resource: { readonly type: string; readonly id: string };
}
/** Nothing but what a published request says. */
const publishedPart = ({ subject, action, resource }: Asked): Asked => ({
  subject: { type: subject.type, id: subject.id },
  action,
  resource: { type: resource.type, id: resource.id },
});

test("the API gateway scenario: our gateway asks our decision point what is published, and answers as published", async (t) => {
  const identity = testIdentity();
  const service = await profilePdp(t, "interop", identity);
  const upstream = recordingPeer();
  const pdp = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    identity,
    routes: todoRoutes,
    peers: {
      crud: upstream.peer,
      // Written down on its way, and decided by the policies and facts that the profile ships.
      pdp: async (request) => {
        await pdp.peer(request.clone());
        return service.fetch(request);
      },
    },
    parts: { pdpConfigFile: profileFile("interop") },
  });
  const folder = fileURLToPath(new URL("./cases/", import.meta.url));
  const { cases } = await readSets(folder);
  // One row more there is ours: a route that no gateway has.
  const published = cases.filter(({ set, body }) => set === "api-gateway.yaml" && (JSON.parse(body ?? "") as Asked).resource.id in targets);
  assert.equal(published.length, 25);
  const people = new Map<string, SignedInBrowser>();
  const seen = { permitted: 0, refused: 0 };
  for (const one of published)
    await t.test(one.name, async () => {
      const wanted = JSON.parse(one.body ?? "") as Asked;
      const permitted = (one.expect.body as { readonly decision: boolean }).decision;
      const { id } = wanted.subject;
      const person = people.get(id) ?? (await made.signIn(id, { tenant: "tenant:interop" }));
      people.set(id, person);
      const method = wanted.action.name;
      const hasBody = method === "POST" || method === "PUT";
      [pdp.seen.length, upstream.seen.length] = [0, 0];
      const path = targets[wanted.resource.id] ?? "";
      const headers = method === "GET" ? person.cookie : person.headers;
      const response = await made.fetch(path, { method, headers, ...(hasBody ? { body: "{}" } : {}) });
      const asked = pdp.seen.map((request) => [request.path, publishedPart(JSON.parse(request.body) as Asked)]);
      assert.deepEqual(asked, [["/access/v1/evaluation", wanted]]);
      assert.equal(response.status, permitted ? 200 : 403);
      assert.equal(((await response.json()) as { code?: string }).code, permitted ? undefined : "access_denied");
      assert.deepEqual(
        upstream.seen.map((request) => [request.method, request.path]),
        permitted ? [[method, path]] : [],
      );
      seen[permitted ? "permitted" : "refused"] += 1;
    });
  assert.deepEqual([people.size, seen], [5, { permitted: 19, refused: 6 }]);
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
