import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import { createPglite } from "#store/pglite.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { awayKafka, makeDataFolder, startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const onRecord = statement<{
  readonly call_id: string;
  readonly items: readonly { readonly decision: boolean; readonly action: string }[];
}>("test.calls_on_record", "select call_id, items from pdp.call where call_id = any($1)");
const reportOf = statement<{ readonly id: string }>(
  "test.calls_told",
  "select data ->> 'decision_id' as id from events.outbox where type = 'authz.decision'",
);

const DECISIONS = 1_000;
const KILL_AFTER = 350;
const LANES = 10;

const questions = {
  denial: { action: { name: "view" }, resource: { type: "pages", id: "operations" } },
  act: { action: { name: "execute_quick" }, resource: { type: "workflows" } },
  permit: { action: { name: "view" }, resource: { type: "pages", id: "people" } },
} as const;
type Kind = keyof typeof questions;

test("a SIGKILL in the middle of 1,000 decisions loses no denial and no act that was answered, and of permits to view only the last", async () => {
  const data = await makeDataFolder();
  const instances: TestInstance[] = [];
  try {
    const instance = await startTestInstance({ data, environment: awayKafka });
    instances.push(instance);
    const ben = await fetchToken(instance.port, { user: "ben" });
    const headers = { authorization: `Bearer ${ben}`, "content-type": "application/json" };
    const answered: Record<Kind, string[]> = { denial: [], act: [], permit: [] };
    let total = 0;
    let failed = 0;
    // What came before what, without a clock.
    let moment = 0;
    let lastKept = 0;
    const permitted: { readonly id: string; readonly at: number }[] = [];
    const decide = async (kind: Kind): Promise<void> => {
      const asked = (moment += 1);
      const response = await fetch(`${instance.origin}/access/v1/evaluation`, {
        method: "POST",
        headers,
        body: JSON.stringify(questions[kind]),
      });
      const reply = (await response.json()) as EvaluationReply;
      assert.equal(reply.decision, kind !== "denial", JSON.stringify(reply));
      const id = reply.context?.decision_id ?? "";
      answered[kind].push(id);
      if (kind === "permit") permitted.push({ id, at: (moment += 1) });
      else lastKept = Math.max(lastKept, asked);
      total++;
      if (total === KILL_AFTER) void instance.kill();
    };

    const kinds: readonly Kind[] = ["denial", "act", "permit"];
    const lane = async (at: number): Promise<void> => {
      for (let index = 0; index < DECISIONS / LANES; index++) {
        await decide(kinds[(at + index) % kinds.length] ?? "denial").catch((error: unknown) => {
          if (error instanceof assert.AssertionError) throw error;
          failed++;
        });
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_none, at) => lane(at)));
    assert.ok(total >= KILL_AFTER && failed > 0, `${total} answered, ${failed} were cut off`);
    assert.ok(answered.denial.length > 50 && answered.act.length > 50);

    const again = await startTestInstance({ data, environment: awayKafka });
    instances.push(again);
    const authorization = `Bearer ${await fetchToken(again.port, { user: "ben" })}`;
    for (const id of [answered.denial.at(-1), answered.act.at(-1)]) {
      const response = await fetch(`${again.origin}/access/v1/decisions/${id}`, { headers: { authorization } });
      assert.equal(response.status, 200, `${id} is explained after the crash`);
    }
    assert.equal(await again.stop(), 0);

    const database = await createPglite({ dataFolder: data, log: silentLog });
    try {
      // Records are written in their order: a permit that was answered before something was asked that is on record is on record too.
      const before = permitted.filter(({ at }) => at < lastKept).map(({ id }) => id);
      assert.ok(before.length > 50, `${before.length} permits`);
      const wanted = [...answered.denial, ...answered.act, ...before];
      const found = new Map((await database.run(onRecord, [wanted])).map((row) => [row.call_id, row.items]));
      assert.deepEqual(
        wanted.filter((id) => !found.has(id)),
        [],
        "every one that was answered is on record",
      );
      for (const id of answered.denial) assert.equal(found.get(id)?.[0]?.decision, false);
      const reported = new Set((await database.run(reportOf)).map(({ id }) => id));
      assert.deepEqual(
        [...answered.denial, ...answered.act].filter((id) => !reported.has(id)),
        [],
        "and so is its event",
      );
    } finally {
      await database[Symbol.asyncDispose]();
    }
  } finally {
    for (const instance of instances) await instance.kill();
    await rm(data, { recursive: true, force: true });
  }
});
