import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { test, type TestContext } from "node:test";
import { readSettings } from "#contract/setting.ts";
import { gatewaySettings } from "#gateway/config.ts";
import { sseHeaders } from "#http/sse.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { selfSigned } from "#testing/self-signed.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();

const routes = `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: open, path: /open/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
  - { id: pages, path: /pages/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: session, authz: none }
  - { id: raw, path: /raw, target_service: crud, upstream_path: /stream, methods: [GET], auth: bearer, authz: none, streaming: true }
  - { id: events, path: /events, target_service: crud, upstream_path: /stream, methods: [GET], auth: session, authz: none, streaming: true }
`;

interface Client {
  readonly socket: Socket;
  readonly text: () => string;
  readonly isClosed: () => boolean;
  ask(path: string, headers?: Readonly<Record<string, string>>): void;
  post(path: string, headers: Readonly<Record<string, string>>): void;
}

const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries({ host: "localhost:8080", ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

const enter = (t: TestContext, port: number, localAddress = "127.0.0.1"): Client => {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  cleanUp(t, () => socket.destroy());
  let text = "";
  let isClosed = false;
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  socket.on("error", () => {});
  socket.on("close", () => (isClosed = true));
  return {
    socket,
    text: () => text,
    isClosed: () => isClosed,
    ask: (path, headers = {}) => void socket.write(`GET ${path} HTTP/1.1\r\n${linesOf(headers)}\r\n`),
    post: (path, headers) => void socket.write(`POST ${path} HTTP/1.1\r\n${linesOf(headers)}Content-Length: 2\r\n\r\n{}`),
  };
};

/** The whole first answer on a connection of its own. */
const answerOf = async (
  t: TestContext,
  port: number,
  path: string,
  more: { readonly from?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<{ readonly status: number; readonly text: string }> => {
  const client = enter(t, port, more.from);
  client.ask(path, more.headers);
  await until(() => client.text().includes("\r\n\r\n"));
  client.socket.destroy();
  return { status: Number(client.text().split(" ")[1]), text: client.text() };
};

/** `/slow` answers when it is let; `/stream` never ends. */
const world = async (t: TestContext, settings: Readonly<Record<string, string>>) => {
  const upstream = recordingPeer();
  const gate = Promise.withResolvers<void>();
  /** Streams that nobody wanted any more. */
  const left = { count: 0 };
  upstream.answer = async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/stream") {
      const start = (controller: ReadableStreamDefaultController<Uint8Array>) =>
        controller.enqueue(new TextEncoder().encode("data: a\n\n"));
      return new Response(new ReadableStream({ start, cancel: () => void (left.count += 1) }), { headers: sseHeaders });
    }
    if (pathname === "/slow") await gate.promise;
    return Response.json({ done: true });
  };
  const made = await testGateway(t, { database: await database(), routes, peers: { crud: upstream.peer }, settings });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const value = async (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(await made.metrics.text())?.[1] ?? Number.NaN);
  return { made, upstream, port, left, release: () => gate.resolve(), value };
};

const REFUSED = 'gateway_connections_refused_total\\{reason="address"\\}';

test("what one address may hold is what is documented", () => {
  const { values } = readSettings(gatewaySettings, {});
  assert.deepEqual([values.maxConnectionsPerAddress, values.maxInFlightPerAddress], [1024, 256]);
});

test("300 sockets of one address keep nobody else from being served, nor its own when they are fewer again", async (t) => {
  const { port, value } = await world(t, { MAX_CONNECTIONS_PER_ADDRESS: "256" });
  const clients = Array.from({ length: 300 }, () => enter(t, port));
  await until(() => clients.filter((client) => client.isClosed()).length === 44);
  assert.deepEqual([await value("gateway_connections"), await value(REFUSED)], [256, 44]);
  assert.ok(
    clients.every((client) => client.text() === ""),
    "a refused one is told nothing",
  );
  assert.equal((await answerOf(t, port, "/open/x", { from: "127.0.0.2" })).status, 200);
  const held = clients.filter((client) => !client.isClosed());
  for (const client of held) client.ask("/open/x");
  await until(() => held.every((client) => client.text().startsWith("HTTP/1.1 200 ")));
  for (const client of held) client.socket.destroy();
  await until(
    () => value("gateway_connections"),
    (open) => open === 0,
  );
  assert.equal((await answerOf(t, port, "/open/x")).status, 200);
  assert.equal(await value(REFUSED), 44);
});

test("over TLS too, and before there is a handshake", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    routes,
    settings: { MAX_CONNECTIONS_PER_ADDRESS: "2" },
    parts: { tls: await selfSigned(t, ["localhost"]), publicOrigins: ["https://localhost:8080"] },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const sockets: Socket[] = [];
  const handshake = (localAddress: string): Promise<string> =>
    new Promise((resolve) => {
      const raw = connect({ port, host: "127.0.0.1", localAddress });
      raw.on("error", () => {});
      const socket = connectTls({ socket: raw, rejectUnauthorized: false, servername: "localhost" });
      cleanUp(t, () => socket.destroy());
      sockets.push(socket);
      socket.on("secureConnect", () => resolve("made"));
      socket.on("error", () => resolve("refused"));
    });
  assert.deepEqual([await handshake("127.0.0.1"), await handshake("127.0.0.1")], ["made", "made"]);
  assert.equal(await handshake("127.0.0.1"), "refused");
  assert.equal(await handshake("127.0.0.2"), "made");
  assert.equal(await made.counted("gateway_connections_refused_total", { reason: "address" }), 1);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await made.metrics.text()).includes("\ngateway_connections 0\n"));
  assert.equal(await handshake("127.0.0.1"), "made", "its places are free again");
});

