import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { createSseParser, sseHeaders } from "#http/sse.ts";
import type { RefreshOutcome } from "#authn/provider/oidc-client.ts";
import { absentProvider, decidingPeer, sharedDatabase, testGateway, type Seen, type TestGatewayOptions } from "#testing/gateway.ts";

const database = sharedDatabase();

interface Source {
  send(text: string | Uint8Array): void;
  end(): void;
  readonly cancelled: Promise<void>;
  readonly seen: Seen;
}

/** A tool service whose streams are in the test's hands. */
const streamingPeer = () => {
  const open: Source[] = [];
  const peer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    if (url.pathname === "/health") return Response.json({ status: "ok" });
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given), cancel: () => resolve() });
    const bytes = new TextEncoder();
    open.push({
      send: (text) => controller.enqueue(typeof text === "string" ? bytes.encode(text) : text),
      end: () => controller.close(),
      cancelled,
      seen: { method: request.method, path: url.pathname, query: url.search, headers: request.headers, body: "" },
    });
    return new Response(body, { headers: sseHeaders });
  };
  return { peer, open };
};

interface Received {
  readonly events: { readonly event: string; readonly data: string; readonly id: string }[];
  readonly text: () => string;
  readonly ended: Promise<void>;
  until(wanted: (received: Received) => boolean): Promise<void>;
}

const listen = (response: Response): Received => {
  const parser = createSseParser();
  const events: Received["events"][number][] = [];
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString("utf8");
      for (const part of parser.push(chunk))
        if (part.kind === "message") events.push({ event: part.event, data: part.data, id: part.lastEventId });
    }
  };
  const ended = read().catch(() => undefined);
  const received: Received = {
    events,
    text: () => text,
    ended,
    until: async (wanted) => {
      for (let tries = 0; tries < 300 && !wanted(received); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
      assert.ok(wanted(received), `heard in time, of ${JSON.stringify(events)}`);
    },
  };
  return received;
};

const byeOf = (received: Received): string | undefined => {
  const last = received.events.at(-1);
  return last?.event === "bye" ? (JSON.parse(last.data) as { reason: string }).reason : undefined;
};

const world = async (t: TestContext, settings: Readonly<Record<string, string>> = {}, parts: TestGatewayOptions["parts"] = {}) => {
  const crud = streamingPeer();
  const may = { streams: true as boolean | string };
  const pdp = decidingPeer(() => may.streams);
  const made = await testGateway(t, { database: await database(), peers: { crud: crud.peer, pdp: pdp.peer }, settings, parts });
  return { crud, may, pdp, made };
};

