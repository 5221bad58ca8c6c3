import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf } from "./change-of.ts";

test("only what differs is told, with the value before and after", () => {
  assert.deepEqual(
    changeOf(
      { status: "active", max_steps: 50, tools: ["a"] },
      { status: "revoked", max_steps: 50, tools: ["a", "b"], end_reason: "done" },
    ),
    ["status: active \u2192 revoked", 'tools: ["a"] \u2192 ["a","b"]', "end_reason: - \u2192 done"],
  );
});

test("a creation tells what is there now; what is no object tells nothing", () => {
  assert.deepEqual(changeOf(null, { status: "active", agent_id: "agent:x", expires_at: null }), ["status: active"]);
  assert.deepEqual(changeOf(undefined, undefined), []);
  assert.deepEqual(changeOf({ version: 1 }, { version: 2 }), []);
});
