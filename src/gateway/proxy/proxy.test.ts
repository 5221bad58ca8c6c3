import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { connect, createServer as createRawServer, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { rawExchange, recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();

const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: star, path: /api/crud/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: none, authz: none, timeouts: { headers_ms: 900, idle_ms: 900, total_ms: 4000 } }
  - { id: kept, path: /api/kept/*, target_service: crud, preserve_path: true, methods: [GET], auth: none, authz: none }
  - { id: session, path: /api/s/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: session, authz: none }
  - { id: raw, path: /raw, target_service: crud, preserve_path: true, methods: [GET, POST], auth: bearer, authz: none, streaming: true }
`;

const codeOf = async (response: Response): Promise<[number, string | undefined]> => [
  response.status,
  ((await response.json()) as { code?: string }).code,
];

/** A real server as upstream, on a free port. */
const serverUpstream = async (t: TestContext, listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const behind = async (t: TestContext, url: string) =>
  testGateway(t, { database: await database(), routes, parts: { serviceUrls: { pdp: url, crud: url, membership: url, secrets: url } } });

test("an upstream that says nothing in time is 504, and is told that nobody waits", async (t) => {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: {
      crud: (request) => {
        request.signal.addEventListener("abort", () => resolve());
        return new Promise<Response>(() => {});
      },
    },
  });
  assert.deepEqual(await codeOf(await made.fetch("/api/crud/x")), [504, "upstream_timeout"]);
  await left;
});

test("a body that stops flowing is cut, never completed", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: {
      crud: async () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("half")) })),
    },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const { text, closed } = await rawExchange(port, "GET /api/crud/x HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", 2);
  assert.ok(closed);
  assert.match(text, /4\r\nhalf\r\n$/, "no last chunk");
});

test("an upstream that dies after its head cuts the client's connection", async (t) => {
  const url = await serverUpstream(t, (_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("half");
    setTimeout(() => response.destroy(), 30);
  });
  const made = await behind(t, url);
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const { text, closed } = await rawExchange(port, "GET /api/crud/x HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", 2);
  assert.ok(closed);
  assert.match(text, /content-length: 100\r\n[\s\S]*\r\n\r\nhalf$/);
});

test("faults of the connection have their codes: nothing was sent, or nobody knows what became of it", async (t) => {
  const closed = await serverUpstream(t, () => {});
  const dead = await behind(t, "http://127.0.0.1:1");
  assert.deepEqual(await codeOf(await dead.fetch("/api/crud/x")), [503, "upstream_unavailable"]);
  const resetting = await behind(t, await serverUpstream(t, (request) => request.socket.destroy()));
  assert.deepEqual(await codeOf(await resetting.fetch("/api/crud/x")), [502, "upstream_error"]);
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  assert.deepEqual(await codeOf(await resetting.fetch("/api/crud/x", post)), [502, "upstream_outcome_unknown"]);
  const tls = await behind(t, closed.replace("http:", "https:"));
  assert.deepEqual(await codeOf(await tls.fetch("/api/crud/x")), [502, "upstream_tls_failed"]);
  const nonsense = createRawServer((socket) => socket.on("error", () => {}).on("data", () => socket.end("HELLO\r\n\r\n")));
  await new Promise<void>((resolve) => nonsense.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => nonsense.close());
  const wrong = await behind(t, `http://127.0.0.1:${(nonsense.address() as AddressInfo).port}`);
  assert.deepEqual(await codeOf(await wrong.fetch("/api/crud/x")), [502, "upstream_bad_response"]);
});

