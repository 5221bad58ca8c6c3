import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOf } from "./facts.ts";

const [set, ended] = ["2026-12-22T00:00:00.000Z", "2026-11-20T00:00:00.000Z"];

for (const [name, delegation, expected] of [
  ["an active delegation ends on its day", { status: "active", expires_at: set }, { at: set, isOver: false }],
  ["one without a day never ends", { status: "active", expires_at: null }, { at: null, isOver: false }],
  ["a paused one goes on to its day", { status: "paused", expires_at: set }, { at: set, isOver: false }],
  ["a revoked one has ended when it was revoked", { status: "revoked", expires_at: set, ended_at: ended }, { at: ended, isOver: true }],
  ["a revoked one without a day too", { status: "revoked", expires_at: null, ended_at: ended }, { at: ended, isOver: true }],
  ["an expired one has ended on its day", { status: "expired", expires_at: ended }, { at: ended, isOver: true }],
] as const)
  test(name, () => assert.deepEqual(endingOf(delegation), expected));
