import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { HeaderLines, type AnswerBody } from "#gateway/model/answer.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { createReaderWatch } from "./reader-watch.ts";
import { writeResponse } from "./response-writer.ts";

const piece = new Uint8Array(65_536);

interface World {
  readonly client: Socket;
  /** Answers in the order of their requests. */
  readonly outgoing: ServerResponse[];
  /** Those that are written to their end, or cut. */
  readonly over: () => number;
  readonly text: () => string;
}

/** A server of these answers, and a client that asks for all of them at once and then reads nothing until told to. */
const stalled = async (t: TestContext, requests: number, bodyOf: () => AnswerBody, stallMs: number): Promise<World> => {
  const outgoing: ServerResponse[] = [];
  let over = 0;
  let text = "";
  const readers = createReaderWatch(stallMs);
  const server = createServer((_request, answer) => {
    outgoing.push(answer);
    const options = { isHead: false, close: false, readers };
    void writeResponse({ status: 200, headers: new HeaderLines(), body: bodyOf() }, answer, options).then(() => (over += 1));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  cleanUp(t, () => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.on("error", () => {});
  client.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  client.pause();
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(requests));
  await until(() => outgoing.length === requests);
  return { client, outgoing, over: () => over, text: () => text };
};

const streamOf = (pieces: number): ReadableStream<Uint8Array> => {
  let left = pieces;
  return new ReadableStream({ pull: (controller) => (left-- > 0 ? controller.enqueue(piece) : controller.close()) });
};
const isFull = ({ outgoing }: World) => until(() => outgoing.some((one) => (one.socket?.writableLength ?? 0) > 0));

/** Many small answers, more of them than the system takes by itself: the last bytes of one wait here when it has ended. */
const SMALL = 600;
const shapes: readonly (readonly [what: string, requests: number, bodyOf: () => AnswerBody])[] = [
  ["a stream without end", 1, () => streamOf(Infinity)],
  ["one large piece", 1, () => new Uint8Array(32 * 1_048_576)],
  ["many answers asked for at once", SMALL, () => new Uint8Array(30_000)],
  ["many streamed answers asked for at once", SMALL, () => streamOf(1)],
];

for (const [what, requests, bodyOf] of shapes)
  test(`attack 43: a reader that takes nothing of ${what} is cut`, async (t) => {
    const world = await stalled(t, requests, bodyOf, 200);
    const [first] = world.outgoing;
    await until(() => first?.req.socket.destroyed === true);
    await until(() => world.over() === requests);
  });

test("attack 43: a reader that takes some of many answers and then nothing is cut at the one that it stopped at", async (t) => {
  const world = await stalled(t, SMALL, () => new Uint8Array(30_000), 3000);
  await isFull(world);
  const { client, outgoing } = world;
  const [first] = outgoing;
  const unfinished = () => outgoing.filter((one) => !one.writableFinished).length;
  const before = unfinished();
  client.on("data", () => unfinished() < before && client.pause());
  client.resume();
  await until(() => first?.req.socket.destroyed === true);
  assert.ok(unfinished() > 0 && unfinished() < before);
});

test("attack 43: the source of an answer that nobody reads is let go", async (t) => {
  const cancelled = Promise.withResolvers<unknown>();
  const endless = () => new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece), cancel: cancelled.resolve });
  const { over } = await stalled(t, 1, endless, 200);
  assert.equal(await cancelled.promise, "the client has left");
  await until(() => over() === 1);
});

test("attack 43: a reader that comes back in time gets everything, and its connection rests as long as any other", async (t) => {
  const pieces = 256;
  const world = await stalled(t, 2, () => streamOf(pieces), 60_000);
  await isFull(world);
  const socket = world.outgoing[0]?.socket as Socket;
  await until(() => socket.timeout === 60_000);
  world.client.resume();
  await until(() => world.over() === 2);
  await until(() => world.outgoing.every((one) => one.writableFinished));
  // The server's own time to rest, of which it keeps a second to itself.
  await until(() => socket.timeout === 6000);
  const isWhole = () => world.text().length > 2 * pieces * piece.byteLength && world.text().endsWith("0\r\n\r\n");
  await until(isWhole);
  assert.equal(socket.destroyed, false);
});
