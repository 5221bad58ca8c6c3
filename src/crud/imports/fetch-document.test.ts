import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { MAX_IMPORT_BYTES } from "#contract/imports.ts";
import { Problem } from "#contract/problem.ts";
import { createShares, type Claim } from "#http/shares.ts";
import { serverUpstream, type ServerUpstream } from "#testing/http-upstream.ts";
import { readCeiling, type NetworkCeiling } from "#crud/upstream/network-rules.ts";
import { fetchDocument } from "./fetch-document.ts";

const loopback = ["127.0.0.0/8", "::1/128"];
const wide = readCeiling(["0.0.0.0/0", "::/0"]);
const never = new AbortController().signal;
const fetched = async (
  url: string,
  more: {
    readonly allow?: readonly string[];
    readonly ceiling?: NetworkCeiling;
    readonly internalPorts?: readonly number[];
    readonly claim?: Claim;
  } = {},
) => {
  const { allow = loopback, ceiling = wide, internalPorts = [], claim = createShares({ total: 1e9, perKey: 1e9 })("tenant:acme") } = more;
  try {
    const bytes = await fetchDocument(url, {
      allow,
      ceiling,
      internalPorts: new Set(internalPorts),
      signal: never,
      claim,
      deadlineMs: 1_000,
    });
    return Buffer.from(bytes).toString();
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return `${error.code} ${error.options.errors?.[0]?.message ?? ""}`.trim();
  }
};

test("a document is fetched as it is, whatever is in its path", async (t) => {
  const server = await serverUpstream(t);
  server.answer = (_request, response) => void response.writeHead(200, { "content-type": "text/html" }).end("openapi: 3.1.0");
  for (const path of ["/", "/@scope/package@1.2.3/openapi.yaml", "/a?at=b@c#d@e", "/a%00b"])
    assert.equal(await fetched(`${server.url}${path}`), "openapi: 3.1.0", path);
  assert.deepEqual(
    server.seen.map(({ url }) => url),
    ["/", "/@scope/package@1.2.3/openapi.yaml", "/a?at=b@c", "/a%00b"],
  );
  assert.equal(server.seen[0]?.headers["authorization"], undefined);
  assert.equal(server.seen[0]?.headers["cookie"], undefined);
});

const refused: Readonly<Record<string, readonly [url: string, more: Parameters<typeof fetched>[1], said: RegExp]>> = {
  "no network is allowed": ["http://127.0.0.1:9/", { allow: [] }, /may not be dialled \(not_public\): name its network in allow/],
  "a name of this machine": ["http://localhost:9/", { allow: [] }, /may not be dialled/],
  "one number": ["http://2130706433:9/", { allow: [] }, /may not be dialled/],
  hexadecimal: ["http://0x7f.1:9/", { allow: [] }, /may not be dialled/],
  octal: ["http://0177.0.0.1:9/", { allow: [] }, /may not be dialled/],
  "IPv6 of this machine": ["http://[::1]:9/", { allow: [] }, /may not be dialled/],
  "IPv4 in IPv6": ["http://[::ffff:127.0.0.1]:9/", { allow: [] }, /may not be dialled/],
  "NAT64 of this machine": ["http://[64:ff9b::7f00:1]:9/", { allow: [] }, /may not be dialled/],
  "any address": ["http://0.0.0.0:9/", { allow: [] }, /may not be dialled/],
  "a private network": ["http://10.0.0.1:9/", { allow: [] }, /may not be dialled/],
  "a provider's network": ["http://100.64.0.1:9/", { allow: [] }, /may not be dialled/],
  "metadata, allowed": ["http://169.254.169.254/latest/meta-data", { allow: ["169.254.0.0/16"] }, /may not be dialled \(metadata\)/],
  "metadata by IPv6, allowed": ["http://[fd00:ec2::254]/", { allow: ["fd00:ec2::/64"] }, /may not be dialled \(metadata\)/],
  "metadata in IPv6, allowed": ["http://[::ffff:169.254.169.254]/", { allow: ["169.254.0.0/16"] }, /may not be dialled/],
  "a port of Sallyport, allowed": ["http://127.0.0.1:8081/", { internalPorts: [8081] }, /may not be dialled/],
  "a user": ["http://ada:secret@127.0.0.1:9/", {}, /names a user/],
  "a user without a name": ["http://@127.0.0.1:9/", {}, /names a user/],
  "a user behind backslashes": ["http:\\\\ada@127.0.0.1:9/", {}, /names a user/],
  "another protocol": ["file:///etc/passwd", {}, /https URL/],
  "no URL": ["//127.0.0.1/", {}, /https URL/],
  "no network in allow": ["http://127.0.0.1:9/", { allow: ["127.0.0.1/99"] }, /no network/],
  "a network beyond the operator's": [
    "http://127.0.0.1:9/",
    { ceiling: readCeiling(["127.0.0.0/9"]) },
    /is more than the operator lets systems dial: TOOLS_NETWORK_CEILING is 127\.0\.0\.0\/9/,
  ],
  "a network where the operator allows none": ["http://127.0.0.1:9/", { ceiling: readCeiling([]) }, /TOOLS_NETWORK_CEILING is empty/],
  "nobody there": ["http://127.0.0.1:9/", {}, /^upstream_error$/],
};
for (const [what, [url, more, said]] of Object.entries(refused))
  test(`what may not be fetched: ${what}`, async () => assert.match(await fetched(url, more), said));

