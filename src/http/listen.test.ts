import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { z } from "zod";
import { endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { silentLog } from "#telemetry/log.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { listenService } from "./listen.ts";
import { answer, createRouter } from "./serve.ts";
import { TextResponse } from "./text-response.ts";

const LIMIT = 1000;
const post = endpoint("crud", "POST", "/echo", {
  body: z.object({ name: z.string() }),
  reply: z.object({ name: z.string(), length: z.number() }),
  auth: "bearer",
  agents: "never",
  summary: "Says it again.",
});

const bad = endpoint("crud", "GET", "/bad-header", {
  reply: z.object({ name: z.string() }),
  auth: "bearer",
  agents: "never",
  summary: "Tries to.",
});

/** A service over a socket of its own, with counts of what it was asked and what it answered. */
const served = async (t: TestContext) => {
  let asked = 0;
  let answered = 0;
  const router = createRouter<string>({
    shareOf: (caller) => caller,
    name: "test",
    log: silentLog,
    validateReplies: true,
    maxBodyBytes: LIMIT,
    authenticate: async (request) => {
      asked += 1;
      if (request.headers.get("authorization") !== "Bearer good") throw new Problem("unauthenticated");
      return "ben";
    },
    observe: () => void (answered += 1),
  });
  router.serve(post, async ({ body: { name } }) => answer({ name, length: name.length }, { headers: { etag: '"1"' } }));
  router.raw("GET", "/cookies", async () => {
    const response = new TextResponse("crumbs", { headers: { "content-type": "text/plain" } });
    for (const cookie of ["a=1", "b=2"]) response.headers.append("set-cookie", cookie);
    return response;
  });
  router.raw("GET", "/read", async () => {
    const response = new TextResponse("once", { headers: { "content-type": "text/plain" } });
    return new Response(await response.text());
  });
  router.serve(bad, async () => answer({ name: "x" }, { headers: { etag: "a\r\nset-cookie: b=1" } }));
  const listening = await listenService(router.fetch, { port: 0, hosts: ["127.0.0.1"] });
  cleanUp(t, () => listening.close(0));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  cleanUp(t, () => agent.destroy());

  const send = async (
    method: string,
    path: string,
    pieces: readonly string[] = [],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number | undefined; readonly head: IncomingMessage["headers"]; readonly text: string }> => {
    const all = { authorization: "Bearer good", "content-type": "application/json", ...headers };
    const outgoing = httpRequest({ agent, port: listening.port, host: "127.0.0.1", method, path, headers: all });
    for (const piece of pieces) outgoing.write(piece);
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const piece of response.setEncoding("utf8")) text += String(piece);
    return { status: response.statusCode, head: response.headers, text };
  };
  /** What comes back for these very bytes, to the end of the connection. */
  const sendRaw = async (bytes: string): Promise<string> => {
    const socket = connect(listening.port, "127.0.0.1");
    cleanUp(t, () => socket.destroy());
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    socket.write(bytes);
    await once(socket, "close");
    return text;
  };
  return { send, sendRaw, asked: () => asked, answered: () => answered, port: listening.port };
};

const head = "POST /echo HTTP/1.1\r\nHost: gate\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n";
const good = JSON.stringify({ name: "Grüße" });

test("a body is read whether its length is announced or it comes in pieces, and the answer says its own", async (t) => {
  const { send } = await served(t);
  const announced = await send("POST", "/echo", [good], { "content-length": String(Buffer.byteLength(good)) });
  const pieces = await send("POST", "/echo", [good.slice(0, 5), good.slice(5)], { "transfer-encoding": "chunked" });
  for (const { status, head: headers, text } of [announced, pieces]) {
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(text), { name: "Grüße", length: 5 });
    assert.equal(headers["content-length"], String(Buffer.byteLength(text)));
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers.etag, '"1"');
    assert.equal(headers["transfer-encoding"], undefined);
  }
});

