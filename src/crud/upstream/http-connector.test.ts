import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Agent } from "undici";
import type { Caller } from "#authn/model/caller.ts";
import { createShares, type Claim } from "#http/shares.ts";
import { garbageCollector } from "#testing/garbage-collector.ts";
import { until } from "#testing/until.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { loadSystems } from "#crud/systems/load-systems.ts";
import { compileHttp } from "#crud/connectors/compile-http.ts";
import type { Invocation, Tool, UpstreamAnswer } from "#crud/tools/tool.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { RetryRules } from "#crud/systems/system-limits.ts";
import { createHttpConnector } from "./http-connector.ts";
import type { ExchangeReply } from "./http-exchange.ts";
import { readCeiling } from "./network-rules.ts";
import type { SystemTokens } from "./system-tokens.ts";

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const system = (port: number, operations: string, redirects = "none", timeout = "PT30S"): string => `
apiVersion: systems/v1
provider: up
instance: test
title: Fixture
owner: group:people-ops
kind: http
baseUrl: http://127.0.0.1:${port}/base
network: { allow: [127.0.0.1/32], redirects: ${redirects} }
auth: { type: api_key, in: query, name: key, value: "yaml://secret/up#key" }
defaults:
  dataScope: none
  timeout: ${timeout}
  retry: { max: 2, base: PT0.01S, cap: PT0.05S }
  circuit: { failures: 3, window: PT30S, open: PT0.2S }
  response: { maxBytes: 2000 }
operations:
${operations}
`;

const operations = `
  read: { description: Reads one thing., request: { method: GET, path: "/things/{id}" }, input: { type: object, properties: { id: { type: string }, q: { type: string } } } }
  pages:
    description: Reads all pages.
    request: { method: GET, path: /pages }
    paginate: { style: cursor, param: after, next: "\${ response.body.next }", items: "\${ response.body.items }", size: { param: size, default: 2, max: 5 }, maxPages: 3 }
  counted:
    description: Reads pages by their numbers.
    request: { method: GET, path: /pages }
    paginate: { style: page, param: page, items: "\${ response.body }", size: { param: size, default: 3, max: 5 }, maxPages: 3 }
  unsized: { description: Reads pages of any size., request: { method: GET, path: /pages }, paginate: { style: page, param: p, first: 0, items: "\${ response.body }" } }
  skipped:
    description: Reads pages by what to pass over.
    request: { method: GET, path: /pages }
    input: { type: object, properties: { from: { type: integer } } }
    paginate: { style: offset, param: from, items: "\${ response.body }", size: { param: size, default: 3, max: 5 }, maxPages: 3 }
  linked: { description: Reads pages that lead to each other., request: { method: GET, path: /pages }, paginate: { style: link, items: "\${ response.body }", maxPages: 3 } }
  write: { description: Writes one thing., request: { method: POST, path: /things }, input: { type: object, properties: { name: { type: string } } } }
  keyed: { description: Writes one thing once., request: { method: POST, path: /things, idempotencyHeader: Idempotency-Key }, input: { type: object } }
  mapped:
    description: Maps its errors.
    request: { method: GET, path: /mapped }
    errors: [{ when: "\${ response.status == 404 && response.body.why == 'gone' }", as: not_found }]
  missing: { description: Is not there., request: { method: GET, path: /missing }, errors: [{ when: "\${ response.status == 404 }", as: not_found }] }
  picture: { description: Shows one picture., request: { method: GET, path: /picture }, output: { binary: true } }
  priced: { description: Says what it costs., request: { method: GET, path: /priced }, cost_usd: { reserve: 0.05, actual: "\${ response.body.usd }" }, output: { select: "\${ {'answer': response.body.answer} }" } }
`;

/** Waits until nobody has it any more. */
const untilCollected = async (held: WeakRef<object>): Promise<void> => {
  const collect = garbageCollector();
  await until(() => {
    collect();
    return held.deref() === undefined;
  });
};

const caller = { sub: "person:ben", tenant: "tenant:acme", amr: [], actors: [], scopes: new Set<string>() } as unknown as Caller;

