import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { faultProxy, type NetworkFailure } from "#testing/fault-proxy.ts";
import { rawExchange, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();

const rowsOf = (urls: readonly string[], more = "", row = "", well = urls[0]): string => `version: 1
services:
  well: { base_urls: ["${well}"], audience: "https://well.example" }
  far: { base_urls: ${JSON.stringify(urls)}, audience: "https://far.example"${more} }
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: far, path: /far/*, target_service: far, upstream_path: "/{path}", methods: [GET, POST, PUT, DELETE], auth: none, authz: none, timeouts: { connect_ms: 1000, headers_ms: 700, idle_ms: 700, total_ms: 2500 }${row} }
  - { id: calm, path: /calm/*, target_service: far, upstream_path: "/{path}", methods: [GET, POST], auth: none, authz: none }
  - { id: bearer, path: /bearer/*, target_service: far, upstream_path: "/{path}", methods: [GET], auth: bearer, authz: none }
  - { id: idempotent, path: /idempotent/*, target_service: far, upstream_path: "/{path}", methods: [PUT], auth: none, authz: none, retry: idempotent }
  - { id: never, path: /never/*, target_service: far, upstream_path: "/{path}", methods: [GET], auth: none, authz: none, retry: never }
  - { id: well, path: /well/*, target_service: well, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
  - { id: near, path: /near/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none }
`;

const post = { method: "POST", headers: { "content-type": "application/json", "content-length": "2" }, body: "{}" } as const;

const setUp = async (t: TestContext, urls: readonly string[], more = "", row = "", well?: string) => {
  const made = await testGateway(t, {
    database: await database(),
    routes: rowsOf(urls, more, row, well),
    peers: { crud: async () => Response.json({}) },
  });
  const outcome = async (path: string, init?: RequestInit): Promise<string> => {
    const response = await made.fetch(path, init);
    const body = (await response.json().catch(() => ({ code: "cut" }))) as { code?: string; name?: string };
    return response.status === 200 ? (body.code ?? body.name ?? "200") : `${response.status} ${body.code}`;
  };
  return { made, outcome };
};

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".length;
const faults: readonly (readonly [what: string, fault: NetworkFailure, get: string, post: string])[] = [
  ["hangs", { kind: "hang" }, "504 upstream_timeout", "504 upstream_timeout"],
  ["resets", { kind: "reset" }, "502 upstream_error", "502 upstream_outcome_unknown"],
  ["closes without a word", { kind: "half_close" }, "502 upstream_error", "502 upstream_outcome_unknown"],
  ["talks nonsense", { kind: "garbage", text: "HELLO\r\n\r\n" }, "502 upstream_bad_response", "502 upstream_bad_response"],
  [
    "sends a head without end",
    { kind: "garbage", text: `HTTP/1.1 200 OK\r\nx: ${"y".repeat(40_000)}` },
    "502 upstream_bad_response",
    "502 upstream_bad_response",
  ],
  [
    "says two lengths",
    { kind: "garbage", text: "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}" },
    "502 upstream_bad_response",
    "502 upstream_bad_response",
  ],
  ["ends inside its head", { kind: "truncate", bytes: head, how: "end" }, "502 upstream_error", "502 upstream_outcome_unknown"],
  ["is reset inside its head", { kind: "truncate", bytes: head, how: "reset" }, "502 upstream_error", "502 upstream_outcome_unknown"],
  ["ends inside its body", { kind: "truncate", bytes: 190, how: "end" }, "cut", "cut"],
  ["is reset inside its body", { kind: "truncate", bytes: 190, how: "reset" }, "cut", "cut"],
  ["drips its head", { kind: "drip", everyMs: 20 }, "504 upstream_timeout", "504 upstream_timeout"],
];
/** Only what is about time-outs has short ones: another fault is told as itself however slow the machine is. */
const pathOf = (reported: string): string => (reported.startsWith("504") ? "/far/a" : "/calm/a");

for (const [what, fault, get, wanted] of faults)
  test(`an upstream that ${what} is told by its code, hurts no other service, and serves again by itself`, async (t) => {
    const path = pathOf(get);
    const upstream = await serverUpstream(t);
    upstream.answer = (_request, response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end(`{"name":"${"x".repeat(300)}"}`);
    const proxy = await faultProxy(t, upstream.url);
    const { outcome } = await setUp(t, [proxy.url]);
    const well = "x".repeat(300);
    assert.equal(await outcome(path), well);
    proxy.fault = fault;
    assert.equal(await outcome(path), get);
    assert.equal(await outcome(path, post), wanted);
    assert.equal(await outcome("/near/a"), "200");
    proxy.fault = { kind: "pass" };
    assert.equal(await outcome(path, post), well);
    assert.equal(await outcome(path), well);
  });

for (const [what, fault, get, wanted] of faults)
  test(`under load, an upstream that ${what} costs nobody else an answer`, async (t) => {
    const path = pathOf(get);
    const [far, well] = [await serverUpstream(t), await serverUpstream(t, "well")];
    far.answer = (_request, response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end(`{"name":"${"x".repeat(300)}"}`);
    const proxy = await faultProxy(t, far.url);
    const { made, outcome } = await setUp(t, [proxy.url], "", "", well.url);
    const said = new Map<string, number>();
    let isRunning = true;
    t.after(() => (isRunning = false));
    const work = async (): Promise<void> => {
      while (isRunning) {
        const result = await outcome("/well/a");
        said.set(result, (said.get(result) ?? 0) + 1);
      }
    };
    const workers = Promise.all(Array.from({ length: 20 }, work));
    const served = () => said.get("well") ?? 0;
    const serveMore = async (count: number): Promise<void> => {
      const before = served();
      await until(() => served() >= before + count);
    };
    await serveMore(100);
    assert.equal(await outcome(path), "x".repeat(300));
    proxy.fault = fault;
    // Fewer than open the breaker: each is told what befell it.
    const faulty = Promise.all([
      ...Array.from({ length: 4 }, () => outcome(path)),
      ...Array.from({ length: 4 }, () => outcome(path, post)),
    ]);
    const [results] = await Promise.all([faulty, serveMore(200)]);
    assert.deepEqual(results, [...Array.from({ length: 4 }, () => get), ...Array.from({ length: 4 }, () => wanted)]);
    proxy.fault = { kind: "pass" };
    assert.equal(await outcome(path, post), "x".repeat(300), "by itself, at once");
    await serveMore(100);
    isRunning = false;
    await workers;
    assert.deepEqual([...said.keys()], ["well"], JSON.stringify([...said]));
    assert.equal(await made.counted("circuit_breaks_total", { service: "far" }), 0);
  });

test("a body cut by the upstream looks cut to a client on the wire, whether it had a length or not", async (t) => {
  const upstream = await serverUpstream(t);
  const proxy = await faultProxy(t, upstream.url);
  const { made } = await setUp(t, [proxy.url]);
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  for (const [headers, whole] of [
    [{ "content-length": "5000" }, /content-length: 5000/],
    [{}, /transfer-encoding: chunked/i],
  ] as const)
    for (const how of ["end", "reset"] as const) {
      upstream.answer = (_request, response) => void response.writeHead(200, headers).end("z".repeat(5000));
      proxy.fault = { kind: "truncate", bytes: 2000, how };
      const { text, closed } = await rawExchange(port, "GET /far/x HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", 2);
      assert.ok(closed, how);
      assert.match(text, whole);
      assert.ok(text.includes("zzzz") && !text.endsWith("0\r\n\r\n"), how);
    }
});

test("one of two instances dies under load: no GET fails, and of the POSTs only those under way, as 502", async (t) => {
  const [a, b] = [await serverUpstream(t, "a"), await serverUpstream(t, "b")];
  for (const [upstream, name] of [
    [a, "a"],
    [b, "b"],
  ] as const)
    upstream.answer = (_request, response) =>
      void setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ name })), 5);
  const proxy = await faultProxy(t, a.url);
  const { made, outcome } = await setUp(t, [proxy.url, b.url]);
  const results = { GET: new Map<string, number>(), POST: new Map<string, number>() };
  let isRunning = true;
  const work = async (method: "GET" | "POST"): Promise<void> => {
    while (isRunning) {
      const result = await outcome("/calm/x", method === "GET" ? undefined : post);
      results[method].set(result, (results[method].get(result) ?? 0) + 1);
    }
  };
  const workers = [...Array.from({ length: 12 }, () => work("GET")), ...Array.from({ length: 6 }, () => work("POST"))];
  const served = (name: string) => (results.GET.get(name) ?? 0) + (results.POST.get(name) ?? 0);
  await until(() => served("a") > 50 && served("b") > 50);
  await proxy.die();
  const before = served("b");
  await until(() => served("b") > before + 200);
  await proxy.revive();
  const dead = served("a");
  // It rests for 5 s; then it is asked again, by itself.
  await until(() => served("a") > dead + 20);
  isRunning = false;
  await Promise.all(workers);
  assert.deepEqual(new Set(results.GET.keys()), new Set(["a", "b"]), JSON.stringify([...results.GET]));
  const failed = [...results.POST].filter(([result]) => result !== "a" && result !== "b");
  assert.ok(
    failed.every(([result]) => result === "502 upstream_outcome_unknown"),
    JSON.stringify(failed),
  );
  assert.ok(failed.reduce((sum, [, count]) => sum + count, 0) <= 6, JSON.stringify(failed));
  assert.equal(await made.counted("circuit_breaks_total", { service: "far" }), 0);
});

