import type { TestContext } from "node:test";
import type { Database } from "#store/database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { openPostgres, type TestServer } from "#testing/postgres-database.ts";
import { openWire, type Wire } from "#testing/wire.ts";
import { layPostgresGround } from "./postgres-ground.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

/** Two whole instances, a process each, over one PostgreSQL. */
export interface TwoInstances {
  readonly instances: readonly [TestInstance, TestInstance];
  /** The database itself, past both of them. */
  readonly database: Database;
  /** What the second one asks its database through. */
  readonly queries: Wire;
  /** What the second one hears notifications through. */
  readonly notifications: Wire;
}

/** `undefined`: there is no PostgreSQL here. */
export const startTwoInstances = async (t: Pick<TestContext, "after">, server: TestServer): Promise<TwoInstances | undefined> => {
  const ground = await layPostgresGround(t, server);
  if (ground === undefined) return undefined;
  const direct = new URL(ground.databaseUrl);
  const target = { host: direct.hostname, port: Number(direct.port) };
  const through = async (): Promise<{ readonly wire: Wire; readonly url: string }> => {
    const wire = await openWire(t, target);
    const url = new URL(direct);
    url.host = `127.0.0.1:${wire.port}`;
    return { wire, url: url.href };
  };
  const [queries, notifications] = [await through(), await through()];
  const start = async (environment: Readonly<Record<string, string>>): Promise<TestInstance> => {
    const instance = await startTestInstance({ environment: { ...ground.environment, ...environment } });
    cleanUp(t, async () => {
      await instance.kill();
      await instance.stop();
    });
    return instance;
  };
  // One after the other: the first makes the tables and the demo world.
  const first = await start({});
  const second = await start({ DATABASE_URL: queries.url, DATABASE_LISTEN_URL: notifications.url });
  const database = await openPostgres(direct.href);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  return { instances: [first, second], database, queries: queries.wire, notifications: notifications.wire };
};
