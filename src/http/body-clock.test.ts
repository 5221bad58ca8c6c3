import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test, type TestContext } from "node:test";
import { watchBody } from "./body-clock.ts";

type Seen = Pick<IncomingMessage, "complete" | "destroyed" | "readableLength" | "readableHighWaterMark"> & {
  readonly socket: { bytesRead: number };
};

const bodyFreeMs = 1000;
const body = (): Seen => ({ complete: false, destroyed: false, readableLength: 0, readableHighWaterMark: 100, socket: { bytesRead: 0 } });

/** What is told of a body after the tick in which its head was read, and a long time. */
const reportOf = async (
  t: TestContext,
  request: Seen,
  { stopped, inTick }: { stopped?: boolean; inTick?: () => void },
): Promise<number> => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let reported = 0;
  const stop = watchBody(request as unknown as IncomingMessage, { bodyFreeMs }, () => (reported += 1));
  if (stopped === true) stop();
  inTick?.();
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(60_000);
  return reported;
};

const whole = body();
const gone = body();
for (const [what, request, given, reported] of [
  ["never comes", body(), {}, 1],
  ["came with its head", whole, { inTick: () => (whole.complete = true) }, 0],
  ["is given up in the tick of its head", body(), { stopped: true }, 0],
  ["ends with its connection", gone, { inTick: () => (gone.destroyed = true) }, 0],
] as const) {
  test(`a body that ${what} is told of ${reported} times`, async (t) => {
    assert.equal(await reportOf(t, request, given), reported);
  });
}

test("a body that came whole after a while is not told of", async (t) => {
  const request = body();
  t.mock.timers.enable({ apis: ["setInterval"] });
  let reported = 0;
  watchBody(request as unknown as IncomingMessage, { bodyFreeMs }, () => (reported += 1));
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(bodyFreeMs / 2);
  request.complete = true;
  t.mock.timers.tick(60_000);
  assert.equal(reported, 0);
});
