import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { decidingPeer, recordingPeer, sharedDatabase, testGateway, type TestGatewayOptions } from "#testing/gateway.ts";
import { testIdentity } from "#testing/identity.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();

const rowsOf = (mapped: string) => `version: 1
services: { crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" } }
routes:
  - { id: raw, path: /raw/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: bearer, authz: none, streaming: true${mapped} }
  - { id: decided, path: /decided, target_service: crud, upstream_path: /decided, methods: [POST], auth: bearer, authz: pdp, streaming: true, authz_map: { POST: { resource: streams, action: config, props: { kind: "$.kind" } } } }
  - { id: pages, path: /pages/*, target_service: crud, upstream_path: "/{path}", methods: [GET, POST], auth: session, authz: none }
`;

/** A request on a socket of its own, and what comes back. */
interface Listener {
  readonly socket: Socket;
  readonly text: () => string;
  /** The connection is gone. */
  readonly closed: Promise<void>;
  /** As HTTP says it: the last chunk of one answer. */
  hasEnded(): boolean;
}

const ask = (port: number, method: string, path: string, headers: Readonly<Record<string, string>>, body = ""): Listener => {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  const sent = { host: "localhost:8080", ...(body === "" ? {} : { "content-type": "application/json" }), ...headers };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === "" ? "" : `content-length: ${Buffer.byteLength(body)}\r\n`;
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}${length}\r\n${body}`);
  return { socket, text: () => text, closed, hasEnded: () => text.includes("\r\n0\r\n\r\n") };
};

interface Source {
  readonly path: string;
  send(text: string): void;
  end(): void;
  /** The upstream knows that nobody listens any more. */
  readonly left: { byBody: boolean; bySignal: boolean };
}

const world = async (t: TestContext, options: TestGatewayOptions = {}) => {
  const sources: Source[] = [];
  const crud = recordingPeer();
  const kind = { type: "text/event-stream" };
  crud.answer = (request) => {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const left = { byBody: false, bySignal: false };
    request.signal.addEventListener("abort", () => (left.bySignal = true));
    const body = new ReadableStream<Uint8Array>({
      start: (given) => void (controller = given),
      cancel: () => void (left.byBody = true),
    });
    const send = (text: string) => controller?.enqueue(new TextEncoder().encode(text));
    sources.push({ path: new URL(request.url).pathname, send, end: () => controller?.close(), left });
    send("data: first\n\n");
    return new Response(body, { headers: { "content-type": kind.type } });
  };
  const may = { go: true };
  const pdp = decidingPeer(() => may.go);
  const given = { routes: rowsOf(""), peers: { crud: crud.peer, pdp: pdp.peer }, database: await database(), ...options };
  const made = await testGateway(t, given);
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  const tokenFor = async (life = 300) => {
    const token = await made.identity.tokenFor({ sub: "person:ben", tenant: "tenant:acme", scopes: [], clientId: "sallyport-web", life });
    return { authorization: `Bearer ${token}` };
  };
  const open = async (method: string, path: string, headers: Readonly<Record<string, string>>, body = "") => {
    const listener = ask(port, method, path, headers, body);
    cleanUp(t, () => listener.socket.destroy());
    await until(
      () => listener.text(),
      (text) => text.includes("first"),
    );
    assert.match(listener.text(), /^HTTP\/1\.1 200 /);
    return listener;
  };
  const raw = () => made.counted("gateway_streams", { kind: "raw" });
  const move = () =>
    made.events.change(async () => ({
      result: undefined,
      events: [{ type: "thing.changed", tenant: "tenant:acme", stream: "config", kind: "graph", key: "k", data: {} }],
    }));
  return { made, port, sources, kind, may, pdp, crud, tokenFor, open, raw, move };
};

/** Nobody listens to the upstream, nothing is counted, and the client has its end. */
const hasLetGo = async (made: Awaited<ReturnType<typeof world>>, listener: Listener, source: Source | undefined): Promise<void> => {
  await until(() => listener.hasEnded());
  await until(() => source?.left.byBody === true && source.left.bySignal);
  await until(made.raw, (open) => open === 0);
};

test("a raw event stream ends with the token that it was opened with, and the connection serves on", async (t) => {
  const made = await world(t);
  const bearer = await made.tokenFor(2);
  const listener = await made.open("GET", "/raw/x", bearer);
  assert.equal(await made.raw(), 1);
  made.sources[0]?.send("data: second\n\n");
  await until(() => listener.text().includes("second"));
  await hasLetGo(made, listener, made.sources[0]);
  assert.doesNotMatch(listener.text(), /bye/, "nothing is put in");
  listener.socket.write(`GET /raw/x HTTP/1.1\r\nhost: localhost:8080\r\nauthorization: ${bearer.authorization}\r\n\r\n`);
  await until(() => listener.text().includes("HTTP/1.1 401 "));
});

test("what is no event stream breaks off when its token ends: a cut body must not look complete", async (t) => {
  const made = await world(t);
  made.kind.type = "application/x-ndjson";
  const listener = await made.open("GET", "/raw/x", await made.tokenFor(2));
  await listener.closed;
  assert.equal(listener.hasEnded(), false);
  await until(made.raw, (open) => open === 0);
  assert.equal(made.sources[0]?.left.byBody, true);
});

test("an event stream with a length of its own breaks off, because its reader still waits for the rest", async (t) => {
  const made = await world(t);
  const { answer } = made.crud;
  made.crud.answer = async (request) => {
    const response = await answer(request);
    response.headers.set("content-length", "1000");
    return response;
  };
  const listener = await made.open("GET", "/raw/x", await made.tokenFor(2));
  await listener.closed;
  await until(made.raw, (open) => open === 0);
});

for (const [what, end] of [
  ["signed out on another replica", (other, who) => other.fetch("/auth/logout", { method: "POST", headers: who.headers, body: "{}" })],
  ["revoked in the store", (other, who) => other.store.end({ sidHash: who.record.sidHash }, "admin")],
] as const satisfies readonly (readonly [string, (other: Other, who: Who) => Promise<unknown>])[])
  test(`an event stream of any session row ends when its session is ${what}`, async (t) => {
    const made = await world(t);
    const other = await world(t, { identity: made.made.identity });
    const who = await made.made.signIn("person:ben");
    const [stays, goes] = [await made.made.signIn("person:ben"), who];
    const kept = await made.open("POST", "/pages/kept", stays.headers, "{}");
    const listeners = [await made.open("GET", "/pages/x", goes.cookie), await made.open("POST", "/pages/y", goes.headers, "{}")];
    assert.equal(await made.raw(), 3);
    await end(other.made, who);
    await until(() => listeners.every((listener) => listener.hasEnded()));
    await until(made.raw, (open) => open === 1);
    assert.deepEqual(
      made.sources.map(({ path, left }) => [path, left.byBody]),
      [
        ["/kept", false],
        ["/x", true],
        ["/y", true],
      ],
    );
    assert.equal(kept.hasEnded(), false, "another session of the same person");
  });
type Other = Awaited<ReturnType<typeof testGateway>>;
type Who = Awaited<ReturnType<Other["signIn"]>>;

test("a session that ends while the upstream is asked gets no stream that outlives it", async (t) => {
  const made = await world(t);
  const { answer } = made.crud;
  const gate = Promise.withResolvers<void>();
  made.crud.answer = async (request) => {
    await gate.promise;
    return answer(request);
  };
  const who = await made.made.signIn("person:ben");
  const listener = ask(made.port, "GET", "/pages/x", who.cookie);
  cleanUp(t, () => listener.socket.destroy());
  await until(() => made.crud.seen.length === 1);
  await made.made.store.end({ sidHash: who.record.sidHash }, "admin");
  gate.resolve();
  await until(() => made.sources.length === 1);
  await hasLetGo(made, listener, made.sources[0]);
});

test("a raw stream ends when the right to it is gone, decided anew on the body that came with it", async (t) => {
  const made = await world(t);
  const listener = await made.open("POST", "/decided", await made.tokenFor(), '{"kind":"tools"}');
  const asked = made.pdp.seen.length;
  await made.move();
  await until(() => made.pdp.seen.length > asked);
  assert.match(made.pdp.seen.at(-1)?.body ?? "", /"claimed":\{"kind":"tools"\}/);
  assert.equal(listener.hasEnded(), false);
  made.may.go = false;
  await made.move();
  await hasLetGo(made, listener, made.sources[0]);
});

test("a raw stream on which nobody decides ends when its credential counts no more and the graph moves", async (t) => {
  const identity = testIdentity({ now: () => new Date() });
  const state = { ended: false };
  const verifierFor: GatewayParts["verifierFor"] = (audiences) => {
    const verify = identity.verifierFor(audiences);
    return async (request) => {
      if (state.ended) throw new Problem("invalid_token");
      return verify(request);
    };
  };
  const made = await world(t, { identity, parts: { verifierFor, hasEnded: async () => state.ended } });
  const session = await made.made.signIn("person:ben");
  const listeners = [await made.open("GET", "/raw/x", await made.tokenFor()), await made.open("GET", "/pages/x", session.cookie)];
  await made.move();
  assert.equal(await made.raw(), 2);
  state.ended = true;
  await made.move();
  await until(() => listeners.every((listener) => listener.hasEnded()));
  await until(made.raw, (open) => open === 0);
});

test("who listens under a row that a reload changes comes back; an answer under way is finished", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "reload-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const routesFile = join(folder, "routes.yaml");
  await writeFile(routesFile, rowsOf(""));
  const made = await world(t, { parts: { routesFile } });
  const bearer = await made.tokenFor();
  const listening = await made.open("GET", "/raw/x", bearer);
  const answering = await made.open("POST", "/raw/y", bearer, "{}");
  await writeFile(routesFile, rowsOf(", rate: ingest"));
  assert.deepEqual((await made.made.gateway.reload()).changed, ["raw"]);
  await until(() => listening.hasEnded());
  made.sources[1]?.send("data: result\n\n");
  await until(() => answering.text().includes("result"));
  made.sources[1]?.end();
  await until(() => answering.hasEnded());
});

test("a stop ends those who listen at once, and waits for answers that stream", async (t) => {
  const made = await world(t, { settings: { SHUTDOWN_DEADLINE_MS: "300000" } });
  const bearer = await made.tokenFor();
  const page = await made.made.signIn("person:ben");
  const listening = [
    await made.open("GET", "/raw/x", bearer),
    await made.open("POST", "/raw/y", { ...bearer, "mcp-method": "subscriptions/listen" }, "{}"),
    await made.open("GET", "/pages/x", page.cookie),
  ];
  const answering = [await made.open("POST", "/raw/z", bearer, "{}"), await made.open("POST", "/pages/z", page.headers, "{}")];
  const stopped = made.made.gateway[Symbol.asyncDispose]();
  await until(() => listening.every((listener) => listener.hasEnded()));
  assert.deepEqual(
    answering.map((listener) => listener.hasEnded()),
    [false, false],
  );
  // Longer than connections that rest have: theirs come to rest after that, and must not be waited for either.
  await sleep(700);
  for (const source of made.sources.slice(3)) {
    source.send("data: result\n\n");
    source.end();
  }
  await Promise.all([stopped, ...[...listening, ...answering].map(({ closed }) => closed)]);
  for (const listener of answering) assert.match(listener.text(), /result[^]*\r\n0\r\n\r\n$/);
  assert.equal(await made.raw(), 0);
});

test("an answer that still streams at the deadline of a stop ends there", async (t) => {
  const made = await world(t, { settings: { SHUTDOWN_DEADLINE_MS: "700" } });
  const answering = await made.open("POST", "/raw/z", await made.tokenFor(), "{}");
  await made.made.gateway[Symbol.asyncDispose]();
  assert.equal(answering.hasEnded(), true);
  await until(() => made.sources[0]?.left.byBody === true);
});
