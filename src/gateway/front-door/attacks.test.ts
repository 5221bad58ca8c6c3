import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import {
  decidingPeer,
  rawExchange,
  recordingPeer,
  sharedDatabase,
  testGateway,
  type RawExchange,
  type Recorder,
  type SignedInBrowser,
  type TestGateway,
} from "#testing/gateway.ts";
import { problemCodes, type ProblemCode } from "#contract/problem.ts";

const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
  - { id: public, path: /public/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, PUT, DELETE], auth: none, authz: none }
  - { id: admin, path: /admin/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, DELETE], auth: session, authz: pdp, authz_map: { GET: { resource: pages, action: view_all }, POST: { resource: pages, action: view_all }, DELETE: { resource: pages, action: view_all } } }
  - { id: tenant, path: /api/t/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST, DELETE], auth: session, authz: none }
  - { id: token, path: /api/b/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: bearer, authz: none }
  - { id: encoded, path: /encoded/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none, allow_encoded: ["%2F"] }
  - { id: semicolon, path: /semicolon/*, target_service: crud, upstream_path: "/{path}", methods: [GET], auth: none, authz: none, allow_encoded: [";"] }
`;

const database = sharedDatabase();

interface World {
  readonly port: number;
  readonly upstream: Recorder;
  readonly ben: SignedInBrowser;
  readonly made: TestGateway;
}

const open = async (t: TestContext): Promise<World> => {
  const upstream = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: { crud: upstream.peer, pdp: decidingPeer(() => true).peer },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  return { port, upstream, ben: await made.signIn("person:ben"), made };
};

const HOST = "Host: localhost:8080\r\n";
const BF: ProblemCode = "bad_framing";
const AT: ProblemCode = "ambiguous_target";
const AH: ProblemCode = "ambiguous_headers";

interface Attack {
  readonly name: string;
  /** Bytes on the wire; `<S>` stands for Ben's cookie, `<C>` for his cookie and CSRF headers. */
  readonly bytes: string;
  /** A refusal's code, or what the upstream must have seen. */
  readonly expected: ProblemCode | { readonly sees: string } | { readonly status: number };
  readonly closes?: boolean;
}

const get = (target: string, more = ""): string => `GET ${target} HTTP/1.1\r\n${HOST}${more}\r\n`;
const post = (target: string, more: string, body: string): string => `POST ${target} HTTP/1.1\r\n${HOST}${more}\r\n${body}`;
const json = "Content-Type: application/json\r\n";

