import type pg from "pg";
import type { GraphReader } from "#membership/graph/graph-reader.ts";
import { createSqlReader } from "#membership/graph/sql-reader.ts";
import type { Database, Sql, SqlValue } from "#store/database.ts";
import { encodeValue } from "#store/values.ts";
import type { Timed } from "./graph.ts";

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
export const timedOf = (taken: number[]): Timed => {
  taken.sort((one, other) => one - other);
  return { p50: percentile(taken, 0.5), p99: percentile(taken, 0.99) };
};
/** Microseconds of each, one after the other. */
export const time = async (count: number, act: (at: number) => Promise<unknown>): Promise<Timed> => {
  for (let at = 0; at < Math.min(200, count); at++) await act(at);
  const taken: number[] = [];
  for (let at = 0; at < count; at++) {
    const started = process.hrtime.bigint();
    await act(at);
    taken.push(Number(process.hrtime.bigint() - started) / 1000);
  }
  return timedOf(taken);
};
/** Answers a second, so many at once. */
export const rate = async (count: number, act: (at: number) => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < count) await act(next++);
    }),
  );
  return (count * 1000) / (performance.now() - started);
};

/** The plain driver: named statements, rows as it gives them. */
export const plainOf = (client: { query(config: pg.QueryConfig): Promise<{ rows: unknown[] }> }): Sql => ({
  run: async <Row>(one: { name: string; text: string }, values: readonly SqlValue[] = []) =>
    (await client.query({ name: one.name, text: one.text, values: values.map(encodeValue) })).rows as Row[],
});
/** The statements of the SQL reader on it. */
export const readerOf = (sql: Sql): GraphReader =>
  createSqlReader({
    database: { ...sql, transaction: () => Promise.reject(new Error("not here")) } as unknown as Database,
    dataScope: { unknownType: "tenants", refused: () => {} },
  });

/** The rows that a build reads, by a cursor, and dropped. */
export const readRows = async (client: pg.Client): Promise<number> => {
  const started = performance.now();
  await client.query("begin isolation level repeatable read read only");
  for (const rows of [
    "id, kind, tenant_id, name, state, digest, external_id, props from membership.node order by id",
    "id, kind, src, dst, expires_at, digest, props from membership.edge where kind <> 'DELEGATES_TO' order by id",
    "d.*, m.limit_micro, m.limit_steps from membership.delegation d join membership.meter m on m.delegation_id = d.id order by id",
  ]) {
    await client.query(`declare dropped cursor for select ${rows}`);
    while ((await client.query("fetch 10000 from dropped")).rows.length > 0);
    await client.query("close dropped");
  }
  await client.query("commit");
  return performance.now() - started;
};
