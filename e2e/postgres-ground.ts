import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { freshDatabase, type TestServer } from "#testing/postgres-database.ts";

/** What several instances stand on together, and what outlives each of them. */
export interface PostgresGround {
  readonly databaseUrl: string;
  /** Removed with the test. */
  readonly folder: string;
  readonly sessionSecret: Buffer;
  /** Of the audit log. */
  readonly kek: Buffer;
  /** Settings that name the database and the keys. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Said of a test that cannot be had here. */
export const whyNoPostgres = (server: TestServer): string => `NO POSTGRESQL: ${server.why()}`;

/** A fresh database with keys beside it; `undefined` where there is no PostgreSQL, which is an error where `REQUIRE_REAL=1`. */
export const layPostgresGround = async (t: Pick<TestContext, "after">, server: TestServer): Promise<PostgresGround | undefined> => {
  const base = await server.url();
  if (base === undefined) {
    if (process.env["REQUIRE_REAL"] === "1") throw new Error(whyNoPostgres(server));
    return undefined;
  }
  const databaseUrl = await freshDatabase(t, base, []);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-ground-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const kekFile = join(folder, "audit-kek");
  const kek = randomBytes(32);
  await writeFile(kekFile, kek.toString("base64"), { mode: 0o600 });
  const sessionSecret = randomBytes(32);
  return {
    databaseUrl,
    folder,
    sessionSecret,
    kek,
    environment: { DATABASE_URL: databaseUrl, SESSION_SECRETS: sessionSecret.toString("base64"), AUDIT_KEK_FILE: kekFile },
  };
};

/** The same for one test, which is skipped in one loud line where there is none. */
export const requirePostgresGround = async (t: TestContext, server: TestServer): Promise<PostgresGround | undefined> => {
  const ground = await layPostgresGround(t, server);
  if (ground === undefined) t.skip(whyNoPostgres(server));
  return ground;
};