test("a body beyond the limit is 413 with either framing, a stranger's is not read, and the connection goes on", async (t) => {
  const { send } = await served(t);
  const long = JSON.stringify({ name: "x".repeat(LIMIT) });
  const length = { "content-length": String(long.length) };
  const cases: readonly (readonly [headers: Readonly<Record<string, string>>, pieces: readonly string[], status: number, code: string])[] =
    [
      [length, [long], 413, "body_too_large"],
      [{ "transfer-encoding": "chunked" }, [long.slice(0, 500), long.slice(500)], 413, "body_too_large"],
      [{ ...length, authorization: "" }, [long], 401, "unauthenticated"],
      [{ "content-length": "1" }, ["{"], 400, "body_unreadable"],
      [{ "content-length": "0" }, [], 422, "invalid_body"],
    ];
  for (const [headers, pieces, status, code] of cases) {
    const refused = await send("POST", "/echo", pieces, headers);
    assert.deepEqual([refused.status, (JSON.parse(refused.text) as { code: string }).code], [status, code]);
    assert.equal(refused.head["content-type"], "application/problem+json");
    assert.equal(refused.head["content-length"], String(Buffer.byteLength(refused.text)));
    assert.equal((await send("POST", "/echo", [good], { "transfer-encoding": "chunked" })).status, 200);
  }
});

test("a length that is a lie, or one beside chunks, gives nobody more than was announced", async (t) => {
  const { sendRaw } = await served(t);
  const short = await sendRaw(`${head}Connection: close\r\nContent-Length: ${Buffer.byteLength(good) - 1}\r\n\r\n${good}`);
  assert.match(short, /^HTTP\/1\.1 400 /);
  assert.doesNotMatch(short, /"length"/);
  const both = await sendRaw(`${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
  assert.match(both, /^HTTP\/1\.1 400 /);
  assert.equal(both.match(/^HTTP\/1\.1 /gm)?.length, 1);
});

test("a client that leaves in the middle of its body is answered by nobody, and others go on", async (t) => {
  const { send, port, asked, answered } = await served(t);
  for (const framing of ["Content-Length: 500\r\n\r\n{", 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n']) {
    const [before, beforeAnswered] = [asked(), answered()];
    const socket = connect(port, "127.0.0.1");
    socket.write(head + framing);
    await until(() => asked() === before + 1);
    assert.equal(answered(), beforeAnswered);
    socket.resetAndDestroy();
    await until(() => answered() === beforeAnswered + 1);
    assert.equal((await send("POST", "/echo", [good], { "transfer-encoding": "chunked" })).status, 200);
  }
});

test("what a text cannot carry at once is sent all the same", async (t) => {
  const { send } = await served(t);
  const cookies = await send("GET", "/cookies");
  assert.deepEqual([cookies.text, cookies.head["set-cookie"]], ["crumbs", ["a=1", "b=2"]]);
  assert.equal((await send("GET", "/read")).text, "once");
  const none = await send("HEAD", "/cookies");
  assert.deepEqual([none.status, none.text], [200, ""]);
});

test("a text answer is a Response in every other way", async () => {
  const made = () => new TextResponse('{"a":1}', { status: 201, headers: { "content-type": "application/json" } });
  const response = made();
  response.headers.set("x-more", "1");
  assert.ok(response instanceof Response);
  assert.deepEqual([response.status, response.ok, response.bodyUsed], [201, true, false]);
  const twin = response.clone();
  assert.deepEqual([twin.headers.get("x-more"), twin.status], ["1", 201]);
  assert.deepEqual([await response.json(), await twin.text()], [{ a: 1 }, '{"a":1}']);
  assert.equal(response.bodyUsed, true);
  await assert.rejects(response.text(), TypeError);
  assert.equal(TextResponse.take(response), undefined, "what was read is not sent again");
  assert.equal(Buffer.from(await made().arrayBuffer()).toString(), '{"a":1}');
  assert.equal(Buffer.from(await made().bytes()).toString(), '{"a":1}');
  const through = new Response(made().body, made());
  assert.deepEqual([through.status, through.headers.get("content-type"), await through.text()], [201, "application/json", '{"a":1}']);
  assert.equal(TextResponse.take(new Response("other")), undefined);
  const taken = made();
  assert.equal(TextResponse.take(taken), '{"a":1}');
  assert.equal(taken.bodyUsed, true);
  await assert.rejects(taken.text(), TypeError);
  assert.throws(() => taken.clone(), TypeError);
});

test("a header that is none leaves as a fault of ours, not as more headers, and the next request is answered", async (t) => {
  const { send } = await served(t);
  const { status, head: headers } = await send("GET", "/bad-header");
  assert.equal(status, 500);
  assert.deepEqual([headers["set-cookie"], headers.etag], [undefined, undefined]);
  const { status: next } = await send("POST", "/echo", [good], { "content-length": String(Buffer.byteLength(good)) });
  assert.equal(next, 200);
});
