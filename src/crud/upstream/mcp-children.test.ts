// A process of its own: to start a process costs by the memory of the one that does.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import type { Invocation } from "#crud/tools/tool.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import { createShares } from "#http/shares.ts";
import { isAlive } from "#store/is-alive.ts";
import { silentLog, type Log } from "#telemetry/log.ts";
import { until } from "#testing/until.ts";
import { parseExactJson } from "#contract/exact-numbers.ts";
import { enterSandbox, openSandbox, type Sandbox } from "#crud/servers/sandbox.ts";
import { requireProgram } from "#testing/programs.ts";
import { createChildren } from "./mcp-children.ts";
import { createChildPlaces } from "./child-places.ts";
import { createMcpConnector } from "./mcp-connector.ts";

/** An MCP server that ends in the ways that servers do; what it does it writes down. */
const SERVER = `
import { spawn } from "node:child_process";
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
const text = (id, shown) => reply(id, { content: [{ type: "text", text: String(shown) }] });
const MANY = "x".repeat(1_000_000);
// A line of 100 MB, in pieces of a megabyte.
const long = (before, behind) => {
  process.stdout.write(before);
  for (let at = 0; at < 100; at++) process.stdout.write(MANY);
  process.stdout.write(behind + "\\n");
};
const asked = new Map();
const ask = (id, method, params) =>
  new Promise((go) => {
    asked.set(id, go);
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\\n");
  });
const say = (method) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method }) + "\\n");
const misdeeds = {
  "long answer": (id) => long('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[{"type":"text","text":"', '"}]}}'),
  "long answer, id last": (id) => long('{"result":{"content":[{"type":"text","text":"', '"}]},"jsonrpc":"2.0","id":' + id + "}"),
  "long line": (id) => { long("", ""); text(id, process.pid); },
  "many nothings": (id) => reply(id, { content: Array(60_000).fill({}) }),
  "some nothings": (id) => reply(id, { content: Array(1_001).fill({}) }),
  "a content of nothing": (id) => reply(id, { content: [{}] }),
  "many values": (id) => reply(id, { content: [], structuredContent: { a: Array(20_001).fill(1) } }),
  "many values beside tools": (id) => reply(id, { tools: [], content: [], structuredContent: { a: Array(20_001).fill(1) } }),
  "large numbers": (id) => {
    const of = '"structuredContent":{"id":9007199254740993,"rate":0.1234567890123456789,"in":[{"at":18446744073709551615}]}';
    process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[{"type":"text","text":"{}"}],' + of + "}}\\n");
  },
  "no result": (id) => reply(id, null),
  "neither result nor error": (id) => { process.stdout.write('{"jsonrpc":"2.0","id":' + id + "}\\n"); },
  "a text for an error": (id) => { process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"error":"boom"}\\n'); },
  "no protocol": (id) => { process.stdout.write('{"id":' + id + ',"result":{"content":[]}}\\n'); },
  "deep answer": (id) => { process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"structuredContent":{"a":' + "[".repeat(5000) + "]".repeat(5000) + "}}}\\n"); },
  "deep answer, id last": (id) => { process.stdout.write('{"result":{"structuredContent":{"a":' + "[".repeat(5000) + "]".repeat(5000) + '}},"jsonrpc":"2.0","id":' + id + "}\\n"); },
  "half an answer": (id) => { process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[\\n'); },
  "a name twice": (id) => { process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{},"result":{"content":[]}}\\n'); text(id, process.pid); },
  "lines for itself": (id) => { process.stdout.write("debug a\\ndebug b\\n".repeat(20_000)); text(id, process.pid); },
  "large answer": (id) => text(id, "x".repeat(20_000)),
  "fair answer": (id) => text(id, "7".padEnd(5_000)),
  "fair answer, id last": (id) => process.stdout.write('{"result":{"content":[{"type":"text","text":"' + "7".padEnd(5_000) + '"}]},"jsonrpc":"2.0","id":' + id + "}\\n"),
  "progress": (id) => {
    for (let at = 0; at < 10_000; at++) {
      const params = { progressToken: id, progress: at, message: '{"method":"' };
      for (const form of [
        { jsonrpc: "2.0", method: "notifications/progress", params },
        { method: "notifications/message", params, jsonrpc: "2.0" },
        { jsonrpc: "2.0", params, method: "notifications/progress" },
        { params, method: "notifications/resources/updated", jsonrpc: "2.0" },
      ]) process.stdout.write(JSON.stringify(form) + "\\n");
    }
    text(id, process.pid);
  },
  "no answer": () => {},
  "another's answer": (id) => text(id + 1000, process.pid),
  "two answers": (id) => { text(id, process.pid); text(id, 7); },
  "garbage": (id) => {
    const lines = ["Listening on stdio", "{}", "42", "null", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":', "\\u0000\\ud800", ""];
    for (const line of lines) process.stdout.write(line + "\\n");
    text(id, process.pid);
    for (const line of lines) process.stdout.write(line + "\\r\\n");
  },
  "noise": (id) => {
    const noise = () => { while (process.stderr.write(MANY)); process.stderr.once("drain", noise); };
    noise();
    text(id, process.pid);
  },
  "changes": (id) => {
    setInterval(() => { for (let at = 0; at < 100; at++) say("notifications/tools/list_changed"); }, 10);
    setTimeout(() => text(id, process.pid), 200);
  },
  "questions": async (id) => {
    const methods = ["sampling/createMessage", "elicitation/create", "roots/list"];
    const codes = [];
    for (const [at, method] of methods.entries()) codes.push((await ask("q" + at, method, { messages: [], maxTokens: 1, message: "?", requestedSchema: { type: "object", properties: {} } })).error.code);
    text(id, codes.every((code) => code === -32601) ? process.pid : codes.join());
  },
  "closed ears": (id) => { text(id, process.pid); process.stdin.pause(); },
  "stubborn": (id) => {
    process.removeAllListeners("SIGTERM");
    process.on("SIGTERM", () => note("asked"));
    text(id, process.pid);
  },
  "grandchild": (id) => {
    const made = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: ["ignore", "inherit", "inherit"] });
    text(id, made.pid);
  },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, ...rest } = JSON.parse(line);
  if (method === "tools/call") appendFileSync("lines", line + "\\n");
  if (method === undefined) return asked.get(id)?.(rest);
  if (method === "initialize")
    return reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "x", version: "1" } });
  if (method === "tools/list") return reply(id, { tools: [{ name: "any", ...tool }, { name: "bounded", inputSchema: { type: "object", properties: { id: { type: "integer", maximum: 2 ** 63 } } } }] });
  if (method !== "tools/call") {
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
    return;
  }
  note(params.name);
  if (params.name === "dies") process.exit(1);
  if (misdeeds[params.name] !== undefined) return misdeeds[params.name](id);
  reply(id, { content: [{ type: "text", text: String(process.pid) }] });
  if (params.name === "leaves") setImmediate(() => process.exit(0));
  if (params.name === "deaf") setImmediate(() => { closeSync(0); note("closed"); });
  if (params.name === "mute") setImmediate(() => closeSync(1));
});
`;