const attacks: readonly Attack[] = [
  // 1: dot segments, plain and encoded
  ...["/public/../admin", "/public/./x", "/public/%2e%2e/admin", "/public/.%2E/x"].map((target): Attack => ({
    name: `1: GET ${target}`,
    bytes: get(target),
    expected: AT,
  })),
  // 2: encoded separators
  ...["%2Fb", "%5C", "%00", "%3B", "%3F", "%23", "\\"].map((tail): Attack => ({
    name: `2: GET /public/a${tail}`,
    bytes: get(`/public/a${tail}`),
    expected: AT,
  })),
  { name: "2: a raw NUL in the target", bytes: get("/public/a\0b"), expected: BF, closes: true },
  { name: "2: %2F on a row that lists it", bytes: get("/encoded/a%2Fb"), expected: { sees: "/a%2Fb" } },
  { name: "2: %3B on a row that lists only %2F", bytes: get("/encoded/a%3Bb"), expected: AT },
  // 3: path parameters
  ...["/public/..;x=1/admin", "/admin;a=b", "/public;/x"].map((target): Attack => ({
    name: `3: GET ${target}`,
    bytes: get(target),
    expected: AT,
  })),
  { name: "3: a dot segment before a parameter, with ; opted in", bytes: get("/semicolon/..;x=1/admin"), expected: AT },
  { name: "3: a parameter, with ; opted in", bytes: get("/semicolon/a;x=1"), expected: { sees: "/a;x=1" } },
  // 4: dots at the edges of captures
  { name: "4: GET /api../admin", bytes: get("/api../admin"), expected: "not_found" },
  { name: "4: GET /api%2e/admin", bytes: get("/api%2e/admin"), expected: AT },
  { name: "4: GET /api/t/..", bytes: get("/api/t/..", "<S>"), expected: AT },
  { name: "4: GET /api/t/%2e%2e/x", bytes: get("/api/t/%2e%2e/x", "<S>"), expected: AT },
  // 5: one canonical form
  { name: "5: GET /%61pi/t/x is /api/t/x", bytes: get("/%61pi/t/x", "<S>"), expected: { sees: "/x" } },
  // 6: a capture never becomes a separator or query
  ...["/api/t/a%2Fb", "/api/t/a%3Fq=1", "/api/t/a%23f"].map((target): Attack => ({
    name: `6: GET ${target}`,
    bytes: get(target, "<S>"),
    expected: AT,
  })),
  // 7: spellings of a protected path
  { name: "7: GET /%61dmin/x", bytes: get("/%61dmin/x"), expected: "unauthenticated" },
  { name: "7: GET /ADMIN/x", bytes: get("/ADMIN/x"), expected: "not_found" },
  { name: "7: GET /admin/x/", bytes: get("/admin/x/"), expected: "unauthenticated" },
  { name: "7: GET //admin/x", bytes: get("//admin/x"), expected: AT },
  // 8 to 10: double encoding, other forms of a target
  { name: "8: GET /public/%252e%252e/admin", bytes: get("/public/%252e%252e/admin"), expected: AT },
  { name: "8: GET /public/%25252fx", bytes: get("/public/%25252fx"), expected: AT },
  { name: "9: absolute form", bytes: get("http://other/admin"), expected: AT },
  { name: "9: authority form", bytes: get("localhost:8080/admin"), expected: AT },
  { name: "9: asterisk form", bytes: `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, expected: AT },
  { name: "10: a fragment after a public path", bytes: get("/public/x#/admin"), expected: AT },
  { name: "10: a fragment after a protected path", bytes: get("/admin#/public/x"), expected: AT },
  // 11: patterns are anchored and never see the query
  { name: "11: GET /admin/x?/public/", bytes: get("/admin/x?/public/"), expected: "unauthenticated" },
  { name: "11: GET /admin/x?p=/public/y", bytes: get("/admin/x?p=/public/y"), expected: "unauthenticated" },
  { name: "11: GET /x/public/y", bytes: get("/x/public/y"), expected: "not_found" },
  // 12: pattern characters and broken UTF-8
  { name: "12: a literal star", bytes: get("/admin/*"), expected: "unauthenticated" },
  { name: "12: braces", bytes: get("/admin/{id}"), expected: AT },
  { name: "12: a raw byte E9", bytes: get("/public/\xe9"), expected: AT },
  { name: "12: an encoded byte E9", bytes: get("/public/%E9"), expected: AT },
  // 13: Host
  { name: "13: two Host lines", bytes: `GET /public/x HTTP/1.1\r\n${HOST}${HOST}\r\n`, expected: AH, closes: true },
  { name: "13: no Host line", bytes: "GET /public/x HTTP/1.1\r\n\r\n", expected: AH, closes: true },
  { name: "13: Host evil", bytes: "GET /public/x HTTP/1.1\r\nHost: evil\r\n\r\n", expected: "misdirected_host" },
  { name: "13: Host in capitals", bytes: "GET /public/x HTTP/1.1\r\nHost: LOCALHOST:8080\r\n\r\n", expected: { sees: "/x" } },
  { name: "13: Host with a trailing dot", bytes: "GET /public/x HTTP/1.1\r\nHost: localhost.:8080\r\n\r\n", expected: "misdirected_host" },
  { name: "13: Host with a user", bytes: "GET /public/x HTTP/1.1\r\nHost: a@localhost:8080\r\n\r\n", expected: AH, closes: true },
  { name: "13: health takes any host", bytes: "GET /api/v1/health/live HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n", expected: { status: 200 } },
  // 17 to 19: header names
  { name: "17: a space before the colon", bytes: get("/api/t/x", "<S>X-User-ID : person:ada\r\n"), expected: BF, closes: true },
  {
    name: "18: Connection names an identity header",
    bytes: get("/api/t/x", "<S>Connection: x-user-id, authorization\r\n"),
    expected: AH,
    closes: true,
  },
  {
    name: "18: Connection names an assertion",
    bytes: get("/api/t/x", "<S>Connection: close, x-sallyport-assertion\r\n"),
    expected: AH,
    closes: true,
  },
  {
    name: "19: a probe's user agent opens nothing",
    bytes: get("/admin/x?/api/v1/health/live", "User-Agent: kube-probe/1.30\r\n"),
    expected: "unauthenticated",
  },
  // 21: values that end lines
  { name: "21: return_to with an encoded line end", bytes: get("/auth/login?return_to=/%250d%250aX:1"), expected: "bad_return_to" },
  { name: "21: obs-fold", bytes: get("/public/x", "X-A: a\r\n b\r\n"), expected: BF, closes: true },
  // 22: message length in two ways
  ...(
    [
      ["CL and TE", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"],
      ["CL twice, equal", "Content-Length: 3\r\nContent-Length: 3\r\n"],
      ["CL twice, unequal", "Content-Length: 3\r\nContent-Length: 4\r\n"],
      ["CL: +5", "Content-Length: +5\r\n"],
      ["CL: 3, 3", "Content-Length: 3, 3\r\n"],
      ["CL: 0x3", "Content-Length: 0x3\r\n"],
      ["TE xchunked", "Transfer-Encoding: xchunked\r\n"],
      ["TE twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"],
      ["TE gzip, chunked", "Transfer-Encoding: gzip, chunked\r\n"],
      ["a space before TE's colon", "Transfer-Encoding : chunked\r\n"],
    ] as const
  ).map(([name, lines]): Attack => ({
    name: `22: ${name}`,
    bytes: `${post("/public/x", json + lines, "0\r\n\r\n")}${get("/public/second")}`,
    expected: BF,
    closes: true,
  })),
  {
    name: "22: a bare LF",
    bytes: `GET /public/x HTTP/1.1\r\nHost: localhost:8080\n\r\n${get("/public/second")}`,
    expected: BF,
    closes: true,
  },
  {
    name: "22: LF inside a chunk extension",
    bytes: `${post("/public/x", `${json}Transfer-Encoding: chunked\r\n`, "3;a\nb\r\nabc\r\n0\r\n\r\n")}${get("/public/second")}`,
    expected: BF,
    closes: true,
  },
  {
    name: "22: a bare LF after a chunk size",
    bytes: `${post("/public/x", `${json}Transfer-Encoding: chunked\r\n`, "3\nabc\r\n0\r\n\r\n")}${get("/public/second")}`,
    expected: BF,
    closes: true,
  },
  {
    name: "22: HTTP/1.0 with TE",
    bytes: `POST /public/x HTTP/1.0\r\n${HOST}${json}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    expected: AH,
    closes: true,
  },
  // 23: the same name in two cases
  {
    name: "23: Content-Length and content-length",
    bytes: post("/public/x", `${json}Content-Length: 3\r\ncontent-length: 3\r\n`, "{ }"),
    expected: BF,
    closes: true,
  },
  // 24: bodies where none belongs
  {
    name: "24: GET with a body",
    bytes: `${get("/public/x", "Content-Length: 5\r\n")}abcde${get("/public/second")}`,
    expected: "body_not_allowed",
    closes: true,
  },
  {
    name: "24: DELETE chunked",
    bytes: `DELETE /public/x HTTP/1.1\r\n${HOST}${json}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n${get("/public/second")}`,
    expected: "body_not_allowed",
    closes: true,
  },
  {
    name: "24: a body that is a request",
    bytes: `${get("/public/x", "Content-Length: 34\r\n")}GET /admin HTTP/1.1\r\nHost: x\r\n\r\n`,
    expected: "body_not_allowed",
    closes: true,
  },
  // 25: methods and protocols
  { name: "25: CONNECT", bytes: `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`, expected: "method_not_allowed", closes: true },
  { name: "25: TRACE", bytes: `TRACE /public/x HTTP/1.1\r\n${HOST}\r\n`, expected: "method_not_allowed", closes: true },
  { name: "25: PROPFIND", bytes: `PROPFIND /public/x HTTP/1.1\r\n${HOST}\r\n`, expected: "method_not_allowed", closes: true },
  { name: "25: FOO", bytes: `FOO /public/x HTTP/1.1\r\n${HOST}\r\n`, expected: BF, closes: true },
  {
    name: "25: Upgrade: h2c is not followed",
    bytes: get("/public/x", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
    expected: { sees: "/x" },
  },
  { name: "25: Upgrade: websocket", bytes: get("/public/x", "Connection: Upgrade\r\nUpgrade: websocket\r\n"), expected: AH, closes: true },
  { name: "25: the preface of HTTP/2", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", expected: BF, closes: true },
  // 26: expectations
  {
    name: "26: Expect: x",
    bytes: post("/public/x", `${json}Content-Length: 2\r\nExpect: x\r\n`, ""),
    expected: "expectation_failed",
    closes: true,
  },
  {
    name: "26: 100-continue without a session",
    bytes: post("/api/t/x", `${json}Content-Length: 2\r\nExpect: 100-continue\r\n`, ""),
    expected: "unauthenticated",
    closes: true,
  },
  // 33: content types
  {
    name: "33: text/plain",
    bytes: post("/api/t/x", "<C>Content-Type: text/plain\r\nContent-Length: 2\r\n", "{}"),
    expected: "unsupported_media_type",
  },
  {
    name: "33: application/json x",
    bytes: post("/api/t/x", "<C>Content-Type: application/json x\r\nContent-Length: 2\r\n", "{}"),
    expected: "unsupported_media_type",
  },
  {
    name: "33: APPLICATION/JSON",
    bytes: post("/api/t/x", "<C>Content-Type: APPLICATION/JSON\r\nContent-Length: 2\r\n", "{}"),
    expected: { sees: "/x" },
  },
  {
    name: "33: charset=latin1",
    bytes: post("/api/t/x", "<C>Content-Type: application/json;charset=latin1\r\nContent-Length: 2\r\n", "{}"),
    expected: "unsupported_media_type",
  },
  {
    name: "33: a tab before the semicolon",
    bytes: post("/api/t/x", "<C>Content-Type: application/json\t;charset=utf-8\r\nContent-Length: 2\r\n", "{}"),
    expected: { sees: "/x" },
  },
  { name: "33: no type at all", bytes: post("/api/t/x", "<C>Content-Length: 2\r\n", "{}"), expected: "unsupported_media_type" },
  { name: "33: two lines", bytes: post("/api/t/x", `<C>${json}${json}Content-Length: 2\r\n`, "{}"), expected: AH, closes: true },
  // 43: limits of the head
  {
    name: "43: a header block over 16 KiB",
    bytes: get("/public/x", `X-A: ${"a".repeat(17_000)}\r\n`),
    expected: "headers_too_large",
    closes: true,
  },
  {
    name: "43: more than 100 header lines",
    bytes: get("/public/x", "X-A: a\r\n".repeat(100)),
    expected: "headers_too_large",
    closes: true,
  },
  { name: "43: a target over 8 KiB", bytes: get(`/public/${"a".repeat(8200)}`), expected: "target_too_long" },
  // 50
  { name: "50: GET /api/crud/../metrics", bytes: get("/api/crud/../metrics"), expected: AT },
  { name: "50: metrics through a proxy", bytes: get("/metrics", "X-Forwarded-For: 10.0.0.1\r\n"), expected: "access_denied" },
];

const withCredentials = (bytes: string, ben: SignedInBrowser): string => {
  const { "content-type": _type, ...headers } = ben.headers;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return bytes.replace("<S>", `Cookie: ${ben.cookie.cookie}\r\n`).replace("<C>", lines.join(""));
};

const assertAnswer = (exchange: RawExchange, attack: Attack, upstream: Recorder): void => {
  const [answer] = exchange.answers.filter((one) => one.status !== 100);
  assert.ok(answer, `an answer to ${attack.name}: ${exchange.text}`);
  assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  assert.ok(answer.headers.get("x-correlation-id"));
  assert.ok(answer.headers.get("content-security-policy"));
  if (typeof attack.expected === "string") {
    const body = JSON.parse(answer.body) as { code: string; status: number };
    assert.deepEqual([body.code, answer.status, body.status], [attack.expected, problemCodes[attack.expected].status, answer.status]);
    assert.deepEqual(upstream.seen, [], "the upstream is silent on a refusal");
  } else if ("sees" in attack.expected) {
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual(
      upstream.seen.map((seen) => seen.path),
      [attack.expected.sees],
    );
  } else assert.equal(answer.status, attack.expected.status);
  if (attack.closes === true) {
    assert.ok(exchange.closed, "the connection is closed");
    assert.equal(answer.headers.get("connection"), "close");
    assert.equal(exchange.answers.length, 1, "no second request is read");
  }
};

test("attacks on the front door, over raw sockets against every kind of row", async (t) => {
  const world = await open(t);
  for (const attack of attacks)
    await t.test(attack.name, async () => {
      world.upstream.seen.length = 0;
      const exchange = await rawExchange(world.port, withCredentials(attack.bytes, world.ben));
      assertAnswer(exchange, attack, world.upstream);
    });
});

test("5, 16, 17, 20: the upstream sees one identity, ours, and none of the client's credentials", async (t) => {
  const { port, upstream, ben, made } = await open(t);
  const lines = [
    "X-User-ID: person:ada",
    "X_User_Id: person:ada",
    "x-USER-id: person:ada",
    "X.User.Id: person:ada",
    "X-Sallyport-Assertion: x",
    "X-Auth-Request-User: ada",
    "Remote-User: ada",
    "X-Forwarded-For: 10.0.0.1",
    "X-Forwarded-Prefix: //evil",
    "Forwarded: for=10.0.0.1",
    "X-HTTP-Method-Override: DELETE",
    "X-Rewrite-URL: /admin",
    "Authorization: Bearer x",
    "Proxy-Authorization: Basic x",
    "Via: 1.1 x",
    "TE: trailers",
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "X-Own: kept",
  ].map((line) => `${line}\r\n`);
  const { answers } = await rawExchange(port, withCredentials(get("/api/t/x?b=%2F..", `<S>${lines.join("")}`), ben));
  assert.equal(answers[0]?.status, 200);
  const [seen] = upstream.seen;
  assert.ok(seen);
  assert.equal(seen.query, "?b=%2F..");
  assert.equal(seen.headers.get("x-user-id"), "person:ben");
  assert.equal(seen.headers.get("x-tenant-id"), "tenant:acme");
  assert.equal(seen.headers.get("x-own"), "kept");
  assert.equal(seen.headers.get("x-forwarded-for"), "127.0.0.1");
  assert.equal(seen.headers.get("x-forwarded-host"), "localhost:8080");
  assert.equal(seen.headers.get("x-forwarded-proto"), "http");
  const names = [...seen.headers.keys()];
  for (const gone of [
    "cookie",
    "x-csrf-token",
    "x-sallyport-assertion",
    "x-auth-request-user",
    "remote-user",
    "forwarded",
    "via",
    "te",
    "traceparent",
    "x-rewrite-url",
    "x-http-method-override",
    "x-forwarded-prefix",
    "proxy-authorization",
    "x_user_id",
    "x.user.id",
  ])
    assert.ok(!names.includes(gone), `${gone} is removed`);
  const caller = await made.identity.verifierFor("http://localhost:8083")(
    new Request("http://x/", { headers: { authorization: seen.headers.get("authorization") ?? "" } }),
  );
  assert.deepEqual([caller.sub, caller.tenant, caller.issuer], ["person:ben", "tenant:acme", "http://localhost:8080"]);
  await assert.rejects(
    made.identity.verifierFor("http://localhost:8084")(
      new Request("http://x/", { headers: { authorization: seen.headers.get("authorization") ?? "" } }),
    ),
    {
      code: "invalid_token",
    },
  );
  assert.equal(await made.counted("bff_security_events_total", { event_type: "identity_header_stripped" }), 1);
});

test("20: nothing of the hop behind reaches the client, on success and on failure", async (t) => {
  const { port, upstream, ben } = await open(t);
  for (const status of [200, 500]) {
    upstream.answer = () =>
      new Response("{}", {
        status,
        headers: {
          connection: "x-a",
          "x-a": "1",
          "set-cookie": "a=b",
          server: "U",
          "x-powered-by": "U",
          "access-control-allow-origin": "*",
          "alt-svc": "h3",
          "clear-site-data": "*",
          refresh: "0;url=//evil",
          "strict-transport-security": "max-age=1",
          "x-user-id": "person:ada",
          "x-kept": "yes",
          "content-security-policy": "default-src *",
          "content-type": "application/json",
        },
      });
    const { answers } = await rawExchange(port, withCredentials(get("/api/t/x", "<S>"), ben));
    const [answer] = answers;
    assert.equal(answer?.status, status);
    for (const gone of [
      "x-a",
      "set-cookie",
      "server",
      "x-powered-by",
      "access-control-allow-origin",
      "alt-svc",
      "clear-site-data",
      "refresh",
      "strict-transport-security",
      "x-user-id",
    ])
      assert.equal(answer.headers.get(gone), undefined, gone);
    assert.equal(answer.headers.get("x-kept"), "yes");
    assert.equal(answer.headers.get("content-security-policy"), "default-src 'none'; sandbox; frame-ancestors 'none'");
    assert.equal(answer.headers.get("cache-control"), "no-store");
  }
});

test("21: a malformed correlation id is replaced, a good one is kept", async (t) => {
  const { port, upstream } = await open(t);
  const bad = await rawExchange(port, get("/public/x", "X-Correlation-ID: a b\r\n"));
  assert.match(bad.answers[0]?.headers.get("x-correlation-id") ?? "", /^[0-9a-f-]{36}$/);
  const good = await rawExchange(port, get("/public/x", "X-Correlation-ID: run-7\r\n"));
  assert.equal(good.answers[0]?.headers.get("x-correlation-id"), "run-7");
  assert.equal(upstream.seen[1]?.headers.get("x-correlation-id"), "run-7");
});

test("22: pipelined good requests are answered in order on one connection", async (t) => {
  const { port } = await open(t);
  const { answers, closed } = await rawExchange(port, get("/public/1") + get("/api/t/2") + get("/public/3"), 3);
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 401, 200],
  );
  assert.ok(!closed);
});