test("what was never sent is sent elsewhere, even a POST; what was is sent again only where twice is once", async (t) => {
  const [a, b] = [await serverUpstream(t, "a"), await serverUpstream(t, "b")];
  const proxy = await faultProxy(t, a.url);
  const unanswered = async (fault: NetworkFailure, path: string, init?: RequestInit) => {
    // A gateway of its own each time: nothing rests from before, and the first instance is asked first.
    const { outcome } = await setUp(t, [proxy.url, b.url]);
    proxy.fault = fault;
    const [taken, seen] = [proxy.taken(), b.seen.length];
    return [await outcome(path, init), proxy.taken() - taken, b.seen.length - seen];
  };
  const put = { ...post, method: "PUT" };
  const gateway: NetworkFailure = { kind: "garbage", text: "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n" };
  for (const fault of [{ kind: "reset" }, { kind: "half_close" }, gateway] as const) {
    assert.deepEqual(await unanswered(fault, "/far/x"), ["b", 1, 1]);
    assert.deepEqual(await unanswered(fault, "/idempotent/x", put), ["b", 1, 1]);
    assert.match(String((await unanswered(fault, "/far/x", post))[0]), /^50[23] /);
    assert.match(String((await unanswered(fault, "/never/x"))[0]), /^50[23] /);
  }
  // A byte of an answer came: never again.
  assert.deepEqual(await unanswered({ kind: "truncate", bytes: 9, how: "end" }, "/far/x"), ["502 upstream_error", 1, 0]);
  await proxy.die();
  assert.deepEqual(await unanswered({ kind: "pass" }, "/far/x", post), ["b", 0, 1]);
  assert.equal((await unanswered({ kind: "pass" }, "/never/x"))[0], "503 upstream_unavailable");
  const big = {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": "70002" },
    body: `"${"x".repeat(70_000)}"`,
  };
  assert.equal((await unanswered({ kind: "pass" }, "/far/x", big))[0], "503 upstream_unavailable", "a body that is passed on is gone");
});

