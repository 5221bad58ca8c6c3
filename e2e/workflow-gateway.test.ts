import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "#testing/until.ts";
import { signInPerson, type Person } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";

type Json = Readonly<Record<string, unknown>>;

test("a browser session reads runs and tasks, and sends request_format as it stands, behind /api/crud", async (t) => {
  const { origin, stop } = await startTestInstance();
  t.after(stop);
  const send = async (who: Person, path: string, body?: unknown, more: Readonly<Record<string, string>> = {}) => {
    const headers = { ...who.headers, ...more };
    const sent = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${origin}/api/crud${path}`, sent);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
  };
  const [ben, cleo] = await Promise.all([signInPerson(origin, "ben"), signInPerson(origin, "cleo")]);
  const { body: started } = await send(ben, "/workflows/offboard/start", { data: { employee_id: "e1" } });
  const path = `/workflows/runs/${String(started["run_id"])}`;
  const asking = await until(
    () => send(ben, path),
    ({ body }) => body["reason"] === "human",
    30_000,
  );
  assert.equal(asking.headers.get("etag"), `"${String(asking.body["state_version"])}"`);
  assert.deepEqual(asking.body["may"], ["cancel", "suspend"]);
  const lists = await send(ben, "/workflows/runs?status=waiting&status=running&mine=true");
  assert.deepEqual([lists.status, (lists.body["items"] as unknown[]).length], [200, 1]);

  // Who is asked finds it among the tasks, and answers as its run says.
  const { body: mine } = await send(cleo, "/tasks?assigned_to=me&status=PENDING");
  assert.deepEqual(
    (mine["items"] as readonly Json[]).map(({ workflow, you_may: may }) => [workflow, may]),
    [["offboard", true]],
  );
  assert.equal((await send(cleo, "/tasks/summary")).body["mine"], 1);
  const { request_format: format } = asking.body["waiting"] as {
    request_format: { url: string; headers: Record<string, string>; body: Json };
  };
  const answer = { ...format.body, decision: "approve" };
  assert.equal((await send(ben, format.url, answer, format.headers)).body["code"], "separation_of_duties");
  assert.equal((await send(cleo, format.url, answer, { "if-match": '"1"' })).status, 412);
  const done = await send(cleo, format.url, answer, format.headers);
  assert.deepEqual([done.status, done.headers.get("idempotency-replayed")], [200, null], JSON.stringify(done.body));
  const again = await send(cleo, format.url, answer, format.headers);
  assert.deepEqual([again.status, again.headers.get("idempotency-replayed"), again.body], [200, "true", done.body]);
  assert.equal((await send(cleo, format.url, { ...answer, comment: "other" }, format.headers)).body["code"], "idempotency_mismatch");

  const suspended = await send(ben, `${path}/suspend`, undefined, {});
  assert.equal(suspended.status, 405, "a verb is a POST");
  const { nodes } = (await send(ben, `${path}/diagram`)).body as { nodes: readonly Json[] };
  assert.ok(nodes.some(({ id, status }) => id === "/do/look_up" && status === "done"));
});
