import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { boundPeer } from "./bounded-peer.ts";

const bounds = { timeoutMs: 60_000, maxBytes: 1000, unavailable: "pdp_unavailable" as const };
const request = () => new Request("http://sallyport.internal/x", { method: "POST", body: "question" });
const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.code === "pdp_unavailable";
const gate = () => Promise.withResolvers<void>();

test("an answer within its bounds arrives as it is", async () => {
  for (const answer of [new Response("x".repeat(1000), { status: 201, headers: { "x-a": "b" } }), new Response(null, { status: 204 })]) {
    const given = answer.clone();
    const got = await boundPeer(async () => answer, bounds)(request());
    assert.deepEqual([got.status, await got.text()], [given.status, await given.text()]);
    assert.deepEqual([...got.headers], [...given.headers]);
  }
});

test("an answer without end is given up at its bound, and its sender is told", async () => {
  const left = gate();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(100)),
    cancel: () => left.resolve(),
  });
  await assert.rejects(boundPeer(async () => new Response(endless), bounds)(request()), isUnavailable);
  await left.promise;
});

test("an answer that stops half-way is given up in time, though its sender hears no signal", async () => {
  const left = gate();
  const silent = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel: () => left.resolve(),
  });
  await assert.rejects(boundPeer(async () => new Response(silent), { ...bounds, timeoutMs: 20 })(request()), isUnavailable);
  await left.promise;
});

test("a peer that never answers is given up in time and hears of it, and what it says afterwards is not kept", async () => {
  const asked = Promise.withResolvers<Request>();
  const answer = Promise.withResolvers<Response>();
  const peer = boundPeer(
    (one) => {
      asked.resolve(one);
      return answer.promise;
    },
    { ...bounds, timeoutMs: 20 },
  );
  await assert.rejects(peer(request()), isUnavailable);
  assert.equal((await asked.promise).signal.aborted, true);
  const left = gate();
  answer.resolve(new Response(new ReadableStream({ cancel: () => left.resolve() })));
  await left.promise;
});

test("a fault of the peer stays what it is", async () => {
  const issue = new Problem("store_unavailable");
  await assert.rejects(boundPeer(() => Promise.reject(issue), bounds)(request()), (error) => error === issue);
});
