import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { attackWorld, JSON_TYPE, rawGet, rawPost, type AttackWorld } from "#testing/attack-world.ts";
import { startChild } from "#testing/child.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { freePort } from "#testing/free-port.ts";
import { garbageCollector } from "#testing/garbage-collector.ts";
import { sharedDatabase } from "#testing/gateway.ts";
import { requireProgram } from "#testing/programs.ts";
import { until } from "#testing/until.ts";

// A process of its own: its memory is measured.

const database = sharedDatabase();
const MiB = 1_048_576;

const collect = garbageCollector();
const heap = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};
/** Server ends and client ends of this process alike. */
const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

/** Open files that this process may have; Node raises it to the hard limit by itself. */
const fileLimit = (): number => Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 1024);

/** On a connection of its own, and for as long as it takes: a machine may be slow, an answer may not fail. */
const isLive = (port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", path: "/api/v1/health/live", agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode === 200));
    }).on("error", reject);
  });

/** Asks for health again and again until stopped; answers how often it was asked, and how often in vain. */
const watchHealth = (port: number) => {
  const counts = { asked: 0, failed: 0 };
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      counts.asked += 1;
      if (!(await isLive(port).catch(() => false))) counts.failed += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return counts;
  };
};

test(
  "attack 27: 10,000 connections that send and reset, a thousand begun each second, leave nothing behind",
  { timeout: 120_000 },
  async (t) => {
    const { port, upstream } = await attackWorld(t, await database());
    upstream.answer = () => new Promise(() => {});
    const half = [
      "",
      "GET /public/x HT",
      rawGet("/public/x"),
      rawGet("/public/.."),
      rawPost("/public/x", `${JSON_TYPE}Content-Length: 9\r\n`, "{}"),
    ];
    // The clients are a process of their own: they begin by the clock, whatever becomes of those before, and their memory is not ours.
    const clients = startChild(`
    import { connect } from "node:net";
    import { createInterface } from "node:readline";
    const half = ${JSON.stringify(half)};
    const reset = (index) => new Promise((resolve) => {
      const socket = connect({ port: ${port}, host: "127.0.0.1" });
      let isIn = false;
      socket.on("connect", () => { isIn = true; socket.write(half[index % half.length], () => socket.resetAndDestroy()); });
      socket.on("error", () => {});
      socket.on("close", () => resolve(isIn));
    });
    for await (const line of createInterface({ input: process.stdin })) {
      const count = Number(line);
      const began = performance.now();
      const all = [];
      while (all.length < count) {
        const due = Math.min(count, Math.floor(performance.now() - began) + 1);
        while (all.length < due) all.push(reset(all.length));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const isIn = await Promise.all(all);
      console.log(isIn.filter(Boolean).length + " of " + count);
    }
  `);
    cleanUp(t, () => clients.kill());
    const base = sockets();
    const attack = async (count: number): Promise<void> => {
      clients.process.stdin?.write(`${count}\n`);
      assert.equal(await clients.line(), `${count} of ${count}`, "every one came in");
      await until(sockets, (now) => now <= base, 20_000);
      upstream.seen.length = 0;
    };
    // What is made once and kept (code, pools, labels) is no leak: a few of each kind make it.
    await attack(200);
    assert.ok(await isLive(port));
    const before = heap();
    const watched = watchHealth(port);
    await attack(10_000);
    const { asked, failed } = await watched();
    assert.ok(asked > 0);
    assert.equal(failed, 0);
    assert.ok(await isLive(port));
    await until(
      () => heap() - before,
      (grown) => grown < 8 * MiB,
      20_000,
    );
  },
);

/** A world whose public origin is where it listens: for tools that write their own Host. */
const addressedWorld = async (t: TestContext): Promise<AttackWorld & { readonly url: string }> => {
  const taken = await freePort();
  const url = `http://127.0.0.1:${taken}`;
  const world = await attackWorld(t, await database(), { parts: { publicOrigins: [url] } });
  const { port } = await world.made.gateway.listen({ port: taken, hosts: ["127.0.0.1"] });
  assert.equal(port, taken);
  return { ...world, port, url };
};

const slowhttptest = (t: TestContext, program: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    cleanUp(t, () => child.kill("SIGKILL"));
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
    child.on("error", reject);
    child.on("exit", () => resolve(stripVTControlCharacters(said)));
  });