const answers: Readonly<Record<string, readonly [answer: ServerUpstream["answer"], said: RegExp]>> = {
  "a redirect to metadata": [
    (_request, response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
    /redirects: name the address/,
  ],
  "a sign-in": [(_request, response) => void response.writeHead(401, { "www-authenticate": "Basic" }).end("who?"), /answers 401/],
  "nothing new": [(_request, response) => void response.writeHead(304).end(), /redirects|answers 304/],
  "a bomb": [
    (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(1_000_000))),
    /answers compressed/,
  ],
  "more than is read": [
    (_request, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(1_048_576, " ");
      let sent = 0;
      const go = (): void => {
        while (sent <= MAX_IMPORT_BYTES && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", go);
        }
        response.end();
      };
      go();
    },
    /^body_too_large$/,
  ],
  "no answer": [() => {}, /^upstream_timeout$/],
  "a byte now and then": [
    (request, response) => {
      response.writeHead(200).write("{");
      const timer = setInterval(() => response.write(" "), 100);
      request.socket.once("close", () => clearInterval(timer));
    },
    /^upstream_timeout$/,
  ],
  "half of it": [
    (_request, response) => {
      response.writeHead(200, { "content-length": "1000" }).write("{");
      setTimeout(() => response.destroy(), 20);
    },
    /^upstream_error$/,
  ],
  "headers without end": [
    (_request, response) =>
      void response.writeHead(200, Object.fromEntries(Array.from({ length: 300 }, (_none, n) => [`x-${n}`, "v".repeat(200)]))).end("{}"),
    /^upstream_error$/,
  ],
};
for (const [what, [answer, said]] of Object.entries(answers))
  test(`what a server answers that is no document: ${what}`, async (t) => {
    const server = await serverUpstream(t);
    server.answer = answer;
    assert.match(await fetched(`${server.url}/openapi.json`), said);
  });

test("what is fetched takes of its tenant's share until it was read, and beyond it is refused", async (t) => {
  const server = await serverUpstream(t);
  server.answer = (_request, response) => void response.writeHead(200).end("x".repeat(60));
  const shares = createShares({ total: 200, perKey: 100 });
  const first = shares("tenant:acme");
  assert.equal((await fetched(server.url, { claim: first })).length, 60);
  assert.equal(first.taken, 60);
  assert.equal(await fetched(server.url, { claim: shares("tenant:acme") }), "rate_limited");
  assert.equal((await fetched(server.url, { claim: shares("tenant:globex") })).length, 60);
  first[Symbol.dispose]();
  assert.equal((await fetched(server.url, { claim: shares("tenant:acme") })).length, 60);
});
