import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { noAddressCount } from "#gateway/limits/address-count.ts";
import { createConnectionLimit } from "#gateway/limits/connection-limit.ts";
import { createLoad } from "#gateway/limits/load.ts";
import { listenService } from "#http/listen.ts";
import { listenerLimits, type ListenerLimits } from "#http/listener-limits.ts";
import { asProblem, problemResponse } from "#http/problem-body.ts";
import { readBytes } from "#http/read-bytes.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { rawExchange } from "#testing/gateway.ts";
import { until } from "#testing/until.ts";
import { listenIngress } from "./listener.ts";
import { createPublicOrigins } from "#gateway/model/public-origins.ts";

type Open = (t: TestContext, limits: Partial<ListenerLimits>) => Promise<number>;

/** A service's listener with nothing behind it but a reader of bodies; `/unread` does not read, `/much` answers more than anybody takes. */
const openService: Open = async (t, limits) => {
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/unread") return new Response("no", { status: 401 });
    if (pathname === "/much") return new Response(new Uint8Array(64 * 1024 * 1024));
    try {
      return new Response(String((await readBytes(request, 1_048_576)).byteLength));
    } catch (error) {
      return problemResponse(asProblem(error), "c");
    }
  };
  const opened = await listenService(fetch, { port: 0, hosts: ["127.0.0.1"], limits: { connectionsCheckingInterval: 50, ...limits } });
  cleanUp(t, () => opened.close(0));
  return opened.port;
};

/** The ingress alone: what stands behind it reads the body and says how long it was. */
const open = async (t: TestContext, limits: Partial<ListenerLimits>, metrics = createMetrics()): Promise<number> => {
  const opened = await listenIngress(
    {
      origins: createPublicOrigins(["http://localhost:8080"]),
      pipeline: {
        handle: async ({ body, correlationId }) => {
          try {
            let size = 0;
            for await (const chunk of body?.stream() ?? []) size += chunk.byteLength;
            return new Response(String(size));
          } catch (error) {
            return problemResponse(asProblem(error), correlationId);
          }
        },
        refuse: (problem, { correlationId }) => problemResponse(problem, correlationId),
        unparsed: () => {},
      },
      load: createLoad(1000),
      connections: createConnectionLimit({ ofAddress: noAddressCount, metrics }),
      clientAddress: ({ peerAddress }) => peerAddress,
      limits: { connectionsCheckingInterval: 50, ...limits },
    },
    { port: 0, hosts: ["127.0.0.1"] },
  );
  cleanUp(t, () => opened.close(0));
  return opened.port;
};

/** Sends a beginning, keeps its own end open whatever comes, and hears until the other end is wholly gone. */
const holdOpen = (port: number, first: string, again = ""): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    let knocking: NodeJS.Timeout | undefined;
    socket.write(first);
    const trickle = again === "" ? undefined : setInterval(() => socket.write(again), 20);
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    // Only a connection that is gone on the other side answers a byte with a reset.
    socket.on("end", () => (knocking = setInterval(() => socket.write("x"), 50)));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(trickle);
      clearInterval(knocking);
      resolve(text);
    });
  });

const head = "Host: localhost:8080\r\n";
const get = `GET /x HTTP/1.1\r\n${head}\r\n`;

test("the limits are those that are promised", () => {
  assert.deepEqual(listenerLimits, {
    maxHeaderSize: 16 * 1024,
    maxHeaderLines: 100,
    headersTimeout: 10_000,
    requestTimeout: 300_000,
    bodyFreeMs: 10_000,
    lingerMs: 2000,
    keepAliveTimeout: 65_000,
    keepAliveInitialDelay: 60_000,
    connectionsCheckingInterval: 2000,
    maxConnections: 10_000,
    stallMs: 60_000,
  });
});

const listeners: readonly (readonly [which: string, open: Open])[] = [
  ["the ingress", open],
  ["a service", openService],
];
const problem = (status: number, code: string) =>
  new RegExp(`^HTTP/1\\.1 ${status} [^]*content-type: application/problem\\+json[^]*"code":"${code}"`, "i");

