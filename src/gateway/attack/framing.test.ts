import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import {
  answerTo,
  attackWorld,
  HOST,
  JSON_TYPE,
  onEveryRow,
  rawGet,
  rawJson,
  rawPost,
  rawRequest,
  runAttacks,
  send,
  type Attack,
} from "#testing/attack-world.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { sharedDatabase } from "#testing/gateway.ts";
import type { ProblemCode } from "#contract/problem.ts";

const database = sharedDatabase();

const lengths: readonly (readonly [name: string, lines: string, code: ProblemCode])[] = [
  ["CL and TE", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "bad_framing"],
  ["TE and CL", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "bad_framing"],
  ["CL twice, equal", "Content-Length: 3\r\nContent-Length: 3\r\n", "bad_framing"],
  ["CL twice, unequal", "Content-Length: 3\r\nContent-Length: 4\r\n", "bad_framing"],
  ["CL: +5", "Content-Length: +5\r\n", "bad_framing"],
  ["CL: -1", "Content-Length: -1\r\n", "bad_framing"],
  ["CL: 3, 3", "Content-Length: 3, 3\r\n", "bad_framing"],
  ["CL: 0x3", "Content-Length: 0x3\r\n", "bad_framing"],
  ["CL beyond 2^64", "Content-Length: 18446744073709551617\r\n", "bad_framing"],
  ["CL empty", "Content-Length:\r\n", "bad_framing"],
  ["CL with a leading zero", "Content-Length: 03\r\n", "bad_framing"],
  ["TE xchunked", "Transfer-Encoding: xchunked\r\n", "bad_framing"],
  ["TE twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "bad_framing"],
  ["TE identity", "Transfer-Encoding: identity\r\n", "bad_framing"],
  ["TE gzip, chunked", "Transfer-Encoding: gzip, chunked\r\n", "bad_framing"],
  ["TE chunked, identity", "Transfer-Encoding: chunked, identity\r\n", "bad_framing"],
  ["a vertical tab in TE", "Transfer-Encoding: \x0bchunked\r\n", "bad_framing"],
  ["a space before TE's colon", "Transfer-Encoding : chunked\r\n", "bad_framing"],
  ["a NUL in a name", "Transfer\0Encoding: chunked\r\n", "bad_framing"],
  ["CL in two cases", "Content-Length: 3\r\ncontent-length: 3\r\n", "bad_framing"],
];

const chunked = `${JSON_TYPE}Transfer-Encoding: chunked\r\n`;
const second = rawGet("/public/second");

const chunks: readonly (readonly [name: string, body: string])[] = [
  ["LF inside a chunk extension", "3;a\nb\r\nabc\r\n0\r\n\r\n"],
  ["a bare LF after a chunk size", "3\nabc\r\n0\r\n\r\n"],
  ["a bare CR after a chunk size", "3\rabc\r\n0\r\n\r\n"],
  ["a chunk size with a sign", "+3\r\nabc\r\n0\r\n\r\n"],
  ["a chunk size with 0x", "0x3\r\nabc\r\n0\r\n\r\n"],
  ["a chunk size beyond 2^64", "10000000000000003\r\nabc\r\n0\r\n\r\n"],
  ["a chunk longer than it says", "2\r\nabc\r\n0\r\n\r\n"],
];

const attacks: readonly Attack[] = [
  ...lengths.flatMap(([name, lines, expected]) =>
    onEveryRow((row, credential) => ({
      name: `attack ${name === "CL in two cases" ? 23 : 22}: ${name}`,
      bytes: `${rawPost(`${row}x`, credential.replace("<S>", "<C>") + JSON_TYPE + lines, "0\r\n\r\n")}${second}`,
      expected,
      closes: true,
    })),
  ),
  ...chunks.flatMap(([name, body]) =>
    onEveryRow((row, credential) => ({
      name: `attack 22: ${name}`,
      bytes: `${rawPost(`${row}x`, credential.replace("<S>", "<C>") + chunked, body)}${second}`,
      expected: "bad_framing",
      closes: true,
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 22: a bare LF",
    bytes: `GET ${row}x HTTP/1.1\r\n${credential}Host: localhost:8080\n\r\n${second}`,
    expected: "bad_framing",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "attack 22: HTTP/1.0 with TE",
    bytes: `POST ${row}x HTTP/1.0\r\n${HOST}${credential.replace("<S>", "<C>")}${chunked}\r\n0\r\n\r\n${second}`,
    expected: "ambiguous_headers",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "attack 24: GET with a body",
    bytes: `${rawGet(`${row}x`, `${credential}Content-Length: 5\r\n`)}abcde${second}`,
    expected: "body_not_allowed",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "attack 24: DELETE chunked",
    bytes: `${rawRequest("DELETE", `${row}x`, `${credential.replace("<S>", "<C>")}${chunked}`, "3\r\nabc\r\n0\r\n\r\n")}${second}`,
    expected: "body_not_allowed",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "attack 24: a body that is a request",
    bytes: `${rawGet(`${row}x`, `${credential}Content-Length: 34\r\n`)}GET /admin HTTP/1.1\r\nHost: x\r\n\r\n`,
    expected: "body_not_allowed",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "a header block over 16 KiB",
    bytes: rawGet(`${row}x`, `${credential}X-A: ${"a".repeat(17_000)}\r\n`),
    expected: "headers_too_large",
    closes: true,
  })),
  ...onEveryRow((row, credential) => ({
    name: "more than 100 header lines",
    bytes: rawGet(`${row}x`, `${credential}${"X-A: a\r\n".repeat(100)}`),
    expected: "headers_too_large",
    closes: true,
  })),
];

test("attacks on the framing: a message ends in one place, or the connection ends", async (t) => {
  await runAttacks(t, await attackWorld(t, await database()), attacks);
});

test("attack 22: good requests that were pipelined are answered in order on one connection", async (t) => {
  const world = await attackWorld(t, await database());
  const { answers, closed } = await send(world, rawGet("/public/1") + rawGet("/api/t/2") + rawGet("/api/t/3", "<S>"), 3);
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 401, 200],
  );
  assert.ok(!closed);
  assert.deepEqual(
    world.upstream.seen.map((seen) => seen.path),
    ["/1", "/3"],
  );
});

