import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";
import { HeaderLines } from "#gateway/model/answer.ts";
import { garbageCollector } from "#testing/garbage-collector.ts";
import { peerUpstream } from "./upstream.ts";

test("who serves a stream hears that its caller has left, however long ago the request was last looked at", async () => {
  const collect = garbageCollector();
  const received: unknown[] = [];
  const upstream = peerUpstream("crud", async (request) => {
    AbortSignal.any([request.signal, new AbortController().signal]).addEventListener("abort", () => received.push("left"));
    return new Response(new ReadableStream());
  });
  const caller = new AbortController();
  // The caller's signal is one of several, as on a call with a deadline.
  const signal = AbortSignal.any([caller.signal, new AbortController().signal]);
  const call = { method: "GET", path: "/mcp", query: "", body: undefined, isStream: true, retry: "never" } as const;
  const answer = await upstream.send({ ...call, headers: new HeaderLines(), signal });
  for (let n = 0; n < 5; n++) {
    collect();
    await setImmediate();
  }
  caller.abort();
  assert.deepEqual(received, ["left"]);
  assert.ok(answer.body);
});
