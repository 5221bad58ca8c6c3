import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Database } from "#store/database.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { freshDatabase, openPostgres, type TestServer } from "#testing/postgres-database.ts";
import { openWire, type Wire } from "#testing/wire.ts";
import { startTestHouse, type TestHouse } from "./test-house.ts";

/** Two whole houses, a process each, over one PostgreSQL. */
export interface TwoHouses {
  readonly houses: readonly [TestHouse, TestHouse];
  /** The database itself, past both of them. */
  readonly database: Database;
  /** What the second one asks its database through. */
  readonly queries: Wire;
  /** What the second one hears notifications through. */
  readonly notifications: Wire;
}

/** `undefined`: there is no PostgreSQL here. */
export const startTwoHouses = async (t: Pick<TestContext, "after">, server: TestServer): Promise<TwoHouses | undefined> => {
  const base = await server.url();
  if (base === undefined) return undefined;
  const direct = new URL(await freshDatabase(t, base, []));
  const target = { host: direct.hostname, port: Number(direct.port) };
  const through = async (): Promise<{ readonly wire: Wire; readonly url: string }> => {
    const wire = await openWire(t, target);
    const url = new URL(direct);
    url.host = `127.0.0.1:${wire.port}`;
    return { wire, url: url.href };
  };
  const folder = await mkdtemp(join(tmpdir(), "sallyport-two-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const kek = join(folder, "audit-kek");
  await writeFile(kek, randomBytes(32).toString("base64"), { mode: 0o600 });
  const [queries, notifications] = [await through(), await through()];
  const shared = { SESSION_SECRETS: randomBytes(32).toString("base64"), AUDIT_KEK_FILE: kek };
  const start = async (environment: Readonly<Record<string, string>>): Promise<TestHouse> => {
    const house = await startTestHouse({ environment: { ...shared, ...environment } });
    cleanUp(t, async () => {
      await house.kill();
      await house.stop();
    });
    return house;
  };
  // One after the other: the first makes the tables and the demo world.
  const first = await start({ DATABASE_URL: direct.href });
  const second = await start({ DATABASE_URL: queries.url, DATABASE_LISTEN_URL: notifications.url });
  const database = await openPostgres(direct.href);
  cleanUp(t, () => database[Symbol.asyncDispose]());
  return { houses: [first, second], database, queries: queries.wire, notifications: notifications.wire };
};
