import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProblemCode } from "#contract/problem.ts";
import {
  answerTo,
  attackWorld,
  HOST,
  JSON_TYPE,
  onEveryRow,
  rawGet,
  rawPost,
  rawRequest,
  runAttacks,
  send,
  type Attack,
} from "#testing/attack-world.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();

const hosts: readonly (readonly [name: string, lines: string, expected: ProblemCode, closes: boolean])[] = [
  ["two Host lines", HOST + HOST, "ambiguous_headers", true],
  ["two different Host lines", `${HOST}Host: evil\r\n`, "ambiguous_headers", true],
  ["no Host line", "", "ambiguous_headers", true],
  ["an empty Host", "Host:\r\n", "ambiguous_headers", true],
  ["Host evil", "Host: evil\r\n", "misdirected_host", false],
  ["Host with a trailing dot", "Host: localhost.:8080\r\n", "misdirected_host", false],
  ["Host with another port", "Host: localhost:81\r\n", "misdirected_host", false],
  ["Host with a user", "Host: a@localhost:8080\r\n", "ambiguous_headers", true],
  ["Host with a path", "Host: localhost:8080/admin\r\n", "ambiguous_headers", true],
  ["two hosts in one line", "Host: localhost:8080, evil\r\n", "ambiguous_headers", true],
];

/** One line each, or two servers in a row may each pick another. */
const single = [
  "Content-Type: application/json",
  "Authorization: Bearer x",
  "Cookie: a=b",
  "Origin: http://localhost:8080",
  "X-CSRF-Token: a",
  "X-CSRFToken: a",
  "X-Requested-With: XMLHttpRequest",
  "Last-Event-ID: 1",
  "X-Plugin-Id: a",
  "X-Correlation-ID: a",
];

