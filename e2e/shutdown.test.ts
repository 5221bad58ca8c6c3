import assert from "node:assert/strict";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createSseParser } from "#http/sse.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { measureDelay } from "#testing/measured-delay.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance, type TestInstance, type TestInstanceOptions } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const start = async (t: TestContext, options: TestInstanceOptions = {}): Promise<TestInstance> => {
  const instance = await startTestInstance(options);
  cleanUp(t, async () => {
    await instance.kill();
    await instance.stop();
  });
  return instance;
};

const exited = (instance: TestInstance): Promise<number | null> =>
  new Promise((resolve) => instance.process.once("exit", (code) => resolve(code)));

const LB_WAIT_MS = 500;
const DEADLINE_MS = 10_000;

interface Lane {
  sent: number;
  /** Answers, whole ones alone. */
  readonly statuses: number[];
  /** True: the server said that the last answer is the last. */
  saidClose: boolean;
  readonly ended: Promise<void>;
}

/** One kept connection that asks again as soon as it is answered, until it is told that this was the last answer. */
const openLane = (port: number, cookie: string): Lane => {
  const socket = connect({ port, host: "127.0.0.1" });
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const lane: Lane = { sent: 0, statuses: [], saidClose: false, ended };
  const send = (): void => {
    lane.sent += 1;
    socket.write(`GET /api/configs/ui HTTP/1.1\r\nHost: localhost:${port}\r\nCookie: ${cookie}\r\n\r\n`);
  };
  let text = "";
  socket.on("error", () => {});
  socket.on("connect", send);
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    const head = text.slice(0, end).toLowerCase();
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? Number.NaN);
    if (end === -1 || text.length < end + 4 + length) return;
    lane.statuses.push(Number(head.split(" ")[1]));
    lane.saidClose = head.includes("\r\nconnection: close");
    text = "";
    if (!lane.saidClose) send();
  });
  return lane;
};

test("a stop under load with open streams fails no request that was accepted, and ends in time", async (t) => {
  const instance = await start(t, {
    environment: { SHUTDOWN_LB_WAIT_MS: String(LB_WAIT_MS), SHUTDOWN_DEADLINE_MS: String(DEADLINE_MS), RATE_LIMITS: "session=100000/s" },
  });
  const [ben, ada] = [await signInPerson(instance.origin, "ben"), await signInPerson(instance.origin, "ada")];
  const streams = await Promise.all(
    [ben, ben, ada].map(async ({ cookie }) => {
      const response = await fetch(`${instance.origin}/api/v1/events/config`, { headers: { cookie } });
      assert.equal(response.status, 200);
      return response;
    }),
  );
  const lastWords = streams.map(async (response) => {
    const parser = createSseParser();
    let last = { event: "", data: "" };
    for await (const chunk of response.body ?? []) for (const part of parser.push(chunk)) if (part.kind === "message") last = part;
    return [last.event, (JSON.parse(last.data) as { reason?: string }).reason];
  });
  const lanes = Array.from({ length: 16 }, (_, index) => openLane(instance.port, (index % 2 === 0 ? ben : ada).cookie));
  await until(() => lanes.every(({ statuses }) => statuses.length >= 5));

  const exit = exited(instance);
  const before = lanes.reduce((sum, { statuses }) => sum + statuses.length, 0);
  const delay = measureDelay(t, async () => {});
  const since = performance.now();
  instance.process.kill("SIGTERM");
  await until(async () => (await fetch(`${instance.origin}/api/v1/health/ready`)).status === 503);
  assert.equal(await exit, 0);
  // The wait for load balancers, then at most the deadline for what is under way; the rest is closing what is empty by then.
  const [took, allowed] = [performance.now() - since, LB_WAIT_MS + DEADLINE_MS + delay.worst()];
  await delay.stop();
  assert.ok(took <= allowed, `it took ${took.toFixed(0)} ms; ${allowed.toFixed(0)} ms were allowed`);
  await Promise.all(lanes.map(({ ended }) => ended));

  assert.deepEqual(
    await Promise.all(lastWords),
    Array.from({ length: 3 }, () => ["bye", "drain"]),
  );
  for (const lane of lanes) {
    assert.equal(lane.statuses.length, lane.sent, "every request that was sent was answered whole");
    assert.deepEqual([...new Set(lane.statuses)], [200]);
    assert.equal(lane.saidClose, true, "and the last answer said that it is the last");
  }
  assert.ok(lanes.reduce((sum, { statuses }) => sum + statuses.length, 0) > before, "requests went on while Sallyport drained");
});

for (const [era, versionNegotiation] of [
  ["2025-11-25", { mode: "legacy" }],
  ["2026-07-28", { mode: { pin: "2026-07-28" } }],
] as const)
  test(`a stop does not wait for an MCP client of revision ${era} that only listens`, { timeout: 90_000 }, async (t) => {
    // Far beyond the limit of this test: what listens must not be what the stop ends by.
    const instance = await start(t, { environment: { SHUTDOWN_DEADLINE_MS: "300000" } });
    const token = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => {} } };
    const client = new Client({ name: "listener", version: "1" }, { versionNegotiation, listChanged });
    client.onerror = () => {};
    cleanUp(t, () => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(`${instance.origin}/mcp`), { requestInit }));
    const open = async () => (await (await fetch(`${instance.origin}/metrics`)).text()).includes('gateway_streams{kind="raw"} 1\n');
    await until(open);
    const exit = exited(instance);
    instance.process.kill("SIGTERM");
    assert.equal(await exit, 0);
  });

test("a second signal means now", async (t) => {
  const instance = await start(t, { environment: { SHUTDOWN_LB_WAIT_MS: "60000" } });
  const exit = exited(instance);
  instance.process.kill("SIGTERM");
  await until(() => instance.output().includes("stopping"));
  assert.equal((await fetch(`${instance.origin}/api/v1/health/live`)).status, 200, "the first one is still waiting");
  instance.process.kill("SIGTERM");
  assert.equal(await exit, 1);
});