const world = async (
  t: TestContext,
  {
    sandbox,
    ...more
  }: {
    readonly sandbox?: Sandbox;
    readonly idleMs?: number;
    readonly startMs?: number;
    readonly code?: string;
    readonly now?: () => Date;
    readonly log?: Log;
    readonly shareBytes?: number;
  } = {},
) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-children-"));
  const server = join(folder, "server.mjs");
  await writeFile(server, more.code ?? SERVER);
  let changes = 0;
  const answerShares = createShares({ total: 10_000_000, perKey: more.shareBytes ?? 5_000_000 });
  const places = createChildPlaces(4);
  const children = createChildren({
    system: "test.demo",
    launch: (own) => {
      const launch = { command: { file: process.execPath, args: [server] }, env: {} };
      return sandbox === undefined
        ? launch
        : enterSandbox(sandbox, launch, { network: "none", folder: own, reads: [process.execPath, server] });
    },
    folder,
    places,
    answerShares,
    version: "1",
    log: more.log ?? silentLog,
    changed: () => void changes++,
    ...more,
    now: more.now ?? (() => new Date()),
  });
  t.after(async () => {
    await children[Symbol.asyncDispose]();
    assert.deepEqual([places.taken, children.running], [0, 0]);
    await rm(folder, { recursive: true, force: true });
  });
  const call = async (upstreamName: string, timeoutMs = 20_000, isReadOnly = false, args: object = {}): Promise<number> => {
    const connector = createMcpConnector({ children, isolation: "shared", upstreamName, timeoutMs, maxBytes: 10_000, isReadOnly });
    using claim = answerShares("tenant:acme");
    const answer = await connector({ arguments: args, signal: new AbortController().signal, claim } as unknown as Invocation);
    return Number(answer.value);
  };
  const log = async (): Promise<readonly (readonly [string, number])[]> => {
    const text = await readFile(join(folder, "test.demo", "shared", "log"), "utf8");
    return text
      .trim()
      .split("\n")
      .map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]);
  };
  return { children, call, log, folder, answerShares, changes: () => changes };
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
  const { children, call, log } = await world(t, { idleMs: 1 });
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
  await assert.rejects(call("dies"), (error) => error instanceof UpstreamError && error.effect === "unknown");
  assert.equal((await log()).filter(([name]) => name === "dies").length, 1);
  assert.ok((await call("any")) > 0);
});