/** What each listener of Sallyport does with a client that does not keep to its limits. */
const limitCases: readonly (readonly [what: string, limits: Partial<ListenerLimits>, first: string, again: string, expected: RegExp])[] = [
  [
    "a body that trickles in",
    { bodyFreeMs: 200 },
    `POST /x HTTP/1.1\r\n${head}Content-Length: 5000\r\n\r\n`,
    "a",
    problem(408, "request_timeout"),
  ],
  [
    "a body of which nothing comes",
    { bodyFreeMs: 200 },
    `POST /x HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\n`,
    "",
    problem(408, "request_timeout"),
  ],
  [
    "a body in chunks of one byte",
    { bodyFreeMs: 200 },
    `POST /x HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`,
    "1\r\na\r\n",
    problem(408, "request_timeout"),
  ],
  [
    "a body that does not end in the time of a request",
    { requestTimeout: 300, headersTimeout: 200 },
    `POST /x HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`,
    "1\r\na\r\n",
    problem(408, "request_timeout"),
  ],
  ["a head that does not end", { headersTimeout: 200 }, "GET /x HTTP/1.1\r\n", "X-A: a\r\n", problem(408, "request_timeout")],
  ["a connection that says nothing", { headersTimeout: 200 }, "", "", problem(408, "request_timeout")],
  ["a head over 16 KiB", {}, `GET /x HTTP/1.1\r\n${head}X-A: ${"a".repeat(17_000)}\r\n\r\n`, "", problem(431, "headers_too_large")],
  ["a head of 101 lines", {}, `GET /x HTTP/1.1\r\n${head}${"X-A: a\r\n".repeat(100)}\r\n`, "", problem(431, "headers_too_large")],
  ["what is no HTTP", {}, "garbage\r\n\r\n", "", problem(400, "bad_framing")],
  [
    "two lengths of one body",
    {},
    `POST /x HTTP/1.1\r\n${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    "",
    problem(400, "bad_framing"),
  ],
  ["a connection that rests", { keepAliveTimeout: 100 }, get, "", /^HTTP\/1\.1 200 [^]*0$/],
];
for (const [which, openOne] of listeners)
  for (const [what, limits, first, again, expected] of limitCases)
    test(`${what} is refused by ${which}, and its connection is gone`, async (t) => {
      const text = await holdOpen(await openOne(t, limits), first, again);
      assert.match(text, expected);
      assert.equal(text.match(/^HTTP\/1\.1 /gm)?.length, 1);
    });

for (const [which, openOne] of listeners)
  test(`a body that keeps coming fast enough is read by ${which}, however long it takes in all`, async (t) => {
    const port = await openOne(t, { bodyFreeMs: 100 });
    const socket = connect({ port, host: "127.0.0.1" });
    cleanUp(t, () => socket.destroy());
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.write(`POST /x HTTP/1.1\r\n${head}Content-Length: 409600\r\n\r\n`);
    for (let sent = 0; sent < 100; sent++) {
      socket.write("a".repeat(4096));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until(() => text.endsWith("409600"));
    assert.match(text, /^HTTP\/1\.1 200 /);
  });

test("what is left of a body that nobody wanted is heard for a moment only, whatever its method", async (t) => {
  const port = await openService(t, { lingerMs: 100 });
  for (const method of ["POST", "GET", "DELETE"]) {
    const text = await holdOpen(port, `${method} /unread HTTP/1.1\r\n${head}Content-Length: 5000\r\n\r\n`, "a");
    assert.match(text, /^HTTP\/1\.1 401 /, method);
    assert.equal(text.match(/^HTTP\/1\.1 /gm)?.length, 1, method);
  }
});

test("who asks a service for much and takes nothing of it loses the connection", async (t) => {
  const port = await openService(t, { stallMs: 200 });
  const socket = connect({ port, host: "127.0.0.1" });
  cleanUp(t, () => socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET /much HTTP/1.1\r\n${head}\r\n`);
  // A paused socket hears of its end only when it is written to.
  await until(async () => {
    socket.write(" ");
    return socket.destroyed;
  });
  assert.ok(socket.bytesRead < 64 * 1024 * 1024);
});