const attacks: readonly Attack[] = [
  ...hosts.flatMap(([name, lines, expected, closes]) =>
    onEveryRow((row, credential) => ({
      name: `attack 13: ${name}`,
      bytes: `GET ${row}x HTTP/1.1\r\n${lines}${credential}\r\n`,
      expected,
      closes,
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 13: Host in capitals",
    bytes: `GET ${row}x HTTP/1.1\r\nHost: LOCALHOST:8080\r\n${credential}\r\n`,
    expected: { sees: "/x" },
  })),
  {
    name: "attack 13: health takes any host",
    bytes: "GET /api/v1/health/live HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n",
    expected: { status: 200 },
  },
  ...single.flatMap((line) =>
    onEveryRow((row) => ({
      name: `two lines of ${line.split(":")[0] ?? ""}`,
      bytes: rawGet(`${row}x`, `${line}\r\n${line.toLowerCase()}\r\n`),
      expected: "ambiguous_headers",
      closes: true,
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 17: a space before the colon",
    bytes: rawGet(`${row}x`, `${credential}X-User-ID : person:ada\r\n`),
    expected: "bad_framing",
    closes: true,
  })),
  ...["x-user-id, authorization", "close, x-sallyport-assertion", "keep-alive, cookie", "x-forwarded-for"].flatMap((options) =>
    onEveryRow((row, credential) => ({
      name: `attack 18: Connection: ${options}`,
      bytes: rawGet(`${row}x`, `${credential}Connection: ${options}\r\n`),
      expected: "ambiguous_headers",
      closes: true,
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 18: Connection in two lines, one of them bad",
    bytes: rawGet(`${row}x`, `${credential}Connection: close\r\nConnection: x-user-id\r\n`),
    expected: "ambiguous_headers",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "attack 21: obs-fold",
    bytes: rawGet(`${row}x`, `${credential}X-A: a\r\n b\r\n`),
    expected: "bad_framing",
    closes: true,
  })),
  {
    name: "attack 21: Last-Event-ID of 300 bytes",
    bytes: rawGet("/events/x", `<S>Last-Event-ID: ${"1".repeat(300)}\r\n`),
    expected: "invalid_request",
  },
  {
    name: "attack 21: Last-Event-ID that does not print",
    bytes: rawGet("/events/x", "<S>Last-Event-ID: a\xe9\r\n"),
    expected: "invalid_request",
  },
  ...["TRACE", "PROPFIND", "LOCK", "QUERY"].flatMap((method) =>
    onEveryRow((row, credential) => ({
      name: `attack 25: ${method}`,
      bytes: rawRequest(method, `${row}x`, credential),
      expected: "method_not_allowed",
      closes: true,
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 25: FOO",
    bytes: rawRequest("FOO", `${row}x`, credential),
    expected: "bad_framing",
    closes: true,
  })),
  { name: "attack 25: CONNECT", bytes: `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`, expected: "method_not_allowed", closes: true },
  {
    name: "attack 25: CONNECT to ourselves",
    bytes: `CONNECT localhost:8080 HTTP/1.1\r\n${HOST}\r\n${rawGet("/public/x")}`,
    expected: "method_not_allowed",
    closes: true,
  },
  { name: "attack 25: the preface of HTTP/2", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", expected: "bad_framing", closes: true },
  { name: "attack 25: HTTP/2.0 in a request line", bytes: `GET /public/x HTTP/2.0\r\n${HOST}\r\n`, expected: "bad_framing", closes: true },
  { name: "attack 25: HTTP/0.9 in a request line", bytes: `GET /public/x HTTP/0.9\r\n${HOST}\r\n`, expected: "bad_framing", closes: true },
  { name: "attack 25: a request line without version", bytes: "GET /public/x\r\n\r\n", expected: "bad_framing", closes: true },
  ...onEveryRow((row, credential) => ({
    name: "attack 25: Upgrade: h2c is not followed",
    bytes: rawGet(`${row}x`, `${credential}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n`),
    expected: { sees: "/x" },
  })),
  ...["websocket", "WebSocket", "h2c, websocket", "websocket/13"].flatMap((protocol) =>
    onEveryRow((row, credential) => ({
      name: `attack 25: Upgrade: ${protocol}`,
      bytes: rawGet(`${row}x`, `${credential}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`),
      expected: "ambiguous_headers",
      closes: true,
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 26: Expect: x",
    bytes: rawPost(`${row}x`, `${credential.replace("<S>", "<C>")}${JSON_TYPE}Content-Length: 2\r\nExpect: x\r\n`, ""),
    expected: "expectation_failed",
    closes: true,
  })),
];

test("attacks on header lines: one meaning each, on every row", async (t) => {
  await runAttacks(t, await attackWorld(t, await database()), attacks);
});

test("attack 21: a correlation id that is none is replaced, a good one is kept", async (t) => {
  const world = await attackWorld(t, await database());
  for (const bad of ["a b", "a\tb", "x".repeat(129), "\xe9", "{}"]) {
    const { headers } = await answerTo(world, rawGet("/public/x", `X-Correlation-ID: ${bad}\r\n`));
    assert.match(headers.get("x-correlation-id") ?? "", /^[0-9a-f-]{36}$/, JSON.stringify(bad));
  }
  const good = await answerTo(world, rawGet("/public/x", "X-Correlation-ID: run-7\r\n"));
  assert.equal(good.headers.get("x-correlation-id"), "run-7");
  assert.equal(world.upstream.seen.at(-1)?.headers.get("x-correlation-id"), "run-7");
});

test("attack 25: an upgrade is neither answered nor passed on", async (t) => {
  const world = await attackWorld(t, await database());
  const { answers } = await send(
    world,
    rawGet("/public/x", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
  );
  assert.deepEqual([answers[0]?.status, answers[0]?.headers.get("upgrade")], [200, undefined]);
  for (const name of ["upgrade", "http2-settings", "connection"]) assert.equal(world.upstream.seen[0]?.headers.has(name), false, name);
});