test("frames come through one by one with their ids, after the time to come back", async (t) => {
  const { crud, made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const response = await made.fetch("/api/v1/events/config?kind=tools", { headers: { ...cookie, accept: "text/event-stream" } });
  assert.deepEqual(
    [
      response.status,
      response.headers.get("content-type"),
      response.headers.get("cache-control"),
      response.headers.get("x-accel-buffering"),
    ],
    [200, "text/event-stream", "private, no-cache, no-transform", "no"],
  );
  const received = listen(response);
  await received.until(({ text }) => text().startsWith("retry: 3000\n\n"));
  const [source] = crud.open;
  assert.deepEqual(
    [source?.seen.path, source?.seen.query, source?.seen.headers.get("accept")],
    ["/events/config", "?kind=tools", "text/event-stream"],
  );
  assert.match(source?.seen.headers.get("authorization") ?? "", /^Bearer /);
  source?.send('event: hello\ndata: {"type":"hello"}\n\nid: 7\nevent: tools\ndata: {"a":1}\n\n');
  await received.until(({ events }) => events.length === 2);
  assert.deepEqual(received.events, [
    { event: "hello", data: '{"type":"hello"}', id: "" },
    { event: "tools", data: '{"a":1}', id: "7" },
  ]);
  source?.end();
  await received.ended;
  assert.equal(byeOf(received), "upstream");
});

test("the resume point goes on: the header wins over the query, and neither is trusted unseen", async (t) => {
  const { crud, made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const open = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await made.fetch(path, { headers: { ...cookie, ...headers } });
    if (response.status === 200) void response.body?.cancel();
    else await response.text();
    return response.status;
  };
  assert.equal(await open("/api/v1/events/config?last_event_id=41&kind=tools"), 200);
  assert.equal(await open("/events/config?last_event_id=41", { "last-event-id": "42" }), 200);
  assert.equal(await open("/api/v1/events/config", { "last-event-id": "" }), 200);
  assert.deepEqual(
    crud.open.map(({ seen }) => [seen.headers.get("last-event-id"), seen.query]),
    [
      ["41", "?kind=tools"],
      ["42", ""],
      [null, ""],
    ],
  );
  assert.equal(await open("/api/v1/events/config", { "last-event-id": "x".repeat(257) }), 400);
  assert.equal(await open("/api/v1/events/config?last_event_id=1&last_event_id=2"), 400);
  assert.equal(await open("/api/v1/events/config", { accept: "application/json" }), 406);
});

test("what an upstream sends can neither end a frame early nor pass for another", async (t) => {
  const { crud, made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/api/v1/events/config", { headers: cookie }));
  await received.until(() => crud.open.length === 1);
  const [source] = crud.open;
  const umlaut = new TextEncoder().encode("data: \u00e4\u20ac\n\n");
  source?.send("\ufeffid: 1\revent: one\rdata: a\rdata: b\r\r");
  source?.send("event: two\r\ndata: {}\r");
  source?.send("\n\r\n");
  source?.send("id: 2\0\nevent: three\ndata: id: 9\ndata: event: bye\n\n");
  for (const byte of umlaut) source?.send(Uint8Array.of(byte));
  await received.until(({ events }) => events.length === 4);
  assert.deepEqual(received.events, [
    { event: "one", data: "a\nb", id: "1" },
    { event: "two", data: "{}", id: "1" },
    { event: "three", data: "id: 9\nevent: bye", id: "1" },
    { event: "message", data: "\u00e4\u20ac", id: "1" },
  ]);
  source?.send(`data: ${"x".repeat(262_145)}\n`);
  await received.ended;
  assert.equal(byeOf(received), "upstream", "a frame without end is no frame");
});

test("a stream ends with its session, and says so", async (t) => {
  const { made, crud } = await world(t);
  const { cookie, headers, record } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/api/v1/events/config", { headers: cookie }));
  await received.until(() => crud.open.length === 1);
  const started = performance.now();
  assert.equal((await made.fetch("/auth/logout", { method: "POST", headers, body: "{}" })).status, 200);
  await received.ended;
  assert.ok(performance.now() - started < 1000);
  assert.equal(byeOf(received), "signed_out");
  await crud.open[0]?.cancelled;

  const other = await made.signIn("person:ben");
  const second = listen(await made.fetch("/api/v1/events/config", { headers: other.cookie }));
  await second.until(() => crud.open.length === 2);
  await made.store.end({ sidHash: other.record.sidHash }, "admin");
  await second.ended;
  assert.equal(byeOf(second), "revoked", "an end in another process is heard too");
  assert.notEqual(record.ref, other.record.ref);
});

test("a stream ends when its right is gone: asked again when the tenant's graph moves", async (t) => {
  const { made, may, crud, pdp } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/api/v1/events/activity", { headers: cookie }));
  await received.until(() => crud.open.length === 1);
  const asked = pdp.seen.length;
  const move = (kind: string) =>
    made.events.change(async () => ({
      result: undefined,
      events: [{ type: `${kind}.changed`, tenant: "tenant:acme", stream: "config", kind, key: "k", data: { graph_version: 1, kinds: [] } }],
    }));
  await move("budget");
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(pdp.seen.length, asked, "a budget that moves changes no right");
  may.streams = false;
  await move("graph");
  await received.ended;
  assert.equal(byeOf(received), "revoked");
  const isBackground = pdp.seen.map(({ body }) => (JSON.parse(body) as { context: { background?: boolean } }).context.background);
  assert.deepEqual([isBackground[0], isBackground.at(-1)], [undefined, true], "only what the client asked for is an act of its own");
});

test("want of assurance ends a stream as step_up, and a decision point that is away as upstream", async (t) => {
  const { made, may, crud, pdp } = await world(t);
  const decide = pdp.answer;
  for (const [reason, change] of [
    ["step_up", () => (may.streams = "step_up_required")],
    ["upstream", () => (pdp.answer = () => new Response("{}", { status: 500 }))],
  ] as const) {
    may.streams = true;
    pdp.answer = decide;
    const { cookie } = await made.signIn("person:ben");
    const before = crud.open.length;
    const received = listen(await made.fetch("/api/v1/events/config", { headers: cookie }));
    await received.until(() => crud.open.length === before + 1);
    change();
    await made.events.change(async () => ({
      result: undefined,
      events: [{ type: "policy.changed", tenant: "tenant:acme", stream: "config", kind: "policy", key: "k", data: {} }],
    }));
    await received.ended;
    assert.equal(byeOf(received), reason);
  }
});

test("without the right there is no stream, and without a session neither", async (t) => {
  const { made, may, crud } = await world(t);
  may.streams = false;
  const { cookie } = await made.signIn("person:dan");
  const refused = await made.fetch("/api/v1/events/activity", { headers: cookie });
  const body = (await refused.json()) as { code: string; decision_id: string };
  assert.deepEqual([refused.status, body.code, typeof body.decision_id], [403, "access_denied", "string"]);
  assert.equal((await made.fetch("/api/v1/events/activity")).status, 401);
  assert.deepEqual(crud.open, []);
});

test("a session holds three streams, and a place that is left is free again", async (t) => {
  const { made, crud } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const open = () => made.fetch("/api/v1/events/config", { headers: cookie });
  const responses = [await open(), await open(), await open()];
  const fourth = await open();
  assert.deepEqual(
    [fourth.status, ((await fourth.json()) as { code: string }).code, fourth.headers.get("retry-after")],
    [429, "too_many_streams", "5"],
  );
  assert.equal(
    (await made.fetch("/api/v1/events/config", { headers: (await made.signIn("person:eve")).cookie })).status,
    200,
    "another session's places are its own",
  );
  await responses[0]?.body?.cancel();
  await crud.open[0]?.cancelled;
  assert.equal((await open()).status, 200);
});

test("an upstream that falls silent, or refuses, is said", async (t) => {
  const { made, crud } = await world(t, { CONFIG_EVENTS_TIMEOUT: "1" });
  const { cookie } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/api/v1/events/config", { headers: cookie }));
  await received.until(() => crud.open.length === 1);
  const keep = setTimeout(() => {}, 3000);
  await received.ended;
  clearTimeout(keep);
  assert.equal(byeOf(received), "upstream");
  const refusing = await testGateway(t, {
    database: await database(),
    peers: { crud: async () => Response.json({ code: "store_unavailable" }, { status: 503, headers: { "retry-after": "5" } }) },
  });
  const ben = await refusing.signIn("person:ben");
  const answer = await refusing.fetch("/api/v1/events/config", { headers: ben.cookie });
  assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [503, "store_unavailable"]);
});

test("a reader that does not read is given up, and the upstream is let go", async (t) => {
  const { made, crud } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const response = await made.fetch("/api/v1/events/config", { headers: cookie });
  const [source] = crud.open;
  source?.send('id: 41\nevent: hello\ndata: {"type":"hello"}\n\n');
  for (let index = 42; index < 442; index++) source?.send(`id: ${index}\nevent: tools\ndata: ${"x".repeat(1000)}\n\n`);
  await source?.cancelled;
  const received = listen(response);
  await received.ended;
  assert.equal(byeOf(received), "slow");
  // What it never got is not taken for read: it comes back to the last frame that it has, here to where it began.
  const got = received.events.filter(({ event }) => event === "tools");
  assert.equal(received.events.at(-1)?.id, got.at(-1)?.id ?? "41");
  assert.ok(received.events.length <= 258, `${received.events.length} frames were kept`);
});

test("a burst that a reader keeps up with is no slowness, however large the pieces it comes in", async (t) => {
  const { made, crud } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/api/v1/events/config", { headers: cookie }));
  await received.until(() => crud.open.length === 1);
  const frames = Array.from({ length: 10_000 }, (_, index) => `id: ${index + 1}\nevent: tools\ndata: ${"x".repeat(200)}\n\n`);
  crud.open[0]?.send(frames.join(""));
  await received.until(({ events }) => events.length === 10_000);
  assert.deepEqual(
    received.events.map(({ id }) => Number(id)),
    frames.map((_, index) => index + 1),
  );
});

test("each kind of stream has its own patience with a silent upstream", async (t) => {
  const rows = ["workflow", "config"].map(
    (name) =>
      `  - { id: s.${name}, path: /s/${name}, target_service: crud, upstream_path: /events/${name}, methods: [GET], auth: session, authz: none, streaming: true }`,
  );
  const table = [
    "version: 1",
    'services: { crud: { base_urls: ["${CRUD_SERVICE_URL}"], audience: "${CRUD_AUDIENCE}" } }',
    "routes:",
    ...rows,
    "  - { id: s.configs, path: /s/configs, target_service: crud, upstream_path: /configs/stream, methods: [GET], auth: session, authz: none, streaming: true }",
  ].join("\n");
  const paths = { workflow: "WORKFLOW_EVENTS_TIMEOUT", config: "CONFIG_EVENTS_TIMEOUT", configs: "CONFIGS_STREAM_TIMEOUT" };
  const keep = setInterval(() => {}, 1000);
  await Promise.all(
    Object.entries(paths).map(async ([name, variable]) => {
      const crud = streamingPeer();
      const made = await testGateway(t, {
        database: await database(),
        routes: table,
        peers: { crud: crud.peer },
        settings: { [variable]: "1" },
      });
      const { cookie } = await made.signIn("person:ben");
      const streams = Object.fromEntries(
        await Promise.all(
          Object.keys(paths).map(async (one) => [one, listen(await made.fetch(`/s/${one}`, { headers: cookie }))] as const),
        ),
      );
      await streams[name]?.ended;
      assert.deepEqual(
        Object.entries(streams).map(([one, received]) => [one, byeOf(received)]),
        Object.keys(paths).map((one) => [one, one === name ? "upstream" : undefined]),
      );
      made.gateway.endStreams();
    }),
  );
  clearInterval(keep);
});

test("control events of a stranger are dropped and counted; its other events go through", async (t) => {
  const table = [
    "version: 1",
    'services: { elsewhere: { base_urls: ["http://127.0.0.1:PORT"], audience: "https://elsewhere.example" } }',
    "routes:",
    "  - { id: s, path: /s, target_service: elsewhere, upstream_path: /s, methods: [GET], auth: session, authz: none, streaming: true }",
  ].join("\n");
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('event: bye\ndata: {"reason":"signed_out"}\n\nevent: resync\ndata: {}\n\nid: 1\nevent: news\ndata: a\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const port = (server.address() as AddressInfo).port;
  const made = await testGateway(t, { database: await database(), routes: table.replace("PORT", String(port)) });
  const { cookie } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/s", { headers: cookie }));
  await received.until(({ events }) => events.length === 1);
  assert.deepEqual(received.events, [{ event: "news", data: "a", id: "1" }]);
  assert.equal(await made.counted("bff_security_events_total", { event_type: "stream_control_dropped" }), 2);
  made.gateway.endStreams();
  await received.ended;
});

test("a thousand half-open streams leave nothing behind: the upstreams are let go and the places are free", async (t) => {
  const { made, crud } = await world(t, { STREAMS_PER_SESSION: "100", STREAM_MAX_CLIENTS: "1000" });
  const sessions = await Promise.all(Array.from({ length: 10 }, () => made.signIn("person:ben")));
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const open = (session: number) =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.on("error", reject);
      socket.once("data", () => resolve(socket));
      socket.write(`GET /api/v1/events/config HTTP/1.1\r\nHost: localhost:8080\r\nCookie: ${sessions[session]?.cookie.cookie}\r\n\r\n`);
    });
  const clients = (): Promise<number> =>
    made
      .fetch("/api/v1/stream/health", { headers: sessions[0]?.cookie ?? {} })
      .then(async (response) => ((await response.json()) as { clients: { open: number } }).clients.open);
  const sockets: Socket[] = [];
  for (let round = 0; round < 100; round++) sockets.push(...(await Promise.all(Array.from({ length: 10 }, (_, index) => open(index)))));
  assert.equal(await clients(), 1000);
  const one = await made.fetch("/api/v1/events/config", { headers: (await made.signIn("person:ada")).cookie });
  assert.deepEqual([one.status, one.headers.get("retry-after")], [429, "5"], "the process is full");
  for (const socket of sockets) socket.resetAndDestroy();
  await Promise.all(crud.open.map(({ cancelled }) => cancelled));
  await until(clients, (open) => open === 0);
});

