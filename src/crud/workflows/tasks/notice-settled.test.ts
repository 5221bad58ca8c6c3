import assert from "node:assert/strict";
import { postNotice, type Notice } from "#events/model/notice.ts";
import { statement } from "#store/database.ts";
import { forEachDatabase } from "#testing/database.ts";
import { cleo, taskWorld } from "#testing/task-world.ts";
import { isNoticeSettled } from "./notice-settled.ts";
import { createTaskPort } from "./task-port.ts";

const STORED = statement<{ seq: bigint; data: Notice; text: string }>(
  "test.notices",
  "select seq, data, data::text as text from events.outbox where sink = 'notice' order by seq",
);
const ENDED = statement(
  "test.request_ended",
  `insert into events.outbox (id, tenant, stream, version, key, type, data)
   values (gen_random_uuid(), $1, 'workflow', 1000, $2, 'access_request.approved', '{}')`,
);

forEachDatabase("a notice holds no data of its task, and is settled once nothing waits", ["events", "crud"], async (t, database) => {
  const world = await taskWorld(t, database);
  await world.engine();
  const { task } = await world.ask({
    assign: ["person:cleo"],
    description: "canary-d",
    data: { c: "canary-p" },
    evidence: { c: "canary-e" },
  });
  const notices = world.notices.filter(({ id }) => id === task.id);
  assert.equal(notices.length, 1);
  const waiting = await world.run(task.run_id);
  await database.transaction(async (sql) => {
    for (const notice of notices) postNotice(sql, notice);
    await createTaskPort({ notify: postNotice }).notifyPerson(sql, waiting, { event: "step_up", to: "person:ben" });
    postNotice(sql, { ...notices[0]!, kind: "access_request", id: "ar_1" });
  });
  const [asked, run, request] = await database.run(STORED);
  assert.ok(![asked, run, request].some((row) => row?.text.includes("canary")));
  const isSettled = (row: typeof asked): Promise<boolean> => isNoticeSettled(database, row!.data, row!.seq);
  assert.deepEqual([await isSettled(asked), await isSettled(run), await isSettled(request)], [false, true, false]);
  assert.equal(await isNoticeSettled(database, { ...asked!.data, tenant: "tenant:globex" }, 0n), true, "nothing waits in another tenant");
  await world.complete(task.id, cleo);
  await database.run(ENDED, ["tenant:acme", "ar_1"]);
  assert.deepEqual([await isSettled(asked), await isSettled(request)], [true, true]);
});
