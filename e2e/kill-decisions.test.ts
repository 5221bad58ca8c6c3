import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { EvaluationReply } from "#contract/authzen.ts";
import { createPglite } from "#store/pglite.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { startTestHouse, type TestHouse } from "./test-house.ts";
import { fetchToken } from "./tokens.ts";

const onRecord = statement<{
  readonly call_id: string;
  readonly items: readonly { readonly decision: boolean; readonly action: string }[];
}>("test.calls_on_record", "select call_id, items from pdp.call where call_id = any($1)");
const toldOf = statement<{ readonly id: string }>(
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

test("a SIGKILL in the middle of 1,000 decisions loses no denial and no act that was answered", async () => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-kill-decisions-"));
  const houses: TestHouse[] = [];
  try {
    const house = await startTestHouse({ data });
    houses.push(house);
    const ben = await fetchToken(house.port, { user: "ben" });
    const headers = { authorization: `Bearer ${ben}`, "content-type": "application/json" };
    const answered: Record<Kind, string[]> = { denial: [], act: [], permit: [] };
    let total = 0;
    let failed = 0;
    const decide = async (kind: Kind): Promise<void> => {
      const response = await fetch(`${house.origin}/access/v1/evaluation`, {
        method: "POST",
        headers,
        body: JSON.stringify(questions[kind]),
      });
      const reply = (await response.json()) as EvaluationReply;
      assert.equal(reply.decision, kind !== "denial", JSON.stringify(reply));
      answered[kind].push(reply.context?.decision_id ?? "");
      total++;
      if (total === KILL_AFTER) void house.kill();
    };

    // Permits to view are written within 50 ms of themselves: nobody reads the log, which would have them written first. A
    // busy machine is given far longer.
    for (let index = 0; index < 50; index++) await decide("permit");
    const flushed = answered.permit.slice();
    await wait(2000);

    const kinds: readonly Kind[] = ["denial", "act", "permit"];
    const lane = async (at: number): Promise<void> => {
      for (let index = 0; index < (DECISIONS - 50) / LANES; index++) {
        await decide(kinds[(at + index) % kinds.length] ?? "denial").catch((error: unknown) => {
          if (error instanceof assert.AssertionError) throw error;
          failed++;
        });
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_none, at) => lane(at)));
    assert.ok(total >= KILL_AFTER && failed > 0, `${total} answered, ${failed} were cut off`);
    assert.ok(answered.denial.length > 50 && answered.act.length > 50);

    const again = await startTestHouse({ data });
    houses.push(again);
    const authorization = `Bearer ${await fetchToken(again.port, { user: "ben" })}`;
    for (const id of [answered.denial.at(-1), answered.act.at(-1)]) {
      const response = await fetch(`${again.origin}/access/v1/decisions/${id}`, { headers: { authorization } });
      assert.equal(response.status, 200, `${id} is explained after the crash`);
    }
    assert.equal(await again.stop(), 0);

    const database = await createPglite({ dataFolder: data, log: silentLog });
    try {
      const wanted = [...answered.denial, ...answered.act, ...flushed];
      const found = new Map((await database.run(onRecord, [wanted])).map((row) => [row.call_id, row.items]));
      assert.deepEqual(
        wanted.filter((id) => !found.has(id)),
        [],
        "every one that was answered is on record",
      );
      for (const id of answered.denial) assert.equal(found.get(id)?.[0]?.decision, false);
      const told = new Set((await database.run(toldOf)).map(({ id }) => id));
      assert.deepEqual(
        [...answered.denial, ...answered.act].filter((id) => !told.has(id)),
        [],
        "and so is its event",
      );
    } finally {
      await database[Symbol.asyncDispose]();
    }
  } finally {
    for (const house of houses) await house.kill();
    await rm(data, { recursive: true, force: true });
  }
});
