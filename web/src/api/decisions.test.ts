import assert from "node:assert/strict";
import { test } from "node:test";
import type { Peer } from "#contract/ask.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { createClient } from "./client.ts";
import { decisionRecordQuery } from "./decisions.ts";

const record: DecisionRecord = {
  decision_id: "d_01M7Z7S9XVAW8BTRFGMXSENJ7S",
  decided_at: "2026-11-21T10:00:00.000Z",
  decision: false,
  reason: "not_granted",
  sentence: "cleo may not see operations.",
  requestable: false,
  action: "view",
  resource: { type: "pages", id: "operations" },
  policy_version: "remote:https://pdp.example",
  edges: [],
  policies: [],
};

const answersTo = (answers: readonly (readonly [status: number, body: unknown])[]) => {
  const asked: string[] = [];
  const peer: Peer = async (request) => {
    const [status, body] = answers[asked.length] ?? [500, {}];
    asked.push(new URL(request.url).search);
    const type = status < 400 ? "application/json" : "application/problem+json";
    return new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
  };
  const { queryFn } = decisionRecordQuery(createClient({ peer, origin: "http://localhost:8080", newId: () => "c" }), record.decision_id);
  if (typeof queryFn !== "function") throw new TypeError("a query has a function");
  const ask = async () => queryFn({ signal: new AbortController().signal } as Parameters<typeof queryFn>[0]);
  return { asked, ask };
};
const problem = (status: number, code: string) => [status, { type: `urn:sallyport:problem:${code}`, title: code, status, code }] as const;

test("what another decision point decided is shown, without what only that one knows", async () => {
  const { asked, ask } = answersTo([problem(501, "not_supported"), [200, record]]);
  assert.equal((await ask()).decision_id, record.decision_id);
  assert.deepEqual(asked, ["?remedy=true", ""]);
});

test("every other refusal is told as it is, and nothing is asked again", async () => {
  for (const [status, code] of [
    [404, "not_found"],
    [401, "step_up_required"],
    [503, "pdp_unavailable"],
  ] as const) {
    const { asked, ask } = answersTo([problem(status, code), [200, record]]);
    await assert.rejects(ask(), (error: { problem?: { code?: string } }) => error.problem?.code === code);
    assert.equal(asked.length, 1);
  }
});