const refusal = async (work: Promise<unknown>): Promise<readonly [code: string, effect: string]> => {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UpstreamError, String(error));
  return [error.problem.code, error.effect];
};

/** What a server does, and what its call comes to: its answer, or a refusal. */
const misdeeds: readonly (readonly [name: string, comesTo: "answer" | readonly [code: string, effect: string]])[] = [
  ["long answer", ["output_too_large", "done"]],
  ["long answer, id last", ["output_too_large", "done"]],
  ["long line", "answer"],
  ["large answer", ["output_too_large", "done"]],
  ["many nothings", ["output_too_large", "done"]],
  ["some nothings", ["output_too_large", "done"]],
  ["a content of nothing", ["output_invalid", "done"]],
  ["many values", ["output_too_large", "done"]],
  ["many values beside tools", ["output_too_large", "done"]],
  ["no result", ["upstream_error", "failed"]],
  ["neither result nor error", ["upstream_error", "failed"]],
  ["a text for an error", ["upstream_error", "failed"]],
  ["no protocol", ["output_invalid", "done"]],
  ["deep answer", ["output_too_large", "done"]],
  ["deep answer, id last", ["output_too_large", "done"]],
  ["half an answer", ["output_invalid", "done"]],
  ["a name twice", ["output_invalid", "done"]],
  ["lines for itself", "answer"],
  ["no answer", ["upstream_timeout", "failed"]],
  ["another's answer", ["upstream_timeout", "failed"]],
  ["two answers", "answer"],
  ["garbage", "answer"],
  ["noise", "answer"],
  ["changes", "answer"],
  ["questions", "answer"],
];
for (const [name, comesTo] of misdeeds)
  test(`a server with ${name} costs that call alone`, async (t) => {
    const received = { bytes: 0 };
    const log: Log = { ...silentLog, debug: (_event, members) => void (received.bytes += String(members?.["line"]).length) };
    const { call, changes } = await world(t, { log });
    const began = performance.now();
    const pid = await call("any");
    const isMute = comesTo !== "answer" && comesTo[0] === "upstream_timeout";
    const misdeed = call(name, isMute ? 200 : 20_000, true);
    const beside = call("any");
    if (comesTo === "answer") assert.equal(await misdeed, pid);
    else assert.deepEqual(await refusal(misdeed), comesTo);
    assert.equal(await beside, pid);
    assert.equal(await call("any"), pid, "the same child goes on");
    const spans = (performance.now() - began) / 100 + 2;
    assert.ok(received.bytes <= spans * 4000, `${received.bytes} of what it says on its standard error`);
    assert.ok(changes() <= spans * 200, `${changes()} changes`);
    assert.equal(changes() > 0, name === "changes");
  });

test("a server that hears no signal is killed, and one that left somebody behind ends with them", async (t) => {
  const { call, children } = await world(t);
  const helper = await call("grandchild");
  assert.ok(isAlive(helper));
  const left = await call("leaves");
  await until(() => !isAlive(left) && !isAlive(helper));
  const stubborn = await call("stubborn");
  assert.notEqual(stubborn, left);
  await children[Symbol.asyncDispose]();
  assert.ok(!isAlive(stubborn));
});

test("a server that ends as soon as it starts is not started again and again, and one that never says that it is there is ended", async (t) => {
  const note = `import { appendFileSync } from "node:fs"; appendFileSync("log", "start " + process.pid + "\\n");`;
  const now = (): Date => new Date(0);
  const ends = await world(t, { code: `${note} process.exit(3);`, now });
  for (let at = 0; at < 20; at++) assert.deepEqual(await refusal(ends.call("any")), ["upstream_error", "not_sent"]);
  assert.ok((await ends.log()).length <= 2);
  const mute = await world(t, { code: `${note} setInterval(() => {}, 1000);`, now, startMs: 1500 });
  assert.deepEqual(await refusal(mute.call("any")), ["upstream_error", "not_sent"]);
  const pid = (await mute.log())[0]?.[1] ?? 0;
  await until(() => !isAlive(pid));
});

test("what waits for a server that reads nothing is bounded, and what is beyond it is not sent", async (t) => {
  const { call } = await world(t);
  await call("closed ears");
  const large = { text: "x".repeat(1_000_000) };
  const ends = await Promise.all(Array.from({ length: 24 }, () => refusal(call("any", 1000, false, large))));
  const unsent = ends.filter(([code, effect]) => code === "overloaded" && effect === "not_sent").length;
  assert.ok(unsent >= 6 && unsent < 24, `${unsent} were not sent`);
  assert.equal(ends.filter(([code, effect]) => code === "outcome_unknown" && effect === "unknown").length, 24 - unsent);
});

test("progress and other notifications that nobody waits for do not delay the calls of a child", async (t) => {
  const { call } = await world(t);
  const [first, second] = await Promise.all([call("progress", 10_000), call("any", 10_000)]);
  assert.equal(first, second);
  assert.equal(await call("any", 10_000), first);
});