test("a second attempt is told what is left of the time, not what the first one had", async (t) => {
  const [a, b] = [await serverUpstream(t, "a"), await serverUpstream(t, "b")];
  const HELD_MS = 120;
  a.answer = (_request, response) => void setTimeout(() => response.writeHead(503).end(), HELD_MS);
  const { made, outcome } = await setUp(t, [a.url, b.url]);
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  for (const [path, max, headers] of [
    ["/calm/x", 60_000, {}],
    ["/bearer/x", 12_000, { authorization: `Bearer ${token}`, "x-deadline-ms": "12000" }],
  ] as const) {
    [a.seen.length, b.seen.length] = [0, 0];
    assert.equal(await outcome(path, { headers }), "b");
    const [first, second] = [a, b].map(({ seen }) => seen.map((one) => Number(one.headers["x-deadline-ms"])));
    assert.deepEqual([first?.length, second?.length], [1, 1]);
    const [before, after] = [first?.[0] ?? 0, second?.[0] ?? 0];
    assert.ok(before <= max, `${before} of ${max}`);
    // It may have had less: a timer never ends early by more than the millisecond that it counts in.
    assert.ok(after >= 1 && after <= before - HELD_MS + 2, `${after} after ${before}`);
  }
});

test("requests go where fewest are under way", async (t) => {
  const [a, b] = [await serverUpstream(t, "a"), await serverUpstream(t, "b")];
  const held: (() => void)[] = [];
  a.answer = (_request, response) => void held.push(() => response.writeHead(200).end('{"name":"a"}'));
  const { outcome } = await setUp(t, [a.url, b.url]);
  const slow = outcome("/far/slow");
  await until(() => held.length === 1);
  assert.deepEqual([await outcome("/far/1"), await outcome("/far/2"), await outcome("/far/3")], ["b", "b", "b"]);
  held[0]?.();
  assert.equal(await slow, "a");
});

