import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyReplay, replayAskOf } from "./replay-ask.ts";

const now = new Date("2026-03-02T12:00:00.000Z");

test("an untouched form asks for the newest decisions of all who may be seen", () =>
  assert.deepEqual(replayAskOf("v2", emptyReplay, now), { version: "v2", limit: 10_000, filter: {} }));

test("a filled form says from when, whose, what and how it was decided", () =>
  assert.deepEqual(replayAskOf("v2", { span: "day", subject: " person:cleo ", action: "view", verdict: "denied", limit: "5" }, now), {
    version: "v2",
    limit: 5,
    filter: { from: "2026-03-01T12:00:00.000Z", subject: "person:cleo", action: "view", decision: false },
  }));

for (const limit of ["", "0", "-1", "1.5", "1e3", "1000001", "many"])
  test(`a limit of ${JSON.stringify(limit)} is refused`, () => assert.equal(replayAskOf("v2", { ...emptyReplay, limit }, now), undefined));