test("attack 22: what follows a broken message is not read, also behind an answer under way", async (t) => {
  const world = await attackWorld(t, await database());
  const { answers, closed } = await send(world, `${rawGet("/public/1")}GET /public/2 HTTP/1.1\r\nbroken\r\n\r\n${second}`);
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200],
  );
  assert.ok(closed);
  assert.deepEqual(
    world.upstream.seen.map((seen) => seen.path),
    ["/1"],
  );
});

test("attack 23: toward a real upstream there is exactly one length, and path and query arrive byte for byte", async (t) => {
  const heads: string[][] = [];
  const upstream = createServer((request, response) => {
    heads.push([request.url ?? "", ...request.rawHeaders]);
    request.resume().on("end", () => response.end("{}"));
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => upstream.close());
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const world = await attackWorld(t, await database(), { upstreamUrl: url });
  const sent = [
    rawJson("/public/a%20b?q='<%2f>\"", "", "{}"),
    rawPost("/api/t/x", `<C>${chunked}`, "2\r\n{}\r\n0\r\nX-User-ID: person:ada\r\n\r\n"),
    rawJson("/api/b/x", "<T>", "{}"),
    rawJson("/public/big", "", JSON.stringify("x".repeat(100_000))),
  ];
  for (const bytes of sent) assert.equal((await answerTo(world, bytes)).status, 200);
  const lengthsOf = (head: string[]) => head.filter((item) => /^(?:content-length|transfer-encoding)$/i.test(item)).length;
  assert.deepEqual(heads.map(lengthsOf), [1, 1, 1, 1]);
  assert.equal(heads[0]?.[0], "/a%20b?q='<%2f>\"");
  assert.ok(!heads[1]?.includes("person:ada"), "trailers are not headers");
});