test("one address has so many requests under way and no more; streams are none, health is never refused", async (t) => {
  const { made, port, upstream, release } = await world(t, { MAX_IN_FLIGHT_PER_ADDRESS: "3", STREAMS_PER_SESSION: "10" });
  const { cookie } = await made.signIn("person:ben");
  const streams = Array.from({ length: 4 }, () => enter(t, port));
  for (const client of streams) {
    client.ask("/events", cookie);
    await until(() => client.text().includes("data: a"));
  }
  const slow = Array.from({ length: 3 }, () => enter(t, port));
  for (const client of slow) client.ask("/open/slow");
  await until(() => upstream.seen.filter(({ path }) => path === "/slow").length === 3);
  const refused = await answerOf(t, port, "/open/x");
  assert.match(refused.text, /^HTTP\/1\.1 429 [^]*\r\nretry-after: 1\r\n[^]*"code":"rate_limited"/i);
  assert.equal((await answerOf(t, port, "/api/v1/health/live")).status, 200);
  assert.equal((await answerOf(t, port, "/open/x", { from: "127.0.0.2" })).status, 200);
  assert.equal((await answerOf(t, port, "/open/x", { headers: { "x-forwarded-for": "198.51.100.9" } })).status, 429, "its own word");
  assert.equal(await made.counted("bff_rate_limit_violations_total", { client_id: "in_flight" }), 2);
  release();
  await until(() => slow.every((client) => client.text().startsWith("HTTP/1.1 200 ")));
  assert.equal((await answerOf(t, port, "/open/x")).status, 200, "the places are free again");
});

test("an answer that streams is a request under way until it ends, whoever has asked for it", async (t) => {
  const { made, port, upstream } = await world(t, { MAX_IN_FLIGHT_PER_ADDRESS: "2" });
  const { headers } = await made.signIn("person:ben");
  const clients = Array.from({ length: 2 }, () => enter(t, port));
  for (const client of clients) client.post("/pages/stream", headers);
  await until(() => clients.every((client) => client.text().includes("data: a")));
  assert.equal((await answerOf(t, port, "/open/x")).status, 429);
  clients[0]?.socket.destroy();
  await until(async () => (await answerOf(t, port, "/open/x")).status === 200);
  assert.deepEqual(
    upstream.seen.map(({ path }) => path),
    ["/stream", "/stream", "/x"],
  );
});

