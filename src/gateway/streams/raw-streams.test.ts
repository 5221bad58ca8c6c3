import assert from "node:assert/strict";
import { test } from "node:test";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();

const routes = `
version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: raw, path: /raw/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: bearer, authz: none, streaming: true }
  - { id: plain, path: /plain/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
`;

test("raw streams have a limit of their own, and each way in which one ends gives its place back", async (t) => {
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { crud: crud.peer },
    settings: { STREAM_MAX_CLIENTS: "2" },
  });
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], clientId: "sallyport-web" });
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = () => new Response(new ReadableStream<Uint8Array>({ start: (given) => void (source = given) }));
  const ask = (path = "/raw/x") => made.fetch(path, { headers: { authorization: `Bearer ${token}` } });
  const open = async () => {
    crud.answer = stream;
    const response = await ask();
    assert.equal(response.status, 200);
    return { response, source: source as ReadableStreamDefaultController<Uint8Array> };
  };
  const first = await open();
  const ends: readonly (readonly [what: string, end: (one: Awaited<ReturnType<typeof open>>) => Promise<unknown>])[] = [
    ["the client leaves", ({ response }) => response.body?.cancel() ?? Promise.reject(new Error("no body"))],
    ["the upstream ends", (one) => (one.source.close(), one.response.text())],
    ["the upstream dies", (one) => (one.source.error(new Error("gone")), assert.rejects(one.response.text()))],
  ];
  for (const [what, end] of ends) {
    const second = await open();
    const sent = crud.seen.length;
    const refused = await ask();
    assert.deepEqual(
      [refused.status, refused.headers.get("retry-after"), ((await refused.json()) as { code: string }).code],
      [429, "5", "too_many_streams"],
      what,
    );
    assert.equal(crud.seen.length, sent, "the upstream is not asked");
    assert.equal((await ask("/plain/x")).status, 200, "nobody else suffers");
    await end(second);
  }
  const answers: readonly (readonly [what: string, answer: () => Response | Promise<Response>, status: number])[] = [
    ["what is no stream", () => Response.json({}), 200],
    ["an answer without a body", () => new Response(null, { status: 204 }), 204],
    ["a failure", () => Promise.reject(new Error("no connection")), 500],
  ];
  for (const [what, answer, status] of answers)
    for (let round = 0; round < 3; round++) {
      crud.answer = answer;
      const response = await ask();
      await response.text();
      assert.equal(response.status, status, what);
    }
  await first.response.body?.cancel();
});
