// One of several replicas on one PostgreSQL: keeps the graph in memory, asks itself about a delegation again and again, and writes when it is told.
import { createChange } from "#events/changes/create-change.ts";
import { createFeed } from "#membership/graph/index/feed.ts";
import { createIndexReader } from "#membership/graph/index/index-reader.ts";
import { recordDelegation } from "#membership/delegations/put-delegation.ts";
import { createSqlReader } from "#membership/graph/sql-reader.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import { createWriteGraph } from "#membership/graph/write.ts";
import { statement } from "#store/database.ts";
import { createPostgres } from "#store/postgres.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { ToReplica } from "../membership/replicas.ts";

const [url = "", pollMs = "", boundMs = "", isDeaf = ""] = process.argv.slice(2);
const opened = await createPostgres({ url, poolSize: 4, log: silentLog });
const database = isDeaf === "deaf" ? { ...opened, listen: async () => async () => {} } : opened;
const metrics = createMetrics();
const feed = await createFeed({ database, log: silentLog, metrics, pollMs: Number(pollMs), boundMs: Number(boundMs) });
const dataScope = { unknownType: "tenants", refused: () => {} } as const;
const reader = createIndexReader({ feed, sql: createSqlReader({ database, dataScope }), database, dataScope });
const change = createChange({ database, bus: { announce: () => {} }, recorder: { writeIn: async () => [], ended: () => {} } });
const write = createWriteGraph({ change, metrics, written: feed.written });
while (typeof feed.look() === "string") await new Promise((resolve) => setTimeout(resolve, 5));
/** Microseconds of the machine's clock, which all processes share. */
const now = (): number => Number(process.hrtime.bigint() / 1000n);

const REVOKE = statement("bench.revoke", "update membership.delegation set status = 'revoked', ended_at = now() where id = $1");
const revoke = async (delegationId: string): Promise<void> => {
  await write({ actor: "person:bench", source: "api", correlationId: "bench", tenantId: null }, async (tx) => {
    await tx.sql.run(REVOKE, [delegationId]);
    await recordDelegation(tx, delegationId);
    return { value: undefined };
  });
};
process.on("message", (message: ToReplica) => {
  const work = async (): Promise<void> => {
    if (message.do === "revoke") {
      await revoke(message.delegationId);
      process.send?.({ at: now() });
      return;
    }
    process.send?.({ watching: true });
    let answers = 0;
    for (;;) {
      const { value, source = "sql" } = await reader.delegations(wholeGraph, { userId: message.userId, limit: 500, offset: 0 });
      answers++;
      if (value.some((one) => one.delegation_id === message.delegationId && one.status === "revoked")) {
        process.send?.({ at: now(), source, answers });
        return;
      }
      if (message.do === "ask") throw new Error("it was told of a delegation that is revoked");
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  work().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
console.error("replica is ready");
