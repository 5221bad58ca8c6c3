import assert from "node:assert/strict";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { rawExchange, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();

const get = (path: string, cookie: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost:8080\r\nCookie: ${cookie}\r\n\r\n`;

/** A gateway whose upstream answers only when it is let. */
const world = async (t: TestContext, settings: Readonly<Record<string, string>>) => {
  const upstream = recordingPeer();
  const gate = Promise.withResolvers<void>();
  const aborted: string[] = [];
  upstream.answer = async (request) => {
    request.signal.addEventListener("abort", () => aborted.push(new URL(request.url).pathname));
    await gate.promise;
    return Response.json({ done: true });
  };
  const made = await testGateway(t, { database: await database(), peers: { crud: upstream.peer }, settings });
  const { cookie } = (await made.signIn("person:ben")).cookie;
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  return { made, upstream, release: () => gate.resolve(), aborted, cookie, port };
};

test("more requests than Sallyport takes are 503 with a time to come back; health is never shed", async (t) => {
  const { upstream, release, cookie, port } = await world(t, { MAX_IN_FLIGHT: "3" });
  const slow = [1, 2, 3].map(() => rawExchange(port, get("/api/configs/ui", cookie)));
  await until(() => upstream.seen.length === 3);
  const [shed] = (await rawExchange(port, get("/api/configs/ui", cookie))).answers;
  assert.deepEqual(
    [shed?.status, (JSON.parse(shed?.body ?? "") as { code: string }).code, shed?.headers.get("retry-after")],
    [503, "overloaded", "1"],
  );
  for (const path of ["/api/v1/health", "/api/v1/health/redis"])
    assert.notEqual((await rawExchange(port, get(path, ""))).answers[0]?.headers.get("retry-after"), "1", path);
  for (const at of ["/api/v1/health", "/health"])
    for (const page of ["live", "ready"])
      assert.equal((await rawExchange(port, get(`${at}/${page}`, ""))).answers[0]?.status, 200, `${at}/${page}`);
  release();
  assert.deepEqual(
    (await Promise.all(slow)).map(({ answers }) => answers[0]?.status),
    [200, 200, 200],
  );
  assert.equal((await rawExchange(port, get("/api/configs/ui", cookie))).answers[0]?.status, 200, "the places are free again");
});

test("a client that leaves gives its place back", async (t) => {
  const { upstream, cookie, port } = await world(t, { MAX_IN_FLIGHT: "1" });
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  socket.write(get("/api/configs/ui", cookie));
  await until(() => upstream.seen.length === 1);
  socket.destroy();
  await until(async () => (await rawExchange(port, get("/auth/session", ""))).answers[0]?.status === 200);
});

test("what is not answered at the deadline is 503 on a connection that closes, and its upstream is let go", async (t) => {
  const { made, upstream, aborted, cookie, port } = await world(t, { SHUTDOWN_DEADLINE_MS: "700" });
  const exchange = rawExchange(port, get("/api/configs/ui", cookie));
  await until(() => upstream.seen.length === 1);
  await made.gateway[Symbol.asyncDispose]();
  const { answers, closed } = await exchange;
  const [answer] = answers;
  assert.deepEqual(
    [answer?.status, (JSON.parse(answer?.body ?? "") as { code: string }).code, answer?.headers.get("connection"), closed],
    [503, "stopping", "close", true],
  );
  assert.ok(answer?.headers.has("retry-after"));
  assert.deepEqual(aborted, ["/configs/ui"]);
});

test("a request that was in the air on a kept connection when Sallyport stopped is answered, and it is the last one", async (t) => {
  const { made, release, cookie, port } = await world(t, {});
  release();
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  socket.write(get("/api/configs/ui", cookie));
  await until(() => text.includes('{"done":true}'));
  assert.doesNotMatch(text, /connection: close/i);
  text = "";
  const stopped = made.gateway[Symbol.asyncDispose]();
  await until(
    () =>
      new Promise((resolve) =>
        connect({ port, host: "127.0.0.1" })
          .on("connect", () => resolve(false))
          .on("error", () => resolve(true)),
      ),
  );
  socket.write(get("/api/configs/ui", cookie));
  await ended;
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.match(text, /connection: close/i);
  assert.match(text, /\{"done":true\}$/);
  await stopped;
});

test("before it stops accepting, Sallyport says that it is not ready and serves on", async (t) => {
  const { made, release, cookie, port } = await world(t, { SHUTDOWN_LB_WAIT_MS: "600" });
  release();
  const stopped = made.gateway[Symbol.asyncDispose]();
  for (const path of ["/api/v1/health/ready", "/health/ready"]) {
    const [ready] = (await rawExchange(port, get(path, ""))).answers;
    assert.deepEqual([ready?.status, JSON.parse(ready?.body ?? "")], [503, { status: "not_ready", reasons: ["draining"] }], path);
  }
  const [served] = (await rawExchange(port, get("/api/configs/ui", cookie))).answers;
  assert.deepEqual([served?.status, served?.headers.get("connection")], [200, "keep-alive"]);
  await stopped;
});
