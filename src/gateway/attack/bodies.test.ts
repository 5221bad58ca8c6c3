import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { attackWorld, attackRoutes, JSON_TYPE, onEveryRow, rawPost, runAttacks, send, type Attack } from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();

const types: readonly (readonly [type: string, served: boolean])[] = [
  ["text/plain", false],
  ["application/json x", false],
  ["APPLICATION/JSON", true],
  ["application/json;charset=latin1", false],
  ["application/json; charset=utf-8; charset=latin1", false],
  ["application/json\t;charset=utf-8", true],
  ['application/json; charset="UTF-8"', true],
  ["application/x-www-form-urlencoded", false],
  ["multipart/form-data; boundary=application/json", false],
  ["application/json, text/plain", false],
  ["application/jsonp", false],
  ["", false],
];

const withProof = (credential: string): string => credential.replace("<S>", "<C>");

const attacks: readonly Attack[] = [
  ...types.flatMap(([type, served]) =>
    onEveryRow((row, credential) => ({
      name: `attack 33: ${JSON.stringify(type)}`,
      bytes: rawPost(`${row}x`, `${withProof(credential)}Content-Type: ${type}\r\nContent-Length: 2\r\n`, "{}"),
      expected: served ? { sees: "/x" } : "unsupported_media_type",
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 33: no type at all",
    bytes: rawPost(`${row}x`, `${withProof(credential)}Content-Length: 2\r\n`, "{}"),
    expected: "unsupported_media_type",
  })),
  ...onEveryRow((row, credential) => ({
    name: "attack 33: two lines",
    bytes: rawPost(`${row}x`, `${withProof(credential)}${JSON_TYPE}${JSON_TYPE}Content-Length: 2\r\n`, "{}"),
    expected: "ambiguous_headers",
    closes: true,
  })),
  ...["/admin/", "/api/t/", "/api/b/"].map((row): Attack => ({
    name: `attack 26: 100-continue without a credential on ${row}*`,
    bytes: rawPost(`${row}x`, `${JSON_TYPE}Content-Length: 2\r\nExpect: 100-continue\r\n`, ""),
    expected: "unauthenticated",
    closes: true,
  })),
];

test("attacks on bodies: one type, and nothing is asked for before the checks have passed", async (t) => {
  await runAttacks(t, await attackWorld(t, await database()), attacks);
});

test("attack 26: 100 Continue is sent when every check has passed, and not before", async (t) => {
  const world = await attackWorld(t, await database());
  const head = rawPost("/api/t/x", `<C>${JSON_TYPE}Content-Length: 7\r\nExpect: 100-continue\r\n`, "");
  const served = await send(world, [head, '{"a":1}']);
  assert.deepEqual(
    served.answers.map((answer) => answer.status),
    [100, 200],
  );
  assert.equal(world.upstream.seen[0]?.body, '{"a":1}');
  for (const refused of [
    await send(world, head.replace("<C>", "<S>")),
    await send(world, head.replace("application/json", "text/plain")),
    await send(world, head.replace("/api/t/x", "/api/t/..")),
    await send(world, head.replace("Content-Length: 7", "Content-Length: 70000000")),
  ]) {
    assert.ok(!refused.answers.some((answer) => answer.status === 100));
    assert.ok((refused.answers[0]?.status ?? 0) >= 400);
    assert.ok(refused.closed, "what the client holds back cannot be told from a request");
  }
});

test("attack 26: an upstream that refuses at once is heard, and the rest of the body is not read", async (t) => {
  const world = await attackWorld(t, await database(), {
    peers: {
      crud: async () => new Response('{"code":"too_large"}', { status: 413, headers: { "content-type": "application/problem+json" } }),
    },
  });
  const exchange = await send(world, rawPost("/api/t/x", `<C>${JSON_TYPE}Content-Length: 70000\r\n`, "{"));
  assert.equal(exchange.answers[0]?.status, 413);
  assert.ok(exchange.closed);
});

for (const isReal of [false, true])
  test(`attack 26: with 100-continue too, ${isReal ? "over a socket" : "in Sallyport"}`, async (t) => {
    const early = createServer(
      (_request, response) => void response.writeHead(413, { "content-type": "application/problem+json" }).end("{}"),
    );
    await new Promise<void>((resolve) => early.listen(0, "127.0.0.1", resolve));
    cleanUp(t, () => {
      early.closeAllConnections();
      early.close();
    });
    const refuse = async () => new Response("{}", { status: 413, headers: { "content-type": "application/problem+json" } });
    const upstreamUrl = `http://127.0.0.1:${(early.address() as AddressInfo).port}`;
    const world = await attackWorld(t, await database(), isReal ? { upstreamUrl } : { peers: { crud: refuse } });
    const head = rawPost("/api/t/x", `<C>${JSON_TYPE}Content-Length: 70000\r\nExpect: 100-continue\r\n`, "");
    if (!isReal) {
      // A socket hears of the request with the first bytes of its body; in Sallyport the answer is there before any is asked for.
      const { answers, closed } = await send(world, head);
      assert.deepEqual([answers.map(({ status }) => status), closed], [[413], true], "what was not sent will not be read");
    }
    const late = await send(world, [head, `{${"GET /public/second HTTP/1.1\r\n\r\n".repeat(9)}`]);
    assert.deepEqual([late.answers.filter(({ status }) => status !== 100).map(({ status }) => status), late.closed], [[413], true]);
  });

test("attack 26: a client that goes on sending into a refusal still reads it, and is not read for ever", async (t) => {
  const world = await attackWorld(t, await database());
  const answer = await new Promise<string>((resolve) => {
    const socket = connect({ port: world.port, host: "127.0.0.1" });
    let text = "";
    socket.write(rawPost("/api/t/x", `${JSON_TYPE}Content-Length: 9000000\r\n`, ""));
    const pour = setInterval(() => socket.writable && socket.write("x".repeat(16_384)), 1);
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(pour);
      resolve(text);
    });
  });
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.match(answer, /"code":"unauthenticated"/);
  assert.deepEqual(world.upstream.seen, []);
});

test("a body over the row's limit is refused, announced or not", async (t) => {
  const world = await attackWorld(t, await database(), {
    routes: attackRoutes.replaceAll("auth: none, authz: none }", "auth: none, authz: none, body_limit: 100000 }"),
  });
  const announced = await send(world, rawPost("/public/x", `${JSON_TYPE}Content-Length: 100001\r\n`, "x"));
  assert.equal(announced.answers[0]?.status, 413);
  assert.ok(announced.closed);
  const chunk = "x".repeat(60_000);
  const chunked = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  const streamed = await send(world, rawPost("/public/x", `${JSON_TYPE}Transfer-Encoding: chunked\r\n`, chunked + chunked));
  assert.equal(streamed.answers[0]?.status, 413);
  assert.deepEqual(world.upstream.seen, []);
});