test(
  "attack 43: slow heads, slow bodies and slow readers are given up, and others are served meanwhile",
  { timeout: 120_000 },
  async (t) => {
    const program = requireProgram(t, "slowhttptest");
    if (program === undefined) return;
    const { port, url, upstream } = await addressedWorld(t);
    const piece = new Uint8Array(65_536);
    upstream.answer = () => {
      let left = 64;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
        left-- > 0 ? controller.enqueue(piece) : controller.close();
      return new Response(new ReadableStream({ pull }), { headers: { "content-type": "text/plain" } });
    };
    await isLive(port);
    const base = { sockets: sockets(), heap: heap() };
    const watched = watchHealth(port);
    const common = ["-c", "200", "-r", "200", "-i", "1", "-p", "15", "-l", "25"];
    const [heads, bodies, readers] = await Promise.all([
      slowhttptest(t, program, ["-H", ...common, "-t", "GET", "-u", `${url}/public/x`]),
      slowhttptest(t, program, ["-B", ...common, "-s", "8192", "-t", "POST", "-f", "application/json", "-u", `${url}/public/x`]),
      slowhttptest(t, program, ["-X", ...common, "-w", "64", "-y", "256", "-n", "1", "-z", "32", "-t", "GET", "-u", `${url}/public/x`]),
    ]);
    const { asked, failed } = await watched();
    assert.ok(asked > 20);
    assert.equal(failed, 0, "others were served all the time");
    for (const said of [heads, bodies, readers]) assert.match(said, /service available:\s+YES/);
    for (const said of [heads, bodies]) assert.match(said, /Exit status:\s+No open connections left/, said.slice(-800));
    const posts = upstream.seen.filter((seen) => seen.method === "POST");
    assert.deepEqual(posts, [], "no half body reached the upstream");
    await until(sockets, (now) => now <= base.sockets, 20_000);
    upstream.seen.length = 0;
    await until(
      () => heap() - base.heap,
      (grown) => grown < 8 * MiB,
      20_000,
    );
  },
);

/** A body of less than 1 KiB/s on a row that buffers it: what the gateway answers. */
const trickleBody = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let text = "";
    socket.write(`POST /public/x HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${JSON_TYPE}Content-Length: 5000\r\n\r\n`);
    const trickle = setInterval(() => socket.writable && socket.write("x"), 500);
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(trickle);
      resolve(text);
    });
  });

test("attack 43: a body that trickles in is answered 408, and reaches nobody", { timeout: 60_000 }, async (t) => {
  const { port, upstream } = await addressedWorld(t);
  assert.match(await trickleBody(port), /^HTTP\/1\.1 408 [^]*"code":"request_timeout"/);
  assert.deepEqual(upstream.seen, []);
});

test("attack 43: 9,000 idle connections keep nobody out and are dropped", { timeout: 120_000 }, async (t) => {
  const { port } = await attackWorld(t, await database());
  const wanted = Math.min(9000, fileLimit() - 1000);
  assert.ok(wanted > 0);
  if (process.env["REQUIRE_REAL"] === "1") assert.equal(wanted, 9000, "raise the limit of open files (ulimit -n) to 10,000");
  const base = { sockets: sockets(), heap: heap() };
  // The clients are a process of their own: their memory is not ours.
  const clients = startChild(`
    import { connect } from "node:net";
    let open = 0, closed = 0;
    const one = () => new Promise((resolve) => {
      const socket = connect({ port: ${port}, host: "127.0.0.1" });
      socket.on("connect", () => { open += 1; resolve(); });
      socket.on("error", () => resolve());
      socket.on("close", () => { closed += 1; if (closed === ${wanted}) console.log("closed " + open); });
      socket.resume();
    });
    for (let at = 0; at < ${wanted}; at += 200) await Promise.all(Array.from({ length: Math.min(200, ${wanted} - at) }, one));
    console.log("open " + open);
  `);
  cleanUp(t, () => clients.kill());
  const watched = watchHealth(port);
  const lines = [await clients.line(), await clients.line()].toSorted();
  const { asked, failed } = await watched();
  assert.deepEqual(lines, [`closed ${wanted}`, `open ${wanted}`], "all came in, and all were dropped");
  assert.ok(asked > 0);
  assert.equal(failed, 0);
  await until(sockets, (now) => now <= base.sockets);
  await until(
    () => heap() - base.heap,
    (grown) => grown < 16 * MiB,
  );
});