test("a service closes connections over the limit as they come", async (t) => {
  const port = await openService(t, { maxConnections: 1 });
  const held = connect({ port, host: "127.0.0.1" });
  cleanUp(t, () => held.destroy());
  held.write(get);
  await new Promise((resolve) => held.once("data", resolve));
  const refused = await rawExchange(port, get);
  assert.deepEqual([refused.text, refused.closed], ["", true]);
});

test("a head that does not end, or does not begin, is given up with 408", async (t) => {
  const port = await open(t, { headersTimeout: 200 });
  for (const [first, again] of [
    ["GET /x HTTP/1.1\r\n", "X-A: a\r\n"],
    ["G", ""],
    ["", ""],
    [`GET /x HTTP/1.1\r\n${head}`, ""],
  ] as const)
    assert.match(await holdOpen(port, first, again), /^HTTP\/1\.1 408 [^]*"code":"request_timeout"/, JSON.stringify(first));
});

test("a connection that rests too long between requests is closed without a word", async (t) => {
  const port = await open(t, { keepAliveTimeout: 100 });
  const text = await holdOpen(port, get);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(text.match(/^HTTP\/1\.1 /gm)?.length, 1);
});

test("connections over the limit are closed as they come, and a place that is left is free again", async (t) => {
  const metrics = createMetrics();
  const port = await open(t, { maxConnections: 2 }, metrics);
  const held = [connect({ port, host: "127.0.0.1" }), connect({ port, host: "127.0.0.1" })];
  await Promise.all(held.map((socket) => new Promise((resolve) => socket.on("connect", resolve))));
  // A connection counts from when the server takes it.
  for (const socket of held) {
    socket.write(get);
    await new Promise((resolve) => socket.once("data", resolve));
  }
  const refused = await rawExchange(port, get);
  assert.deepEqual([refused.text, refused.closed], ["", true]);
  assert.match(await metrics.text(), /^gateway_connections_refused_total\{reason="all"\} 1$/m);
  assert.match(await metrics.text(), /^gateway_connections 2$/m);
  await new Promise<void>((resolve) => held[0]?.on("close", () => resolve()).destroy());
  let answers = await rawExchange(port, get);
  for (let tries = 0; tries < 50 && answers.answers.length === 0; tries++) answers = await rawExchange(port, get);
  assert.equal(answers.answers[0]?.status, 200);
  held[1]?.destroy();
});

/** The timer of the server's end of each connection at this port, as Linux tells it: 2 = it will ask whether the other end is there. */
const timersAt = (port: number): readonly string[] =>
  readFileSync("/proc/net/tcp", "latin1")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${port.toString(16).toUpperCase().padStart(4, "0")}`) && state === "01")
    .map((fields) => fields[5]?.split(":")[0] ?? "");

test(
  "a connection that says nothing for long is asked whether it is still there",
  { skip: !existsSync("/proc/net/tcp") && "only Linux tells" },
  async (t) => {
    const port = await open(t, {});
    const socket = connect({ port, host: "127.0.0.1" });
    cleanUp(t, () => socket.destroy());
    socket.write(get);
    await new Promise((resolve) => socket.once("data", resolve));
    await until(
      () => timersAt(port),
      (timers) => timers.length === 1 && timers[0] === "02",
    );
  },
);

test("a refused connection ends whatever the client does with its own end", async (t) => {
  const port = await open(t, {});
  for (const [bytes, status] of [
    ["garbage\r\n\r\n", 400],
    ["CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 405],
    [`GET /a/.. HTTP/1.1\r\n${head}\r\n`, 400],
    [`TRACE / HTTP/1.1\r\n${head}\r\n`, 405],
  ] as const)
    assert.match(await holdOpen(port, bytes), new RegExp(`^HTTP/1\\.1 ${status} `), bytes);
});