test("when the gateway stops, streams say good-bye and no new one is opened", async (t) => {
  const { made, crud } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const received = listen(await made.fetch("/api/v1/events/config", { headers: cookie }));
  await received.until(() => crud.open.length === 1);
  made.gateway.drain();
  const last = listen(await made.fetch("/api/v1/events/activity", { headers: cookie }));
  await last.until(() => crud.open.length === 2);
  made.gateway.endStreams();
  await Promise.all([received.ended, last.ended]);
  assert.deepEqual([byeOf(received), byeOf(last)], ["drain", "drain"]);
  assert.equal((await made.fetch("/api/v1/events/config", { headers: cookie })).status, 503);
  assert.deepEqual(await made.gateway.ready(), ["draining"]);
  assert.equal((await made.fetch("/api/v1/health/ready")).status, 503);
});

test("the health of streams says what is true of the caller's own tenant", async (t) => {
  const { made } = await world(t);
  const { cookie } = await made.signIn("person:ben");
  const response = await made.fetch("/api/v1/stream/health", { headers: cookie });
  const body = (await response.json()) as { status: string; upstreams: unknown; clients: unknown; streams: { name: string }[] };
  assert.deepEqual([response.status, body.status, body.upstreams], [200, "healthy", { crud: "up" }]);
  assert.deepEqual(
    body.streams.map((stream) => stream.name),
    ["config", "workflow", "activity"],
  );
  const received = listen(await made.fetch("/api/v1/stream/health", { headers: { ...cookie, accept: "text/event-stream" } }));
  await received.until(({ events }) => events.length === 1);
  assert.equal((JSON.parse(received.events[0]?.data ?? "") as { status: string }).status, "healthy");
  made.gateway.endStreams();
  await received.ended;
  assert.equal(byeOf(received), "drain");
});