test("26: 100 Continue is sent when every door has passed, and not before", async (t) => {
  const { port, upstream, ben } = await open(t);
  const head = withCredentials(post("/api/t/x", `<C>${json}Content-Length: 7\r\nExpect: 100-continue\r\n`, ""), ben);
  const served = await rawExchange(port, [head, '{"a":1}']);
  assert.deepEqual(
    served.answers.map((answer) => answer.status),
    [100, 200],
  );
  assert.equal(upstream.seen[0]?.body, '{"a":1}');
  const refused = await rawExchange(port, head.replace("x-csrf-token", "x-other-token"));
  assert.deepEqual(
    refused.answers.map((answer) => answer.status),
    [403],
  );
  assert.ok(refused.closed);
});

test("26: an upstream that refuses at once is heard, and the rest of the body is not read", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    routes,
    peers: {
      crud: async () => new Response('{"code":"too_large"}', { status: 413, headers: { "content-type": "application/problem+json" } }),
    },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const ben = await made.signIn("person:ben");
  const exchange = await rawExchange(port, withCredentials(post("/api/t/x", `<C>${json}Content-Length: 70000\r\n`, "{"), ben));
  assert.equal(exchange.answers[0]?.status, 413);
  assert.ok(exchange.closed);
});

test("a body over the row's limit is refused, announced or not", async (t) => {
  const upstream = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes: routes.replace("auth: none, authz: none }", "auth: none, authz: none, body_limit: 100000 }"),
    peers: { crud: upstream.peer },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const announced = await rawExchange(port, post("/public/x", `${json}Content-Length: 100001\r\n`, "x"));
  assert.equal(announced.answers[0]?.status, 413);
  assert.ok(announced.closed);
  const chunk = "x".repeat(60_000);
  const chunked = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  const streamed = await rawExchange(port, post("/public/x", `${json}Transfer-Encoding: chunked\r\n`, chunked + chunked));
  assert.equal(streamed.answers[0]?.status, 413);
  assert.deepEqual(upstream.seen, []);
});

