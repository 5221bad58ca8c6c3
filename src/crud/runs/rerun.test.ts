import assert from "node:assert/strict";
import { test } from "node:test";
import { crudInstance } from "#testing/crud-instance.ts";
import { until } from "#testing/until.ts";

const scopes = ["workflows.read", "workflows.start", "workflows.operate"];
const ben = { sub: "person:ben", scopes };
const cleo = { sub: "person:cleo", scopes };

test("a run that has ended is started again with its data, once for each version that was read", async (t) => {
  const crud = await crudInstance(t, { realEvents: true, settings: { WORKFLOW_ENGINE: "off" } });
  const send = async (path: string, { as = ben, body, tag }: { as?: typeof ben; body?: unknown; tag?: string } = {}) => {
    const headers: Record<string, string> = tag === undefined ? {} : { "if-match": tag };
    const response = await crud.request(path, { as, headers, ...(body === undefined ? {} : { method: "POST", body }) });
    const answered = (await response.json()) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, code: answered["code"], body: answered };
  };
  const data = { employee_id: "e1" };
  const { body: started } = await send("/workflows/offboard/start", { body: { data } });
  const path = `/workflows/runs/${String(started["run_id"])}`;
  assert.equal((await send(`${path}/rerun`, { body: {}, tag: "*" })).code, "wrong_phase", "it has not ended");
  await crud.database.run(
    { name: "t.end", text: "update crud.wf_run set phase = 'faulted', reason = 'error', ended_at = crud.wf_now()" },
    [],
  );
  const { body: ended, headers } = await send(path);
  const tag = headers.get("etag") ?? "";
  assert.ok((ended["may"] as readonly string[]).includes("rerun"));

  crud.verdicts.set("workflows:view_runs", false);
  assert.equal((await send(`${path}/rerun`, { as: cleo, body: {}, tag })).code, "not_found");
  crud.verdicts.set("workflows:view_runs", true);
  crud.verdicts.set("workflows:operate", false);
  const rows = [
    [cleo, {}, tag, "access_denied"],
    [ben, {}, undefined, "state_version_required"],
    [ben, {}, '"0"', "stale_version"],
    [ben, { version: "9.9.9" }, tag, "not_found"],
  ] as const;
  for (const [as, body, given, code] of rows)
    assert.equal((await send(`${path}/rerun`, { as, body, ...(given === undefined ? {} : { tag: given }) })).code, code);

  const again = await send(`${path}/rerun`, { body: {}, tag });
  const id = again.body["id"] as string;
  assert.deepEqual([again.status, again.headers.get("location"), again.body["input"]], [202, `/workflows/runs/${id}`, data]);
  assert.notEqual(`/workflows/runs/${id}`, path);
  assert.equal((await send(`${path}/rerun`, { body: {}, tag })).code, "stale_version", "sent again it starts no second one");
  const listed = await until(
    () => send("/workflows/runs?mine=true"),
    ({ body }) => (body["items"] as unknown[]).length === 2,
  );
  assert.equal((listed.body["items"] as readonly { id: string }[])[0]?.id, id);

  // The starter's own right to start counts, whatever the first run was.
  crud.verdicts.set("tool:tools/call workflow.offboard", false);
  const { headers: now } = await send(path);
  assert.equal((await send(`${path}/rerun`, { body: {}, tag: now.get("etag") ?? "" })).status, 403);
  await crud.database.run({ name: "t.blank", text: "update crud.wf_run set input = null, is_blanked = true" }, []);
  assert.equal((await send(`${path}/rerun`, { body: {}, tag: "*" })).code, "wrong_phase", "its data are gone");
});