describe("an HTTP system", () => {
  const seen: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  let answer: Answer = (_request, response) => response.end("{}");
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      response.setHeader("content-type", "application/json");
      answer(request, response, body);
    });
  });
  let folder = "";
  let tools: Map<string, Tool>;
  let close = async (): Promise<void> => {};

  const compile = async (): Promise<void> => {
    const [file] = (await loadSystems(folder)).files;
    assert.ok(file?.document.kind === "http");
    const compiled = await compileHttp(
      { ...file, document: file.document },
      {
        placeholders: {},
        requiresTls: false,
        internalPorts: new Set(),
        ceiling: readCeiling(["0.0.0.0/0", "::/0"]),
        metrics: createMetrics(),
        now: () => new Date(),
        version: "1",
      },
    );
    assert.equal(compiled.kind, "tools", JSON.stringify("issues" in compiled ? compiled.issues : ""));
    if (compiled.kind !== "tools") return;
    tools = new Map(compiled.tools.map((tool) => [tool.name.split(".").at(-1) ?? "", tool]));
    close = compiled.close;
  };

  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    folder = await mkdtemp(join(tmpdir(), "sallyport-http-"));
    await writeFile(join(folder, "up.test.yaml"), system((server.address() as AddressInfo).port, operations));
    await compile();
  });
  after(async () => {
    await close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  const run = (
    name: string,
    args: Record<string, unknown> = {},
    more: Partial<Pick<Invocation, "isEnough" | "signal">> & { readonly claim?: Claim } = {},
  ): Promise<UpstreamAnswer> => {
    seen.length = 0;
    const tool = tools.get(name);
    assert.ok(tool);
    return tool.connector({
      callId: "call-1",
      correlationId: "c-1",
      caller,
      decisionId: "d_1",
      toolName: tool.name,
      viewName: "",
      arguments: args,
      signal: new AbortController().signal,
      claim: createShares({ total: 1_000_000, perKey: 1_000_000 })("tenant:acme"),
      secret: async () => "s3cret-key",
      conceal: () => {},
      now: new Date(),
      ...more,
    });
  };
  const failure = async (work: Promise<unknown>): Promise<[string, string]> => {
    const error: unknown = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof UpstreamError, String(error));
    return [error.problem.code, error.effect];
  };
  const status =
    (code: number, body: unknown = {}): Answer =>
    (_request, response) =>
      void response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));

  test("binds arguments by name, encoding each path segment", async () => {
    answer = status(200, { ok: true });
    assert.deepEqual((await run("read", { id: "a/b?c#d", q: "x&y=z" })).value, { ok: true });
    assert.equal(seen[0]?.url, "/base/things/a%2Fb%3Fc%23d?q=x%26y%3Dz&key=s3cret-key");
    await run("write", { name: "n" });
    assert.deepEqual([seen[0]?.method, seen[0]?.body], ["POST", '{"name":"n"}']);
    for (const id of ["", ".", ".."]) {
      await assert.rejects(run("read", { id }), { code: "invalid_arguments" });
      assert.equal(seen.length, 0, id);
    }
  });

  test("reads pages until there are enough or no more, and says when it was cut", async () => {
    answer = (request, response) => {
      const after = Number(new URL(request.url ?? "", "http://x").searchParams.get("after") ?? 0);
      response.end(JSON.stringify({ items: [after, after + 1], next: after < 8 ? after + 2 : null }));
    };
    const all = await run("pages");
    assert.deepEqual([all.value, all.isCut, seen.length], [{ items: [0, 1, 2, 3, 4, 5] }, true, 3]);
    assert.match(seen[0]?.url ?? "", /size=2/);
    const enough = await run("pages", {}, { isEnough: (value) => (value as { items: unknown[] }).items.length >= 3 });
    assert.deepEqual([(enough.value as { items: unknown[] }).items.length, seen.length], [4, 2]);
    answer = status(200, { items: [1], next: null });
    assert.equal((await run("pages")).isCut, false);
    answer = status(200, { items: "none", next: null });
    assert.deepEqual(await failure(run("pages")), ["output_invalid", "done"]);
  });

  test("reads pages by number, by offset and by what is left, to their end or their bound", async () => {
    const list = Array.from({ length: 20 }, (_unused, index) => index);
    const rows: readonly (readonly [name: string, place: (query: URLSearchParams) => number, total: number, asked: readonly string[]])[] = [
      ["counted", (query) => (Number(query.get("page")) - 1) * 3, 7, ["size=3&page=1", "size=3&page=2", "size=3&page=3"]],
      ["counted", (query) => (Number(query.get("page")) - 1) * 3, 4, ["size=3&page=1", "size=3&page=2"]],
      ["counted", (query) => (Number(query.get("page")) - 1) * 3, 3, ["size=3&page=1", "size=3&page=2"]],
      ["counted", (query) => (Number(query.get("page")) - 1) * 3, 20, ["size=3&page=1", "size=3&page=2", "size=3&page=3"]],
      ["unsized", (query) => Number(query.get("p")) * 3, 4, ["p=0", "p=1", "p=2"]],
      ["skipped", (query) => Number(query.get("from")), 5, ["size=3&from=0", "size=3&from=3"]],
      ["skipped", (query) => Number(query.get("from")), 0, ["size=3&from=0"]],
    ];
    for (const [name, place, total, asked] of rows) {
      answer = (request, response) => {
        const at = place(new URL(request.url ?? "", "http://x").searchParams);
        response.end(JSON.stringify(list.slice(at, Math.min(at + 3, total))));
      };
      // The place in the list is the connector's: a caller's own would be a second one.
      const { value, isCut } = await run(name, name === "skipped" ? { from: 4 } : {});
      assert.deepEqual([value, isCut], [{ items: list.slice(0, Math.min(total, 9)) }, total === 20], `${name} ${total}`);
      assert.deepEqual(
        seen.map(({ url }) => url),
        asked.map((query) => `/base/pages?${query}&key=s3cret-key`),
      );
    }
  });

  test("reads pages by the links between them, never out of the system", async () => {
    const follow = async (header: string | readonly string[]) => {
      answer = (_request, response) => void response.setHeader("link", header).end(`[${seen.length}]`);
      const got = await run("linked");
      return [got.value, got.isCut, seen[1]?.url];
    };
    const { port } = server.address() as AddressInfo;
    const own = `http://127.0.0.1:${port}`;
    const to = (url: string | undefined) => (url === undefined ? [{ items: [1] }, false, undefined] : [{ items: [1, 2, 3] }, true, url]);
    const rows: readonly (readonly [header: string | readonly string[], url: string | undefined])[] = [
      [`<${own}/base/pages?after=a%2Fb&x>; rel="next"`, "/base/pages?after=a%2Fb&x=&key=s3cret-key"],
      ['</base/a?key=old>; REL=next; title="b, <c>; rel=prev"', "/base/a?key=s3cret-key"],
      ['<?p=2>; title="</base/x>; rel=next"; rel="last prefetch NEXT"', "/base/pages?p=2&key=s3cret-key"],
      [['</base/a>; rel="prev"', "</base/b> ; rel = next"], "/base/b?key=s3cret-key"],
      ["</base/a>; rel=prev, </base/c>;rel=next", "/base/c?key=s3cret-key"],
      ['</base/a>; rel="prev"', undefined],
      ['</base/a>; rel=next; anchor="/other"', undefined],
      ['</base/a>; title="rel=next"', undefined],
      [`${"<".repeat(6000)}${'</a>;b="'.repeat(1500)}`, undefined],
    ];
    for (const [header, url] of rows) assert.deepEqual(await follow(header), to(url), String(header).slice(0, 80));
    for (const header of [
      `http://127.0.0.1:${port + 1}/base/a`,
      `https://127.0.0.1:${port}/base/a`,
      `http://localhost:${port}/base/a`,
      `http://a@127.0.0.1:${port}/base/a`,
      "//169.254.169.254/base/a",
      "/other/a",
      "/based/a",
      "/base/../other",
      "/base/%2e%2e/other",
      "http://[",
    ]) {
      assert.deepEqual(await failure(follow(`<${header}>; rel=next`)), ["output_invalid", "done"], header);
      assert.equal(seen.length, 1, header);
    }
  });

  test("tries reads again, never an unkeyed write, and a keyed one under the same key", async () => {
    let left = 2;
    const flaky: Answer = (_request, response) => void (left-- > 0 ? response.writeHead(503).end("{}") : response.end('{"ok":true}'));
    answer = flaky;
    assert.deepEqual((await run("read", { id: "1" })).value, { ok: true });
    assert.equal(seen.length, 3);
    left = 1;
    assert.deepEqual(await failure(run("write", { name: "n" })), ["upstream_error", "failed"]);
    assert.equal(seen.length, 1);
    left = 1;
    assert.deepEqual((await run("keyed")).value, { ok: true });
    assert.deepEqual(
      seen.map((request) => request.headers["idempotency-key"]),
      ["call-1", "call-1"],
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
  });

  test("calls a write that was sent and not answered unknown, a read a time-out", async () => {
    const { port } = server.address() as AddressInfo;
    answer = () => {};
    await writeFile(join(folder, "up.test.yaml"), system(port, operations, "none", "PT0.1S"));
    await compile();
    assert.deepEqual(await failure(run("write", { name: "n" })), ["outcome_unknown", "unknown"]);
    await compile();
    assert.deepEqual(await failure(run("read", { id: "1" })), ["upstream_timeout", "failed"]);
    await writeFile(join(folder, "up.test.yaml"), system(port, operations));
    await compile();
    answer = (request) => request.socket.destroy();
    assert.deepEqual(await failure(run("write", { name: "n" })), ["outcome_unknown", "unknown"]);
    await compile();
    answer = status(504);
    assert.deepEqual(await failure(run("write", { name: "n" })), ["outcome_unknown", "unknown"]);
    await compile();
  });

  test("bounds what comes back and takes nothing it did not ask for", async () => {
    const cases: [string, Answer, [string, string]][] = [
      ["too large", status(200, { text: "x".repeat(3000) }), ["output_too_large", "done"]],
      [
        "a redirect",
        (_request, response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
        ["upstream_error", "failed"],
      ],
      ["no JSON", (_request, response) => void response.end("{"), ["output_invalid", "done"]],
      ["half a surrogate pair", (_request, response) => void response.end('{"a":"\\ud800"}'), ["output_invalid", "done"]],
      ["a member twice", (_request, response) => void response.end('{"a":1,"a":2}'), ["output_invalid", "done"]],
      [
        "packed",
        (_request, response) => void response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" }).end("x"),
        ["output_invalid", "done"],
      ],
      [
        "another type",
        (_request, response) => void response.writeHead(200, { "content-type": "image/png" }).end("x"),
        ["output_invalid", "done"],
      ],
      [
        "text of another charset",
        (_request, response) => void response.writeHead(200, { "content-type": "text/plain" }).end(Buffer.from("Müller", "latin1")),
        ["upstream_bad_response", "done"],
      ],
      ["a refusal", status(403, { secret: "s3cret-key" }), ["upstream_error", "failed"]],
    ];
    for (const [name, given, expected] of cases) {
      answer = given;
      assert.deepEqual(await failure(run("read", { id: "1" })), expected, name);
    }
  });

  test("the status of a failure decides, whatever came with it and cannot be read", async () => {
    const bodies: readonly (readonly [name: string, headers: Record<string, string>, body: string | Uint8Array])[] = [
      ["no type", { "content-type": "" }, "nothing here"],
      ["no JSON", { "content-type": "application/json" }, "{"],
      ["more than may come", { "content-type": "text/plain" }, "x".repeat(3000)],
      ["packed wrongly", { "content-type": "text/plain", "content-encoding": "gzip" }, "x"],
    ];
    for (const [name, headers, body] of bodies) {
      const bare =
        (code: number): Answer =>
        (_request, response) =>
          void response.writeHead(code, headers).end(body);
      answer = bare(404);
      assert.deepEqual(await failure(run("missing")), ["not_found", "failed"], name);
      answer = (request, response, sent) => (seen.length < 3 ? bare(503) : status(200, { ok: true }))(request, response, sent);
      assert.deepEqual((await run("read", { id: "1" })).value, { ok: true }, name);
      answer = bare(name === "more than may come" ? 500 : 422);
      assert.deepEqual(await failure(run("write")), ["upstream_error", "failed"], name);
    }
  });

  test("unpacks what came packed, as far as it may be large", async () => {
    const text = JSON.stringify({ text: "x".repeat(1500) });
    const packed =
      (encoding: string, bytes: Uint8Array): Answer =>
      (_request, response) =>
        void response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding }).end(bytes);
    const ways: readonly (readonly [encoding: string, pack: (bytes: string) => Uint8Array])[] = [
      ["gzip", gzipSync],
      ["deflate", deflateSync],
      ["deflate", deflateRawSync],
      ["br", brotliCompressSync],
    ];
    for (const [encoding, pack] of ways) {
      answer = packed(encoding, pack(text));
      assert.deepEqual((await run("read", { id: "1" })).value, JSON.parse(text), encoding);
      assert.match(String(seen[0]?.headers["accept-encoding"]), new RegExp(`\\b${encoding}\\b`));
      answer = packed(encoding, pack(JSON.stringify({ text: "x".repeat(400_000) })));
      assert.deepEqual(await failure(run("read", { id: "1" })), ["output_too_large", "done"], encoding);
    }
    answer = packed("zstd", Buffer.from(text));
    assert.deepEqual(await failure(run("read", { id: "1" })), ["output_invalid", "done"]);
    answer = packed("gzip, gzip", gzipSync(gzipSync(text)));
    assert.deepEqual(await failure(run("read", { id: "1" })), ["output_invalid", "done"]);
  });

  test("an answer takes of its tenant's share of bytes, and what is beyond it is refused without a second try", async () => {
    const { port } = server.address() as AddressInfo;
    await writeFile(join(folder, "up.test.yaml"), system(port, operations, "same_origin"));
    await compile();
    const shares = createShares({ total: 5000, perKey: 1000 });
    const text = (bytes: number, more: object = {}): string => JSON.stringify({ ...more, text: "x".repeat(bytes) });
    const small = Buffer.byteLength(text(600));
    const packed = gzipSync(text(600));
    const sent =
      (body: string | Uint8Array, code = 200, headers: Record<string, string> = {}): Answer =>
      (_request, response) =>
        void response.writeHead(code, headers).end(body);
    const pages: Answer = (_request, response) => void response.end(text(seen.length === 2 ? 700 : 300, { items: [1], next: seen.length }));
    const led: Answer = (...one) => (seen.length === 1 ? sent(text(600), 302, { location: "/there" }) : sent(text(600)))(...one);
    const broken: Answer = (_request, response) => {
      response.writeHead(200, { "content-length": "900" }).write(text(600));
      setTimeout(() => response.destroy(), 20);
    };
    const overloaded = ["overloaded", "failed", false];
    const done = ["output_too_large", "done", true];
    const rows: readonly (readonly [string, string, Answer, readonly unknown[] | undefined, number, number])[] = [
      ["a small answer", "read", sent(text(600)), undefined, 1, small],
      ["one that came packed", "read", sent(packed, 200, { "content-encoding": "gzip" }), undefined, 1, small + packed.byteLength],
      ["a redirect with a body", "read", led, undefined, 2, small],
      ["a read beyond the share", "read", sent(text(1200)), overloaded, 1, 0],
      ["one that is beyond it unpacked", "read", sent(gzipSync(text(1200)), 200, { "content-encoding": "gzip" }), overloaded, 1, 0],
      ["a write beyond it", "write", sent(text(1200)), done, 1, 0],
      ["a write under a key", "keyed", sent(text(1200)), done, 1, 0],
      ["a write unpacked", "write", sent(gzipSync(text(1200)), 200, { "content-encoding": "gzip" }), done, 1, 0],
      ["pages", "pages", pages, overloaded, 2, Buffer.byteLength(text(300, { items: [1], next: 1 }))],
      ["a refusal", "write", sent(text(600), 403), ["upstream_error", "failed", true], 1, 0],
      ["a refusal beyond it", "read", sent(text(1200), 403), ["upstream_error", "failed", true], 1, 0],
      ["tries that were refused", "read", sent(text(600), 503), ["upstream_error", "failed", false], 3, 0],
      ["a read that broke off", "read", broken, ["upstream_error", "failed", false], 3, 0],
      ["a write that broke off", "write", broken, ["outcome_unknown", "unknown", false], 1, 0],
    ];
    for (const [name, operation, given, refused, requests, taken] of rows) {
      answer = given;
      await compile();
      const claim = shares("tenant:acme");
      const error: unknown = await run(operation, { id: "1" }, { claim }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      assert.deepEqual(error instanceof UpstreamError ? [error.problem.code, error.effect, error.isFinal] : error, refused, name);
      if (refused === overloaded) assert.equal((error as UpstreamError).problem.options.headers?.["retry-after"], "1", name);
      assert.deepEqual([seen.length, claim.taken], [requests, taken], name);
      claim[Symbol.dispose]();
    }
    answer = (_request, response) => void response.write(text(600));
    const [claim, hangUp] = [shares("tenant:acme"), new AbortController()];
    const aborted = failure(run("write", {}, { claim, signal: hangUp.signal }));
    await until(() => claim.taken > 0);
    answer = sent(text(600));
    assert.deepEqual(await failure(run("read", { id: "1" }, { claim: shares("tenant:acme") })), ["overloaded", "failed"], "beside another");
    assert.ok(await run("read", { id: "1" }, { claim: shares("tenant:globex") }), "of another tenant");
    hangUp.abort();
    assert.deepEqual(await aborted, ["outcome_unknown", "unknown"]);
    assert.ok(await run("read", { id: "1" }, { claim: shares("tenant:acme") }), "what was hung up gave its bytes back");
    for (let at = 0; at < 4; at++)
      assert.deepEqual(
        await failure(run("read", { id: "1" }, { claim: shares("tenant:acme") })),
        ["overloaded", "failed"],
        "no circuit opens",
      );
    await writeFile(join(folder, "up.test.yaml"), system(port, operations));
    await compile();
  });

  test("text is read by the charset of its media type", async () => {
    answer = (_request, response) =>
      void response.writeHead(200, { "content-type": "text/plain; charset=iso-8859-1" }).end(Buffer.from("Müller", "latin1"));
    assert.equal((await run("read", { id: "1" })).value, "Müller");
  });

  test("gives bytes as base64 with their media type where the file says so", async () => {
    const bytes = Buffer.from([0x89, 0x50, 0, 0xff]);
    const base64 = bytes.toString("base64");
    for (const [type, mimeType, content] of [
      ["image/png; a=b", "image/png", { type: "image", data: base64, mimeType: "image/png" }],
      ["audio/ogg", "audio/ogg", { type: "audio", data: base64, mimeType: "audio/ogg" }],
      [
        "application/pdf",
        "application/pdf",
        { type: "resource", resource: { uri: "urn:sallyport:call:call-1", mimeType: "application/pdf", blob: base64 } },
      ],
    ] as const) {
      answer = (_request, response) => void response.writeHead(200, { "content-type": type }).end(bytes);
      const { value, media } = await run("picture");
      assert.deepEqual([value, media], [{ mime_type: mimeType, bytes: 4 }, [content]]);
      assert.equal(seen[0]?.headers.accept, "*/*");
    }
    answer = status(200, { none: true });
    assert.deepEqual((await run("picture")).value, { none: true }, "JSON stays JSON");
    answer = (_request, response) => void response.writeHead(200, { "content-type": "image/png" }).end(Buffer.alloc(3000));
    assert.deepEqual(await failure(run("picture")), ["output_too_large", "done"]);
  });

  test("maps errors as the file says, and reads the price from the answer", async () => {
    answer = status(404, { why: "gone" });
    assert.deepEqual(await failure(run("mapped")), ["not_found", "failed"]);
    assert.equal(seen.length, 1);
    answer = status(404, { why: "else" });
    assert.deepEqual(await failure(run("mapped")), ["upstream_error", "failed"]);
    answer = status(200, { usd: 0.0123, answer: 42 });
    assert.deepEqual(await run("priced"), { value: { answer: 42 }, status: 200, isCut: false, costMicro: 12_300n });
  });

  test("rests after failures and lets one through afterwards", async (context) => {
    context.mock.timers.enable({ apis: ["Date"] });
    answer = status(500);
    await compile();
    for (let i = 0; i < 3; i++) assert.deepEqual(await failure(run("write", {})), ["upstream_error", "failed"]);
    assert.deepEqual(await failure(run("write", {})), ["upstream_circuit_open", "not_sent"]);
    assert.equal(seen.length, 0);
    context.mock.timers.tick(250);
    answer = status(200, { ok: true });
    assert.deepEqual((await run("write", {})).value, { ok: true });
  });

  test("follows redirects of reads within its origin, at most three, where the file says so", async () => {
    const { port } = server.address() as AddressInfo;
    const led =
      (code: number, location: (hop: number) => string | undefined): Answer =>
      (_request, response) => {
        const to = location(seen.length);
        if (to === undefined) return void response.end(`{"hops":${seen.length - 1}}`);
        response.writeHead(code, to === "" ? {} : { location: to }).end();
      };
    answer = led(302, () => "/there");
    assert.deepEqual(await failure(run("read", { id: "1" })), ["upstream_error", "failed"], "not unless the file says so");
    await writeFile(join(folder, "up.test.yaml"), system(port, operations, "same_origin"));
    await compile();
    for (const code of [301, 302, 303, 307, 308]) {
      answer = led(code, (hop) => (hop > 3 ? undefined : `/there/${hop}?a=%2F&key=old#x`));
      assert.deepEqual((await run("read", { id: "1" })).value, { hops: 3 }, String(code));
      assert.deepEqual(
        seen.map(({ url }) => url),
        ["/base/things/1", "/there/1?a=%2F", "/there/2?a=%2F", "/there/3?a=%2F"].map(
          (url) => `${url}${url.includes("?") ? "&" : "?"}key=s3cret-key`,
        ),
      );
    }
    const refused: readonly (readonly [name: string, code: number, to: string, requests: number])[] = [
      ["a fourth", 302, "/again", 4],
      ["paths that begin as a host does", 302, `http://127.0.0.1:${port}//other.example/a`, 4],
      ["a path of slashes", 302, `http://127.0.0.1:${port}//`, 4],
      ["another port", 302, `http://127.0.0.1:${port + 1}/`, 1],
      ["another scheme", 307, `https://127.0.0.1:${port}/`, 1],
      ["another name", 308, `http://localhost:${port}/`, 1],
      ["another host", 302, "//169.254.169.254/latest", 1],
      ["a user", 302, `http://u:p@127.0.0.1:${port}/`, 1],
      ["no address", 302, "http://[", 1],
      ["nothing new", 304, "/there", 1],
      ["nowhere", 302, "", 1],
    ];
    for (const [name, code, to, requests] of refused) {
      answer = led(code, () => to);
      assert.deepEqual(await failure(run("read", { id: "1" })), ["upstream_error", "failed"], name);
      assert.equal(seen.length, requests, name);
    }
    answer = led(307, () => "/there");
    assert.deepEqual(await failure(run("write", {})), ["upstream_error", "failed"]);
    assert.equal(seen.length, 1, "what a write is sent to is its file's to say");
    await writeFile(join(folder, "up.test.yaml"), system(port, operations));
    await compile();
  });

  test("nothing is sent to an upstream that is not there", async () => {
    await cp(join(folder, "up.test.yaml"), join(folder, "keep"), {});
    await writeFile(join(folder, "up.test.yaml"), system(1, operations));
    await compile();
    assert.deepEqual(await failure(run("write", {})), ["upstream_error", "not_sent"]);
    await writeFile(
      join(folder, "up.test.yaml"),
      system((server.address() as AddressInfo).port, operations).replace("127.0.0.1/32", "10.0.0.0/8"),
    );
    await compile();
    assert.deepEqual(await failure(run("read", { id: "1" })), ["upstream_error", "not_sent"]);
    assert.equal(seen.length, 0);
  });
});

