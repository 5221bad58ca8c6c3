import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { test } from "node:test";
import { sseHeaders } from "#http/sse.ts";
import { attackWorld, HOST, JSON_TYPE, rawGet, rawJson, rawPost, rawRequest, send } from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { absentProvider, sharedDatabase } from "#testing/gateway.ts";
import { selfSigned } from "#testing/self-signed.ts";

const database = sharedDatabase();
const API_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'";

/** What every answer carries, whoever made it. */
const assertHeaders = (headers: ReadonlyMap<string, string>, kind: string, status: number): void => {
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
  assert.ok(headers.get("x-correlation-id"));
  for (const gone of ["server", "x-powered-by"]) assert.equal(headers.get(gone), undefined, gone);
  // Metadata and public keys are for pages of everybody.
  if (kind !== "open") assert.equal(headers.get("access-control-allow-origin"), undefined);
  const policy = headers.get("content-security-policy") ?? "";
  if (kind === "page") {
    for (const part of ["default-src", "frame-ancestors 'none'", "nonce-"]) assert.ok(policy.includes(part), policy);
    assert.ok(!/unsafe-eval|\*/.test(policy), policy);
  } else if (kind === "plain page") assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
  else assert.equal(policy, API_POLICY);
  const control = headers.get("cache-control") ?? "";
  if (kind === "asset" && status === 200) assert.match(control, /immutable/);
  else if (kind === "open") assert.match(control, /^public/);
  else assert.match(control, kind === "stream" ? /^private, no-cache/ : /no-store|private/);
};