for (const path of ["/api/v1/events/config", "/api/v1/stream/health"])
  test(`a session that ends while ${path} is decided gets no stream, and holds no place`, async (t) => {
    const { crud, pdp, made } = await world(t, { STREAMS_PER_SESSION: "1" });
    const { cookie, headers, record } = await made.signIn("person:ben");
    const answer = pdp.answer;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    pdp.answer = async (request) => {
      await ended;
      return answer(request);
    };
    const open = (who: Readonly<Record<string, string>>) => made.fetch(path, { headers: { ...who, accept: "text/event-stream" } });
    const asked = open(cookie);
    await until(() => pdp.seen.length > 0);
    assert.equal((await made.fetch("/auth/logout", { method: "POST", headers, body: "{}" })).status, 200);
    end();
    const refused = await asked;
    assert.deepEqual(
      [refused.status, ((await refused.json()) as { code: string }).code, refused.headers.get("www-authenticate")],
      [401, "unauthenticated", "Cookie"],
    );
    assert.match(refused.headers.get("set-cookie") ?? "", /Max-Age=0/, "its cookie is cleared");
    assert.equal(crud.open.length, 0, "nobody was asked for frames");
    await made.store.create(record);
    const again = await open(cookie);
    assert.equal(again.status, 200, "its one place is free");
    await again.body?.cancel();
  });