test("when the client leaves, the upstream is let go within a second: before its head and after it", async (t) => {
  let heads = 0;
  const gone: Promise<void>[] = [];
  const url = await serverUpstream(t, (request, response) => {
    gone.push(new Promise((resolve) => request.socket.on("close", () => resolve())));
    if (heads++ === 1) response.writeHead(200).write("x");
  });
  const made = await testGateway(t, {
    database: await database(),
    routes: routes.replace("headers_ms: 900, idle_ms: 900", "headers_ms: 9000, idle_ms: 9000"),
    parts: { serviceUrls: { pdp: url, crud: url, membership: url, secrets: url } },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  for (let index = 0; index < 2; index++) {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.write("GET /api/crud/x HTTP/1.1\r\nHost: localhost:8080\r\n\r\n");
    while (gone.length <= index) await new Promise((resolve) => setTimeout(resolve, 10));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const started = performance.now();
    socket.destroy();
    await gone[index];
    assert.ok(performance.now() - started < 1000);
  }
});

test("a redirect is an answer: mapped back to the client's path, or refused when it leaves the upstream", async (t) => {
  const upstream = recordingPeer();
  const made = await testGateway(t, { database: await database(), routes, peers: { crud: upstream.peer } });
  const get = async (path: string, location: string) => {
    upstream.answer = () => new Response(null, { status: 303, headers: { location } });
    const response = await made.fetch(path);
    return response.status === 303 ? response.headers.get("location") : (await codeOf(response))[1];
  };
  assert.equal(await get("/api/crud/a", "/runs/7?x=1#y"), "/api/crud/runs/7?x=1#y");
  assert.equal(await get("/api/crud/a", "http://crud.internal/runs/7"), "/api/crud/runs/7");
  assert.equal(await get("/api/crud/a/b", "c"), "/api/crud/a/c");
  assert.equal(await get("/api/kept/a", "/api/kept/b"), "/api/kept/b");
  for (const foreign of ["http://169.254.169.254/latest", "//evil/x", "https://crud.internal/x", "javascript:alert(1)"])
    assert.equal(await get("/api/crud/a", foreign), "upstream_bad_response", foreign);
  const own = [
    "http://crud.internal//evil.example/",
    "/.//evil.example/",
    "/a/..//evil.example",
    "/auth/logout",
    "/%61uth/logout",
    "/auth/login?return_to=/x",
    "/tools",
  ];
  for (const escape of own) assert.equal(await get("/api/kept/a", escape), "upstream_bad_response", escape);
  assert.equal(await get("/api/crud/a", "/auth/logout"), "/api/crud/auth/logout", "what the upstream calls so is its own");
  assert.equal(upstream.seen.length, 9 + own.length, "none was followed");
});

test("answers behind a session are kept by no shared cache", async (t) => {
  const upstream = recordingPeer();
  const made = await testGateway(t, { database: await database(), routes, peers: { crud: upstream.peer } });
  const { cookie } = await made.signIn("person:ben");
  const control = async (sent: string | undefined, path = "/api/s/x") => {
    upstream.answer = () => new Response("{}", { headers: sent === undefined ? {} : { "cache-control": sent } });
    return (await made.fetch(path, { headers: cookie })).headers.get("cache-control");
  };
  assert.equal(await control(undefined), "no-store");
  assert.equal(await control("public, max-age=60"), "private, max-age=60");
  assert.equal(await control("public, max-age=60", "/api/crud/x"), "public, max-age=60");
});

test("a raw stream flows both ways unbuffered, and a bearer's deadline shortens it", async (t) => {
  const sent: string[] = [];
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: {
      crud: async (request) => {
        const reader = (request.body as ReadableStream<Uint8Array>).getReader();
        const body = new ReadableStream<Uint8Array>({
          pull: async (controller) => {
            const { done, value } = await reader.read();
            if (done) return controller.close();
            sent.push(Buffer.from(value).toString());
            controller.enqueue(new TextEncoder().encode(`data: ${Buffer.from(value).toString()}\n\n`));
          },
        });
        return new Response(body, {
          headers: { "content-type": "text/event-stream", "x-deadline": request.headers.get("x-deadline-ms") ?? "none" },
        });
      },
    },
  });
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  const until = async (wanted: string): Promise<void> => {
    for (let tries = 0; tries < 200 && !text.includes(wanted); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(text.includes(wanted), text);
  };
  socket.write(
    `POST /raw HTTP/1.1\r\nHost: localhost:8080\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nX-Deadline-Ms: 1000\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n`,
  );
  await until("data: one");
  const reported = Number(/x-deadline: (\d+)/.exec(text)?.[1]);
  assert.ok(reported >= 1 && reported <= 1000, `what is left of the second: ${reported}`);
  socket.write("3\r\ntwo\r\n");
  await until("data: two");
  await new Promise<void>((resolve) => socket.on("close", () => resolve()));
  assert.deepEqual(sent, ["one", "two"]);
  assert.ok(!text.endsWith("0\r\n\r\n"), "cut at the deadline");
});

test("open streams take no request's place, however small the pool", async (t) => {
  const url = await serverUpstream(t, (request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (request.url === "/raw") response.write("data: x\n\n");
    else response.end("{}");
  });
  const made = await testGateway(t, {
    database: await database(),
    routes: routes.replace('audience: "${CRUD_AUDIENCE}" }', 'audience: "${CRUD_AUDIENCE}", pool: 1 }'),
    parts: { serviceUrls: { pdp: url, crud: url, membership: url, secrets: url } },
  });
  const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [] });
  const open = () => made.fetch("/raw", { headers: { authorization: `Bearer ${token}` } });
  const streams = [await open(), await open(), await open()];
  assert.deepEqual(
    streams.map((stream) => stream.status),
    [200, 200, 200],
  );
  assert.equal((await made.fetch("/api/crud/x")).status, 200);
  for (const stream of streams) await stream.body?.cancel();
});

test("whoever does not read holds the other end up, in both directions", async (t) => {
  let written = 0;
  const block = Buffer.alloc(65_536, "x");
  const url = await serverUpstream(t, (request, response) => {
    if (request.method === "POST") {
      request.pause();
      return;
    }
    const write = (): void => {
      while (response.writable) {
        written += block.length;
        if (!response.write(block)) {
          response.once("drain", write);
          return;
        }
      }
    };
    write();
  });
  const made = await testGateway(t, {
    database: await database(),
    routes: routes.replace(", timeouts: { headers_ms: 900, idle_ms: 900, total_ms: 4000 }", ", body_limit: 1000000000"),
    parts: { serviceUrls: { pdp: url, crud: url, membership: url, secrets: url } },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const settled = async (value: () => number): Promise<number> => {
    for (let last = -1; last !== value() || last <= 0; await new Promise((resolve) => setTimeout(resolve, 300))) last = value();
    return value();
  };
  const reader = connect({ port, host: "127.0.0.1" }).on("error", () => {});
  reader.pause();
  reader.write("GET /api/crud/x HTTP/1.1\r\nHost: localhost:8080\r\n\r\n");
  assert.ok((await settled(() => written)) < 16 * 1_048_576, `${written} bytes for a reader that reads none`);
  reader.destroy();

  const writer = connect({ port, host: "127.0.0.1" }).on("error", () => {});
  let sent = 0;
  writer.write("POST /api/crud/x HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\n\r\n");
  const write = (): void => {
    while (writer.writable && sent < 64 * 1_048_576) {
      sent += block.length;
      if (!writer.write(block)) {
        writer.once("drain", write);
        return;
      }
    }
  };
  write();
  assert.ok((await settled(() => sent)) < 32 * 1_048_576, `${sent} bytes for an upstream that reads none`);
  writer.destroy();
});
