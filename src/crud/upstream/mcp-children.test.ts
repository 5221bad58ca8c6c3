import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Invocation } from "#crud/mcp/tool.ts";
import { UpstreamFault } from "#crud/mcp/call/upstream-fault.ts";
import { isAlive } from "#store/is-alive.ts";
import { silentLog } from "#telemetry/log.ts";
import { until } from "#testing/until.ts";
import { createChildren } from "./mcp-children.ts";
import { createMcpConnector } from "./mcp-connector.ts";

/** An MCP server that ends in the ways that servers do; what it does it writes down. */
const SERVER = `
import { appendFileSync, closeSync } from "node:fs";
import { createInterface } from "node:readline";
const note = (what) => appendFileSync("log", what + " " + process.pid + "\\n");
note("start");
process.on("exit", () => note("end"));
// Takes its time to end, as one that has something to put away.
process.on("SIGTERM", () => setTimeout(() => process.exit(0), 200));
const keepAlive = setInterval(() => {}, 1000);
const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
const tool = { inputSchema: { type: "object" } };
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    return reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } });
  if (method === "tools/list") return reply(id, { tools: [{ name: "any", ...tool }] });
  if (method !== "tools/call") {
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
    return;
  }
  note(params.name);
  if (params.name === "dies") process.exit(1);
  reply(id, { content: [{ type: "text", text: String(process.pid) }] });
  if (params.name === "leaves") setImmediate(() => process.exit(0));
  if (params.name === "deaf") setImmediate(() => { closeSync(0); note("closed"); });
  if (params.name === "mute") setImmediate(() => closeSync(1));
});
`;

const world = async (t: TestContext, idleMs?: number) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-children-"));
  const server = join(folder, "server.mjs");
  await writeFile(server, SERVER);
  const places = { taken: 0, most: 4 };
  const children = createChildren({
    system: "test.demo",
    transport: { type: "stdio", command: "server", args: [], env: {} },
    findCommand: async () => ({ file: process.execPath, args: [server] }),
    folder,
    places,
    version: "1",
    log: silentLog,
    changed: () => {},
    ...(idleMs === undefined ? {} : { idleMs }),
    now: () => new Date(),
  });
  t.after(async () => {
    await children[Symbol.asyncDispose]();
    assert.deepEqual([places.taken, children.running], [0, 0]);
    await rm(folder, { recursive: true, force: true });
  });
  const call = async (upstreamName: string): Promise<number> => {
    const connector = createMcpConnector({ children, isolation: "shared", upstreamName, timeoutMs: 20_000, isReadOnly: false });
    const answer = await connector({ arguments: {}, signal: new AbortController().signal } as unknown as Invocation);
    return Number(answer.value);
  };
  const log = async (): Promise<readonly (readonly [string, number])[]> => {
    const text = await readFile(join(folder, "test.demo", "shared", "log"), "utf8");
    return text
      .trim()
      .split("\n")
      .map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]);
  };
  return { children, call, log };
};

/** The next one began when the one before was gone: a folder is one child's own. */
const assertOneAtATime = (log: readonly (readonly [string, number])[]): void => {
  const living = new Set<number>();
  for (const [what, pid] of log) {
    if (what === "start") assert.equal(living.add(pid).size, 1, JSON.stringify(log));
    if (what === "end") living.delete(pid);
  }
};

for (const [ending, what] of [
  ["leaves", "ends by itself"],
  ["deaf", "reads no more"],
  ["mute", "says no more"],
] as const) {
  test(`after a child that ${what} the next call is answered by a fresh one`, async (t) => {
    const { call, log } = await world(t);
    const first = await call(ending);
    // What is sent to it before it has closed its input is lost, as with any server that hangs.
    await until(async () => (ending === "deaf" ? (await log()).some(([name]) => name === "closed") : !isAlive(first)));
    const next = await call("any");
    assert.notEqual(next, first);
    await until(() => !isAlive(first));
    assert.equal(await call("any"), next);
    assertOneAtATime(await log());
    assert.equal((await log()).filter(([name]) => name === "any").length, 2, "each ran once");
  });
}

test("a call that comes while an idle child is being ended does not meet it", async (t) => {
  const { children, call, log } = await world(t, 1);
  const first = await call("any");
  await until(() => children.running === 0);
  assert.ok(isAlive(first), "it takes its time");
  const [next] = await Promise.all([call("any"), call("any"), children.use("shared", (client) => client.listTools())]);
  assert.notEqual(next, first);
  assertOneAtATime(await log());
});

test("what was sent before the end is not sent again: its outcome is unknown", async (t) => {
  const { call, log } = await world(t);
  await call("any");
  await assert.rejects(call("dies"), (error) => error instanceof UpstreamFault && error.effect === "unknown");
  assert.equal((await log()).filter(([name]) => name === "dies").length, 1);
  assert.ok((await call("any")) > 0);
});