test("an upstream is asked for frames in the clear, and what it has encoded all the same is no stream", async (t) => {
  const seen: (string | null)[] = [];
  const encodings: readonly (readonly [coding: string | undefined, status: number])[] = [
    [undefined, 200],
    ["identity", 200],
    ["gzip", 502],
    ["br", 502],
  ];
  let coding: string | undefined;
  const made = await testGateway(t, {
    database: await database(),
    peers: {
      crud: async (request) => {
        seen.push(request.headers.get("accept-encoding"));
        return new Response("data: x\n\n", { headers: { ...sseHeaders, ...(coding === undefined ? {} : { "content-encoding": coding }) } });
      },
    },
  });
  const { cookie } = await made.signIn("person:ben");
  for (const [given, status] of encodings) {
    coding = given;
    const response = await made.fetch("/api/v1/events/config", { headers: { ...cookie, "accept-encoding": "gzip, br" } });
    assert.equal(response.status, status, String(given));
    await response.body?.cancel();
  }
  assert.deepEqual(new Set(seen), new Set(["identity"]));
});

test("a stream whose row a reload takes away or changes ends; of one that stays as it was nothing is noticed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "reload-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const routesFile = join(folder, "routes.yaml");
  const row = (id: string, action: string) =>
    `  - { id: ${id}, path: /${id}, target_service: crud, upstream_path: /events/config, methods: [GET], auth: session, authz: pdp, streaming: true, authz_map: { GET: { resource: streams, action: ${action} } } }\n`;
  const tableOf = (...rows: readonly string[]) =>
    writeFile(
      routesFile,
      `version: 1\nservices: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }\nroutes:\n${rows.join("")}`,
    );
  await tableOf(row("gone", "config"), row("changed", "config"), row("kept", "config"));
  const { made, crud } = await world(t, {}, { routesFile });
  const { cookie } = await made.signIn("person:ben");
  const open = async (id: string) => {
    const response = await made.fetch(`/${id}`, { headers: cookie });
    assert.equal(response.status, 200, id);
    const received = listen(response);
    await received.until(({ text }) => text().startsWith("retry: 3000\n\n"));
    return received;
  };
  const [gone, changed, kept] = [await open("gone"), await open("changed"), await open("kept")];
  await tableOf(row("added", "config"), row("gone", "config"), row("changed", "config"), row("kept", "config"));
  assert.deepEqual((await made.gateway.reload()).added, ["added"]);
  await tableOf(row("kept", "config"), row("changed", "activity"));
  const done = await made.gateway.reload();
  assert.deepEqual([done.changed, done.removed], [["changed"], ["added", "gone"]]);
  await Promise.all([gone.ended, changed.ended]);
  assert.deepEqual([byeOf(gone), byeOf(changed)], ["upstream", "upstream"]);
  crud.open[2]?.send("data: still\n\n");
  await kept.until(({ events }) => events.length > 0);
  assert.deepEqual(
    kept.events.map(({ data }) => data),
    ["still"],
  );
  assert.equal((await made.fetch("/gone", { headers: cookie })).status, 404);
  await open("changed");
});

