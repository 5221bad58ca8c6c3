import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { attackRoutes, attackWorld, HOST, JSON_TYPE, rawGet, rawRequest, rowKinds, send } from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { rawExchange, sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();
const second = rawGet("/public/second");

for (const { row, credential } of rowKinds)
  for (const method of ["HEAD", "OPTIONS"])
    for (const [what, lines, body] of [
      ["a length", "Content-Length: 5\r\n", "abcde"],
      ["chunks", "Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n"],
    ] as const)
      test(`attack 24: ${method} ${row}* with a body by ${what} is refused, and nothing behind it is read`, async (t) => {
        const world = await attackWorld(t, await database());
        const { answers, closed } = await send(world, rawRequest(method, `${row}x`, credential + JSON_TYPE + lines, body) + second);
        assert.deepEqual([answers.map(({ status }) => status), closed], [[400], true]);
        if (method === "OPTIONS") assert.equal((JSON.parse(answers[0]?.body ?? "{}") as { code?: string }).code, "body_not_allowed");
        assert.deepEqual(world.upstream.seen, []);
      });

test("a DELETE brings its body where the row says so, whole and by length or in chunks", async (t) => {
  const routes = attackRoutes.replace(
    "routes:\n",
    'routes:\n  - { id: bulk, path: /bulk/*, target_service: crud, upstream_path: "/{path}", methods: [DELETE], auth: none, authz: none, delete_body: true }\n',
  );
  assert.notEqual(routes, attackRoutes);
  const world = await attackWorld(t, await database(), { routes });
  const ids = '{"ids":[1,2]}';
  for (const [lines, body] of [
    [`Content-Length: ${ids.length}\r\n`, ids],
    ["Transfer-Encoding: chunked\r\n", `${ids.length.toString(16)}\r\n${ids}\r\n0\r\n\r\n`],
  ] as const) {
    const { answers } = await send(world, rawRequest("DELETE", "/bulk/x", JSON_TYPE + lines, body));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200],
    );
    const seen = world.upstream.seen.pop();
    assert.deepEqual([seen?.method, seen?.path, seen?.body], ["DELETE", "/x", ids]);
  }
  const { answers } = await send(world, rawRequest("DELETE", "/bulk/x"));
  assert.deepEqual([answers[0]?.status, world.upstream.seen.pop()?.body], [200, ""], "and needs none");
});

for (const options of ["te", "TE", "keep-alive, te", "te, close"])
  test(`Connection: ${options} is a connection's own matter: served, and told to nobody`, async (t) => {
    const world = await attackWorld(t, await database());
    const { answers } = await send(world, rawGet("/public/x", `Connection: ${options}\r\nTE: trailers\r\n`));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200],
    );
    const [seen] = world.upstream.seen;
    assert.equal(seen?.headers.get("te"), null);
  });

for (const [origin, served, misdirected] of [
  ["http://localhost", ["localhost", "localhost:80", "LOCALHOST:80"], ["localhost:443", "localhost:8080", "localhost:", "localhost:080"]],
  ["http://localhost:8080", ["localhost:8080"], ["localhost", "localhost:80"]],
] as const)
  test(`Host is read without the default port, and so is ${origin}`, async (t) => {
    const world = await attackWorld(t, await database(), { parts: { publicOrigins: [origin] } });
    const statusOf = async (host: string) =>
      (await rawExchange(world.port, `GET /public/x HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).answers[0]?.status;
    for (const host of served) assert.equal(await statusOf(host), 200, host);
    for (const host of misdirected) assert.ok([400, 421].includes((await statusOf(host)) ?? 0), host);
    assert.equal(world.upstream.seen.length, served.length);
  });

const upstreamOf = async (t: TestContext, answer: RequestListener): Promise<string> => {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

for (const { row, credential } of rowKinds)
  test(`what an upstream says before and behind its answer reaches no client of ${row}*`, async (t) => {
    const upstreamUrl = await upstreamOf(t, (request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</early>; rel=preload", "x-early": "1" });
      request.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/plain", trailer: "X-Late", "transfer-encoding": "chunked" });
        response.write("first ");
        response.addTrailers({ "x-late": "1", "set-cookie": "late=1" });
        setImmediate(() => response.end("last"));
      });
    });
    const world = await attackWorld(t, await database(), { upstreamUrl });
    const { answers, text } = await send(
      world,
      rawGet(`${row}x`, `${credential}TE: trailers\r\n`) + `GET ${row}y HTTP/1.1\r\n${HOST}\r\n`,
      2,
    );
    assert.deepEqual([answers[0]?.status, answers[0]?.body], [200, "first last"]);
    assert.equal(answers.length, 2, "nothing stands between the two answers");
    assert.doesNotMatch(text, /HTTP\/1\.1 1|early|x-late|late=1|^trailer/im);
  });
