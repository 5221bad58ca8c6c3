import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { noAddressCount } from "#gateway/limits/address-count.ts";
import { createConnectionDoor } from "#gateway/limits/connection-door.ts";
import { createLoad } from "#gateway/limits/load.ts";
import { asProblem, problemResponse } from "#http/problem-body.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { rawExchange } from "#testing/gateway.ts";
import { until } from "#testing/until.ts";
import { frontDoorLimits, type FrontDoorLimits } from "./front-door-limits.ts";
import { listenFrontDoor } from "./listener.ts";
import { createPublicOrigins } from "./public-origins.ts";

/** The front door alone: what stands behind it reads the body and says how long it was. */
const open = async (t: TestContext, limits: Partial<FrontDoorLimits>, metrics = createMetrics()): Promise<number> => {
  const opened = await listenFrontDoor(
    {
      origins: createPublicOrigins(["http://localhost:8080"]),
      corridor: {
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
      connections: createConnectionDoor({ ofAddress: noAddressCount, metrics }),
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
  assert.deepEqual(frontDoorLimits, {
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 300_000,
    keepAliveTimeout: 65_000,
    keepAliveInitialDelay: 60_000,
    connectionsCheckingInterval: 2000,
    maxConnections: 10_000,
    stallMs: 60_000,
  });
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

test("a body that does not end in the time of a request is given up with 408", async (t) => {
  const port = await open(t, { requestTimeout: 300, headersTimeout: 200 });
  const chunked = `POST /x HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`;
  assert.match(await holdOpen(port, chunked, "1\r\na\r\n"), /^HTTP\/1\.1 408 [^]*"code":"request_timeout"/);
});

test("a connection that rests too long between requests is closed without a word", async (t) => {
  const port = await open(t, { keepAliveTimeout: 100 });
  const text = await holdOpen(port, get);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1);
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