test("what a child sends takes of its tenant's share of bytes", async (t) => {
  for (const [name, shareBytes, beyond] of [
    ["fair answer", 12_000, false],
    ["fair answer", 4_000, true],
    ["fair answer, id last", 4_000, true],
    ["fair answer", 9_000, "beside another"],
  ] as const) {
    const { call, answerShares } = await world(t, { shareBytes });
    await call("any");
    // The child of all tenants takes of a share of its own.
    using other = answerShares("tenant:acme");
    if (beyond === "beside another") assert.ok(other.take(5000));
    if (beyond === false) assert.equal(await call(name), 7);
    else {
      assert.deepEqual(await refusal(call(name, 20_000, true)), ["overloaded", "failed"], `${name} ${shareBytes}`);
      assert.deepEqual(await refusal(call(name)), ["output_too_large", "done"], `${name} ${shareBytes}`);
    }
    assert.ok((await call("any")) > 0, "a small answer fits still");
    other[Symbol.dispose]();
    for (const tenant of ["tenant:acme", ""]) assert.ok(answerShares(tenant).take(shareBytes), "all was given back");
  }
});

test("numbers that no double holds reach a server and come back with every digit", async (t) => {
  const { children, folder, answerShares } = await world(t);
  const options = { children, isolation: "shared", timeoutMs: 20_000, maxBytes: 10_000, isReadOnly: false } as const;
  const sent = '{"id":9007199254740993,"in":[{"rate":0.1234567890123456789}]}';
  const call = { arguments: parseExactJson(sent), signal: new AbortController().signal, claim: answerShares("") } as unknown as Invocation;
  const { value } = await createMcpConnector({ ...options, upstreamName: "large numbers" })(call);
  assert.equal(JSON.stringify(value), '{"id":9007199254740993,"rate":0.1234567890123456789,"in":[{"at":18446744073709551615}]}');
  assert.ok((await readFile(join(folder, "test.demo", "shared", "lines"), "utf8")).includes(`"arguments":${sent}`));
});

test("a child in a sandbox ends as others do, with all that it started, whoever of them left its group", async (t) => {
  if (requireProgram(t, "bwrap") === undefined) return;
  const opened = await openSandbox([]);
  assert.ok("sandbox" in opened, JSON.stringify(opened));
  // Whoever lives writes; one that left its group and hears no signal does so too.
  const beats = `
    import { spawn as startApart } from "node:child_process";
    import { readFileSync as readLimits, writeFileSync as noteLimits } from "node:fs";
    noteLimits("limits", readLimits("/proc/self/limits"));
    const code = "process.on('SIGTERM', () => {}); setInterval(() => require('node:fs').appendFileSync('beats', '.'), 20)";
    startApart(process.execPath, ["-e", code], { detached: true, stdio: "ignore" }).unref();
  `;
  const { children, call, log, folder } = await world(t, { sandbox: opened.sandbox, code: `${beats}${SERVER}` });
  const beaten = (): Promise<number> =>
    stat(join(folder, "test.demo/shared/beats")).then(
      ({ size }) => size,
      () => 0,
    );
  assert.ok((await call("any")) > 0, "numbers of its own");
  const limits = await readFile(join(folder, "test.demo/shared/limits"), "utf8");
  assert.match(limits, /^Max processes +512 /m);
  assert.match(limits, /^Max data size +2147483648 /m);
  await until(async () => (await beaten()) > 0);
  await call("leaves");
  await until(async () => (await log()).some(([what]) => what === "end"));
  await until(() => children.running === 0);
  const after = await beaten();
  await sleep(200);
  assert.equal(await beaten(), after, "what it left behind is gone with it");
  assert.ok((await call("any")) > 0);
  await call("stubborn");
  await children[Symbol.asyncDispose]();
  const last = await beaten();
  await sleep(200);
  assert.equal(await beaten(), last);
});

test("children count for the tenant of their key: beside one with many at work another's first child starts", async (t) => {
  const { children } = await world(t);
  const work = Promise.withResolvers<void>();
  const begun = (key: string) => {
    const started = Promise.withResolvers<void>();
    const used = children.use(key, () => {
      started.resolve();
      return work.promise;
    });
    return { used, started: Promise.race([started.promise, used]) };
  };
  const mine = ["tenant:globex person:a", "tenant:globex person:b"].map(begun);
  await Promise.all(mine.map(({ started }) => started));
  await assert.rejects(
    children.use("tenant:globex person:c", async () => undefined),
    /Too many upstream processes run/,
  );
  const other = begun("tenant:acme");
  await other.started;
  assert.equal(children.running, 3);
  work.resolve();
  await Promise.all([...mine, other].map(({ used }) => used));
});