test("every kind of answer carries the security headers, errors included", async (t) => {
  const web = mkdtempSync(join(tmpdir(), "web-"));
  cleanUp(t, () => rmSync(web, { recursive: true }));
  mkdirSync(join(web, "assets"));
  writeFileSync(join(web, "assets/index-abcdefgh.js"), "1");
  writeFileSync(
    join(web, "index.html"),
    '<!doctype html><html><head><meta name="csp-nonce" content="__NONCE__"><script type="module" src="/assets/index-abcdefgh.js"></script></head></html>',
  );
  const oidc = absentProvider({
    begin: async () => ({ url: "http://localhost:8081/authorize", state: "s", nonce: "n", verifier: "v" }),
  });
  const world = await attackWorld(t, await database(), { parts: { webFolder: web, oidc } });
  const status = (answer: number) => () => new Response(answer === 204 || answer === 304 ? null : "{}", { status: answer });
  const fail = () => Promise.reject(new Error("boom"));
  type Answer = () => Response | Promise<Response>;
  const kinds: readonly (readonly [what: string, bytes: string, expected: number, kind?: string, answer?: Answer])[] = [
    ["an own answer", rawGet("/auth/session"), 200],
    ["an own answer without body", rawRequest("HEAD", "/auth/session"), 200],
    ["health", rawGet("/api/v1/health/live"), 200],
    ["health under any host", "GET /api/v1/health HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n", 200],
    ["metrics", rawGet("/metrics"), 200],
    ["metrics refused", rawGet("/metrics", "Via: 1.1 x\r\n"), 403],
    ["ingested metrics", rawJson("/api/v1/metrics", "", '{"event":"a"}'), 202],
    ["a well-known document", rawGet("/.well-known/sallyport-jwks.json"), 200, "open"],
    ["sign-in", rawGet("/auth/login"), 302],
    ["a failed sign-in", rawGet("/auth/callback?error=access_denied"), 400],
    [
      "a failed sign-in as a page",
      rawGet("/auth/callback?error=access_denied", "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n"),
      400,
      "plain page",
    ],
    ["verify", rawGet("/auth/verify", "<S>"), 200],
    ["verify refused", rawGet("/auth/verify"), 401],
    ["proxied", rawGet("/api/t/x", "<S>"), 200],
    ["proxied with no content", rawGet("/api/t/x", "<S>"), 204, undefined, status(204)],
    ["not modified", rawGet("/api/t/x", "<S>"), 304, undefined, status(304)],
    [
      "a proxied redirect",
      rawGet("/api/t/x", "<S>"),
      302,
      undefined,
      () => new Response(null, { status: 302, headers: { location: "/y" } }),
    ],
    ["a proxied 404", rawGet("/api/t/x", "<S>"), 404, undefined, status(404)],
    ["a proxied 500", rawGet("/api/t/x", "<S>"), 500, undefined, status(500)],
    ["an upstream that breaks", rawGet("/api/t/x", "<S>"), 500, undefined, fail],
    ["a bad answer", rawGet("/api/t/x", "<S>"), 502, undefined, () => new Response(null, { status: 302, headers: { location: "//evil" } })],
    ["OPTIONS", rawRequest("OPTIONS", "/api/b/x"), 405],
    ["no session", rawGet("/api/t/x"), 401],
    ["no session in a page load", rawGet("/api/t/x", "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\n"), 302],
    [
      "no session in a page load from elsewhere",
      rawGet("/api/t/x", "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\n"),
      200,
      "plain page",
    ],
    ["no proof", rawJson("/api/t/x", "<S>", "{}"), 403],
    ["a wrong type", rawPost("/api/t/x", "<C>Content-Type: text/plain\r\nContent-Length: 1\r\n", "x"), 415],
    ["too large", rawPost("/public/x", `${JSON_TYPE}Content-Length: 99000000\r\n`, ""), 413],
    ["no row", rawGet("/api/none"), 404],
    ["no method", rawRequest("PATCH", "/api/t/x"), 405],
    ["a foreign host", "GET /x HTTP/1.1\r\nHost: evil\r\n\r\n", 421],
    ["an ambiguous target", rawGet("/api/t/.."), 400],
    ["ambiguous headers", rawGet("/x", HOST), 400],
    ["a long target", rawGet(`/${"a".repeat(9000)}`), 414],
    ["many lines", rawGet("/x", "A: a\r\n".repeat(101)), 431],
    ["a large head", rawGet("/x", `A: ${"a".repeat(20_000)}\r\n`), 431],
    ["an expectation", rawGet("/x", "Expect: x\r\n"), 417],
    ["no HTTP", "garbage\r\n\r\n", 400],
    ["CONNECT", `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`, 405],
    ["the page", rawGet("/", "Accept: text/html\r\n"), 200, "page"],
    ["a page that is not there", rawGet("/nowhere", "Accept: text/html\r\n"), 404, "page"],
    ["an asset", rawGet("/assets/index-abcdefgh.js"), 200, "asset"],
    ["no asset", rawGet("/assets/index-none.js"), 404],
    ["an event stream", rawGet("/events/x", "<S>"), 200, "stream", () => new Response("data: 1\n\n", { headers: sseHeaders })],
    ["no event stream", rawGet("/events/x", "<S>Accept: text/html\r\n"), 406],
  ];
  for (const [what, bytes, expected, kind = "data", answer] of kinds)
    await t.test(what, async () => {
      world.upstream.answer = answer ?? status(200);
      const { answers, text } = await send(world, bytes);
      const [first] = answers;
      assert.equal(first?.status, expected, text.slice(0, 600));
      assertHeaders(first.headers, kind, expected);
    });
});

test("over TLS every answer tells browsers to stay with it, also where there was no request", async (t) => {
  const world = await attackWorld(t, await database(), {
    parts: { publicOrigins: ["https://localhost:8443"], tls: await selfSigned(t, ["localhost"]) },
  });
  for (const [bytes, status] of [
    ["GET /auth/session HTTP/1.1\r\nHost: localhost:8443\r\nConnection: close\r\n\r\n", 200],
    ["GET /api/t/.. HTTP/1.1\r\nHost: localhost:8443\r\n\r\n", 400],
    ["garbage\r\n\r\n", 400],
    ["CONNECT a:1 HTTP/1.1\r\nHost: localhost:8443\r\n\r\n", 405],
  ] as const) {
    const text = await new Promise<string>((resolve) => {
      let received = "";
      const socket = connectTls({ port: world.port, host: "127.0.0.1", rejectUnauthorized: false }, () => socket.write(bytes));
      socket.on("data", (chunk) => (received += chunk.toString("latin1")));
      socket.on("error", () => {});
      socket.on("close", () => resolve(received));
    });
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(text, /^strict-transport-security: max-age=31536000\r$/im, bytes);
  }
});