test("a verdict that an address has no share left for is 503: nginx makes 500 of a 429", async (t) => {
  const { port, upstream, release } = await world(t, { MAX_IN_FLIGHT_PER_ADDRESS: "1" });
  const slow = enter(t, port);
  slow.ask("/open/slow");
  await until(() => upstream.seen.length === 1);
  assert.match((await answerOf(t, port, "/auth/verify")).text, /^HTTP\/1\.1 503 [^]*"code":"overloaded"/);
  release();
  await until(() => slow.text().startsWith("HTTP/1.1 200 "));
  assert.equal((await answerOf(t, port, "/auth/verify")).status, 401);
});

test("who listens on a row that was not known to stream takes a stream's place, or is refused and the upstream let go", async (t) => {
  const { made, port, left } = await world(t, { STREAM_MAX_CLIENTS: "1" });
  const { cookie } = await made.signIn("person:ben");
  const first = enter(t, port);
  first.ask("/pages/stream", cookie);
  await until(() => first.text().includes("data: a"));
  const second = await answerOf(t, port, "/pages/stream", { headers: cookie });
  assert.match(second.text, /^HTTP\/1\.1 429 [^]*"code":"too_many_streams"/);
  await until(
    () => left.count,
    (count) => count === 1,
  );
  first.socket.destroy();
  await until(async () => (await answerOf(t, port, "/pages/stream", { headers: cookie })).status === 200);
});

test("requests that stand in line on one connection are all counted", async (t) => {
  const { port, upstream, release } = await world(t, { MAX_IN_FLIGHT_PER_ADDRESS: "2" });
  const client = enter(t, port);
  for (let index = 0; index < 4; index++) client.ask("/open/slow");
  await until(() => upstream.seen.length === 2);
  release();
  await until(() => client.text().split("HTTP/1.1 ").length === 5);
  assert.deepEqual(
    [...client.text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ["200", "200", "429", "429"],
  );
});

test("a trusted proxy holds what it needs; each client behind it has the share of its own address", async (t) => {
  const { made, port, upstream, release } = await world(t, {
    TRUSTED_PROXIES: "127.0.0.0/8",
    MAX_CONNECTIONS_PER_ADDRESS: "2",
    MAX_IN_FLIGHT_PER_ADDRESS: "2",
  });
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], clientId: "sallyport-web" });
  const by = (address: string) => ({ "x-forwarded-for": address, authorization: `Bearer ${token}` });
  const slow = Array.from({ length: 2 }, () => enter(t, port));
  for (const client of slow) client.ask("/open/slow", by("198.51.100.9"));
  const own = Array.from({ length: 5 }, () => enter(t, port));
  for (const client of own) client.ask("/open/slow");
  await until(() => upstream.seen.length === 7);
  assert.equal((await answerOf(t, port, "/open/x", { headers: by("198.51.100.9") })).status, 429);
  assert.equal((await answerOf(t, port, "/open/x", { headers: by("198.51.100.10") })).status, 200);
  assert.equal((await answerOf(t, port, "/open/x")).status, 200, "the proxy itself");
  release();
  const streams = Array.from({ length: 2 }, () => enter(t, port));
  for (const client of streams) client.ask("/raw", by("198.51.100.9"));
  await until(() => streams.every((client) => client.text().includes("data: a")));
  const third = await answerOf(t, port, "/raw", { headers: by("198.51.100.9") });
  assert.match(third.text, /^HTTP\/1\.1 429 [^]*"code":"too_many_streams"/);
  assert.equal((await answerOf(t, port, "/raw", { headers: by("198.51.100.10") })).status, 200);
  streams[0]?.socket.destroy();
  await until(async () => (await answerOf(t, port, "/raw", { headers: by("198.51.100.9") })).status === 200);
});

test("0 is no limit", async (t) => {
  const { port, upstream, release } = await world(t, { MAX_CONNECTIONS_PER_ADDRESS: "0", MAX_IN_FLIGHT_PER_ADDRESS: "0" });
  const clients = Array.from({ length: 300 }, () => enter(t, port));
  for (const client of clients) client.ask("/open/slow");
  await until(() => upstream.seen.length === 300);
  release();
  await until(() => clients.every((client) => client.text().startsWith("HTTP/1.1 200 ")));
});