const streamPaths = [
  "/api/v1/events/workflow",
  "/api/v1/events/config",
  "/api/v1/events/activity",
  "/api/v1/configs/stream",
  "/api/v1/stream/health",
] as const;

/** Two gateways on one database whose clock the test moves, and a provider in its hands. */
const replicas = async (t: TestContext) => {
  const clock = { at: new Date("2026-03-01T08:00:00Z").getTime() };
  const shared = { database: await database(), now: () => new Date(clock.at) };
  const provider = { asked: [] as string[], outcome: { kind: "denied" } as RefreshOutcome };
  const refresh = async (token: string) => (provider.asked.push(token), provider.outcome);
  const open = async (more: TestGatewayOptions = {}) => {
    const crud = streamingPeer();
    const parts = { oidc: absentProvider({ refresh }) };
    const settings = { STREAMS_PER_SESSION: "10", SESSION_IDLE_S: "1800" };
    return testGateway(t, { ...shared, peers: { crud: crud.peer }, settings, parts, ...more });
  };
  const one = await open();
  const other = await open({ identity: one.identity });
  /** What makes streams look again: the test's clock moves no timers. */
  const move = () =>
    one.events.change(async () => ({
      result: undefined,
      events: [
        { type: "graph.changed", tenant: "tenant:acme", stream: "config", kind: "graph", key: "k", data: { graph_version: 1, kinds: [] } },
      ],
    }));
  const expiring = { accessExpiresAt: new Date(clock.at + 300_000) };
  const accept = { accept: "text/event-stream" };
  const listenAt = async (at: typeof one, path: string, cookie: object) => {
    const response = await at.fetch(path, { headers: { ...cookie, ...accept } });
    assert.equal(response.status, 200, path);
    return listen(response);
  };
  return { clock, provider, one, other, move, expiring, listenAt, accept };
};