test("beyond its places requests wait, at most a second; beyond the queue they are refused at once", async (t) => {
  const upstream = await serverUpstream(t);
  const held: (() => void)[] = [];
  upstream.answer = (_request, response) => void held.push(() => response.writeHead(200).end('{"name":"u"}'));
  const { made, outcome } = await setUp(t, [upstream.url], ", pool: 1, queue: 2");
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  const send = (path: string) => outcome(`/bearer/${path}`, { headers: { authorization: `Bearer ${token}` } });
  const first = send("1");
  await until(() => held.length === 1);
  // The order of arrival is the order of service.
  let refused = "";
  const waiting = [send("2"), send("3"), send("4")];
  for (const [index, one] of waiting.entries()) void one.then((result) => (refused ||= `${index} ${result}`));
  await until(() => refused !== "");
  assert.equal(refused, "2 503 upstream_unavailable");
  held.shift()?.();
  assert.equal(await first, "u");
  await until(() => held.length === 1);
  assert.equal(await waiting[1], "503 upstream_unavailable", "no place in a second");
  held.shift()?.();
  assert.equal(await waiting[0], "u");
  assert.equal(upstream.seen.length, 2);
  const next = send("5");
  await until(() => held.length === 1);
  held.shift()?.();
  assert.equal(await next, "u");
});

test("a breaker opens at half of twenty calls failed, refuses at once, tries one after its rest, and closes", async (t) => {
  const upstream = await serverUpstream(t);
  const proxy = await faultProxy(t, upstream.url);
  const { made, outcome } = await setUp(t, [proxy.url]);
  const state = () => made.counted("circuit_breaker_status", { service: "far" });
  assert.match(await made.metrics.text(), /circuit_breaker_status\{service="far"\} 0\n/);
  for (let call = 0; call < 10; call++) assert.equal(await outcome("/far/a"), "U");
  proxy.fault = { kind: "reset" };
  for (let call = 0; call < 9; call++) assert.equal(await outcome("/far/a", post), "502 upstream_outcome_unknown");
  assert.equal(await state(), 0);
  assert.equal(await outcome("/far/a", post), "502 upstream_outcome_unknown");
  assert.equal(await state(), 2);
  assert.equal(await made.counted("circuit_breaks_total", { service: "far" }), 1);
  const taken = proxy.taken();
  const refused = await made.fetch("/far/a");
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  assert.equal(proxy.taken(), taken, "nobody is asked");
  assert.equal(await outcome("/near/a"), "200");
  proxy.fault = { kind: "pass" };
  await until(async () => (await outcome("/far/a")) === "U");
  assert.equal(await state(), 0);
});

test("neither a hurried caller, nor one who leaves, nor one who sends slowly opens a breaker for the others", async (t) => {
  const upstream = await serverUpstream(t);
  const proxy = await faultProxy(t, upstream.url);
  const { made, outcome } = await setUp(t, [proxy.url]);
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  proxy.fault = { kind: "hang" };
  for (let call = 0; call < 30; call++) {
    const hurry = { authorization: `Bearer ${token}`, "x-deadline-ms": "1" };
    assert.equal(await outcome("/bearer/a", { headers: hurry }), "504 upstream_timeout");
  }
  for (let call = 0; call < 30; call++) {
    const leave = new AbortController();
    const left = made.fetch("/far/a", { signal: leave.signal });
    setTimeout(() => leave.abort(), 3);
    await left.catch(() => {});
  }
  proxy.fault = { kind: "pass" };
  // Longer than the time for the head: that clock stands while the client sends.
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.enqueue(new TextEncoder().encode("1"));
      if (++sent === 20) controller.close();
    },
  });
  assert.equal(
    await outcome("/far/a", { method: "POST", headers: { "content-type": "application/json" }, body, duplex: "half" } as RequestInit),
    "U",
  );
  assert.equal(upstream.seen.at(-1)?.body, "1".repeat(20));
  assert.equal(await made.counted("circuit_breaks_total", { service: "far" }), 0);
});

test("a service of Sallyport that takes long for one tenant is asked for the others all the same", async (t) => {
  const crud = async (request: Request): Promise<Response> => {
    if (request.url.endsWith("/slow")) await new Promise((resolve) => request.signal.addEventListener("abort", resolve, { once: true }));
    return Response.json({});
  };
  const made = await testGateway(t, {
    database: await database(),
    routes: rowsOf(["http://127.0.0.1:9"]).replace("target_service: crud,", "target_service: crud, timeouts: { headers_ms: 50 },"),
    peers: { crud },
  });
  for (let call = 0; call < 30; call++) assert.equal((await made.fetch("/near/slow")).status, 504);
  assert.equal((await made.fetch("/near/a")).status, 200);
  assert.equal(await made.counted("circuit_breaks_total", { service: "crud" }), 0);
});