test("23: toward a real upstream there is exactly one length, and path and query arrive byte for byte", async (t) => {
  const heads: string[][] = [];
  const upstream = createServer((request, response) => {
    heads.push([request.method ?? "", request.url ?? "", ...request.rawHeaders]);
    request.resume().on("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => upstream.close());
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const made = await testGateway(t, {
    database: await database(),
    routes,
    parts: { serviceUrls: { pdp: url, crud: url, membership: url, secrets: url } },
  });
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const plain = await rawExchange(port, post("/public/a%20b?q='<%2f>\"", `${json}Content-Length: 2\r\n`, "{}"));
  assert.equal(plain.answers[0]?.status, 200, plain.text);
  const chunked = await rawExchange(
    port,
    post("/public/x", `${json}Transfer-Encoding: chunked\r\n`, "2\r\n{}\r\n0\r\nX-User-ID: person:ada\r\n\r\n"),
  );
  assert.equal(chunked.answers[0]?.status, 200, chunked.text);
  const lengthsOf = (head: string[]) => head.filter((item) => /^(?:content-length|transfer-encoding)$/i.test(item)).length;
  assert.deepEqual(heads.map(lengthsOf), [1, 1]);
  assert.equal(heads[0]?.[1], "/a%20b?q='<%2f>\"");
  assert.ok(!heads[1]?.some((item) => /x-user-id/i.test(item)), "trailers are not headers");
});

test("random methods, paths and users add no series to the metrics", async (t) => {
  const { port, made } = await open(t);
  const names = async () => (await made.metrics.text()).split("\n").filter((line) => line.startsWith("http_requests_total{")).length;
  await rawExchange(port, get("/nothing/0"));
  await rawExchange(port, `X0 / HTTP/1.1\r\n${HOST}\r\n`);
  await rawExchange(port, `PROPFIND / HTTP/1.1\r\n${HOST}\r\n`);
  const before = await names();
  for (let index = 1; index < 20; index++) {
    await rawExchange(port, get(`/nothing/${index}`));
    await rawExchange(port, `X${index} / HTTP/1.1\r\n${HOST}\r\n`);
  }
  assert.equal(await names(), before);
});