for (const [what, more, seconds, outcome, reason, after] of [
  ["whose refresh the provider refuses", { refreshToken: "r1" }, 301, { kind: "denied" }, "revoked", [401, 401]],
  ["whose token expires without a refresh token", {}, 301, { kind: "denied" }, "expired", [200, 401]],
  [
    "whose provider is away when its token has expired",
    { refreshToken: "r1" },
    301,
    { kind: "unsent", cause: "away" },
    "upstream",
    [503, 503],
  ],
  ["that was idle too long", {}, 1801, { kind: "denied" }, "expired", [401, 401]],
] as const)
  test(`every stream of a session ${what} ends on every replica as ${reason}`, async (t) => {
    const { clock, provider, one, other, move, expiring, listenAt, accept } = await replicas(t);
    provider.outcome = outcome;
    const { cookie } = await one.signIn("person:ben", { ...more, ...(seconds < 1000 ? expiring : {}) });
    const stays = await one.signIn("person:ben");
    const received = await Promise.all([one, other].flatMap((at) => streamPaths.map((path) => listenAt(at, path, cookie))));
    const kept = await listenAt(other, "/api/v1/events/config", stays.cookie);
    if (seconds > 1000) await one.store.touch(stays.record.sidHash, new Date(clock.at), new Date(clock.at + 3_600_000));
    clock.at += seconds * 1000;
    await move();
    await Promise.all(received.map(({ ended }) => ended));
    assert.deepEqual(
      received.map(byeOf),
      received.map(() => reason),
    );
    assert.equal(
      kept.events.some(({ event }) => event === "bye"),
      false,
      "another session of the same person",
    );
    const status = async (path: string) => (await other.fetch(path, { headers: { ...cookie, ...accept } })).status;
    assert.deepEqual([await status("/api/v1/sessions"), await status("/api/v1/events/config")], after);
  });

test("streams of a session whose token is refreshed go on, and are no use of it", async (t) => {
  const { clock, provider, one, other, move, expiring, listenAt } = await replicas(t);
  const { cookie, record } = await one.signIn("person:ben", { refreshToken: "r1", ...expiring });
  const received = await Promise.all([one, other].flatMap((at) => streamPaths.map((path) => listenAt(at, path, cookie))));
  clock.at += 301_000;
  provider.outcome = { kind: "tokens", tokens: { accessToken: "a2", refreshToken: "r2", accessExpiresAt: clock.at / 1000 + 300 } };
  await move();
  await until(
    () => one.store.read(record.sidHash),
    (read) => read?.tokenGeneration === 2,
  );
  assert.deepEqual(provider.asked, ["r1"], "once for all streams of all replicas");
  assert.equal((await one.store.read(record.sidHash))?.idleExpiresAt.getTime(), record.idleExpiresAt.getTime());
  assert.ok(received.every(({ events }) => events.every(({ event }) => event !== "bye")));
  await one.store.end({ sidHash: record.sidHash }, "backchannel");
  await Promise.all(received.map(({ ended }) => ended));
  assert.deepEqual(new Set(received.map(byeOf)), new Set(["signed_out"]));
});