for (const [what, status] of [
  ["a redirect", 302],
  ["a refusal that another token may mend", 401],
] as const)
  test(`what came with ${what} is not stored while the next answer is waited for`, async () => {
    const asked: string[] = [];
    let body: WeakRef<object> | undefined;
    const { promise, resolve } = Promise.withResolvers<ExchangeReply>();
    const connector = createHttpConnector(
      {
        auth: { type: "oauth2_client", tokenUrl: "http://t.example/", clientId: "c", clientSecret: "s", scopes: [] },
        tokens: { token: async () => "token", drop: () => {} } as unknown as SystemTokens,
        baseUrl: new URL("http://up.example/base"),
        agent: new Agent(),
        resilience: (run) => run.attempt(run.signal),
        userAgent: "test",
        followsRedirects: true,
        exchange: async ({ path }) => {
          if (asked.push(path) > 1) return promise;
          const given = { large: true };
          body = new WeakRef(given);
          return { status, headers: { location: "/base/next" }, body: given };
        },
      },
      {
        bind: () => ({ method: "GET", path: "/a", query: [], headers: {}, body: undefined }),
        errors: [],
        retry: undefined as unknown as RetryRules,
        timeoutMs: 1000,
        maxBytes: 1000,
        takesBinary: false,
        isReadOnly: true,
        isIdempotent: true,
      },
    );
    const given = connector({
      callId: "call-1",
      correlationId: "c-1",
      caller,
      decisionId: "d_1",
      toolName: "up.test.a",
      viewName: "",
      arguments: {},
      signal: new AbortController().signal,
      claim: createShares({ total: 1000, perKey: 1000 })("tenant:acme"),
      secret: async () => "secret",
      conceal: () => {},
      now: new Date(),
    });
    await until(() => asked.length === 2);
    assert.ok(body !== undefined);
    await untilCollected(body);
    resolve({ status: 200, headers: {}, body: "answer" });
    assert.equal((await given).value, "answer");
    assert.deepEqual(asked, ["/base/a", status === 302 ? "/base/next" : "/base/a"]);
  });
