import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { HeaderLines } from "#gateway/answer.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { writeResponse } from "./response-writer.ts";

/** An answer without end to a client that asks and then reads nothing until told to. */
const stalled = async (t: TestContext) => {
  const cancelled = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<ServerResponse>();
  const over = Promise.withResolvers<void>();
  const server = createServer((_request, outgoing) => {
    const piece = new Uint8Array(65_536);
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece), cancel: cancelled.resolve });
    begun.resolve(outgoing);
    void writeResponse({ status: 200, headers: new HeaderLines(), body }, outgoing, { isHead: false, close: false }).then(over.resolve);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  cleanUp(t, () => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.on("error", () => {});
  client.pause();
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const outgoing = await begun.promise;
  const isFull = () => until(() => outgoing.writableNeedDrain, Boolean);
  return { client, outgoing, isFull, cancelled: cancelled.promise, over: over.promise };
};

test("attack 43: a reader that takes nothing for 60 seconds is cut, and its source is let go", async (t) => {
  const { outgoing, isFull, cancelled, over } = await stalled(t);
  // Of what waits for the reader the clock is ours from here on: the writer's own wait is begun anew by one drain.
  await isFull();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  outgoing.emit("drain");
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(59_999);
  assert.equal(outgoing.destroyed, false);
  t.mock.timers.tick(1);
  assert.equal(outgoing.destroyed, true);
  assert.equal(await cancelled, "the client has left");
  await over;
});

test("attack 43: a reader that takes a little in time is waited for again", async (t) => {
  const { client, outgoing, isFull } = await stalled(t);
  await isFull();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  outgoing.emit("drain");
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(59_999);
  const drained = once(outgoing, "drain");
  client.resume();
  await drained;
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(59_999);
  assert.equal(outgoing.destroyed, false);
});
